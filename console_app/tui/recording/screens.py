"""What a recording is made of: screens as rows of styled text, and when each was there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from console_app.domain.safe_text import one_line


@dataclass(frozen=True, slots=True)
class Look:
    """Colours as #rrggbb, "" for the screen's own; and how letters stand."""

    ink: str = ""
    ground: str = ""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False


@dataclass(frozen=True, slots=True)
class StyledRun:
    """Text of one look in a row, from a cell on."""

    at: int
    cells: int
    text: str
    look: Look


Row = tuple[StyledRun, ...]


@dataclass(frozen=True, slots=True)
class Screen:
    """What was seen from `at` on, seconds from the beginning."""

    at: float
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """Screens in the order of their times, up to `seconds`; `cut` where the session went on behind them."""

    columns: int
    lines: int
    screens: tuple[Screen, ...]
    seconds: float
    cut: bool = False

    def thinned(self) -> Recording:
        """With half of the screens; the first and the last stay."""
        kept = (*self.screens[:-1:2], self.screens[-1])
        return Recording(self.columns, self.lines, kept, self.seconds, self.cut)


def row_of(segments: Iterable[Segment]) -> Row:
    """A line of a screen, neighbours of one look joined."""
    return tuple(_joined(segments))


def _joined(segments: Iterable[Segment]) -> Iterator[StyledRun]:
    at, begin, text, look = 0, 0, "", Look()
    for segment in segments:
        shown = segment.text if segment.text.isprintable() else one_line(segment.text)
        this = look_of(segment.style)
        if this != look and text:
            yield StyledRun(begin, at - begin, text, look)
            begin, text = at, ""
        text, look, at = text + shown, this, at + cell_len(segment.text)
    if text:
        yield StyledRun(begin, at - begin, text, look)


def look_of(style: Style | None) -> Look:
    """How Rich's style looks; one that is dim is drawn nearer to its ground."""
    if style is None:
        return Look()
    ink, ground = _hex(style.color), _hex(style.bgcolor)
    if style.reverse:
        ink, ground = ground or "#000000", ink or "#ffffff"
    if style.dim and ink and ground:
        ink = _mixed(ink, ground)
    return Look(ink, ground, bool(style.bold), bool(style.italic), bool(style.underline), bool(style.strike))


def _hex(color: Color | None) -> str:
    return "" if color is None or color.is_default else color.get_truecolor().hex


def _mixed(first: str, second: str) -> str:
    pairs = ((int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{(one * 3 + other * 2) // 5:02x}" for one, other in pairs)
