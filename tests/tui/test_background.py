"""A call that goes to the background by a key: the turn goes on, a line says what runs there, and its result joins."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome
from console_app.tui.main_screen.bars.activity_line import BackgroundLine
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, say, see, seen, until
from tests.tui.stored import library

pytestmark = pytest.mark.usefixtures("closed_libraries")


class Bench:
    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.tools = Tools({("lab", "wait"): self._wait})
        asked = calls(("lab_wait", json.dumps({"command": "pytest -q"})))
        self.model = WrittenModel(asked, say("Going on."), say("Seen."))

    async def _wait(self, invocation: Invocation, reporter: CallReporter) -> str:
        reporter.output("stdout", "collecting 12 tests\n")
        await self.free.wait()
        return "12 passed"


async def started(pilot: Pilot[Any]) -> None:
    await pilot.press(*"go", "enter")
    await see(pilot, "collecting 12 tests")


def toasts(pilot: Pilot[Any]) -> str:
    return "\n".join(one.message for one in pilot.app._notifications)  # pyright: ignore[reportPrivateUsage]


async def test_ctrl_b_lets_the_newest_call_run_on_and_its_result_joins_when_it_is_there(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await started(pilot)
        await pilot.press("ctrl+b")
        await see(pilot, "Going on.")
        await see(pilot, "1 in the background: pytest -q 0 s")  # drawn once a second, so without tenths
        await until(pilot, lambda: not screen.console.conversation.busy)
        await pilot.press(*"/new", "enter")
        await until(pilot, lambda: "runs in the background" in toasts(pilot))
        bench.free.set()
        await until(pilot, lambda: "in the background:" not in seen(pilot.app))
        await see(pilot, "12 passed")
        await pilot.press(*"well", "enter")
        await see(pilot, "Seen.")
        history = screen.console.conversation.engine.history
        assert any("12 passed" in one.content for one in history if one.role == "user")
        assert screen.ui.shown.transcript.history == history


async def test_x_on_the_line_ends_it_and_enter_goes_to_it(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await started(pilot)
        await pilot.press("ctrl+b")
        await see(pilot, "Going on.")
        line = screen.query_one(BackgroundLine)
        line.focus()
        await see(pilot, "x stop")
        await pilot.press("enter")
        await until(pilot, lambda: screen.view.has_focus)
        line.focus()
        await until(pilot, lambda: line.has_focus)
        await pilot.press("x")
        await until(pilot, lambda: not line.display)
        [call] = screen.ui.shown.transcript.calls.values()
        assert call.outcome is Outcome.CANCELLED
        assert "collecting 12 tests" in call.content
        assert screen.focused is not None


async def test_quitting_asks_while_something_runs_there(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(100, 30)) as pilot:
        await started(pilot)
        await pilot.press("ctrl+b")
        await see(pilot, "Going on.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "Quitting ends a call that runs in the background" in toasts(pilot))
        assert pilot.app.is_running
        bench.free.set()


async def test_a_result_is_not_changed_while_something_runs_there_and_that_is_said_before_the_form(
    tmp_path: Path,
) -> None:
    bench, kept = Bench(), library(tmp_path)
    bench.tools.runs["lab", "echo"] = echo
    asked = calls(("lab_wait", json.dumps({"command": "pytest -q"})), ("lab_echo", json.dumps({"text": "abc"})))
    bench.model = WrittenModel(asked, say("Going on."), say("Seen."))
    running = app(tmp_path, bench.model, bench.tools, store=kept, library=kept, close=kept.close)
    async with running.run_test(size=(100, 30)) as pilot:
        await started(pilot)
        await pilot.press("ctrl+b")
        await see(pilot, "Going on.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        chat(running).view.enter_call(2)
        await decide(pilot, "e")
        await see(pilot, "its result")
        await pilot.press("f3")
        await until(pilot, lambda: "runs in the background" in toasts(pilot))
        assert running.screen is chat(running)
        bench.free.set()
