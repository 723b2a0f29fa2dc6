"""Selecting text over blocks: offsets that survive growing blocks, the marked cells, and the text without borders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.calls.block import EdgedRows
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.markdown.units import Laid
from console_app.tui.lineview.text.joined import Joined

ROWS_A_BLOCK = 1 << 24  # a selection's y is the block's position times this, plus the line in the block


def span_in(line: Line, selection: Selection, y: int) -> tuple[int, int] | None:
    """The characters of a line that are selected, borders and gutters left out; None where there are none."""
    span = selection.get_span(y)
    if span is None:
        return None
    start, end = span
    start = max(start, line.start)
    end = line.end if end < 0 else min(end, line.end)
    return (start, end) if start < end else None


def paint_selection(line: Line, selection: Selection | None, y: int, style: Style) -> Strip:
    span = None if selection is None else span_in(line, selection, y)
    return line if span is None else restyled(line, *span, style)


def hold(view: Widget, block: Block) -> Callable[[], None]:
    """Return a function that keeps the selected text of a block selected when its lines stand elsewhere."""
    if (selection := view.text_selection) is None:
        return lambda: None
    moved = _moved(selection, block)

    def put() -> None:
        if (again := moved()) != selection:
            view.screen.selections = {**view.screen.selections, view: again}

    return put


def _moved(selection: Selection, block: Block) -> Callable[[], Selection]:
    """The same text of a block, wherever its lines stand when that is asked for."""
    top = block.index * ROWS_A_BLOCK
    ends = (selection.start, selection.end)
    marks = [None if end is None or not 0 <= end.y - top < ROWS_A_BLOCK else block.mark(end.y - top) for end in ends]
    return lambda: Selection(*(
        end if end is None or mark is None else Offset(end.x, top + block.line_of(mark))
        for end, mark in zip(ends, marks, strict=True)
    ))  # fmt: skip


def ends_in(selection: Selection | None, blocks: Sequence[Block]) -> list[Block]:
    """The blocks in which a selection begins and ends: its lines are told apart only while they are laid out."""
    ends = () if selection is None else (selection.start, selection.end)
    return [blocks[at] for end in ends if end is not None and 0 <= (at := end.y // ROWS_A_BLOCK) < len(blocks)]


def restyled(line: Strip, start: int, end: int, style: Style) -> Strip:
    segments: list[Segment] = []
    at = 0
    for text, ink, _ in line:
        low, high = max(start - at, 0), min(end - at, len(text))
        at += len(text)
        if low >= high:
            segments.append(Segment(text, ink))
            continue
        marked = (ink or Style.null()) + style
        parts = ((text[:low], ink), (text[low:high], marked), (text[high:], ink))
        segments += [Segment(part, part_style) for part, part_style in parts if part]
    return Strip(segments, line.cell_length)


def selected_text(selection: Selection, blocks: Sequence[Block], lines_of: Callable[[int], Sequence[Line]]) -> str:
    """Return the selected text of the blocks. Rows that only wrap are joined as they were written.

    `lines_of` returns all lines of a block, of which not all may have been laid out when they were selected.
    """
    count = len(blocks)
    first = selection.start.y // ROWS_A_BLOCK if selection.start is not None else 0
    last = selection.end.y // ROWS_A_BLOCK if selection.end is not None else count - 1
    for index in {first, last}:
        if 0 <= index < count:
            moved = _moved(selection, blocks[index])
            lines_of(index)
            selection = moved()
    out: list[str] = []
    for index in range(max(first, 0), min(last, count - 1) + 1):
        lines, top = lines_of(index), index * ROWS_A_BLOCK
        low = selection.start.y - top if selection.start is not None and index == first else 0
        high = selection.end.y - top + 1 if selection.end is not None and index == last else len(lines)
        for place in range(max(low, 0), min(high, len(lines))):
            y = top + place
            if out and selection.get_span(y) == (0, -1) and (said := _said(lines, place)) is not None:
                out += said
                continue
            line = lines[place]
            span = span_in(line, selection, y)
            if span is None and line.end > line.start and line.joint == "\n" and not out:
                continue
            if line.end == 0 and line.text.strip():
                continue  # an edge of a frame
            if out:
                out.append(line.joint)
            out.append(line.text[span[0] : span[1]].rstrip() if span and line.joint == "\n" else
                       line.text[span[0] : span[1]] if span else "")  # fmt: skip
    return "".join(out)


def _said(lines: Sequence[Line], place: int) -> tuple[str, str] | None:
    """Return the joint before a line of a long result, and its text, without painting it; None for any other line."""
    if not isinstance(lines, Joined):
        return None
    part, inside = lines.part_at(place)
    if not isinstance(part, EdgedRows | Laid) or (said := part.said(inside)) is None:
        return None
    text, joint = said
    return joint, text.rstrip() if joint == "\n" else text
