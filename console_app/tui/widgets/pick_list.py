"""A list to pick one thing from by typing and arrows; models, themes and older prompts are a few lines on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from console_app.domain import one_line
from console_app.records import dataclass
from console_app.tui.widgets.dialog import Dialog, DialogBox


def best(query: str, names: Iterable[str], limit: int) -> list[str]:
    """`names` that match `query` fuzzily, best first; all of them, in their order, for an empty query."""
    if not query:
        return list(names)[:limit]
    match, begin = FuzzySearch().match, query.casefold()
    doubled = ((match(query, name)[0] * (1 + name.casefold().startswith(begin)), name) for name in names)
    scored = [(score, -order, name) for order, (score, name) in enumerate(doubled)]
    return [name for score, _, name in sorted(scored, reverse=True) if score > 0][:limit]


def list_keys(dialog: str) -> list[Binding]:
    return [
        Binding("up,ctrl+p", "move(-1)", "up", id=f"{dialog}.up", show=False, priority=True),
        Binding("down,ctrl+n", "move(1)", "down", id=f"{dialog}.down", show=False, priority=True),
        Binding("pageup", "move(-10)", "page up", id=f"{dialog}.page_up", show=False, priority=True),
        Binding("pagedown", "move(10)", "page down", id=f"{dialog}.page_down", show=False, priority=True),
    ]


class SearchedList(OptionList, can_focus=False):
    """Has its keys from the field above it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def move(self, delta: int) -> None:
        """Move the highlight; single steps go round the ends."""
        if count := self.option_count:
            place = (self.highlighted if self.highlighted is not None else -1) + delta
            self.highlighted = place % count if abs(delta) == 1 else max(0, min(place, count - 1))


MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """A thing to pick: `value` is the result, `about` is shown behind it."""

    value: str
    about: str = ""


class PickList(Dialog[str | None]):
    """Typing filters by the text of a row, its name first; arrows move, Enter picks, Escape gives None. With
    `free_text` the typed words are a result where no name fits."""

    DEFAULT_CLASSES = "dialog -list"
    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "cancel", id="list.close"),
        *list_keys("list"),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        current: str = "",
        hint: str = "type to search",
        note: str = "",
        free_text: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = list(choices)
        self._shown: list[Choice] = []
        self._current = current
        self._hint = hint
        self._note = note
        self._free_text = free_text

    def compose(self) -> ComposeResult:
        with DialogBox(self._title, "enter select · esc cancel"):
            yield Input(placeholder=self._hint)
            yield SearchedList()
            yield Static(classes="dialog--note")

    def on_mount(self) -> None:
        self._fill("")

    def offer(self, choices: Sequence[Choice], note: str = "") -> None:
        self._choices = list(choices)
        self._note = note
        self._fill(self.query_one(Input).value)

    def highlighted(self, choice: Choice | None) -> None:
        """Called whenever the highlight moves: the theme picker shows how the theme would look."""

    def typed(self, text: str) -> None:
        """Called at Enter with the typed words where nothing fits."""
        self.dismiss(text)

    def action_move(self, delta: int) -> None:
        self.query_one(SearchedList).move(delta)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._fill(event.value.strip())

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        index = self.query_one(OptionList).highlighted
        if index is not None and index < len(self._shown):
            self.dismiss(self._shown[index].value)
        elif self._free_text and event.value.strip():
            self.typed(event.value.strip())

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._shown):
            self.highlighted(self._shown[event.option_index])

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].value)

    def _fill(self, query: str) -> None:
        by_value = {choice.value: choice for choice in self._choices}
        found = dict.fromkeys(best(query, by_value, MOST_SHOWN))
        if query and not self._free_text:
            places = {choice.value: choice.about.lower().find(query.lower()) for choice in self._choices}
            about = sorted((value for value, place in places.items() if place >= 0), key=places.__getitem__)
            found |= dict.fromkeys(about[: MOST_SHOWN - len(found)])
        self._shown = [by_value[value] for value in found]
        note = "No match" if query and not self._shown and not self._free_text else self._note
        line = self.query_one(".dialog--note", Static)
        line.update(Content(one_line(note)))
        line.display = bool(note)
        options = self.query_one(OptionList)
        options.clear_options()
        widest = min(max((len(one_line(c.value, 60)) for c in self._shown), default=0), 44)
        options.add_options(Option(self._row(choice, widest)) for choice in self._shown)
        values = [choice.value for choice in self._shown]
        if self._shown:
            options.highlighted = values.index(self._current) if self._current in values and not query else 0

    def _row(self, choice: Choice, widest: int) -> Content:
        mark = Content.styled("● ", "$primary") if choice.value == self._current else Content("  ")
        row = mark + Content(f"{one_line(choice.value, 400):<{widest}}")
        return row + Content.styled(f"  {one_line(choice.about, 120)}", "$muted") if choice.about else row
