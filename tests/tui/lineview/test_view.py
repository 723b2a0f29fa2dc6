"""The view in an app: following, the cursor and its keys, the mouse, selecting and copying, resizing."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input, Static

from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from console_app.tui.lineview import CallBlock
from tests.each import each
from tests.tui.lineview.scenes import TinyApp, painted, screen_lines
from tests.tui.parts import until

LONG = "\n\n".join(f"Paragraph {n} of a long answer." for n in range(40))


async def test_the_view_follows_new_text_until_you_scroll_away_and_again_from_the_end() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        app.story.say(LONG)
        await painted(pilot)
        assert screen_lines(app)[-1].endswith("Paragraph 39 of a long answer.")
        app.view.focus()
        await pilot.press("pageup")
        held = screen_lines(app)
        app.story.say("\n\nMore text.\n\nAnd more.")
        await painted(pilot)
        assert screen_lines(app) == held
        assert not app.view.following
        await pilot.press("end")
        app.story.say("\n\nThe last words.")
        await painted(pilot)
        assert screen_lines(app)[-1].endswith("The last words.")


async def test_the_scroll_bar_is_where_the_view_is_from_its_first_sight_on() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        app.story.say(LONG)
        await painted(pilot)
        await until(pilot, lambda: app.view.show_vertical_scrollbar)
        assert app.view.scroll_y > 0
        assert app.view.vertical_scrollbar.position == app.view.scroll_y


async def test_the_wheel_releases_and_takes_up_following() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        app.story.say(LONG)
        await painted(pilot)
        app.view.scroll_to(y=app.view.max_scroll_y - 5, animate=False)
        await painted(pilot)
        assert not app.view.following
        app.view.scroll_to(y=app.view.max_scroll_y, animate=False)
        await painted(pilot)
        assert app.view.following


async def test_what_grows_above_does_not_move_what_you_read() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        call = app.story.call(0, started=0.0, city="Oslo")
        app.story.say(LONG)
        await painted(pilot)
        app.view.focus()
        await pilot.press("home")
        app.view.scroll_to(y=30, animate=False)
        await painted(pilot)
        before = screen_lines(app)
        block = app.view.blocks[-1]
        assert isinstance(block, CallBlock)
        app.view.blocks[0].__dict__["text"] = "A\nmuch\nlonger\nprompt"
        app.view.blocks[0].touch()
        app.view.changed(app.view.blocks[0])
        app.story.finish(call, 1.0)
        await painted(pilot)
        assert screen_lines(app)[:10] == before[:10]


async def test_keys_on_a_panel_ask_the_app_for_its_actions() -> None:
    app = TinyApp()
    async with app.run_test(size=(90, 40)) as pilot:
        app.story.turn()
        ids = [app.story.call(n, started=0.0, city=f"town {n}") for n in range(3)]
        app.story.finish(ids[1], 1.0, content="the result")
        await painted(pilot)
        app.view.focus()
        for key in ("x", "+", "s"):  # the last one runs, without a time limit that could be extended
            await app.timing.pass_by()
            await pilot.press(key)
        await app.timing.pass_by()
        assert app.actions == [(ids[2], "cancel"), (ids[2], "send")]
        await pilot.press("alt+up")
        for key in ("r", "e", "i", "c", "x"):
            await app.timing.pass_by()
            await pilot.press(key)
        await app.timing.pass_by()
        assert app.actions[2:] == [(ids[1], "retry"), (ids[1], "edit"), (ids[1], "inspect")]
        assert app.copied == ["the result"]


@each("key", ["o", "space"])
async def test_a_panel_opens_and_closes_by_key(key: str) -> None:
    app = TinyApp()
    async with app.run_test(size=(90, 40)) as pilot:
        app.story.turn()
        app.story.finish(app.story.call(0, started=0.0, city="Oslo"), 1.0, content='{"sky": "grey"}')
        await painted(pilot)
        app.view.focus()
        await painted(pilot)
        folded = screen_lines(app)
        await pilot.press(key)
        await painted(pilot)
        assert any('"sky": "grey"' in line for line in screen_lines(app))
        assert any("city  Oslo" in line for line in screen_lines(app))
        await pilot.press(key)
        await painted(pilot)
        assert screen_lines(app) == folded


@each(("lines", "seen"), [(3, "look_up · native call"), (100, "line 9 of it")])
async def test_a_panel_opened_at_the_lower_edge_is_seen(lines: int, seen: str) -> None:
    """Whole where it fits, else from its first line on: opened where it was, only its border would be seen."""
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        app.story.say(LONG)
        call = app.story.call(0, started=0.0)
        app.story.finish(call, 1.0, "\n".join(f"line {n} of it" for n in range(lines)))
        await painted(pilot)
        app.view.focus()
        await until(pilot, lambda: app.view.cursor is not None)
        assert "look_up" in "\n".join(screen_lines(app)[-4:])
        await pilot.press("o")
        await until(pilot, lambda: seen in "\n".join(screen_lines(app)))
        assert "line 2 of it" in "\n".join(screen_lines(app))


async def test_the_cursor_is_shown_only_while_its_keys_work() -> None:
    app = TinyApp()
    async with app.run_test(size=(90, 30)) as pilot:
        app.story.turn()
        app.story.call(0, started=0.0)
        await painted(pilot)
        assert not any("▌ ⠋" in line for line in screen_lines(app))
        app.view.focus()
        await painted(pilot)
        assert any("▌ ⠋" in line for line in screen_lines(app))
        app.query_one(Input).focus()
        await painted(pilot)
        assert not any("▌ ⠋" in line for line in screen_lines(app))


async def test_every_result_opens_and_folds_at_once() -> None:
    app = TinyApp()
    async with app.run_test(size=(90, 60)) as pilot:
        app.story.turn()
        for n in range(3):
            app.story.finish(app.story.call(n, started=0.0), 1.0, content=f"result number {n}")
        await painted(pilot)
        app.view.toggle_all()
        await painted(pilot)
        assert sum("· native call" in line for line in screen_lines(app)) == 3
        app.view.toggle_all()
        await painted(pilot)
        assert sum("· native call" in line for line in screen_lines(app)) == 0


async def row_of(app: TinyApp, text: str) -> int:
    return next(y for y, line in enumerate(screen_lines(app)) if text in line)


async def drag(pilot: Pilot[None], begin: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down("ConversationView", offset=begin)
    await pilot.hover("ConversationView", offset=((begin[0] + end[0]) // 2, end[1]))
    await pilot.hover("ConversationView", offset=end)
    await pilot.mouse_up("ConversationView", offset=end)
    await pilot.pause()


async def test_a_selection_copies_what_is_seen_without_borders_and_gutters() -> None:
    app = TinyApp()
    async with app.run_test(size=(60, 40)) as pilot:
        app.story.turn("What is the weather?")
        app.story.say("Some words that are long enough to wrap over the edge of this narrow view.\n\n- a point")
        app.story.finish(app.story.call(0, started=0.0, city="Oslo"), 1.0, content="cold")
        await painted(pilot)
        await drag(pilot, (0, await row_of(app, "What is")), (59, await row_of(app, "✓ look_up")))
        text = app.screen.get_selected_text()
        assert text is not None
        assert text.startswith("What is the weather?\n")
        assert "Some words that are long enough to wrap over the edge of this narrow view.\n\n• a point" in text
        assert "✓ look_up  Oslo · cold" in text
        assert not set("│╭╮╰╯▌▎─") & set(text)


async def test_part_of_a_line_can_be_selected() -> None:
    app = TinyApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.story.turn()
        app.story.say("alpha 漢字 gamma")
        await painted(pilot)
        y = await row_of(app, "alpha")
        x = screen_lines(app)[y].index("alpha")
        await drag(pilot, (x + 6, y), (x + 9, y))
        assert app.screen.get_selected_text() == "漢字"


async def test_a_click_selects_a_panel_and_another_opens_it_but_a_drag_does_neither() -> None:
    app = TinyApp()
    async with app.run_test(size=(90, 40)) as pilot:
        app.story.turn()
        for n in range(2):
            app.story.finish(app.story.call(n, started=0.0, n=n), 1.0, content=f"result {n}")
        await painted(pilot)
        y = await row_of(app, "result 0")
        await drag(pilot, (20, y), (40, y))
        assert app.view.cursor is None
        await pilot.click("ConversationView", offset=(20, y))
        assert isinstance(app.view.cursor, CallBlock)
        assert app.view.cursor.call.index == 0
        assert not app.view.cursor.open
        await pilot.click("ConversationView", offset=(20, y))
        assert app.view.cursor.open


async def test_a_click_on_a_web_link_opens_it() -> None:
    app = TinyApp()
    async with app.run_test(size=(140, 20)) as pilot:
        app.story.turn()
        app.story.say("See [here](https://example.org/x) and [there](javascript:alert) [@click=app.quit]boom[/]")
        await painted(pilot)
        y = await row_of(app, "here")
        line = screen_lines(app)[y]
        await pilot.click("ConversationView", offset=(line.index("here") + 1, y))
        await pilot.click("ConversationView", offset=(line.index("there") + 1, y))
        await pilot.click("ConversationView", offset=(line.index("boom") + 1, y))
        assert app.opened == ["https://example.org/x"]
        assert app.is_running


async def test_resizing_keeps_the_line_at_the_top() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 24)) as pilot:
        for n in range(30):
            app.story.turn(f"Question number {n}")
            app.story.say(f"Answer {n}. " + "words and words " * 30)
        await painted(pilot)
        app.view.focus()
        await pilot.press("pageup", "pageup", "pageup")
        await painted(pilot)
        top = next(line for line in screen_lines(app) if "Question" in line)
        await pilot.resize_terminal(60, 24)
        await painted(pilot)
        seen = [line for line in screen_lines(app) if "Question" in line]
        assert abs(int(seen[0].split()[-1]) - int(top.split()[-1])) <= 1
        await pilot.press("end")
        await pilot.resize_terminal(120, 30)
        await painted(pilot)
        assert app.view.following
        assert app.view.scroll_y == app.view.max_scroll_y


@each("size", [(1, 1), (5, 3), (12, 5), (20, 8), (40, 12)])
async def test_a_tiny_terminal_breaks_nothing(size: tuple[int, int]) -> None:
    app = TinyApp()
    async with app.run_test(size=size) as pilot:
        app.story.turn("Do a few things")
        app.story.say("# Title\n\n- point\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```python\nx = 1\n```\n")
        app.story.finish(app.story.call(0, started=0.0), 1.0)
        app.story.call(1, started=0.0)
        await painted(pilot)
        app.view.focus()
        app.view.toggle_all()
        await painted(pilot)
        await pilot.resize_terminal(80, 24)
        await painted(pilot)
        assert any("look_up" in line for line in screen_lines(app))


async def test_the_clock_stands_still_when_nothing_moves() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        call = app.story.call(0, started=0.0)
        await painted(pilot)
        assert app.view.frames.running
        app.story.finish(call, 1.0)
        await until(pilot, lambda: not app.view.frames.running)
        assert app.view.is_painted


async def test_only_lines_that_differ_are_painted_again() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 40)) as pilot:
        app.story.turn()
        app.story.say("First paragraph.\n\nSecond")
        call = app.story.call(0, started=0.0)
        await painted(pilot)
        before = {id(line) for block in app.view.blocks[:2] for line in block.lines}
        app.story.finish(call, 1.0, outcome=Outcome.FAILED)
        await painted(pilot)
        assert {id(line) for block in app.view.blocks[:2] for line in block.lines} == before


async def test_a_new_theme_repaints_the_conversation() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        app.story.say("Hello")
        await painted(pilot)
        before = app.view.palette
        app.theme = "textual-light"
        await painted(pilot)
        assert app.view.palette is not before
        assert all(
            segment.style is None or segment.style.bgcolor != before.base.bgcolor
            for line in app.view.render_lines(app.view.size.region)
            for segment in line
        )


async def test_ten_thousand_blocks_scroll_from_end_to_start() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for n in range(10_000):
            app.view.add_notice("info", f"notice {n}")
        await painted(pilot)
        assert any("notice 9999" in line for line in screen_lines(app))
        app.view.focus()
        await pilot.press("pageup", "home")
        await painted(pilot)
        assert any("notice 0" in line for line in screen_lines(app))
        assert sum(bool(block.lines) for block in app.view.blocks) < 500


ANSWER = """# Title {n}

Some *words*, a [link][later] and `code`.

```python
def number_{n}():
    return {n}
```

1. one
2. two

| a | b |
|---|--:|
| {n} | 2 |

[later]: https://example.org/{n}
"""


async def test_what_was_long_out_of_view_is_forgotten_and_looks_the_same_when_it_comes_back() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for n in range(50):
            app.story.turn(f"Question {n}")
            for at, piece in enumerate(ANSWER.format(n=n).split(" ")):
                app.story.say(" " * (at > 0) + piece)
                if at % 5 == n % 5:
                    app.view.blocks[-1].render(80, app.view.palette)
            app.story.send(ev.MessageAdded, role="assistant", content=ANSWER.format(n=n))
            app.story.finish(app.story.call(0, started=0.0, n=n), 1.0, content='{"rows": [1, 2, {"three": 4}]}')
            if n % 7 == 0:
                app.view.blocks[-1].toggle()
                app.view.changed(app.view.blocks[-1])
        await painted(pilot)
        app.view.focus()
        forward = await pictures(pilot, app, 1)
        first = app.view.blocks[0]
        assert not first.lines
        height = app.view.virtual_size.height
        back = await pictures(pilot, app, -1)
        assert first.lines
        assert app.view.virtual_size.height == height
        assert sum(len(block.lines) for block in app.view.blocks) < 1200
        assert forward == back


async def pictures(pilot: Pilot[None], app: TinyApp, direction: int) -> dict[int, Strip]:
    """Every line of the conversation as it is painted while it is scrolled through."""
    found: dict[int, Strip] = {}
    await pilot.press("home" if direction > 0 else "end")
    for _ in range(1000):
        await painted(pilot)
        found.update(enumerate(app.view.render_lines(app.view.size.region), app.view.top))
        if app.view.top == (app.view.max_scroll_y if direction > 0 else 0):
            break
        app.view.scroll_to(y=app.view.top + direction * app.view.size.height, animate=False)
    return found


def all_states(app: TinyApp) -> None:
    story = app.story
    story.turn("Show every state", at=-9)
    story.say("All of them, with **every** outcome:", at=-9)
    for n, outcome in enumerate(Outcome):
        call = story.call(n, -8, started=None if outcome in (Outcome.DENIED, Outcome.SKIPPED) else -7 + n / 2, n=n)
        story.finish(
            call, -1, content="the result" if outcome is Outcome.SUCCEEDED else "what went wrong", outcome=outcome
        )


def test_pictures_of_rows_in_every_state(snap_compare: object) -> None:
    async def before(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, TinyApp)
        all_states(app)
        app.view.focus()
        await painted(pilot)

    assert snap_compare(TinyApp(), terminal_size=(100, 24), run_before=before)  # type: ignore[operator]


def test_pictures_of_an_open_panel(snap_compare: object) -> None:
    async def before(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, TinyApp)
        all_states(app)
        app.view.focus()
        await pilot.press("alt+up", "o")
        await painted(pilot)

    assert snap_compare(TinyApp(), terminal_size=(90, 30), run_before=before)  # type: ignore[operator]


async def test_what_came_while_the_view_was_hidden_is_whole_when_it_is_shown() -> None:
    app = TinyApp()
    async with app.run_test(size=(60, 24)) as pilot:
        app.story.turn()
        await painted(pilot)
        app.view.display = False
        await painted(pilot)
        error = " ".join(f"word{n}" for n in range(30))
        app.story.send(ev.TurnFinished, 1.0, outcome="failed", error=error)
        await painted(pilot)
        app.view._list.lines(0, 24, app.view.palette, 0.0)  # as when the screen is painted before the view hears of it
        app.view.display = True
        await painted(pilot)
        assert error.split() == [word for line in screen_lines(app) for word in line.split() if word.startswith("word")]


async def test_a_view_that_is_shown_without_being_told_its_size_is_painted() -> None:
    """Textual leaves the event out when places are looked up between a scroll elsewhere and the layout."""

    class Beside(TinyApp):
        CSS = "VerticalScroll { height: 3; } ConversationView { display: none; }"

        def compose(self) -> ComposeResult:
            yield from super().compose()
            with VerticalScroll():
                yield Static("\n" * 20)

    app = Beside()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.query_one(VerticalScroll).scroll_to(y=5, animate=False, immediate=True)
        await pilot.pause()
        app.view.display = True
        assert app.view.region.width == 80
        app.story.turn()
        app.story.say("Here it is.")
        await until(pilot, lambda: any("Here it is." in line for line in screen_lines(app)))
