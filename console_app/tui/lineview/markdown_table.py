"""Markdown tables laid out in the width there is: columns shrink and wrap, and below that rows become short lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.style import Style

from console_app.tui.lineview.lines import Piece, Row, pieces_width, wrap
from console_app.tui.lineview.palette import Palette

MIN_COLUMN = 4
GAP = " │ "


@dataclass(slots=True)
class MarkdownTable:
    """Cells as pieces; `rows[0]` is the head. `align` is "left", "center" or "right" a column."""

    align: list[str] = field(default_factory=list[str])
    rows: list[list[list[Piece]]] = field(default_factory=list[list[list[Piece]]])
    span: tuple[int, ...] = (0, 0)  # source lines


def column_widths(table: MarkdownTable, width: int) -> list[int] | None:
    """Cells for each column; None where there is no room for columns."""
    columns = len(table.rows[0])
    wanted = [max((pieces_width(row[n]) for row in table.rows if n < len(row)), default=0) for n in range(columns)]
    return shares(wanted, width)


def table_rows(table: MarkdownTable, width: int, palette: Palette, widths: list[int] | None = None) -> list[Row]:
    """The table as rows of at most `width` cells; `widths` are those of `column_widths` where they are known."""
    if not table.rows or not table.rows[0]:
        return []
    if widths is None:
        widths = column_widths(table, width)
    if widths is None:
        return _as_list(table, width, palette)
    out: list[Row] = []
    for number, cells in enumerate(table.rows):
        out += table_line(cells, widths, table.align, palette)
        if number == 0:
            rule = "─┼─".join("─" * size for size in widths)
            out.append(Row([(rule, palette.faint)]))
    return out


def shares(wanted: Sequence[int], width: int) -> list[int] | None:
    """Cells for each column: what it wants where that fits, else a fair share; None when there is no room at all."""
    wanted = [max(size, 1) for size in wanted]
    room = width - len(GAP) * (len(wanted) - 1)
    if sum(wanted) <= room:
        return list(wanted)
    if room < MIN_COLUMN * len(wanted):
        return None
    widths = list(wanted)
    while (excess := sum(widths) - room) > 0:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=MIN_COLUMN)
        among = [n for n, size in enumerate(widths) if size == widest]
        step = max(min(widest - max(second, MIN_COLUMN), -(-excess // len(among))), 1)
        for n in among:
            taken = min(step, excess, widths[n] - MIN_COLUMN)
            widths[n] -= taken
            excess -= taken
    return widths


def table_line(
    cells: Sequence[list[Piece]], widths: Sequence[int], align: Sequence[str], palette: Palette
) -> list[Row]:
    """A row of cells, each wrapped in its column."""
    wrapped = [wrap(cells[n], size) if n < len(cells) else [Row([])] for n, size in enumerate(widths)]
    out: list[Row] = []
    for parts in zip_longest(*wrapped):
        pieces: list[Piece] = []
        for n, part in enumerate(parts):
            if n:
                pieces.append((GAP, palette.faint))
            content: list[Piece] = part.pieces if part is not None else []
            pieces += _aligned(content, widths[n], align[n] if n < len(align) else "left", palette.base)
        while pieces and pieces[-1][0].isspace():
            pieces.pop()
        out.append(Row(pieces))
    return out


def _aligned(content: list[Piece], width: int, align: str, fill: Style) -> list[Piece]:
    room = max(width - pieces_width(content), 0)
    left = room if align == "right" else room // 2 if align == "center" else 0
    return [piece for piece in ((" " * left, fill), *content, (" " * (room - left), fill)) if piece[0]]


def _as_list(table: MarkdownTable, width: int, palette: Palette) -> list[Row]:
    """For widths in which columns make no sense: each row as `head: cell` lines."""
    head, *rows = table.rows
    out: list[Row] = []
    for number, cells in enumerate(rows or [head]):
        if number:
            out.append(Row([("─" * max(min(width, 8), 1), palette.faint)]))
        for n, cell in enumerate(cells):
            title: list[Piece] = [*head[n], (": ", palette.muted)] if rows and n < len(head) and head[n] else []
            out += wrap([*title, *cell], width)
    return out
