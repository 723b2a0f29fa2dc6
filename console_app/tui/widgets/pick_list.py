"""A list to pick one thing from by typing and arrows; models, themes and older prompts are a few lines on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from console_app.domain import one_line
from console_app.tui.widgets.dialog import Dialog


class SearchedList(OptionList, can_focus=False):
    """Shows what fits the words in the field above it, from where its keys come."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    @staticmethod
    def best(query: str, names: Iterable[str], limit: int) -> list[str]:
        """`names` that match `query` fuzzily, best first; all of them, in their order, for an empty query."""
        if not query:
            return list(names)[:limit]
        match, begin = FuzzySearch().match, query.casefold()
        doubled = ((match(query, name)[0] * (1 + name.casefold().startswith(begin)), name) for name in names)
        scored = [(score, -order, name) for order, (score, name) in enumerate(doubled)]
        return [name for score, _, name in sorted(scored, reverse=True) if score > 0][:limit]

    @staticmethod
    def keys(dialog: str) -> list[Binding]:
        return [
            Binding("up,ctrl+p", "move(-1)", "up", id=f"{dialog}.up", show=False, priority=True),
            Binding("down,ctrl+n", "move(1)", "down", id=f"{dialog}.down", show=False, priority=True),
            Binding("pageup", "move(-10)", "page up", id=f"{dialog}.page_up", show=False, priority=True),
            Binding("pagedown", "move(10)", "page down", id=f"{dialog}.page_down", show=False, priority=True),
        ]

    def move(self, delta: int) -> None:
        """Move the highlight; single steps go round the ends."""
        if count := self.option_count:
            place = (self.highlighted if self.highlighted is not None else -1) + delta
            self.highlighted = place % count if abs(delta) == 1 else max(0, min(place, count - 1))


MOST_SHOWN = 200


class PickList(Dialog[str | None]):
    """Gives one of the names in `choices`, each with what stands behind it. Typing filters by the text of a row, its
    name first; arrows move, Enter picks, Escape gives None. With `free_text` the typed words are a result where no name
    fits."""

    DEFAULT_CLASSES = "dialog -list"
    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "cancel", id="list.close"),
        *SearchedList.keys("list"),
    ]

    def __init__(
        self,
        title: str,
        choices: Mapping[str, str],
        *,
        current: str = "",
        hint: str = "type to search",
        note: str = "",
        free_text: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._shown: list[str] = []
        self._current = current
        self._hint = hint
        self._note = note
        self._free_text = free_text

    def compose(self) -> ComposeResult:
        with self.box(self._title, "enter select · esc cancel"):
            yield Input(placeholder=self._hint)
            yield SearchedList()
            yield Static(classes="dialog--note")

    def on_mount(self) -> None:
        self._fill("")

    def offer(self, choices: Mapping[str, str], note: str = "") -> None:
        self._choices = choices
        self._note = note
        self._fill(self.query_one(Input).value)

    def highlighted(self, name: str) -> None:
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
            self.dismiss(self._shown[index])
        elif self._free_text and event.value.strip():
            self.typed(event.value.strip())

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._shown):
            self.highlighted(self._shown[event.option_index])

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index])

    def _fill(self, query: str) -> None:
        found = dict.fromkeys(SearchedList.best(query, self._choices, MOST_SHOWN))
        if query and not self._free_text:
            places = {name: about.lower().find(query.lower()) for name, about in self._choices.items()}
            fits = sorted((name for name, place in places.items() if place >= 0), key=places.__getitem__)
            found |= dict.fromkeys(fits[: MOST_SHOWN - len(found)])
        self._shown = list(found)
        note = "No match" if query and not self._shown and not self._free_text else self._note
        line = self.query_one(".dialog--note", Static)
        line.update(Content(one_line(note)))
        line.display = bool(note)
        options = self.query_one(OptionList)
        options.clear_options()
        widest = min(max((len(one_line(name, 60)) for name in self._shown), default=0), 44)
        options.add_options(Option(self._row(name, widest)) for name in self._shown)
        if self._shown:
            options.highlighted = self._shown.index(self._current) if self._current in found and not query else 0

    def _row(self, name: str, widest: int) -> Content:
        mark = Content.styled("● ", "$primary") if name == self._current else Content("  ")
        row = mark + Content(f"{one_line(name, 400):<{widest}}")
        about = self._choices[name]
        return row + Content.styled(f"  {one_line(about, 120)}", "$muted") if about else row
