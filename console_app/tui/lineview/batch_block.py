"""The line above several calls: how they stand, how long it took, and what running them at once saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.style import Style

from console_app.domain import amounts, call_description
from console_app.domain.transcript import times
from console_app.tui.lineview.block import Block, framed, gutter_of, margin_of
from console_app.tui.lineview.call_group import CallGroup
from console_app.tui.lineview.lines import Line, Piece, Row, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import COUNTED, counted, counted_as

WORTH_SAYING = 0.1  # seconds saved
FAILURES = ("failed", "timed out", "invalid", "interrupted")
NOT_DONE = ("cancelled", "denied", "blocked", "skipped")


class BatchBlock(Block):
    """The header of an answer's calls. Takes no room while there is only one."""

    def __init__(self, group: CallGroup) -> None:
        super().__init__()
        self.group = group
        self._told = -1  # the version of the group that its other blocks were last painted anew for

    def changed_too(self) -> Sequence[Block]:
        told, self._told = self._told, self.group.version
        return () if told == self._told else self.group.members

    @property
    def live(self) -> bool:
        return self.group.has_header and self.group.is_open

    @property
    def sticks(self) -> bool:
        return self.group.has_header and not self.group.ended

    def look(self) -> tuple[object, ...]:
        return self.group.version, len(self.group.calls), self.group.batch.wall_ms

    def estimate(self, width: int) -> int:
        return 1 + self.gap if self.group.has_header else 0

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.group.has_header:
            return []
        gutter = gutter_of(width)
        room = max(width - gutter - margin_of(width), 1)
        times = self._time_pieces(now, palette)
        head: list[Piece] = []
        for counts in (self._counts(), self._fewer_counts()):
            head = [(f"{len(self.group.calls)} calls", palette.strong)]
            for count, word in counts:
                head += [(" · ", palette.faint), (counted(count, word), self._ink(word, palette))]
            if pieces_width(head) <= room:  # times go before a name does
                break
        for pieces in times:
            if pieces_width(head) + pieces_width(pieces) > room:
                break
            head += pieces
        return [framed(Row(crop(head, room)), width, palette, [(" " * gutter, palette.base)] if gutter else [])]

    def _time_pieces(self, now: float, palette: Palette) -> list[list[Piece]]:
        """What is said of the time; each is said whole or not at all, and none without the one before it."""
        wall, saved = self._times(now)
        if wall is None:
            return []
        dot: Piece = (" · ", palette.faint)
        said: list[list[Piece]] = [
            [dot, (amounts.seconds(wall) if self.group.is_open else amounts.measured(wall), palette.base)]
        ]
        if saved > WORTH_SAYING:
            said += [
                [dot, (f"{amounts.seconds(saved)} faster", palette.success)],
                [(" than sequential", palette.muted)],
            ]
        return said

    def _counts(self) -> list[tuple[int, str]]:
        found = Counter(counted_as(call) for call in self.group.calls)
        return [(found[word], word) for word in COUNTED if found[word]]

    def _fewer_counts(self) -> list[tuple[int, str]]:
        """The counts in fewer words: all that went wrong as one number, all that was not done as another."""
        counts = self._counts()
        several = sum(word in NOT_DONE for _, word in counts) > 1  # one kind keeps its own word
        merged: dict[str, int] = {}
        for count, word in counts:
            name = "failed" if word in FAILURES else "not done" if several and word in NOT_DONE else word
            merged[name] = merged.get(name, 0) + count
        return [(count, word) for word, count in merged.items()]

    def _ink(self, word: str, palette: Palette) -> Style:
        if word in FAILURES:
            return palette.error
        if word in call_description.NEEDS:
            return palette.warning
        return palette.secondary if word == "running" else palette.muted

    def _times(self, now: float) -> tuple[float | None, float]:
        """How long it took in seconds, None before anything ran, and how much longer one after the other would have
        taken. What only waited for a person is in neither."""
        calls = self.group.calls
        ran = [stretch for call in calls for stretch in times.runs(call, now)]
        if not ran:
            return None, 0.0
        return times.elapsed(calls, now), sum(end - since for since, end in ran) - times.covered(ran)
