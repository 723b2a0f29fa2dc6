"""Tell the calls of an answer in the words of the screen, for a page that is not one.

Each piece of a line has its text and its ink by name: a page has colours of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from rich.color import Color
from rich.style import Style

from console_app.domain.transcript import BatchView, CallView
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.calls.group import BatchBlock, CallGroup
from console_app.tui.lineview.calls.row import row, took
from console_app.tui.lineview.lines import Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.kind import ResultKind

ROOM = 200  # cells of a line: more than a screen has, so that little is cut
Told = list[tuple[str, str]]
"""The pieces of a line: text and the name of its ink."""


@dataclass(frozen=True, slots=True)
class ToldCall:
    """The line of a call, without its time; its result, and structured content that says more than it."""

    line: Told
    took: str
    result: ResultKind
    beside: ResultKind | None


@dataclass(frozen=True, slots=True)
class TellingCalls:
    """The line above the calls of an answer, empty for one call, and each call by its id."""

    header: Told
    calls: dict[str, ToldCall]

    @classmethod
    def of(cls, batch: BatchView, now: float, only: Iterable[CallView] | None = None) -> TellingCalls:
        """Tell them as they stand at `now`, all of them or `only` some."""
        group, (palette, names) = CallGroup(batch), _named()
        calls: dict[str, ToldCall] = {}
        for call in batch.calls if only is None else only:
            detail, spent = CallDetail(call), took(call, now)
            pieces = row(call, group, ROOM, palette, now, detail, filled=False)
            line = _told(pieces[:-1] if spent else pieces, names)
            beside = detail.beside
            calls[call.id] = ToldCall(line, spent, detail.body.found, None if beside is None else beside.found)
        above = BatchBlock(group).paint(ROOM, palette, now)
        header = [(one.text, one.style or palette.base) for painted in above for one in painted]
        return cls(_told(header, names), calls)


def _told(pieces: Iterable[Piece], names: dict[Color, str]) -> Told:
    told = [(text, names.get(style.color, "base") if style.color else "base") for text, style in pieces]
    while told and not told[-1][0].strip():
        told.pop()
    while told and not told[0][0].strip():
        told.pop(0)
    return told


@lru_cache(maxsize=1)
def _named() -> tuple[Palette, dict[Color, str]]:
    """A palette whose colours stand for the names of its inks."""
    names = [one.name for one in fields(Palette) if one.type == "Style"]
    colors = [Color.from_rgb(number, 0, 0) for number in range(len(names) + 16)]
    inks: dict[str, Any] = {name: Style(color=color) for name, color in zip(names, colors, strict=False)}
    ansi = tuple(colors[len(names) :])
    known = dict(zip(colors, [*names, *(f"ansi{number}" for number in range(16))], strict=True))
    return Palette(syntax={}, ansi=ansi, still=True, draws=False, **inks), known
