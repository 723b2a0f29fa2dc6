"""A recording as an SVG that moves by itself: CSS shows each row while it was there. No script, no font from elsewhere.

A row that stays is written once, however many screens it is part of. Who asked their system for less motion sees the
last screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style

from console_app.domain import one_line
from console_app.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class StyledRun:
    at: int
    cells: int
    text: str
    style: Style  # with colours of 24 bits, or the screen's own


Row = tuple[StyledRun, ...]


@dataclass(frozen=True, slots=True)
class Screen:
    """Shows these rows from `at` on, in seconds from the beginning."""

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

    def as_cast(self) -> str:
        size = {"width": self.columns, "height": self.lines}
        lines: list[object] = [{"version": 2, **size, "env": {"TERM": "xterm-256color"}}]
        before: tuple[Row, ...] = ()
        for screen in self.screens:
            text = "" if before else "\x1b[?25l\x1b[2J"
            for line, row in enumerate(screen.rows, 1):
                if line > len(before) or before[line - 1] != row:
                    painted = "".join(run.style.render(run.text, color_system=ColorSystem.TRUECOLOR) for run in row)
                    text += f"\x1b[{line};1H{painted}\x1b[K"
            lines.append([screen.at, "o", text])
            before = screen.rows
        lines.append([self.seconds, "o", "\x1b[0m"])
        return "".join(json.dumps(line) + "\n" for line in lines)

    def as_svg(self) -> str:
        """Write the whole file, of `MOST` bytes at most unless a single screen is larger."""
        text = _drawn(self)
        if len(text) <= MOST or len(self.screens) <= 2:
            return text
        return replace(self, screens=(*self.screens[:-1:2], self.screens[-1])).as_svg()  # without every other screen


def row_of(segments: Iterable[Segment]) -> Row:
    runs: list[StyledRun] = []
    at, begin, text, style = 0, 0, "", Style.null()
    for segment in segments:
        shown = segment.text if segment.text.isprintable() else one_line(segment.text)
        this = _drawn_style(segment.style or Style.null())
        if this != style and text:
            runs.append(StyledRun(begin, at - begin, text, style))
            begin, text = at, ""
        text, style, at = text + shown, this, at + cell_len(segment.text)
    return (*runs, StyledRun(begin, at - begin, text, style)) if text else tuple(runs)


@lru_cache(1024)
def _drawn_style(style: Style) -> Style:
    ink, ground = _hex(style.color), _hex(style.bgcolor)
    if style.reverse:
        ink, ground = ground or "#000000", ink or "#ffffff"
    if style.dim and ink and ground:  # drawn nearer to its ground
        pairs = ((int(ink[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5))
        ink = "#" + "".join(f"{(one * 3 + other * 2) // 5:02x}" for one, other in pairs)
    flags = {name: getattr(style, name) or None for name in ("bold", "italic", "underline", "strike")}
    return Style(color=ink or None, bgcolor=ground or None, **flags)


def _hex(color: Color | None) -> str:
    return "" if color is None or color.is_default else color.get_truecolor().hex


WIDTH, HEIGHT = 8.4, 18.0  # of a cell, in pixels
MARGIN = 12.0
MOST = 4_000_000  # bytes; a longer recording is shown with fewer screens
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_INK, _GROUND = "#d0d0d0", "#101010"

Times = list[tuple[float, float]]


def _drawn(recording: Recording) -> str:
    shown = _shown(recording)
    classes: dict[Style, str] = {}
    drawn = [_row(line, row, classes) for line, row in shown]
    width, height = recording.columns * WIDTH + 2 * MARGIN, recording.lines * HEIGHT + 2 * MARGIN
    first = next((run for screen in recording.screens for row in screen.rows for run in row), None)
    ground = _hex(first.style.bgcolor if first is not None else None) or _GROUND  # the margin has the first cell's
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="A recorded Fanout session">',
        "<style>",
        f"text{{font:14px {_FONT};fill:{_INK};white-space:pre}}",
        *(f".{name}{{{_css(style)}}}" for style, name in classes.items()),
        *_motion(shown.values(), recording.seconds),
        "</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>',
        f'<g transform="translate({MARGIN:g} {MARGIN:g})">',
    ]
    for number, (row, times) in enumerate(zip(drawn, shown.values(), strict=True)):
        last = " z" if times[-1][1] == recording.seconds else ""
        stays = times == [(0.0, recording.seconds)]
        moves = "" if stays else f' class="m{last}" style="animation-name:k{number}"'
        parts.append(f"<g{moves}>{row}</g>")
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _shown(recording: Recording) -> dict[tuple[int, Row], Times]:
    found: dict[tuple[int, Row], Times] = {}
    for number, screen in enumerate(recording.screens):
        last = number + 1 == len(recording.screens)
        end = recording.seconds if last else recording.screens[number + 1].at
        begin = screen.at if number else 0.0
        for line, row in enumerate(screen.rows):
            times = found.setdefault((line, row), [])
            if times and times[-1][1] == begin:
                times[-1] = (times[-1][0], end)
            else:
                times.append((begin, end))
    return found


def _motion(shown: Iterable[Times], seconds: float) -> Iterator[str]:
    yield f".m{{visibility:hidden;animation:{seconds:g}s step-end infinite}}"
    for number, times in enumerate(shown):
        if times != [(0.0, seconds)]:
            yield f"@keyframes k{number}{{{''.join(_steps(times, seconds))}}}"
    yield "@media (prefers-reduced-motion:reduce){.m{animation:none}.z{visibility:visible}}"


def _steps(times: Times, seconds: float) -> Iterator[str]:
    if times[0][0] > 0:
        yield "0%{visibility:hidden}"
    for begin, end in times:
        yield f"{100 * begin / seconds:.4g}%{{visibility:visible}}"
        yield f"{100 * end / seconds:.4g}%{{visibility:{'hidden' if end < seconds else 'visible'}}}"


def _row(line: int, row: Row, classes: dict[Style, str]) -> str:
    grounds: list[str] = []
    texts: list[str] = []
    y = line * HEIGHT
    for run in row:
        x, width = run.at * WIDTH, run.cells * WIDTH
        if ground := _hex(run.style.bgcolor):
            grounds.append(
                f'<rect x="{x:.5g}" y="{y:g}" width="{width + 0.3:.5g}" height="{HEIGHT + 0.3:g}" fill="{ground}"/>'
            )
        if run.text.strip():
            name = classes.setdefault(run.style, f"l{len(classes)}")
            texts.append(
                f'<text class="{name}" x="{x:.5g}" y="{y + 13.5:g}" textLength="{width:.5g}" '
                f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(run.text, quote=False)}</text>'
            )
    return "".join((*grounds, *texts))


def _css(style: Style) -> str:
    lines = " ".join(name for name, on in (("underline", style.underline), ("line-through", style.strike)) if on)
    rules = (
        f"fill:{ink}" if (ink := _hex(style.color)) else "",
        "font-weight:bold" if style.bold else "",
        "font-style:italic" if style.italic else "",
        f"text-decoration:{lines}" if lines else "",
    )
    return ";".join(rule for rule in rules if rule)
