"""Tells whoever looks at another window: notifications of the terminal, and the title of its window.

Nothing foreign is in either: both are control strings, so what stands in them is safe text in one line, without the
semicolons that divide their parts. `edge` lets through these shapes and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from console_app.domain import one_line

if TYPE_CHECKING:
    from console_app.console import AttentionSettings

LONGEST = 120  # characters of a title or a notification
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"  # xterm's stack of titles; others take no notice


class Attention:
    """Tells you that a console needs you, while its terminal has no focus as far as `focused` knows. `write` takes each
    sequence in one piece."""

    def __init__(self, settings: AttentionSettings, write: Callable[[str], None], focused: Callable[[], bool]) -> None:
        self._settings = settings
        self._write = write
        self._focused = focused
        self._title = ""
        self._waits = False  # that something waits was said, and nothing was decided since

    def waits(self, what: str) -> None:
        """Tell you once that something waits for a person, however much comes to wait beside it."""
        if self._focused():
            self._waits = False
        elif not self._waits:
            self._waits = True
            self._notify(what)

    def decided(self) -> None:
        """Note that you answered: the next call or question to wait is told of again."""
        self._waits = False

    def ended(self, what: str) -> None:
        self._waits = False
        if not self._focused():
            self._notify(what)

    def name(self, model: str, state: str = "") -> None:
        """Name the window after what it is, what it does, and which model answers."""
        title = _plain(" · ".join(part for part in ("fanout", state, model) if part))
        if self._settings.title and title != self._title:
            self._title = title
            self._write(f"\x1b]2;{title}\x07")

    def _notify(self, what: str) -> None:
        for sequence in sequences(self._settings, what):
            self._write(sequence)


def sequences(settings: AttentionSettings, what: str) -> Iterator[str]:
    text = _plain(f"Fanout: {what}")  # a number at its beginning would be another command of OSC 9
    for kind in settings.notifications:
        match kind:
            case "bell":
                yield "\x07"
            case "osc9":
                yield _wrapped(f"\x1b]9;{text}\x07", settings)
            case "osc777":
                yield _wrapped(f"\x1b]777;notify;Fanout;{text.removeprefix('Fanout: ')}\x07", settings)


def _wrapped(sequence: str, settings: AttentionSettings) -> str:
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\" if settings.tmux else sequence


def _plain(text: str) -> str:
    return one_line(text.replace(";", ","), LONGEST)
