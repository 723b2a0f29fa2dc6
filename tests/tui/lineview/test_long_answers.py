"""A long answer is laid out where it is seen, the rest behind the keys: what is read stays where it is."""

from __future__ import annotations

from typing import Any

from textual.geometry import Offset
from textual.selection import Selection

from console_app.tui.lineview import AssistantBlock, ConversationView, Finder
from console_app.tui.lineview.markdown.units import MOST_MADE
from console_app.tui.lineview.scrolling.selection import ROWS_A_BLOCK
from tests.tui.lineview.scenes import PALETTE, TinyApp, painted, screen_lines

PART = """## Part {n}

Some **bold** words of part {n}, which go on and on over the edge of a terminal of a hundred cells, as the words of an
answer do, and `code`.

- one of {n}
- two of {n}, with [a link](https://example.org/{n}) and so many words behind it that these take another line

```python
def part_{n}(value: int) -> int:
    return value + {n}
```

| name | value of {n} |
|------|-------------:|
| a    | {n}          |

"""
PARTS = 150
TEXT = "".join(PART.format(n=n) for n in range(PARTS))


def estimated(block: AssistantBlock) -> int:
    """How many units of it are not laid out at the width in which it is seen."""
    laid = block.markdown.laid
    assert laid is not None
    return sum(unit.said(laid.look.width) is None for unit in laid._units)


async def shown(pilot: Any, text: str = TEXT) -> AssistantBlock:
    """The answer between a few notices, all of it laid out, at its end."""
    view = pilot.app.view
    view.add_notice("info", "above")
    view.add_block(block := AssistantBlock(text, final=True))
    for n in range(5):
        view.add_notice("info", f"below {n}")
    await painted(pilot)
    return block


def read_line(app: TinyApp) -> str:
    """The first whole word of what stands at the top of the view: what a reader's eye is on."""
    return next(line.strip("▎█ ") for line in screen_lines(app) if line.strip("▎█ "))


def known_by_block(view: ConversationView) -> AssistantBlock:
    """The long answer in a view, read as far as its blocks are known, and painted."""
    view.add_block(block := AssistantBlock(TEXT, final=True))
    view.paint_frame()
    while block.markdown._rest:
        block.lay_out()
    view.changed(block)
    view.paint_frame()
    return block


async def test_a_long_answer_opens_at_its_end_and_is_laid_out_there_first() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.view
        block = known_by_block(view)
        assert any(f"value of {PARTS - 1}" in line for line in screen_lines(app))
        assert estimated(block) > PARTS // 3
        seen = screen_lines(app)
        while block.unfinished:
            block.lay_out()
            view.changed(block)
            view.paint_frame()
            assert screen_lines(app) == seen
        assert estimated(block) == 0
        assert view.virtual_size.height == len(block.lines)
        await painted(pilot)
        assert view.following


async def test_what_is_read_stays_at_the_top_at_another_width() -> None:
    """At once and until all of it is laid out; and back at the first width it is where it was."""
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        block = await shown(pilot)
        view = app.view
        for share in (0.2, 0.5, 0.9):
            view.scroll_to(y=int(view.max_scroll_y * share), animate=False)
            await painted(pilot)
            before = screen_lines(app)
            for width in (72, 130) if share == 0.5 else (72,):
                read = read_line(app)[:20]
                await pilot.resize_terminal(width, 30)
                await painted(pilot)
                assert not block.unfinished
                assert read[:12] in "".join(screen_lines(app)[:3]), (share, width)
            await pilot.resize_terminal(100, 30)
            await painted(pilot)
            assert before[8].strip("▎█ ")[:12] in "".join(screen_lines(app)[6:11]), share


def test_at_another_width_only_what_is_seen_is_laid_out_at_once() -> None:
    block = AssistantBlock(TEXT, final=True)
    block.render(100, PALETTE)
    while block.unfinished:
        block.lay_out()
    lines = block.render(100, PALETTE)
    at = next(n for n, line in enumerate(lines) if "two of 75" in line.text)
    mark = block.mark(at)
    block.render(72, PALETTE)
    assert estimated(block) == len(block.markdown._units)
    assert block.come_into_view(block.line_of(mark), block.line_of(mark) + 30)
    assert 0 < len(block.markdown._units) - estimated(block) < 10
    assert "two of 75" in block.render(72, PALETTE)[block.line_of(mark)].text
    while block.unfinished:
        block.lay_out()
        assert "two of 75" in block.render(72, PALETTE)[block.line_of(mark)].text


async def test_another_theme_and_the_cursor_lay_out_only_what_is_seen() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        block = await shown(pilot)
        view = app.view
        view.scroll_to(y=view.max_scroll_y // 2, animate=False)
        await painted(pilot)
        seen, height = screen_lines(app), len(block.lines)
        app.theme = "textual-light"
        await painted(pilot)
        assert screen_lines(app) == seen
        assert len(block.lines) == height
        assert 0 < block.kept < 300
        block.selected = True
        view.changed(block)
        await painted(pilot)
        assert [line.replace("█", "▎") for line in screen_lines(app)] == seen
        assert "█" in "".join(screen_lines(app))
        assert 0 < block.kept < 300


async def test_scrolled_up_while_it_is_estimated_nothing_is_passed_over() -> None:
    """Line by line from its end: each line is the one above the last."""
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        block = await shown(pilot)
        block.forget()
        view = app.view
        view.paint_frame()
        view.action_scroll_end()
        while block.markdown._rest:
            block.lay_out()
        view.changed(block)
        view.paint_frame()
        assert estimated(block) > PARTS // 3
        view._follow(False)
        for _ in range(200):
            before = screen_lines(app)
            view.action_line(-1)
            view.paint_frame()
            assert screen_lines(app)[1:] == before[:-1]
        assert block.kept < MOST_MADE * 2


async def test_find_and_selection_are_right_in_what_was_estimated() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        block = await shown(pilot)
        view = app.view
        finder = Finder(view)
        await pilot.resize_terminal(64, 30)
        await finder.look_for("one of 137")
        assert (finder.total, finder.place) == (1, 1)
        assert any("• one of 137" in line for line in screen_lines(app))
        await painted(pilot)
        assert any("• one of 137" in line for line in screen_lines(app))
        marked = [seg.text for strip in view.render_lines(view.size.region) for seg in strip
                  if seg.style is not None and seg.style.reverse and seg.style.bold]  # fmt: skip
        assert marked == ["one of 137"]
        top = block.index * ROWS_A_BLOCK
        spans = view.found.matches(block)[0]
        line = spans[0][0]
        chosen = view.get_selection(Selection(Offset(0, top + line), Offset(40, top + line + 1)))
        assert chosen is not None
        assert chosen[0].startswith("• one of 137\n• two of 137, with a link")
        everything = view.get_selection(Selection(Offset(0, top), Offset(0, top + len(block.lines))))
        assert everything is not None
        painted_text = [(one.joint if at else "", one.content) for at, one in enumerate(list(block.lines)[1:])]
        for _, said in painted_text[:400]:
            assert said.rstrip() in everything[0]
        assert everything[0].count("Part ") == PARTS


async def test_what_is_selected_stays_selected_while_it_is_not_seen() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.view
        for n in range(600):
            view.add_notice("info", f"above {n}")
        words = "\n\n".join(f"part {n} of many" + " and more" * (n % 40) for n in range(600))
        view.add_block(block := AssistantBlock(words, final=True))
        await painted(pilot)
        place = next(at for at, line in enumerate(block.lines) if "part 400 " in line.text)
        y = block.index * ROWS_A_BLOCK + place
        app.screen.selections = {view: Selection(Offset(0, y), Offset(60, y))}
        while view.top:  # what was seen last is kept, and this is more
            view.action_line(-25)
            view.paint_frame()
        view.action_line(view._list.top_of(block) + 100)
        await painted(pilot)
        assert app.screen.get_selected_text() == "part 400 of many"


async def test_what_is_selected_is_copied_whole_though_it_was_not_seen_for_long() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.view
        view.add_notice("info", "above")
        words = "\n\n".join(f"part {n} of many" + " and more" * (n % 40) for n in range(600))
        view.add_block(block := AssistantBlock(words, final=True))
        view.add_notice("info", "below")
        await painted(pilot)
        everything = view.get_selection(Selection(None, None))
        assert everything is not None
        assert everything[0].count("part ") == 600
        assert everything[0].count(" and more") == words.count(" and more")
        place = next(at for at, line in enumerate(block.lines) if "part 400 " in line.text)
        app.screen.selections = {view: Selection(None, Offset(60, block.index * ROWS_A_BLOCK + place))}
        before = app.screen.get_selected_text()
        assert before is not None
        assert before.count("part ") == 401
        view.following = False
        view.action_line(-view.max_scroll_y)
        block.forget()
        for _ in range(2):
            assert view.get_selection(Selection(None, None)) == everything
            assert app.screen.get_selected_text() == before
            await painted(pilot)


async def test_what_is_selected_stays_selected_while_what_is_above_it_is_laid_out() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.view
        block = known_by_block(view)
        row = next(y for y, line in enumerate(screen_lines(app)) if f"value of {PARTS - 1}" in line)
        _, index, place = view._lines(row, 1)[0]
        y = index * ROWS_A_BLOCK + place
        app.screen.selections = {view: Selection(Offset(0, y), Offset(60, y))}
        before = view.get_selection(view.text_selection)
        assert before is not None
        assert f"value of {PARTS - 1}" in before[0]
        await painted(pilot)
        assert estimated(block) == 0
        assert view.get_selection(view.text_selection) == before
