"""Charts as SVG, written by hand: a plotting library would weigh more than all the servers here together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from xml.sax.saxutils import escape

Kind = Literal["line", "bar"]
WIDTH, HEIGHT = 960, 540
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 30, 90, 90
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by the colour-blind
_TICKS: Final = 6
_MOST_LABELS: Final = 12
_LABEL: Final = 16  # characters
_FLAT: Final = 1e-9  # values that differ by less, compared with their size, are drawn as one
_SMALLEST: Final = 1e-290  # below, a step of the grid would lose its digits: all such values are drawn as zero


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """A chart to draw: a label a point, and named series with a value (or None) a point."""

    title: str
    kind: Kind
    labels: Sequence[str]
    series: Sequence[tuple[str, Sequence[float | None]]]


def svg(chart: ChartRequest) -> str:
    """Return the chart as a whole SVG document."""
    values = [value for _, points in chart.series for value in points if value is not None]
    low, high, step = _scale(min([*values, 0.0]) if chart.kind == "bar" else min(values), max(values), chart.kind)
    frame = _Frame(low, high, len(chart.labels), chart.kind)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(_cut(chart.title, 200))}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="34" font-size="20">{escape(_cut(chart.title, 80))}</text>',
        *_legend(chart),
        *_grid(frame, low, high, step),
        *_labels(frame, chart.labels),
        *(_bars(frame, chart) if chart.kind == "bar" else _lines(frame, chart)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The scales that place a value and a point on the page."""

    low: float
    high: float
    points: int
    kind: Kind

    def x(self, at: float) -> float:
        """Return the middle of point `at`."""
        wide = WIDTH - _LEFT - _RIGHT
        if self.kind == "bar":
            return _LEFT + wide * (at + 0.5) / self.points
        return _LEFT + wide * (at / (self.points - 1) if self.points > 1 else 0.5)

    def y(self, value: float) -> float:
        """Return the height of a value."""
        part = (value - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * part


def _scale(low: float, high: float, kind: Kind) -> tuple[float, float, float]:
    """Return a round step, and the lowest and highest line of the grid around the values."""
    if kind == "bar":
        high = max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= max(size * _FLAT, _SMALLEST):
        spread = size / 2 if size > _FLAT else 1.0
        low, high = low - spread, high + spread
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def _grid(frame: _Frame, low: float, high: float, step: float) -> list[str]:
    parts: list[str] = []
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        y = frame.y(value)
        colour = "#555555" if abs(value) < step / 1000 else "#dddddd"
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{colour}"/>')
        shown = 0.0 if abs(value) < step / 1000 else value
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555555">{shown:.6g}</text>')
    return parts


def _labels(frame: _Frame, labels: Sequence[str]) -> list[str]:
    every = max(1, math.ceil(len(labels) / _MOST_LABELS))
    y = HEIGHT - _BOTTOM + 18
    return [
        f'<text transform="translate({frame.x(at):.1f} {y}) rotate(30)" fill="#555555">'
        f"{escape(_cut(labels[at], _LABEL))}</text>"
        for at in range(0, len(labels), every)
    ]


def _legend(chart: ChartRequest) -> list[str]:
    parts: list[str] = []
    x = _LEFT
    for at, (name, _) in enumerate(chart.series):
        shown = _cut(name, 24)
        parts.append(f'<rect x="{x}" y="50" width="14" height="14" fill="{_colour(at)}"/>')
        parts.append(f'<text x="{x + 20}" y="62">{escape(shown)}</text>')
        x += 40 + 8 * len(shown)
    return parts


def _lines(frame: _Frame, chart: ChartRequest) -> list[str]:
    parts: list[str] = []
    for at, (_, values) in enumerate(chart.series):
        path: list[str] = []
        pen_down = False
        for number, value in enumerate(values):
            if value is None:
                pen_down = False
                continue
            path.append(f"{'L' if pen_down else 'M'}{frame.x(number):.1f} {frame.y(value):.1f}")
            # A point between two gaps would not be seen: a line of no length has round ends.
            alone = not pen_down and (number + 1 == len(values) or values[number + 1] is None)
            if alone:
                path.append("h0")
            pen_down = True
        line = f'stroke="{_colour(at)}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"'
        parts.append(f'<path d="{"".join(path)}" fill="none" {line}/>')
    return parts


def _bars(frame: _Frame, chart: ChartRequest) -> list[str]:
    parts: list[str] = []
    room = (WIDTH - _LEFT - _RIGHT) / frame.points * 0.8
    width = room / len(chart.series)
    for at, (_, values) in enumerate(chart.series):
        for number, value in enumerate(values):
            if value is None:
                continue
            x = frame.x(number) - room / 2 + at * width
            top, bottom = sorted((frame.y(value), frame.y(0.0)))
            size = f'width="{max(width, 0.5):.1f}" height="{bottom - top:.1f}"'
            parts.append(f'<rect x="{x:.1f}" y="{top:.1f}" {size} fill="{_colour(at)}"/>')
    return parts


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]


def _cut(text: str, length: int) -> str:
    """Return one line of at most `length` characters that XML can hold."""
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= length else text[: length - 1] + "…"
