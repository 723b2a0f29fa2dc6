"""The messages of a server as rows: what a filter leaves of them, each as one line, and all of them as JSONL."""

from __future__ import annotations

import json
import re
import time

from console_app.console.reports.wire_text import READ, Redact, brief
from console_app.domain.amounts import measured, size
from console_app.domain.safe_text import one_line
from console_app.mcp_client.traffic import RawMessage, Traffic
from console_app.tui.lineview.lines import Line, Piece, crop, fit, pieces_width
from console_app.tui.lineview.palette import Palette

METHOD = 27  # cells; the longest of the protocol that is common: notifications/progress
WIDE = 100  # cells from which on a row says what is in the message
SUBJECT = 6  # cells below which nothing of what a message is about is to be seen
_SUBJECT = re.compile(rb'"params"\s*:\s*\{.*?"(?:name|uri|data|message|reason)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)


class WireRows:
    """Those of `traffic` that fit a filter, kept up by `look`. Nothing is read twice, whatever comes in."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._last = 0
        self.method = ""
        self.words: list[str] = []
        self.rows: list[RawMessage] = []

    def filter(self, words: str, method: str) -> None:
        """Leaves messages of a method ("" for all) that hold all of the words, in whatever case."""
        self.words, self.method = words.casefold().split(), method
        self.rows, self._last = [], 0
        self.look()

    def look(self) -> bool:
        """Takes in what came since; whether anything changed."""
        if self._last == self._traffic.revision:
            return False
        first = self._traffic.first
        if self.rows and self.rows[0].number < first:
            self.rows = [row for row in self.rows if row.number >= first]
        self.rows += [one for one in self._traffic.after(self._last) if self._fits(one)]
        self._last = self._traffic.revision
        return True

    @property
    def unseen(self) -> int:
        """How many came since the last look."""
        return self._traffic.revision - self._last

    def methods(self) -> dict[str, int]:
        """Every method there is, with how many messages it has."""
        found: dict[str, int] = {}
        for one in self._traffic.after(0):
            found[one.method] = found.get(one.method, 0) + 1
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def _fits(self, message: RawMessage) -> bool:
        if self.method and message.method != self.method:
            return False
        if not self.words:
            return True
        text = f"{message.method} {message.raw.decode('utf-8', 'replace')}".casefold()
        return all(word in text for word in self.words)


def paint_row(message: RawMessage, width: int, palette: Palette, redact: Redact, *, chosen: bool) -> Line:
    """One message as a line: time, direction, method, id, how long the answer took, size, how it begins."""
    arrow, ink = ("→", palette.accent) if message.sent else ("←", palette.secondary)
    kind = "" if message.kind in ("request", "notification") else f" {message.kind}"
    at = time.strftime("%H:%M:%S", time.localtime(message.at)) + f".{int(message.at % 1 * 1000):03}"
    id = "" if message.id is None else f"#{one_line(str(message.id), 8)}"
    took = measured(message.seconds) if message.seconds is not None else ""
    left: list[Piece] = [
        ("▌" if chosen else " ", palette.primary),
        (f"{at} ", palette.muted),
        (f"{arrow} ", ink),
        (one_line(message.method or "?", METHOD), palette.strong if chosen else palette.base),
        (kind, palette.error if message.kind == "error" else palette.success),
    ]
    room = min(17 + METHOD + 7, width - 23)  # what stands behind it is left whole
    gap = room - pieces_width(left)
    if width < WIDE and gap > SUBJECT and (about := one_line(redact(subject(message)), gap - 1)):
        left.append((f" {about}", palette.muted))
        gap = room - pieces_width(left)
    if gap > 0:
        left.append((" " * gap, palette.base))
    left = crop(left, room)
    left += [(f" {id:<6}", palette.muted), (f"{took:>7}", palette.base), (f" {size(message.size):>7}", palette.muted)]
    if width >= WIDE:
        left.append((f"  {one_line(brief(message, redact), width)}", palette.muted))
    return fit(crop(left, width - 1), width, palette.base)


def subject(message: RawMessage) -> str:
    """What a request or a notice is about, in a word: the tool, the address, the line of a log; "" where it says none
    of these, or only far behind."""
    found = _SUBJECT.search(message.raw[:READ]) if message.kind in ("request", "notification") else None
    if found is None:
        return ""
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return ""
