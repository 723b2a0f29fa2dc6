"""The part of a turn's time that is on screen, and where its seconds lie on so many cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

SHORTEST = 0.02  # seconds that a window shows at least
TICK_CELLS = 11  # cells between two ticks, about
ZOOM = 1.6


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds since the epoch from `begin` to `end`, of a turn that goes from `first` to `last`."""

    first: float
    last: float
    begin: float
    end: float

    @classmethod
    def whole(cls, first: float, last: float) -> Window:
        """Everything at once."""
        return cls(first, last, first, last)

    @property
    def zoomed(self) -> bool:
        """Whether only a part is shown."""
        return self.begin > self.first or self.end < self.last

    @property
    def seconds(self) -> float:
        """How much time is shown."""
        return self.end - self.begin

    def grown(self, first: float, last: float) -> Window:
        """The same for a turn that went on: the whole stays the whole, and the end stays in view where it was."""
        if not self.zoomed:
            return Window.whole(first, last)
        if self.end >= self.last:
            return Window(first, last, max(last - self.seconds, first), last)
        return replace(self, first=first, last=last)

    def zoom(self, steps: int, around: float | None = None) -> Window:
        """Closer by `steps` (negative: further away), about a moment or the middle."""
        whole = self.last - self.first
        size = min(max(self.seconds / ZOOM**steps, SHORTEST), whole)
        if size >= whole:
            return Window.whole(self.first, self.last)
        middle = self.begin + self.seconds / 2 if around is None else around
        share = (middle - self.begin) / self.seconds if self.begin <= middle <= self.end else 0.5
        return self._at(middle - share * size, size)

    def pan(self, share: float) -> Window:
        """Moved by a share of its own length, within the turn."""
        return self._at(self.begin + share * self.seconds, self.seconds)

    def show(self, begin: float, end: float) -> Window:
        """Moved, by as little as it takes, so that a stretch of time is seen; its beginning if it is too long."""
        if begin < self.end and end > self.begin:
            return self
        return self._at(begin if begin < self.begin else min(begin, end - self.seconds), self.seconds)

    def _at(self, begin: float, size: float) -> Window:
        begin = min(max(begin, self.first), self.last - size)
        return replace(self, begin=begin, end=begin + size)

    def cell(self, at: float, cells: int) -> float:
        """Where a moment lies on `cells` cells; below 0 or above `cells` when it is not shown."""
        return (at - self.begin) / self.seconds * cells


def ticks(window: Window, cells: int, apart: int = TICK_CELLS) -> list[tuple[int, str]]:
    """(cell, label) of the ticks: round seconds after the turn's first call."""
    if cells <= 0:
        return []
    step = _round_step(window.seconds / max(cells / apart, 1))
    found: list[tuple[int, str]] = []
    number = math.ceil((window.begin - window.first) / step - 1e-9)
    while (at := window.first + number * step) <= window.end + step * 1e-6:
        cell = int(window.cell(at, cells) + 1e-6)
        if cell < cells:
            found.append((cell, clock(number * step, step)))
        number += 1
    return found


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten, or of round minutes, that is at least `least` seconds."""
    for step in (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0):
        if least > 30 and step >= least:
            return step
    power = 10.0 ** math.floor(math.log10(max(least, 0.001)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * 0.999)


def clock(seconds: float, step: float) -> str:
    """A moment on the axis: `0`, `250 ms`, `1.5 s`, `2:30`."""
    if seconds < step / 2:
        return "0"
    if step >= 60 or seconds >= 600:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    if step < 0.1 and seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{seconds:.{digits}f} s"
