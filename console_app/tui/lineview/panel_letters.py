"""Tell a letter that was meant for a panel from the first of a word: two letters within 0.3 s are typing.

A letter that opens something else, or has a consequence, acts once no other came behind it; one with a consequence only
after the row has had the focus for half a second. No widget is needed, only a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, Protocol

from textual.binding import Binding, BindingType

TOGETHER = 0.3  # seconds between two letters of a word, at most
SETTLED = 0.5  # seconds that a row has had the focus before a letter changes something that runs
TOO_EARLY = "{} counts once the row has had the focus for half a second. Press it again."
_WALKS = frozenset({"panel.previous", "panel.next", "find.next", "find.previous"})
_ACTS_AT_ONCE = frozenset({"panel.toggle", "panel.more", "panel.raw", "panel.filter", "panel.failed", "panel.help"})
_HAS_A_CONSEQUENCE = frozenset(
    {"panel.cancel", "panel.retry", "panel.retry_all", "panel.edit", "panel.send", "panel.background"}
)


class Timer(Protocol):
    """A call that comes after a while."""

    def stop(self) -> None: ...


Later = Callable[[float, Callable[[], object]], Timer]
"""Runs something after so many seconds."""


class PanelLetters:
    """Judges the letters of one view. `later` has what was held back come when its time is over."""

    def __init__(self, later: Later, now: Callable[[], float] = time.monotonic) -> None:
        self._later, self._now = later, now
        self._first, self._at = "", float("-inf")
        self._held: Timer | None = None
        self._here_since = now()

    def moved(self) -> None:
        """Note that another row has the focus."""
        self._here_since = self._now()
        self._forget()

    def judge(self, letter: str, binding: str, act: Callable[[], object]) -> Literal["passes", "held", "early"] | str:
        """Tell whether a letter passes to its binding, is held back until `act` runs, or came too early. Any other word
        is typed text for the prompt."""
        now, first = self._now(), self._first
        together = first != "" and now - self._at < TOGETHER
        if together and letter == first:  # the key is held down, or goes on
            return "passes" if binding in _ACTS_AT_ONCE else "held"
        if together:
            self._forget()
            return first + letter
        if binding in _WALKS:
            return "passes"
        self._forget()
        self._first, self._at = letter, now
        if binding in _ACTS_AT_ONCE:
            return "passes"
        if binding in _HAS_A_CONSEQUENCE and now - self._here_since < SETTLED:
            return "early"
        self._held = self._later(TOGETHER, act)
        return "held"

    def _forget(self) -> None:
        if self._held is not None:
            self._held.stop()
        self._first, self._held = "", None


KEYS: list[BindingType] = [
    Binding("enter", "menu", "menu", tooltip="what can be done with a call", id="panel.menu"),
    Binding("o,space,enter", "toggle_block('open')", "open", id="panel.toggle"),
    Binding("o,space,enter", "toggle_block('close')", "close", id="panel.toggle"),
    Binding("x", "call('cancel')", "stop", id="panel.cancel"),
    Binding("r", "call('retry')", "run again", id="panel.retry"),
    Binding(
        "R", "call('retry_all')", "run all that was cut off", tooltip="run what was cut off again", id="panel.retry_all"
    ),
    Binding("e", "call('edit')", "change and run", id="panel.edit"),
    Binding("n", "screen.find_step(1)", "next match", id="find.next"),
    Binding("N", "screen.find_step(-1)", "previous match", id="find.previous"),
    Binding("m", "result('more')", "more", id="panel.more"),
    Binding("v", "result('raw')", "raw", tooltip="a result as it came", id="panel.raw"),
    Binding("v", "result('rendered')", "rendered", tooltip="a result as what it is", id="panel.raw"),
    Binding("c", "copy", "copy", id="panel.copy"),
    Binding(
        "C", "screen.copy_part", "copy part", tooltip="copy a part: code, a table, arguments", id="panel.copy_part"
    ),
    Binding("i", "call('inspect')", "look inside", id="panel.inspect"),
    Binding("plus", "call('extend')", "more time", id="panel.extend"),
    Binding("b", "call('background')", "to the background", id="panel.background"),
    Binding("s", "call('send')", "send partial results", id="panel.send"),
    Binding("f", "files", "files", tooltip="open a file or a link of a result", id="panel.files"),
    Binding("t", "filter", "filter", tooltip="filter by state: one, the next, then all", id="panel.filter"),
    Binding("exclamation_mark", "failed", "next failed", tooltip="select the next failed call", id="panel.failed"),
    Binding(
        "right", "result('unfold')", "unfold", tooltip="open a result's tree one level", id="panel.unfold", show=False
    ),
    Binding("left", "result('fold')", "fold", tooltip="fold a result's tree one level", id="panel.fold", show=False),
    Binding("question_mark", "screen.command('help')", "help", id="panel.help", show=False),
    Binding("escape", "leave", "back", tooltip="back to the prompt", id="panel.leave"),
    Binding("alt+up,k", "cursor(-1)", "previous panel or message", id="panel.previous", show=False),
    Binding("alt+down,j", "cursor(1)", "next panel or message", id="panel.next", show=False),
    Binding("up", "walk(-1)", "call above, or line up", id="conversation.up", show=False),
    Binding(
        "down", "walk(1)", "call below, or line down; from the last to the prompt", id="conversation.down", show=False
    ),
    Binding("pageup", "page(-1)", "page up", id="conversation.page_up", show=False),
    Binding("pagedown", "page(1)", "page down", id="conversation.page_down", show=False),
    Binding("home", "scroll_home", "first line", id="conversation.home", show=False),
    Binding("end", "scroll_end", "last line", id="conversation.end", show=False),
]
