"""The keys that go somewhere in the conversation: to a call, a turn, a match, a page, or to what waits for you."""

from __future__ import annotations

from typing import Literal, assert_never

from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.bars.find_bar import FindBar
from console_app.tui.main_screen.base import MainScreen
from console_app.tui.main_screen.console_ui import ConsoleUi

Place = Literal["panel", "call", "failure", "turn", "failed", "page"]


class KeysThatGo:
    """Moves through the conversation of one chat screen, by the keys that go to a place."""

    def __init__(self, screen: MainScreen, ui: ConsoleUi) -> None:
        self._screen = screen
        self._ui = ui

    @property
    def _view(self) -> ConversationView:
        return self._ui.view

    def go(self, place: Place, number: int) -> None:
        """Go to a panel, a page, a turn or a failed call so many on, or to a call of the newest answer, or to the next
        failure.

        Where there is none, that is said.
        """
        view, talking = self._view, self._ui.talking
        missing = ""
        match place:
            case "page":
                self._scroll(number)
            case "turn" | "failed":
                missing = self._screen.query_one(FindBar).jump(place, number)
            case "panel":
                missing = "There is no call yet." if talking and not view.enter(number) else ""
            case "call":
                missing = f"The newest answer has no call {number}." if talking and not view.enter_call(number) else ""
            case "failure":
                missing = "No call failed." if talking and not view.action_failed() else ""
            case _:
                assert_never(place)
        if missing:
            self._ui.toast(missing, 2)

    def _scroll(self, direction: int) -> None:
        target = self._view if self._ui.talking else self._screen.welcome
        if direction < 0:
            target.scroll_page_up(animate=False)
        else:
            target.scroll_page_down(animate=False)

    def find(self, words: str) -> None:
        """Opens the line that looks for words."""
        if self._ui.talking:
            self._screen.query_one(FindBar).open(words)
        else:
            self._ui.toast("There is nothing to search yet.")

    def out_of_prompt(self) -> None:
        """Go to the board that waits for you, else to the conversation."""
        if not self.to_what_waits() and self._ui.talking and not self._view.enter():
            self._view.focus()

    def to_what_waits(self) -> bool:
        """Go to the board that waits for you. Return False where none does, or it has the focus already."""
        board = self._ui.shown.boards.wanted
        if board is None or board.has_focus_within:
            return False
        board.focus()
        return True
