"""A batch that runs: its counts never leave the view, and of one taller than the view what runs is what is seen."""

from __future__ import annotations

import re

from console_app.domain import events as ev
from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript import CallView
from console_app.tui.lineview import CallBlock
from tests.each import each
from tests.tui.lineview.scenes import TinyApp, painted, screen_lines
from tests.tui.parts import until
from tests.work import work

LONG = "\n\n".join(f"Paragraph {n} of a long answer." for n in range(40))


def many(app: TinyApp, count: int, *, running: int) -> list[str]:
    """A turn with so many calls; the first ones run, the others are queued."""
    app.story.turn()
    ids = [app.story.call(n, started=0.0 if n < running else None, i=n) for n in range(count)]
    for call_id in ids[running:]:
        app.story.send(ev.CallQueued, 0.0, call_id=call_id, why=f"{running} calls are running, the most at once")
    return ids


def start(app: TinyApp, call_id: str, at: float) -> None:
    app.story.send(ev.CallStarted, at, call_id=call_id)


def call_of(app: TinyApp, call_id: str) -> CallView:
    return next(b.call for b in app.view.blocks if isinstance(b, CallBlock) and b.call.id == call_id)


def seen(app: TinyApp) -> str:
    return "\n".join(screen_lines(app))


@each(("size", "count"), [((80, 24), 32), ((120, 40), 500)])
async def test_counts_and_running_calls_are_seen_from_the_first_to_the_last(size: tuple[int, int], count: int) -> None:
    app = TinyApp()
    async with app.run_test(size=size) as pilot:
        ids = many(app, count, running=16)
        for done in range(count):
            if done % (count // 8) == 0:
                app.clock.now += 1
                await painted(pilot)
                running = [block.call.id for block in app.view.blocks if isinstance(block, CallBlock)
                           and block.call.state is CallState.RUNNING]  # fmt: skip
                text = seen(app)
                assert f"{count} calls · {len(running)} running" in text
                for call_id in running:
                    assert re.search(rf"i={call_id.rsplit('_', 1)[1]}\b", text), text
                queued = count - done - len(running)
                folded = re.search(r"\+ (\d+) queued", text)
                assert len(re.findall("· queued$", text, re.MULTILINE)) + int(folded[1] if folded else 0) == queued
                assert len(text.splitlines()) == app.view.size.height, "no row is free"
            app.story.finish(ids[done], 1.0)
            if done + 16 < count:
                start(app, ids[done + 16], 1.0)
        app.story.send(ev.BatchFinished, 2, calls=count, wall_ms=2000, summed_ms=8000)
        await painted(pilot)
        app.view.focus()
        await pilot.press("home")
        await painted(pilot)
        assert f"{count} calls · {count} ok" in seen(app)
        assert app.view.virtual_size.height <= app.view.size.height + 4
        await pilot.press(*["alt+down"] * count, "enter")
        await painted(pilot)
        assert app.view.virtual_size.height > count, "opened, every row is there"


@each(("width", "words"), [(120, "1,234 lines too fast to keep"), (80, "1,234 dropped")])
async def test_a_panel_says_how_many_lines_came_too_fast_to_keep(width: int, words: str) -> None:
    app = TinyApp()
    async with app.run_test(size=(width, 24)) as pilot:
        app.story.turn()
        call_id = app.story.call(0, started=0.0)
        app.story.send(ev.CallLog, 1.0, call_id=call_id, text="the first line")
        app.story.send(ev.CallLog, 2.0, call_id=call_id, text="the newest line", dropped=1234)
        await painted(pilot)
        assert re.search(rf"the newest line +{words}", seen(app)), seen(app)
        app.view.focus()
        await pilot.press("end", "space")
        await painted(pilot)
        text = seen(app)
        assert re.search(r"the first line\W+… 1,234 more lines that came too fast to keep\W+2.0 s  the newest", text), (
            text
        )


async def test_as_many_are_counted_as_folded_whatever_room_there_is() -> None:
    """A board under the view takes lines of it, and gives them back."""
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        many(app, 60, running=60)
        await painted(pilot)
        for height in (20, 32, 15, 40):
            await pilot.resize_terminal(100, height)
            await painted(pilot)
            text = seen(app)
            shown = len(re.findall(r"\bi=\d", text))
            assert shown > height // 2
            assert f"+ {60 - shown} running" in text, text


async def test_nothing_is_unaccounted_for_in_a_view_of_a_few_lines() -> None:
    """As a large board leaves it: what the counts would stand on is counted under them."""
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        ids = many(app, 8, running=2)
        app.story.finish(ids[0], 1.0)
        heights: set[int] = set()
        for height in range(12, 2, -1):
            await pilot.resize_terminal(80, height)
            await painted(pilot)
            text = seen(app)
            heights.add(app.view.size.height)
            assert "8 calls · 1 running" in text
            if fold := re.search(r"^ +\+ (.*)$", text, re.MULTILINE):
                counts = [int(count) for count in re.findall(r"(\d+) [a-z]", fold[1].replace("all calls", "8 calls"))]
                assert sum(counts) + len(re.findall(r"\bi=\d", text)) == 8, text
        assert {1, 2, 3} < heights


async def test_a_state_that_nothing_is_in_any_more_says_so_and_how_all_are_seen() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        ids = many(app, 3, running=3)
        await painted(pilot)
        app.view.focus()
        await app.timing.pass_by()
        await pilot.press("end", "t")
        await painted(pilot)
        assert "only running · no call is folded" in seen(app)
        for call_id in ids:
            app.story.finish(call_id, 1.0)
        app.story.send(ev.BatchFinished, 1, calls=3, wall_ms=1000, summed_ms=3000)
        await painted(pilot)
        assert re.search("only running: none now · .*3 ok|only running: none now · .*2 ok", seen(app)), seen(app)
        assert "o open" in seen(app)
        await pilot.press("t")
        await painted(pilot)
        assert "only" not in seen(app)


async def test_failed_calls_stay_in_sight_and_done_ones_are_counted() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 24)) as pilot:
        ids = many(app, 40, running=8)
        app.story.finish(ids[0], 1.0, content="no such file", outcome=Outcome.FAILED)
        app.story.finish(ids[1], 1.0, outcome=Outcome.SUCCEEDED)
        app.story.finish(ids[2], 1.0, content="cancelled by you", outcome=Outcome.CANCELLED)
        await painted(pilot)
        text = seen(app)
        assert "no such file" in text
        assert len(re.findall("[⠀-⣿] look_up", text)) == 5
        rows = len(re.findall("· queued$", text, re.MULTILINE))
        assert f"+ {32 - rows} queued, 1 ok, 1 stopped" in text
        assert rows > 10, "no row is free"


async def test_the_counts_stick_to_the_edge_beyond_which_they_are() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 24)) as pilot:
        app.story.turn()
        app.story.say(LONG)
        ids = [app.story.call(n, started=0.0, i=n) for n in range(3)]
        app.story.send(ev.Notice, 0, level="info", text="\n\n".join(f"word {n}" for n in range(30)))
        await painted(pilot)
        assert screen_lines(app)[0].strip().startswith("3 calls · 3 running")
        app.clock.now += 5
        app.story.finish(ids[0], 5.0)
        await painted(pilot)
        assert screen_lines(app)[0].strip().startswith("3 calls · 2 running · 1 ok · 5.0 s")
        app.view.focus()
        await pilot.press("home")
        await painted(pilot)
        assert screen_lines(app)[-1].strip().startswith("3 calls · 2 running · 1 ok")
        app.view.go_to_call(call_of(app, ids[0]))
        await painted(pilot)
        lines = screen_lines(app)
        assert sum("3 calls" in line for line in lines) == 1
        assert any("i=0" in line for line in lines)
        app.story.finish(ids[1], 6.0)
        app.story.finish(ids[2], 6.0)
        app.story.send(ev.BatchFinished, 6, calls=3, wall_ms=6000, summed_ms=17000)
        await pilot.press("home")
        await painted(pilot)
        assert "3 calls" not in seen(app)


async def test_folded_rows_open_and_fold_by_key_and_the_selected_call_is_never_folded() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 24)) as pilot:
        ids = many(app, 40, running=4)
        await painted(pilot)
        app.view.focus()
        await pilot.pause()
        block = app.view.cursor
        assert isinstance(block, CallBlock)
        assert block.call.id == ids[3]
        app.story.finish(ids[3], 1.0, content="the result")
        await painted(pilot)
        assert "the result" in seen(app)
        assert "o open" not in seen(app), "a key is named where it works"
        await pilot.press(*["alt+down"] * 40)
        await painted(pilot)
        assert "o open" in seen(app)
        await pilot.press("o")
        await painted(pilot)
        assert re.search("no call is folded .* o close", seen(app))
        assert app.view.virtual_size.height > 40
        await pilot.press("o")
        await painted(pilot)
        assert re.search(r"\+ \d\d queued, 1 ok", seen(app))
        assert app.view.enter_call(9)
        await painted(pilot)
        assert "i=8" in seen(app)


async def test_the_selected_row_stays_in_its_line_when_the_batch_ends() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 24)) as pilot:
        app.story.turn()
        app.story.say(LONG)
        ids = [app.story.call(n, started=0.0 if n > 30 else None, i=n) for n in range(36)]
        for call_id in ids[:31]:
            app.story.send(ev.CallQueued, 0.0, call_id=call_id, why="16 calls are running, the most at once")
        await painted(pilot)
        app.view.go_to_call(call_of(app, ids[33]))
        app.view.action_line(-2)  # the end is no longer followed
        await painted(pilot)
        y = next(y for y, line in enumerate(screen_lines(app)) if "i=33" in line)
        for call_id in ids:
            app.story.finish(call_id, 1.0)
        app.story.send(ev.BatchFinished, 1, calls=36, wall_ms=1000, summed_ms=5000)
        await painted(pilot)
        assert "i=33" in screen_lines(app)[y]


@each("size", [(60, 15), (80, 24)])
async def test_rows_are_filtered_by_state_and_failed_calls_are_a_key_away(size: tuple[int, int]) -> None:
    app = TinyApp()
    async with app.run_test(size=size) as pilot:
        ids = many(app, 500, running=4)
        for n in (0, 1):
            app.story.finish(ids[n], 1.0, content=f"broken {n}", outcome=Outcome.FAILED)
        app.story.finish(ids[2], 1.0, content="fine")
        await painted(pilot)
        app.view.focus()
        await pilot.press("exclamation_mark")
        assert (block := app.view.cursor) is not None
        assert block.copy_text == "broken 0"
        await pilot.press("exclamation_mark", "exclamation_mark", "exclamation_mark")
        assert app.view.cursor is not None
        assert app.view.cursor.copy_text == "broken 1"
        await app.timing.pass_by()
        await pilot.press("t")  # running
        await painted(pilot)
        assert "only running" in seen(app)
        await pilot.press("t", "t", "t")  # queued, done, failed
        await painted(pilot)
        assert "only failed" in seen(app)
        assert "broken 0" in seen(app)
        assert "broken 1" in seen(app)
        assert "fine" not in seen(app)
        app.story.send(ev.BatchFinished, 6, calls=500, wall_ms=6000, summed_ms=17000)
        await painted(pilot)
        assert "fine" not in seen(app), "what was chosen holds when the batch has ended"
        await pilot.press("t")
        await painted(pilot)
        assert app.view.virtual_size.height < 30
        assert app.view.cursor.copy_text == "broken 1"


class Later(TinyApp):
    """The view has no room at first, as while the welcome stands where it will be."""

    CSS = TinyApp.CSS + "ConversationView { display: none; }"


@each("kind", [TinyApp, Later])
async def test_a_batch_that_ended_before_it_could_be_seen_is_as_one_that_was(kind: type[TinyApp]) -> None:
    app = kind()
    async with app.run_test(size=(80, 30)) as pilot:
        assert (app.view.room == 0) == (kind is Later)
        for call_id in many(app, 12, running=12):
            app.story.finish(call_id, 1.0)
        app.story.send(ev.BatchFinished, 1, calls=12, wall_ms=1000, summed_ms=1000)
        app.story.send(ev.TurnFinished, 1, outcome="completed")
        app.view.display = True
        await until(pilot, lambda: app.view.room > 0)
        for width in (80, 70):
            await pilot.resize_terminal(width, 30)
            await painted(pilot)
            assert "12 calls · 12 ok" in seen(app)
            assert re.search(r"\+ all calls *$", seen(app), re.MULTILINE), "the head counts them"


async def test_the_line_above_names_what_became_of_calls_before_it_says_what_was_saved() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        ids = [app.story.call(n, started=0.0, i=n) for n in range(8)]
        ends = (Outcome.FAILED, Outcome.INVALID, Outcome.CANCELLED, Outcome.DENIED)
        for call_id, outcome in zip(ids, ends, strict=False):
            app.story.finish(call_id, 5.0, outcome=outcome)
        for call_id in ids[4:]:
            app.story.finish(call_id, 5.0)
        app.story.send(ev.BatchFinished, 6, calls=8, wall_ms=6000, summed_ms=17000)
        await painted(pilot)
        head = next(line for line in screen_lines(app) if "8 calls" in line)
        assert "4 ok · 1 failed · 1 invalid · 1 stopped · 1 denied" in head


async def test_the_end_of_a_call_is_as_little_work_among_many_as_among_few() -> None:
    async def ending(count: int) -> int:
        app = TinyApp()
        async with app.run_test(size=(80, 24)) as pilot:
            ids = many(app, count, running=16)
            await painted(pilot)
            assert f"{count - 16} queued" in seen(app)
            done = work(lambda: app.story.finish(ids[0], 1.0))
            await painted(pilot)
            assert "1 ok" in seen(app)
            return done

    assert await ending(400) < 3 * await ending(40)
