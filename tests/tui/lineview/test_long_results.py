"""Only those rows of a long result are made that are looked at, whatever it is: find and copying need none."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.cells import split_graphemes
from textual.geometry import Offset
from textual.selection import Selection

from console_app.tui.lineview import CallBlock
from console_app.tui.lineview.blocks.passages import Matches, passage_of
from console_app.tui.lineview.calls.block import EdgedRows
from console_app.tui.lineview.lines import Line, chop_ends
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.kind import Delimited
from console_app.tui.lineview.results.windows import TERMINAL_TAB, RowWindow, TextLines, indented
from console_app.tui.lineview.scrolling.selection import selected_text
from console_app.tui.lineview.scrolling.view_parts import Found
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.text.cells import cells_of, rows_of, widths
from console_app.tui.lineview.text.joined import Joined
from console_app.tui.lineview.text.text_page import TextPage
from tests.each import each
from tests.examples import examples
from tests.tui.lineview.scenes import PALETTE, PAPER, START, TinyApp, painted, screen_lines
from tests.tui.lineview.test_results import finished, opened

COUNT = 2_000
LONG: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("\n".join(f"row {n} of many" for n in range(COUNT)), {}),
    "wrapped": ("\n".join(f"文字 é row {n} of many " * 7 for n in range(COUNT)), {}),
    "ansi": ("\n".join(f"\x1b[3{n % 8}mrow\t{n}\x1b[0m of many" for n in range(COUNT)), {}),
    "diff": ("--- a/x.py\n+++ b/x.py\n@@ -1,9 +1,9 @@" + "".join(f"\n \trow {n} of many" for n in range(COUNT)), {}),
    "source": ("\n".join(f"def row_{n}() -> str:  # row {n} of many" for n in range(COUNT)), {"path": "a.py"}),
    "json": (json.dumps([f"row {n} of many" for n in range(COUNT)]), {}),
    "wide": ("名,id\n" + "\n".join(f"文字列,{n}{' of many' * (1 + n % 30)}" for n in range(COUNT)), {"path": "a.csv"}),
    "list": (",".join(f"c{n}" for n in range(30)) + "".join(f"\n文{n} of many{',1' * 29}" for n in range(COUNT)),
             {"path": "a.csv"}),
    "table": ("id,name\n" + "\n".join(f"{n},row {n} of many" for n in range(COUNT)), {"path": "a.csv"}),
}  # fmt: skip


def whole(kind: str) -> CallBlock:
    """A long result, opened, all of its lines asked for."""
    block = opened(*LONG[kind])
    if block.detail.body.tree is not None:
        block.detail.press("unfold")
    while block.detail.body.show_far():
        pass
    block.touch()
    block.render(100, PALETTE, START)
    while block.unfinished:
        block.lay_out()
    block.render(100, PALETTE, START)
    return block


def matches_of(found: Found, block: CallBlock) -> Matches:
    """All that is found in it."""
    matches = found.matches(block)
    while matches.unfinished:
        matches.lay_out()
    return matches


def window_of(block: CallBlock) -> RowWindow:
    """The rows of its result."""
    return next(one for one in block.detail.rows(93, PALETTE).parts if isinstance(one, RowWindow))


def inside_of(block: CallBlock) -> EdgedRows:
    assert isinstance(block.lines, Joined)
    return next(one for one in block.lines.parts if isinstance(one, EdgedRows))


@each("kind", LONG)
def test_only_the_rows_that_are_looked_at_are_made(kind: str) -> None:
    """Opening, finding, the last match, its marks, a screen in the middle, copying all: some hundred rows of 2,000."""
    block = whole(kind)
    found, lines = Found(), block.lines
    found.look_for("of many")
    matches = matches_of(found, block)
    assert len(matches) >= COUNT
    assert len(lines) >= COUNT
    last = matches[len(matches) - 1][0][0]
    assert last > COUNT - 200
    for top in (last - 40, len(lines) // 2):
        seen = [lines[y] for y in range(top, top + 40)]
        assert "of many" in "".join(line.text for line in seen)
        assert all(line.text[start:end] for line, y in zip(seen, range(top, top + 40), strict=True)
                   for _, start, end in matches.on(y))  # fmt: skip
    everything = selected_text(Selection(Offset(0, 0), Offset(9, len(lines) - 1)), [block], lambda _: lines)
    assert everything.count("of many") >= COUNT
    assert window_of(block).made < 400


@each("kind", LONG)
def test_what_is_said_of_a_row_before_it_is_made_is_what_it_shows(kind: str) -> None:
    block = whole(kind)
    inside = inside_of(block)
    for index in [*range(min(len(inside), 400)), *range(len(inside) - 60, len(inside))]:
        if (said := inside.said(index)) is not None:
            assert said == (inside[index].content, inside[index].joint), index


@each("kind", LONG)
def test_matches_are_where_the_painted_lines_have_them(kind: str) -> None:
    block = whole(kind)
    found = Found()
    found.look_for("59 of many")
    matches = matches_of(found, block)
    assert len(matches) >= COUNT / 100
    for number in (0, len(matches) // 2, len(matches) - 1):
        spans = matches[number]
        words = "".join(block.lines[y].text[start:end] for y, start, end in spans)
        assert words == "59 of many"
        for y, start, end in spans:
            assert (number, start, end) in matches.on(y)


def test_matches_of_painted_lines_go_over_their_ends() -> None:
    block = opened("one word and one more, then wo", {"path": "x"})
    lines = block.render(40, PALETTE, START)
    pattern = re.compile(r"arguments\s+path")
    matches = Matches([passage_of(lines)], pattern)
    assert [len(matches), len(matches[0])] == [1, 2]
    with pytest.raises(IndexError):
        matches[1]


SIGNS = "a 1é\u0301文字한│\u200d\ufe0f👩💻❤🏽🇩नि्ー・“"


@examples(300)
@given(st.text(st.sampled_from(SIGNS)) | st.text(st.characters(exclude_characters="\n")))
def test_characters_take_as_many_cells_as_they_are_measured_to_take(text: str) -> None:
    cells = widths(text)
    assert [sum(cells[start:end]) for start, end, _ in split_graphemes(text)[0]] == [
        size for _, _, size in split_graphemes(text)[0]
    ]
    assert [sum(widths(line)) for line in text.split(" ")] == [len(line) for line in cells_of(text.replace(" ", "\n"))]


@examples(300)
@given(st.text(st.sampled_from(SIGNS), max_size=60), st.integers(2, 20))
def test_rows_end_where_a_cell_by_cell_cut_ends_them(text: str, width: int) -> None:
    ends, start = list[int](), 0
    while start < len(text):
        start += Line.cut(text[start:], width)
        ends.append(start)
    assert chop_ends(text, width) == (ends or chop_ends("", width))
    assert rows_of(cells_of(text)[0], width) == max(len(ends), 1)


PARTS = [*SIGNS, *"bcdefgh\t\u200b", "\x1b[31m", "\x1b[1;4m", "\x1b[22m", "\x1b[0m"]
LINES = st.lists(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), min_size=1, max_size=40)
LOOKS = st.lists(st.tuples(st.integers(1, 40), st.sampled_from([PALETTE, PAPER])), min_size=1, max_size=4)


def test_a_joiner_before_a_colour_joins_nothing() -> None:
    page = TextLines(TextPage("\U0001f468\u200d\u200d\x1b[31m.\n"), styled=True)
    page.grow(1)
    window = page.rows(40, PALETTE, PALETTE.base)
    assert window.said(0)[0] == "".join(text for text, _ in window[0].pieces).strip()
    page = TextLines(TextPage("\U0001f468\u200d\x1b[31m\U0001f469 \u2764\x1b[0m\ufe0f\n"), styled=True)
    page.grow(1)
    window = page.rows(40, PALETTE, PALETTE.base)
    said = "\U0001f468<U+200D>\U0001f469 \u2764<U+FE0F>"
    assert window.said(0)[0] == "".join(text for text, _ in window[0].pieces).strip() == said


@examples(60)
@given(LINES, st.integers(1, 40), LOOKS, st.data())
def test_rows_made_when_they_are_seen_are_those_of_the_whole(
    lines: list[str], times: int, looks: list[tuple[int, Palette]], data: st.DataObject
) -> None:
    """Whatever the text, widths, themes, the slices in which it is laid out, and the order in which its rows are looked
    at."""
    assume(any(lines))
    whole, page = lines * times, TextLines(TextPage("\n".join(lines * times) + "\n"), styled=True)
    for turn, (width, palette) in enumerate(looks, 1):
        page.slice = data.draw(st.integers(1, 400))
        for _ in range(data.draw(st.integers(1, 6)) if page.count < len(whole) else 0):
            page.grow(len(whole))
        while turn == len(looks) and page.count < len(whole):
            page.grow(len(whole))
        lines = whole[: page.count]
        painter = AnsiPainter(palette.base, palette)
        parts = [Line.chop(painter.line(line.expandtabs(TERMINAL_TAB)), width) for line in lines]
        rows = [row for part in parts for row in indented(part, palette)]
        window = page.rows(width, palette, palette.base)
        assert len(window) == len(rows)
        for at in data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)):
            assert window[at] == rows[at]
            number, _ = window.line_at(at)
            assert window.top_of(number) == sum(map(len, parts[:number]))
            text = "".join(part for part, _ in rows[at].pieces)[rows[at].gutter :]
            assert window.said(at) == (text, rows[at].joint)


async def test_a_long_result_is_scrolled_resized_and_themed_by_what_is_on_screen() -> None:
    """To its end and back, at another width and in another theme: the place is shown, and little is made for it."""
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.view
        block = finished(LONG["plain"][0])
        view.add_block(block)
        await painted(pilot)
        view.turn_block(block)
        while block.detail.body.show_far():
            pass
        block.touch()
        view.changed(block)
        await painted(pilot)
        for place in (COUNT, COUNT // 2):
            view.scroll_to(y=place, animate=False)
            await painted(pilot)
            assert any("of many" in line for line in screen_lines(app))
        assert window_of(block).made < 400
        before = next(line for line in screen_lines(app) if "of many" in line).strip(" │")
        await pilot.resize_terminal(90, 30)
        await painted(pilot)
        assert before in "\n".join(screen_lines(app))
        app.theme = "textual-light"
        await painted(pilot)
        assert before in "\n".join(screen_lines(app))
        assert len(inside_of(block)) > COUNT


def test_the_rows_of_a_table_are_counted_once() -> None:
    looked = 0

    class Text(str):
        def rstrip(self, chars: str | None = None, /) -> str:
            nonlocal looked
            looked += 1
            return str(self).rstrip(chars)

    table = Delimited(Text("id,name\n1,one\n2,two\n"), ",")
    assert [table.count for _ in range(3)] == [2, 2, 2]
    assert looked == 1
