"""The widgets of a form, one for each kind of field: a line, lines, choices, fields in a field, a list."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Static, TextArea

from console_app.domain import one_line, safe_text
from console_app.domain.schema import forms
from console_app.records import replace

MOST_LINES = 8  # that are shown at once
LONGEST = 40  # characters of a text that its line shows whole in the narrowest form


class CheckList(Widget, can_focus=True):
    DEFAULT_CSS = """
    CheckList { height: auto; margin: 0 1; padding: 0 1; background: $surface; color: $foreground; }
    CheckList:focus { background: $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "next", id="checks.next", show=False),
        Binding("up,k", "move(-1)", "previous", id="checks.previous", show=False),
        Binding("space", "tick", "tick", id="checks.toggle", show=False),
    ]

    class Changed(Message):
        """A label was ticked, or no longer is."""

    def __init__(self, labels: Sequence[str], checked: Iterable[int] = ()) -> None:
        super().__init__()
        self.labels = [one_line(label, 60) for label in labels]
        self._checked = set(checked)
        self._at = 0
        self._first = 0  # line at the top

    @property
    def checked(self) -> list[int]:
        return sorted(self._checked)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(len(self.labels), MOST_LINES)

    def render(self) -> Content:
        lines = [self._line(at) for at in range(self._first, min(self._first + MOST_LINES, len(self.labels)))]
        return Content("\n").join(lines)

    def _line(self, at: int) -> Content:
        ticked, here = at in self._checked, at == self._at and self.has_focus
        mark = Content.styled("▸ " if here else "  ", "bold $primary")
        line = mark + Content.styled("☒ " if ticked else "☐ ", "bold $primary" if ticked else "$muted")
        line += Content.styled(self.labels[at], "bold $foreground" if ticked or here else "$foreground")
        if here and len(self.labels) > MOST_LINES:
            line += Content.styled(f"  {at + 1} of {len(self.labels)}", "$muted")
        return line

    def action_move(self, delta: int) -> None:
        self._at = (self._at + delta) % max(len(self.labels), 1)
        self._first = max(min(self._first, self._at), self._at - MOST_LINES + 1)
        self.refresh()

    def action_tick(self) -> None:
        if not self.labels:
            return
        self._checked ^= {self._at}
        self.refresh()
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        at = self._first + event.y - self.gutter.top
        if 0 <= at < len(self.labels):
            self._at = at
            self.action_tick()


GAP = "   "
MOST_SIDE_BY_SIDE = 60  # more never fit, and measuring thousands would take a while


class ChoiceLine(Widget, can_focus=True):
    """Shows every label with a mark at the chosen one. Where they don't fit, it shows the chosen one and its place."""

    DEFAULT_CSS = """
    ChoiceLine { height: 1; margin: 0 1; padding: 0 1; background: $surface; color: $foreground; }
    ChoiceLine:focus { background: $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "move(1)", "next", id="choice.next", show=False),
        Binding("left", "move(-1)", "previous", id="choice.previous", show=False),
        Binding("home", "move(-10000)", "first", id="choice.first", show=False),
        Binding("end", "move(10000)", "last", id="choice.last", show=False),
    ]

    class Changed(Message):
        """Another one is chosen."""

    def __init__(self, labels: Sequence[str], chosen: int = 0) -> None:
        super().__init__()
        self.labels = [one_line(label, 60) for label in labels]
        self.chosen = chosen

    def _all(self) -> Content:
        parts = [
            Content.styled(f"● {label}", "bold $primary")
            if at == self.chosen
            else Content.styled(f"○ {label}", "$muted")
            for at, label in enumerate(self.labels)
        ]
        return Content(GAP).join(parts)

    @property
    def _fits(self) -> bool:
        return len(self.labels) <= MOST_SIDE_BY_SIDE and self._all().cell_length <= self.content_size.width

    def render(self) -> Content:
        if self._fits:
            return self._all()
        place = f"  {self.chosen + 1} of {len(self.labels)}"
        return (
            Content.styled("‹ ", "$primary")
            + Content.styled(self.labels[self.chosen], "bold $primary")
            + Content.styled(" ›", "$primary")
            + Content.styled(place, "$muted")
        )

    def choose(self, at: int) -> None:
        at = min(max(at, 0), len(self.labels) - 1)
        if at != self.chosen:
            self.chosen = at
            self.refresh()
            self.post_message(self.Changed())

    def action_move(self, delta: int) -> None:
        self.choose((self.chosen + delta) % len(self.labels) if abs(delta) == 1 else self.chosen + delta)

    def on_click(self, event: events.Click) -> None:
        if not self._fits:
            self.action_move(1)
            return
        at = event.x - self.gutter.left
        for place, label in enumerate(self.labels):
            size = Content(f"● {label}").cell_length
            if at < size + len(GAP):
                self.choose(place)
                return
            at -= size + len(GAP)


LEFT_OUT: Final[Any] = object()
"""In place of a value: the field is not sent."""


class FieldWidget(Vertical):
    """Fills in one field: `read` gives its value or LEFT_OUT, and shows its fault, `problem`, if there is one."""

    DEFAULT_CSS = """
    FieldWidget { height: auto; }
    """

    def __init__(self, field: forms.Field, value: Any = LEFT_OUT, *, label: str | None = None) -> None:
        super().__init__()
        self.field = field
        self.value = value
        self.problem = ""
        self._label = field.name if label is None else label

    def compose(self) -> ComposeResult:
        if self._label:
            yield Static(self._heading(), classes="label")
        yield from self.control()
        yield Static(classes="problem")

    def _heading(self) -> Content:
        field = self.field
        heading = Content.styled(one_line(self._label, 60), "bold $foreground")
        if field.required:
            heading += Content.styled(" *", "bold $warning")
        about = field.about or (field.title if field.title.casefold() != field.name.casefold() else "")
        heading += Content.styled(f"  {field.type_words}", "not bold $accent")
        return heading + Content.styled(f"  {one_line(about, 300)}", "not bold $muted") if about else heading

    @abstractmethod
    def control(self) -> ComposeResult:
        """The widgets that it is filled in with."""

    @abstractmethod
    def is_blank(self) -> bool:
        """Tell whether nothing was filled in."""

    @abstractmethod
    def take(self) -> tuple[Any, str]:
        """Return (value, problem) of what is filled in; this is only asked when the field isn't blank."""

    def read(self) -> Any:
        value, problem = self._blank() if self.is_blank() else self.take()
        self.show_problem(problem)
        return value

    def _blank(self) -> tuple[Any, str]:
        if not self.field.required:
            return LEFT_OUT, ""
        return (None, "") if self.field.nullable else (LEFT_OUT, "required")

    def show_problem(self, problem: str) -> None:
        self.problem = problem
        line = self.query(".problem").last(Static)
        line.update(Content(f"✗ {one_line(problem, 200)}"))
        line.set_class(bool(problem), "-said")

    def first_problem(self) -> FieldWidget | None:
        return self if self.problem else None

    def focus_control(self) -> None:
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return


class TypedWidget(FieldWidget):
    @property
    @abstractmethod
    def text(self) -> str:
        """The text that was typed."""

    def is_blank(self) -> bool:
        return not self.text

    def take(self) -> tuple[Any, str]:
        return forms.parse_scalar(self.field, self.text)

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self) -> None:
        """Show a wrong value at once, but a missing one only when the form is to be sent."""
        if not self.is_blank() or self.problem:
            self.read()


class LineWidget(TypedWidget):
    def control(self) -> ComposeResult:
        value = self.value
        text = "" if value is LEFT_OUT or value is None else value if isinstance(value, str) else json.dumps(value)
        if not safe_text.is_safe(text) or any(sign in text for sign in "\n\r\t"):
            text = json.dumps(text)  # a line can't hold it
        yield Input(
            text,
            select_on_focus=False,
            placeholder="" if self.field.required else "not set",
            password=self.field.secret,
        )

    @property
    def text(self) -> str:
        return self.query_one(Input).value


class LinesWidget(TypedWidget):
    def control(self) -> ComposeResult:
        value = self.value
        if value is LEFT_OUT:
            text = ""
        elif self.field.kind == "json" or not isinstance(value, str):
            text = json.dumps(value, indent=2, ensure_ascii=False)
            if not safe_text.is_safe(text):
                text = json.dumps(value, indent=2)
        else:
            text = value
        area = TextArea(text, compact=True, tab_behavior="focus")
        area.set_class(self.field.kind == "json", "-json")
        yield area

    @property
    def text(self) -> str:
        return self.query_one(TextArea).text

    def is_blank(self) -> bool:
        return not (self.text.strip() if self.field.kind == "json" else self.text)

    @on(TextArea.SelectionChanged)
    def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        self.call_after_refresh(self._follow, event.text_area)

    def _follow(self, area: TextArea) -> None:
        """Bring the cursor into view. The field is as high as its text, so the container scrolls."""
        around = next((one for one in self.ancestors if isinstance(one, VerticalScroll)), None)
        if area.has_focus and around is not None:
            y = area.cursor_screen_offset.y - around.scrollable_content_region.y + round(around.scroll_offset.y)
            around.scroll_to_region(Region(0, y, 1, 1), animate=False, force=True)


class ChoiceWidget(FieldWidget):
    def control(self) -> ComposeResult:
        values = self._values
        chosen = next((at for at, one in enumerate(values) if one is self.value or _same(one, self.value)), 0)
        labels = dict(zip(map(repr, self.field.choices), self.field.labels, strict=False))
        yield ChoiceLine([labels.get(repr(value)) or _label_of(value, self.field.required) for value in values], chosen)

    @property
    def _values(self) -> list[Any]:
        choices: list[Any] = [True, False] if self.field.kind == "switch" else list(self.field.choices)
        if self.field.nullable and None not in choices:
            choices.append(None)
        return [LEFT_OUT, *choices]

    def is_blank(self) -> bool:
        return self.query_one(ChoiceLine).chosen == 0

    def take(self) -> tuple[Any, str]:
        value = self._values[self.query_one(ChoiceLine).chosen]
        return value, self.field.problem(value)

    @on(ChoiceLine.Changed)
    def _changed(self) -> None:
        if self.problem:
            self.read()


class ChoicesWidget(FieldWidget):
    def control(self) -> ComposeResult:
        initial = cast("list[Any]", self.value) if isinstance(self.value, list) else []
        checked = [at for at, choice in enumerate(self.field.choices) if any(_same(choice, one) for one in initial)]
        labels = self.field.labels or tuple(_label_of(choice, required=True) for choice in self.field.choices)
        yield CheckList(labels, checked)

    def is_blank(self) -> bool:
        return not self.query_one(CheckList).checked and not self.field.required and not self.field.default

    def take(self) -> tuple[Any, str]:
        value = [self.field.choices[at] for at in self.query_one(CheckList).checked]
        return value, self.field.problem(value)

    @on(CheckList.Changed)
    def _changed(self) -> None:
        if self.problem:
            self.read()


class ObjectWidget(FieldWidget):
    def control(self) -> ComposeResult:
        initial = cast("Mapping[str, Any]", self.value) if isinstance(self.value, Mapping) else None
        with Vertical(classes="inner" if self._label else "outer"):
            for field in self.field.fields:
                yield widget_for(field, first_value(field) if initial is None else initial.get(field.name, LEFT_OUT))
            if not self.field.fields:
                yield Static("It takes no arguments.", classes="note")

    @property
    def widgets(self) -> list[FieldWidget]:
        return [child for child in self.query_one(".inner, .outer").children if isinstance(child, FieldWidget)]

    def is_blank(self) -> bool:
        """The arguments of a tool are an object even when it is empty."""
        return bool(self._label) and all(widget.is_blank() for widget in self.widgets)

    def _blank(self) -> tuple[Any, str]:
        for widget in self.widgets:
            widget.show_problem("")
        if self.field.required and not self.field.nullable:
            return self.take()
        return super()._blank()

    def take(self) -> tuple[Any, str]:
        values = {widget.field.name: widget.read() for widget in self.widgets}
        return {name: value for name, value in values.items() if value is not LEFT_OUT}, ""

    def first_problem(self) -> FieldWidget | None:
        return next((found for widget in self.widgets if (found := widget.first_problem())), super().first_problem())


class ListWidget(FieldWidget):
    def control(self) -> ComposeResult:
        listed = cast("list[Any]", self.value) if isinstance(self.value, list) else []
        with Vertical(classes="inner"):
            for value in listed:
                yield ItemWidget(self._item(value))
        yield _button("+ add one", "add")

    def _item(self, value: Any) -> FieldWidget:
        assert self.field.item is not None
        return widget_for(self.field.item, value, label="")

    @property
    def items(self) -> list[ItemWidget]:
        return [child for child in self.query_one(".inner").children if isinstance(child, ItemWidget)]

    def is_blank(self) -> bool:
        """An empty list is left out where it may be, unless something stands in its place then."""
        return not self.items and not self.field.required and not self.field.default

    def take(self) -> tuple[Any, str]:
        values = [item.widget.read() for item in self.items]
        return values, self.field.problem(values)

    def first_problem(self) -> FieldWidget | None:
        inner = (item.widget.first_problem() for item in self.items)
        return next((found for found in inner if found), super().first_problem())

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.has_class("add"):
            assert self.field.item is not None
            item = ItemWidget(self._item(first_value(self.field.item)))
            await self.query_one(".inner").mount(item)
            item.widget.focus_control()
        elif event.button.has_class("remove") and isinstance(event.button.parent, ItemWidget):
            await event.button.parent.remove()
            self.query(".add").last(Button).focus()
        self.show_problem("")


class ItemWidget(Horizontal):
    def __init__(self, widget: FieldWidget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget
        yield _button("remove", "remove")


def _button(label: str, name: str) -> Button:
    button = Button(label, compact=True, classes=name)
    button.active_effect_duration = 0  # while it looks pressed, it would take no other press
    return button


def widget_for(field: forms.Field, value: Any = LEFT_OUT, *, label: str | None = None) -> FieldWidget:
    """The widget of a field; a value that its own control can't show is shown as JSON."""
    if value is not LEFT_OUT and value is not None and not _shows(field, value):
        as_json = forms.Field(field.name, "json", field.title, field.about, field.required, field.nullable)
        return LinesWidget(as_json, value, label=label)
    match field.kind:
        case "text" if isinstance(value, str) and (len(value) > LONGEST or "\n" in value or "\t" in value):
            return LinesWidget(replace(field, kind="lines"), value, label=label)
        case "text" | "number" | "integer":
            return LineWidget(field, value, label=label)
        case "lines" | "json":
            return LinesWidget(field, value, label=label)
        case "switch" | "choice":
            return ChoiceWidget(field, value, label=label)
        case "object":
            return ObjectWidget(field, value, label=label)
        case "list":
            return ListWidget(field, value, label=label)
        case "choices":
            return ChoicesWidget(field, value, label=label)


def _shows(field: forms.Field, value: Any) -> bool:
    match field.kind:
        case "text" | "lines":
            return isinstance(value, str) and safe_text.is_safe(value)
        case "number" | "integer":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "switch":
            return isinstance(value, bool)
        case "choice":
            return any(_same(value, choice) for choice in field.choices)
        case "object":
            known = {inner.name for inner in field.fields}
            return isinstance(value, Mapping) and cast("Mapping[str, Any]", value).keys() <= known
        case "list":
            return isinstance(value, list)
        case "choices":
            listed = cast("list[Any]", value) if isinstance(value, list) else [value]
            at_once = field.choices[:MOST_LINES]
            return all(any(_same(one, choice) for choice in at_once) for one in listed)
        case "json":
            return True


def first_value(field: forms.Field) -> Any:
    return LEFT_OUT if field.default is None else field.default


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _label_of(value: Any, required: bool) -> str:
    if value is LEFT_OUT:
        return "not chosen" if required else "not set"
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False)
