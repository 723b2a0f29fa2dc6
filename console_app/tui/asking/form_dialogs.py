"""Dialogs with a form: of a tool that is called by hand, made from its schema, or the JSON itself; and of texts that a
server asks for, the arguments of a prompt, or the names in a resource template.

Several calls can be sent at once. What a server proposes for a field appears behind the cursor as it is typed.
"""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import Input, Static

from console_app.config.files import disk
from console_app.domain import ConfigError, ToolSpec, one_line, plural, safe_text
from console_app.domain import schema as json_schema
from console_app.domain.schema import forms
from console_app.engine import ManualCall
from console_app.mcp_client import PromptArgument
from console_app.records import dataclass
from console_app.tui.asking.consent import Confirm
from console_app.tui.asking.field_widgets import (
    LEFT_OUT,
    FieldWidget,
    LinesWidget,
    LineWidget,
    ObjectWidget,
    widget_for,
)
from console_app.tui.lineview import brief_arguments
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.pick_list import PickList


async def _rest(app: App[int], calls: list[ManualCall]) -> list[ManualCall]:
    if not calls:
        return []
    question = f"{plural(len(calls), 'call')} filled in already and not sent."
    answer = await app.push_screen_wait(Confirm("Calls", question, {"r": "run", "d": "drop"}))
    return calls if answer == "r" else []


@dataclass(frozen=True, slots=True)
class Filled:
    call: ManualCall
    then: Literal["run", "another"]


Result = TypeVar("Result")


class FormDialog(Dialog[Result]):
    DEFAULT_CLASSES = "dialog form"

    def __init__(self, title: str, about: str, widget: FieldWidget, beside: Content | None = None) -> None:
        super().__init__()
        self._title = title
        self._about = about
        self._widget = widget
        self._beside = beside

    def compose(self) -> ComposeResult:
        with self.box(self._title):
            if self._about:
                yield Shortened(one_line(self._about, 600), 4, classes="note", id="about")
            if self._beside is not None:
                yield Static(self._beside, classes="note", id="batch")
            with VerticalScroll(can_focus=False):
                yield self._widget
            yield KeyHints()

    def read(self) -> dict[str, Any] | None:
        """Return what is filled in. Where it can't be sent, put the cursor on the error and return None."""
        value = self._widget.read()
        wrong = self._widget.first_problem()
        if wrong is None and not isinstance(value, dict):
            wrong = self._widget
            wrong.show_problem("must be one JSON object, as {}")
        if wrong is not None:
            wrong.focus_control()
            wrong.scroll_visible(animate=False)
            return None
        return cast("dict[str, Any]", value)

    @abstractmethod
    def action_run(self) -> None:
        """Leave with what is filled in, where that can be."""

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.action_run()


ANOTHER = "add it, and fill in one more"


class CallForm(FormDialog[Filled | None], sheets=("form.tcss", "call_form.tcss")):
    """Fills in a call of one tool; None when it was left. `batch` are calls that wait to be sent with it."""

    DEFAULT_CLASSES = "dialog form -tall"
    AUTO_FOCUS = "Input, TextArea, ChoiceLine"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "run", "run", tooltip="run the call, and those added before", id="call.run", priority=True),
        Binding("ctrl+n", "run('another')", "add another", tooltip=ANOTHER, id="call.another", priority=True),
        Binding("f2", "json", "form/JSON", tooltip="fill in the form, or write JSON", id="call.json", priority=True),
        Binding("ctrl+r", "earlier", "earlier calls", id="call.earlier", priority=True),
        Binding("tab", "app.focus_next", "next field", id="call.next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", "field before", id="call.previous", show=False, priority=True),
        Binding("escape", "leave", "back", id="call.back"),
    ]

    @classmethod
    async def fill_in(
        cls,
        app: App[int],
        tools: Sequence[ToolSpec],
        calls_path: Path | None,
        label: str,
        tell: Callable[[str], None],
        arguments: Mapping[str, Any] | None = None,
    ) -> list[ManualCall]:
        """The calls to send; none when it was left. It begins with the tool `label`, filled in with `arguments`."""
        earlier = EarlierCalls(calls_path)
        table = {spec.label: spec for spec in tools}
        if not table:
            tell("No tool is on. Ctrl+L shows the servers.")
            return []
        if label and label not in table:
            tell(f"No tool is called {label}. Pick one.")
        calls: list[ManualCall] = []
        spec = table.get(label)
        while True:
            if spec is None:
                # Those that were called by hand before come first.
                labels = dict.fromkeys((*(label for label in earlier.labels() if label in table), *table))
                waits = f"{plural(len(calls), 'call')} {'waits' if len(calls) == 1 else 'wait'} to be sent with it."
                choices = {label: table[label].description for label in labels}
                picked = await app.push_screen_wait(PickList("Call a tool", choices, note=waits if calls else ""))
                if picked is None:
                    return await _rest(app, calls)
                spec = table[picked]
            first = dict(arguments) if arguments is not None else None
            form = cls(spec, earlier=earlier.of(spec.label), batch=calls, arguments=first)
            filled = await app.push_screen_wait(form)
            if filled is not None:
                calls.append(filled.call)
                earlier.add(filled.call.label, filled.call.arguments)
                if filled.then == "run":
                    return calls
            elif label:
                return await _rest(app, calls)
            spec, label, arguments = None, "", None

    def __init__(
        self,
        spec: ToolSpec,
        *,
        earlier: Sequence[dict[str, Any]] = (),
        batch: Sequence[ManualCall] = (),
        arguments: dict[str, Any] | None = None,
    ) -> None:
        self._spec = spec
        self._form = forms.form_of(spec.input_schema)
        self._raw = forms.Field("", "json", required=True)
        self._earlier = earlier
        first: Any = {} if self._form.kind == "json" else LEFT_OUT  # of a tool that names no arguments: none
        widget = widget_for(self._form, first if arguments is None else arguments, label="")
        waiting = [f"{one_line(call.label, 40)} {brief_arguments(call.arguments, 30)}".rstrip() for call in batch]
        count = f"{len(batch)} more call{'' if len(batch) == 1 else 's'} will run with it: "
        beside = Content.styled(count, "$accent") + Content.styled(" · ".join(waiting), "$foreground")
        title = f"Call {one_line(spec.label, 60)}"
        super().__init__(title, spec.description, widget, beside if batch else None)

    def _fit(self) -> None:
        self.set_class(isinstance(self._widget, ObjectWidget) and not self._form.fields, "-bare")

    def on_mount(self) -> None:
        self._fit()

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter" and self.has_class("-bare"):
            event.stop()
            self.action_run()

    async def _put(self, widget: FieldWidget) -> None:
        place = self.query_one(VerticalScroll)
        await place.remove_children()
        self._widget = widget
        await place.mount(widget)
        self._fit()
        widget.focus_control()

    # -- keys

    def action_run(self, then: Literal["run", "another"] = "run") -> None:
        if (arguments := self.read()) is not None:
            self.dismiss(Filled(ManualCall(self._spec.label, arguments), then))

    async def action_json(self) -> None:
        if isinstance(self._widget, ObjectWidget):
            value = self._widget.read()
            await self._put(LinesWidget(self._raw, value, label=""))
        elif (value := self.read()) is not None:
            await self._put(widget_for(self._form, value, label=""))

    @work(exclusive=True)
    async def action_earlier(self) -> None:
        if not self._earlier:
            self.notify("This tool was not called by hand before.", markup=False)
            return
        by_text = {json.dumps(arguments, ensure_ascii=False): arguments for arguments in self._earlier}
        picked = await self.app.push_screen_wait(PickList("Earlier calls", dict.fromkeys(by_text, "")))
        if picked is not None:
            await self._put(widget_for(self._form, by_text[picked], label=""))


MOST_CALLS = 20  # of a tool
MOST_TOOLS = 200
LARGEST = 20_000  # characters of the arguments of one call; larger ones are not kept


class EarlierCalls:
    """Reads the file when it is asked; failing to write it costs only the history."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def of(self, label: str) -> list[dict[str, Any]]:
        return [one for one in safe_text.as_list(self._read().get(label)) if isinstance(one, dict)]

    def add(self, label: str, arguments: Mapping[str, Any]) -> None:
        if self._path is None or len(json.dumps(dict(arguments))) > LARGEST:
            return
        before = [one for one in self.of(label) if one != dict(arguments)]
        record = {key: value for key, value in self._read().items() if key != label}
        record[label] = [dict(arguments), *before][:MOST_CALLS]
        try:
            disk.write_private(
                self._path, json.dumps(dict(list(record.items())[-MOST_TOOLS:]), ensure_ascii=False) + "\n"
            )
        except ConfigError:
            return

    def labels(self) -> list[str]:
        return list(reversed(self._read()))

    def _read(self) -> dict[str, Any]:
        return {} if self._path is None else disk.object_at(self._path)


PAUSE = 0.15  # seconds of no typing before the server is asked

Propose = Callable[[str, str, dict[str, str]], Awaitable[Sequence[str]]]
"""(field, what is typed of it, the other fields) to what the server proposes."""


class ValuesForm(FormDialog[dict[str, str] | None], sheets=("form.tcss", "values_form.tcss")):
    """Gives the values that were filled in, those left out left out; None for Escape."""

    AUTO_FOCUS = "Input, TextArea"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "run", "go on", id="values.go_on", priority=True),
        Binding("tab", "app.focus_next", "next field", id="values.next", priority=True),
        Binding("shift+tab", "app.focus_previous", "field before", id="values.previous", show=False, priority=True),
        Binding("escape", "leave", "back", id="values.back"),
    ]

    def __init__(
        self,
        title: str,
        about: str,
        arguments: Sequence[PromptArgument],
        initial: Mapping[str, str],
        propose: Propose | None = None,
    ) -> None:
        members = {one.name: {"type": "string", "description": one.description} for one in arguments}
        schema = json_schema.object_of(members, [one.name for one in arguments if one.required])
        super().__init__(one_line(title, 80), about, widget_for(forms.form_of(schema), dict(initial), label=""))
        self._propose = propose

    def on_mount(self) -> None:
        if (propose := self._propose) is not None:
            for line in self.query(LineWidget):
                line.query_one(Input).suggester = _Proposals(self, line, propose)
        empty = [line for line in self.query(LineWidget) if line.field.required and line.is_blank()]
        if empty:
            empty[0].focus_control()

    def action_run(self) -> None:
        if (values := self.read()) is not None:
            self.dismiss(values)


class _Proposals(Suggester):
    """Suggests the first proposal that continues the typed text, once typing has paused."""

    def __init__(self, form: ValuesForm, line: LineWidget, propose: Propose) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._form, self._line, self._propose = form, line, propose

    async def get_suggestion(self, value: str) -> str | None:
        await asyncio.sleep(PAUSE)
        if self._line.query_one(Input).value != value:
            return None
        others = {
            other.field.name: other.query_one(Input).value
            for other in self._form.query(LineWidget)
            if other is not self._line and not other.is_blank()
        }
        for proposed in await self._propose(self._line.field.name, value, others):
            if proposed.startswith(value) and safe_text.is_safe(proposed) and proposed.isprintable():
                return proposed
        return None


class Shortened(Static):
    """Shows at most `most` lines, the last with an ellipsis where there is more."""

    def __init__(self, text: str, most: int, *, classes: str = "", id: str | None = None) -> None:
        super().__init__(Content(text), classes=classes, id=id)
        self._text, self._most = Content(text), most

    def render(self) -> Content:
        width = self.content_size.width
        if width <= 0:
            return self._text
        lines = self._text.wrap(width)
        if len(lines) <= self._most:
            return self._text
        last = Content(" ").join(line.rstrip() for line in lines[self._most - 1 : self._most + 1])
        return Content("\n").join([*lines[: self._most - 1], last.truncate(width, ellipsis=True)])
