"""Text laid out in slices is in the end as if it were laid out at once, and nothing moves meanwhile."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.tui.lineview import AssistantBlock, CallBlock, Finder, ResultBody
from console_app.tui.lineview.blocks.passages import SLICE, Matches, Search, passage_of
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.kind import ResultKind, kind_of
from console_app.tui.lineview.results.windows import TextLines, indented
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.text.text_page import TextPage
from tests.examples import examples
from tests.tui.lineview.scenes import PALETTE, PAPER, TinyApp, painted, screen_lines
from tests.tui.lineview.test_results import finished
from tests.tui.parts import until

WORDS = st.sampled_from(
    ["word", "文字列", "e\u0301", "👩\u200d💻", "❤\ufe0f", "\u200b", "\x1b[31m", "\x1b[0m", "def f():", "'''", "- one",
     "+two", "@@ -1,9 +1,9 @@", "# Head", "```", "a,b", "1,2", "x" * 130, "\t", " ", ""]
)  # fmt: skip
LINES = st.lists(st.lists(WORDS, max_size=4).map(" ".join), min_size=1, max_size=30)
KINDS = ("text", "diff", "source", "markdown", "table", "json")


def found_as(kind: str, lines: list[str]) -> ResultKind:
    """The same lines as each kind of result."""
    match kind:
        case "json":
            return ResultKind("json", "", value={"lines": lines, "more": [lines] * 3})
        case "table":
            return kind_of("id,name\n" + "".join(f'{n},"{line}"\n' for n, line in enumerate(lines)), {"path": "a.csv"})
        case "source":
            return ResultKind("source", "\n".join(lines), language="python")
        case "text" | "diff" | "markdown":
            return ResultKind(kind, "\n".join(lines))
        case _:
            raise AssertionError(kind)


def said(body: ResultBody, width: int, palette: Palette) -> list[object]:
    return [(row.pieces, row.joint, row.gutter) for row in body.rows(width, palette, palette.base)]


STEPS = st.lists(st.sampled_from(["slice", "slice", "look", "resize", "theme", "forget"]), max_size=12)


@pytest.mark.parametrize("kind", KINDS)
@examples(25)
@given(lines=LINES, times=st.integers(1, 120), steps=STEPS, width=st.integers(2, 60))
def test_a_result_laid_out_in_slices_is_that_laid_out_at_once(
    kind: str, lines: list[str], times: int, steps: list[str], width: int
) -> None:
    """Whatever it is, and with other widths and themes in between; it only becomes longer at its end."""
    found = found_as(kind, [f"{n} {line}" for n, line in enumerate(lines * times)])
    sliced, whole = ResultBody(found), ResultBody(found)
    palette = PALETTE
    for body in (sliced, whole):
        if body.tree is not None:
            body.unfold_all()
        body.limit = body.count
    for step in steps:
        match step:
            case "slice":
                sliced.lay_out()
            case "resize":
                width = width * 7 % 61 + 2
            case "theme":
                palette = PAPER if palette is PALETTE else PALETTE
            case "forget":
                sliced.forget()
            case _:
                before = said(sliced, width, palette)
                sliced.lay_out()
                if kind in ("text", "diff", "json") and sliced.unfinished:
                    assert said(sliced, width, palette)[: len(before)] == before
    for body in (sliced, whole):
        body.rows(width, palette, palette.base)
        while body.unfinished:
            body.lay_out()
    assert sliced.hidden == whole.hidden == 0
    mine, others = said(sliced, width, palette), said(whole, width, palette)
    if kind == "source":  # where colours begin depends on what was looked at before
        mine, others = ([("".join(text for text, _ in row[0]), *row[1:]) for row in rows] for rows in (mine, others))
    assert mine == others


PARTS = st.sampled_from(["a", "b", " ", "\n", "ab", "a b", "b\n a", "文", "İ", "K"])


@examples(100)
@given(
    text=st.lists(PARTS, max_size=60).map("".join),
    words=st.sampled_from(["a", "ab", "a b", "b a b", "文", "k", "a 文"]),
    slice_=st.integers(1, 9),
)
def test_what_is_found_in_slices_is_what_is_found_in_the_whole(text: str, words: str, slice_: int) -> None:
    """Wherever a slice ends: in a match, in the space of one, behind it."""
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    search = Search(pattern, text, slice_)
    while search.unfinished:
        search.lay_out()
    assert search.spans == [found.span() for found in pattern.finditer(text)]


LONG = 3_000


def long_result(**arguments: Any) -> CallBlock:
    """Gives a result whose rows are more than one slice, and more than one row a line."""
    return finished("\n".join(f"row {n} of many 文字" + " and on" * (n % 40) for n in range(LONG)), arguments)


async def opened(pilot: Any, block: CallBlock) -> None:
    """Shown whole, as far as one frame goes."""
    view = pilot.app.view
    view.add_block(block)
    view.add_notice("info", "what stands below")
    await painted(pilot)
    view.turn_block(block)
    await painted(pilot)
    assert block.detail.body.show_far()
    block.touch()
    view.changed(block)


async def test_a_long_result_grows_below_what_is_seen() -> None:
    """The rows on screen stay there, through another width and theme, until all of the result is laid out."""
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view, block = app.view, long_result()
        await opened(pilot, block)
        view.paint_frame()
        assert block.unfinished
        assert not view.is_painted
        seen = screen_lines(app)
        heights = [len(block.lines)]
        while block.unfinished:
            block.lay_out()
            view.changed(block)
            view.paint_frame()
            assert screen_lines(app) == seen
            heights.append(len(block.lines))
        assert heights == sorted(heights)
        assert len(set(heights)) > 4
        await painted(pilot)
        assert screen_lines(app) == seen
        assert len(block.lines) > LONG
        assert view.virtual_size.height == len(block.lines) + 2


async def test_what_is_read_below_a_growing_result_stays_in_its_line() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 12)) as pilot:
        view, block = app.view, long_result()
        await opened(pilot, block)
        view.paint_frame()
        for n in range(20):
            view.add_notice("info", f"below {n}")
        view.action_scroll_end()
        view.action_line(-2)
        view.paint_frame()
        assert not view.following
        seen = screen_lines(app)
        assert "below" in seen[0]
        await painted(pilot)
        assert not block.unfinished
        assert screen_lines(app) == seen


async def test_folded_half_way_it_goes_on_where_it_is_opened_again() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view, block = app.view, long_result()
        await opened(pilot, block)
        view.paint_frame()
        view.turn_block(block)
        await painted(pilot)
        assert not block.unfinished
        assert view.virtual_size.height < 30
        view.turn_block(block)
        assert block.unfinished
        await painted(pilot)
        assert view.virtual_size.height == len(block.lines) + 2
        assert len(block.lines) > LONG


async def test_find_goes_to_a_match_that_is_not_laid_out_yet() -> None:
    """And to the same ones as in what is painted."""
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view, block = app.view, long_result()
        view.add_block(block)
        await painted(pilot)
        view.turn_block(block)
        finder = Finder(view)
        await finder.look_for(f"row {LONG - 1} of")
        assert (finder.total, finder.place) == (1, 1)
        assert any(f"row {LONG - 1} of" in line for line in screen_lines(app))
        await finder.look_for("of many")
        assert finder.total == LONG
        await finder.step(-1)
        await painted(pilot)
        matches = view.found.matches(block)
        everything = Matches([passage_of(block.lines)], re.compile("of many"))
        while everything.unfinished:
            everything.lay_out()
        assert len(matches) == len(everything) == LONG
        assert [matches[n] for n in range(0, LONG, 497)] == [everything[n] for n in range(0, LONG, 497)]


async def test_a_long_result_that_is_seen_is_marked_once_it_is_searched() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view, block = app.view, long_result()
        await opened(pilot, block)
        await painted(pilot)
        assert len("\n".join(block.searched)) > SLICE
        view.found.look_for("row 3 of")
        view.refresh()
        await until(pilot, lambda: not view.found.matches(block).unfinished)
        await painted(pilot)
        marked = [seg.text for strip in view.render_lines(view.size.region) for seg in strip
                  if seg.style is not None and seg.style.underline and seg.style.bold]  # fmt: skip
        assert marked == ["row 3 of"]


MARKDOWN = st.lists(
    st.sampled_from(["# Head", "Some *words* of `code`", "and more", "", "- one", "- two", "1. a", "```python", "x = 1",
                     "```", "| a | b |", "|---|---|", "| 1 | 2 |", "> said", "**open", "[a]: https://b.example"]),
    min_size=1, max_size=30,
)  # fmt: skip


@examples(40)
@given(
    lines=MARKDOWN,
    times=st.integers(1, 60),
    steps=st.lists(st.sampled_from(["slice", "look", "resize", "theme", "more"]), max_size=8),
    final=st.booleans(),
)
def test_an_answer_laid_out_in_slices_is_that_laid_out_at_once(
    lines: list[str], times: int, steps: list[str], final: bool
) -> None:
    """The answer came at once or while it was laid out, with other widths and themes in between."""
    text, width, palette = "\n".join(lines * times), 70, PALETTE
    block = AssistantBlock(text, final=False)
    for step in steps:
        match step:
            case "slice":
                block.lay_out()
            case "resize":
                width = width * 7 % 61 + 12
            case "theme":
                palette = PAPER if palette is PALETTE else PALETTE
            case "more":
                block.append("\n\nand this")
                text += "\n\nand this"
            case _:
                block.render(width, palette)
    if final:
        block.settle(text)
    block.render(width, palette)
    while block.unfinished:
        block.lay_out()
    whole = AssistantBlock(text, final=final)
    assert list(block.render(width, palette))[1:] == whole.markdown.all_lines(whole.look_in(width, palette))


def test_an_answer_that_is_forgotten_half_way_is_gone_on_with_when_it_is_seen() -> None:
    """It kept the slices busy meanwhile, which had nothing to do."""
    block = AssistantBlock()
    block.append("\n\n".join(f"part {n} of many" for n in range(2000)))
    block.render(70, PALETTE)
    assert block.unfinished
    block.forget()
    assert not block.unfinished
    block.render(70, PALETTE)
    assert block.unfinished


async def test_an_answer_that_goes_on_below_what_is_seen_makes_the_conversation_longer() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        for n in range(100):
            app.view.add_notice("info", f"above {n}")
        app.view.add_block(block := AssistantBlock())
        block.append("\n\n".join(f"part {n} of many" for n in range(200)))
        await painted(pilot)
        app.view.action_line(-app.view.max_scroll_y)
        await painted(pilot)
        before = app.view.virtual_size.height
        block.append("\n\n".join(f"part {n} of more" for n in range(500)))
        app.view.changed(block)
        await painted(pilot)
        assert app.view.virtual_size.height - before > 900


async def test_a_long_answer_comes_into_view_from_below_with_its_end() -> None:
    """And from above with its beginning, to which the rest is added while that is read."""
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.view
        view.add_block(block := AssistantBlock("\n\n".join(f"part {n} of many" for n in range(2000)), final=True))
        for n in range(40):
            view.add_notice("info", f"below {n}")
        await painted(pilot)
        assert not block.measured
        view.action_line(-60)
        while "of many" not in "".join(screen_lines(app)):
            view.action_line(-10)
        seen = "".join(screen_lines(app))
        assert "part 1999 of many" in seen or "part 1998 of many" in seen
        assert not block.unfinished
        block.forget()
        block.touch()
        view.action_scroll_home()
        view.changed(block)
        view.paint_frame()
        assert block.unfinished
        seen = screen_lines(app)
        assert "part 0 of many" in seen[1]
        await painted(pilot)
        assert screen_lines(app) == seen
        assert len(block.lines) > 3999


def test_json_of_one_word_has_all_its_lines() -> None:
    body = ResultBody(ResultKind("json", "", value=json.loads("[1]")))
    body.rows(40, PALETTE, PALETTE.base)
    assert (body.hidden, body.unfinished) == (0, False)


@examples(50)
@given(
    parts=st.lists(st.sampled_from(["ab", "文", "e\u0301", "👩\u200d💻", "\x1b[31m", "\x1b[0m", "\u200b"]), min_size=1),
    width=st.integers(2, 90),
    ahead=st.integers(0, 50),
)
def test_rows_of_a_very_long_line_are_those_of_all_its_rows(parts: list[str], width: int, ahead: int) -> None:
    """Each made by itself, whatever stands before it; and where a character stands is known without any."""
    once = "".join(parts)
    line = once * (20_000 // len(once) + 1)  # most are longer than what is laid out at once
    page = TextPage(line)
    page.longest = len(line)
    text = TextLines(page, styled=True)
    text.grow(1)
    long = text.rows(width, PALETTE, PALETTE.base)
    painter = AnsiPainter(PALETTE.base, PALETTE)
    rows = indented(Line.chop(painter.line(line), width), PALETTE)
    assert len(long) == len(rows)
    for at in {0, 1, ahead, len(rows) // 2, len(rows) - 1} & set(range(len(rows))):
        assert long[at] == rows[at]
        number, start, end = long.span(at)
        assert [long.row_of(number, character) for character in (start, max(end - 1, start))] == [at, at]
