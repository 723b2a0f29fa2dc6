"""`[ui] motion = false`: nothing moves by itself, and how long things take is still told, a second at a time."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.app import FanoutApp
from console_app.tui.lineview.scrolling.frame_clock import CALM_EVERY, FRAME, LIVE_EVERY
from console_app.tui.lineview.wording import SPINNER, STILL
from tests.each import each
from tests.tui.parts import NOW, Server, Tools, WrittenModel, app, calls, chat, say, see, seen, until
from tests.tui.test_activity import Clock


class Work:
    """Two calls that go on until the test ends them: one counts without an end, one says nothing."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.tools = Tools({("lab", "count"): self._count, ("lab", "rest"): self._rest})

    async def _count(self, _invocation: Invocation, reporter: CallReporter) -> str:
        reporter.progress(3.0, None, "rows")
        await self.over.wait()
        return "done"

    async def _rest(self, _invocation: Invocation, _reporter: CallReporter) -> str:
        await self.over.wait()
        return "done"


def console(folder: Path, work: Work, clock: Clock, *, motion: bool) -> FanoutApp:
    model = WrittenModel(calls(("lab_count", "{}"), ("lab_rest", "{}")), say("So be it."))
    return app(folder, model, work.tools, clock=clock, motion=motion)


async def pictures(pilot: Pilot[Any], clock: Clock) -> list[str]:
    """The screen at moments of one second and of later ones, with its figures made alike."""
    shown: list[str] = []
    for moment in (0.0, 0.15, 0.4, 0.85, 1.3, 2.2, 3.7):
        clock.now = NOW + 5 + moment
        chat(pilot.app).view.paint_frame()
        await pilot.pause()
        shown.append(re.sub(r"[\d.]+", "#", seen(pilot.app)))
    return shown


@each("motion", [True, False])
async def test_figures_are_all_that_changes_while_calls_run(tmp_path: Path, motion: bool) -> None:
    work, clock = Work(), Clock()
    running = console(tmp_path, work, clock, motion=motion)
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 running")
        await see(pilot, "rows")
        await until(pilot, lambda: (doing := chat(running).console.activity.at(NOW)) is not None and doing.tokens > 0)
        shown = await pictures(pilot, clock)
        assert (len(set(shown)) == 1) is not motion
        assert any(glyph in shown[0] for glyph in SPINNER) is motion
        assert (STILL in shown[0]) is not motion
        assert not any("▱" in one for one in shown)  # nothing pretends to be progress
        assert "# s" in shown[0]
        work.over.set()
        await see(pilot, "So be it.")
        await until(pilot, lambda: STILL not in seen(running))


async def test_elapsed_time_goes_on_a_second_at_a_time(tmp_path: Path) -> None:
    work, clock = Work(), Clock()
    running = console(tmp_path, work, clock, motion=False)
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 running · 0.0 s")
        assert chat(running).view.frames.live_every == CALM_EVERY == round(1 / FRAME)
        clock.now += 7
        await see(pilot, "2 running · 7.0 s")
        assert seen(running).count("7.0 s") == 3  # of the batch, and of each of its calls
        work.over.set()
        await see(pilot, "So be it.")


async def test_the_timeline_and_the_servers_stand_still(tmp_path: Path) -> None:
    work, clock = Work(), Clock()
    model = WrittenModel(calls(("lab_count", "{}"), ("lab_rest", "{}")), say("So be it."))
    servers = [Server("slow", "starting"), Server("lab", "ready", tools=2)]
    running = app(tmp_path, model, work.tools, clock=clock, motion=False, server_statuses=lambda: servers)
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 running")
        await pilot.press("ctrl+t")
        await see(pilot, "Timeline")
        assert f"{STILL} " in seen(running)
        assert not any(glyph in seen(running) for glyph in SPINNER)
        await pilot.press("escape")
        await until(pilot, lambda: running.screen is chat(running))
        await pilot.press("ctrl+l")
        await see(pilot, f"{STILL} starting")
        work.over.set()


async def test_no_cursor_blinks_in_any_field(tmp_path: Path) -> None:
    running = app(tmp_path, WrittenModel(say("Well.")))
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.press("f1")
        await see(pilot, "Help")
        field = running.screen.query_one(Input)
        await until(pilot, lambda: field.has_focus and not field.cursor_blink)


async def test_it_is_turned_off_and_on_where_it_is_seen(tmp_path: Path) -> None:
    work, clock = Work(), Clock()
    running = console(tmp_path, work, clock, motion=True)
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 running")
        running.use_motion(False)
        await until(pilot, lambda: STILL in seen(running))
        assert chat(running).view.frames.live_every == CALM_EVERY
        running.use_motion(True)
        await until(pilot, lambda: STILL not in seen(running))
        assert chat(running).view.frames.live_every == LIVE_EVERY
        work.over.set()
        await see(pilot, "So be it.")
