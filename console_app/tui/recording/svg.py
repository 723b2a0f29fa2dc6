"""A recording as an SVG that moves by itself: CSS shows each row while it was there. No script, no font from elsewhere.

A row that stays is written once, however many screens it is part of. Who asked their system for less motion sees the
last screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from console_app.tui.recording.screens import Look, Recording, Row

WIDTH, HEIGHT = 8.4, 18.0  # of a cell, in pixels
MARGIN = 12.0
MOST = 4_000_000  # bytes; a longer recording is shown with fewer screens
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_INK, _GROUND = "#d0d0d0", "#101010"

Times = list[tuple[float, float]]


def as_svg(recording: Recording) -> str:
    """The whole file, of `MOST` bytes at most unless a single screen is larger."""
    text = _drawn(recording)
    while len(text) > MOST and len(recording.screens) > 2:
        recording = recording.thinned()
        text = _drawn(recording)
    return text


def _drawn(recording: Recording) -> str:
    shown = _shown(recording)
    looks: dict[Look, str] = {}
    drawn = [_row(line, row, looks) for line, row in shown]
    width, height = recording.columns * WIDTH + 2 * MARGIN, recording.lines * HEIGHT + 2 * MARGIN
    ground = _ground(recording)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="A recorded Fanout session">',
        "<style>",
        f"text{{font:14px {_FONT};fill:{_INK};white-space:pre}}",
        *(f".{name}{{{_css(look)}}}" for look, name in looks.items()),
        *_motion(shown.values(), recording.seconds),
        "</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>',
        f'<g transform="translate({MARGIN:g} {MARGIN:g})">',
    ]
    for number, (row, times) in enumerate(zip(drawn, shown.values(), strict=True)):
        parts.append(f"<g{_moves(number, times, recording.seconds)}>{row}</g>")
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _shown(recording: Recording) -> dict[tuple[int, Row], Times]:
    """Each row that was anywhere, with the times it was there."""
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


def _always(times: Times, seconds: float) -> bool:
    return times == [(0.0, seconds)]


def _moves(number: int, times: Times, seconds: float) -> str:
    if _always(times, seconds):
        return ""
    last = " z" if times[-1][1] == seconds else ""
    return f' class="m{last}" style="animation-name:k{number}"'


def _motion(shown: Iterable[Times], seconds: float) -> Iterator[str]:
    yield f".m{{visibility:hidden;animation:{seconds:g}s step-end infinite}}"
    for number, times in enumerate(shown):
        if not _always(times, seconds):
            yield f"@keyframes k{number}{{{''.join(_steps(times, seconds))}}}"
    yield "@media (prefers-reduced-motion:reduce){.m{animation:none}.z{visibility:visible}}"


def _steps(times: Times, seconds: float) -> Iterator[str]:
    if times[0][0] > 0:
        yield "0%{visibility:hidden}"
    for begin, end in times:
        yield f"{100 * begin / seconds:.4g}%{{visibility:visible}}"
        yield f"{100 * end / seconds:.4g}%{{visibility:{'hidden' if end < seconds else 'visible'}}}"


def _row(line: int, row: Row, looks: dict[Look, str]) -> str:
    grounds: list[str] = []
    texts: list[str] = []
    y = line * HEIGHT
    for run in row:
        x, width = run.at * WIDTH, run.cells * WIDTH
        if run.look.ground:
            grounds.append(
                f'<rect x="{x:.5g}" y="{y:g}" width="{width + 0.3:.5g}" height="{HEIGHT + 0.3:g}" '
                f'fill="{run.look.ground}"/>'
            )
        if run.text.strip():
            name = looks.setdefault(run.look, f"l{len(looks)}")
            texts.append(
                f'<text class="{name}" x="{x:.5g}" y="{y + 13.5:g}" textLength="{width:.5g}" '
                f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(run.text, quote=False)}</text>'
            )
    return "".join((*grounds, *texts))


def _css(look: Look) -> str:
    lines = " ".join(name for name, on in (("underline", look.underline), ("line-through", look.strike)) if on)
    rules = (
        f"fill:{look.ink}" if look.ink else "",
        "font-weight:bold" if look.bold else "",
        "font-style:italic" if look.italic else "",
        f"text-decoration:{lines}" if lines else "",
    )
    return ";".join(rule for rule in rules if rule)


def _ground(recording: Recording) -> str:
    """The colour of the screen's first cell, which the margin is given."""
    first = next((run for screen in recording.screens for row in screen.rows for run in row), None)
    return first.look.ground or _GROUND if first is not None else _GROUND
