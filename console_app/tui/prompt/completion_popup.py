"""The list above the prompt while something is being completed. It never has the focus: the prompt hands it keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from console_app.console.completion import Completion
from console_app.domain.safe_text import one_line

WIDEST_LABEL = 48  # cells


class CompletionPopup(OptionList, can_focus=False):
    """Shows completions; `highlighted` is the one that Tab or Enter takes."""

    DEFAULT_CSS = """
    CompletionPopup {
        height: auto; max-height: 9; padding: 0 1; margin: 0 1; display: none;
        border: round $muted; background: $background; scrollbar-size-vertical: 1;
        border-title-color: $foreground; border-title-style: none; text-wrap: nowrap; text-overflow: ellipsis;
    }
    CompletionPopup.-open { display: block; }
    CompletionPopup > .option-list--option { padding: 0 1; }
    """

    @dataclass
    class Clicked(Message):
        """A completion was clicked."""

        completion: Completion

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._completions: Sequence[Completion] = ()
        self._moved = False  # what is chosen was moved to, since the list is for this text

    @property
    def is_open(self) -> bool:
        """Whether it is on screen."""
        return self.has_class("-open")

    @property
    def completions(self) -> Sequence[Completion]:
        """What it shows."""
        return self._completions

    def show(
        self, completions: Sequence[Completion], highlight: bool = True, title: str = "", *, more: bool = False
    ) -> None:
        """Opens with `completions`, or closes when there are none. What you moved to stays chosen while it is there:
        when there are `more` for the same text, and for any text where nothing else would be chosen."""
        self._moved = self._moved and more
        moved_to = self.chosen if self._moved or not highlight else None
        self._completions = completions
        self.border_title = Content(one_line(title, 200))  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)
        self.set_class(bool(completions), "-open")
        self.clear_options()
        if completions:
            widest = min(max(cell_len(one_line(c.label, 200)) for c in completions), WIDEST_LABEL)
            self.add_options(Option(_row(completion, widest)) for completion in completions)
            first = 0 if highlight else None
            self.highlighted = completions.index(moved_to) if moved_to in completions else first

    def move(self, delta: int) -> None:
        """Up or down, round the ends."""
        if self._completions:
            place = -1 if self.highlighted is None and delta > 0 else self.highlighted or 0
            self.highlighted = (place + delta) % len(self._completions)
            self._moved = True

    @property
    def chosen(self) -> Completion | None:
        """The highlighted completion."""
        return None if self.highlighted is None or not self.is_open else self._completions[self.highlighted]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self.post_message(self.Clicked(self._completions[event.option_index]))


def _row(completion: Completion, width: int) -> Content:
    label = one_line(completion.label, 200)
    about = f"  {' ' * max(width - cell_len(label), 0)}{one_line(completion.about, 300)}" if completion.about else ""
    return Content(label) + Content.styled(about, "$muted")
