"""The line above the prompt: what runs, what it took so far and the key that stops it; no line while nothing runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.config.files import Paths
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import FinishChunk, ReasoningChunk, RetryChunk, TextChunk, UsageChunk
from console_app.domain.events import Event
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.settings import EngineSettings
from console_app.engine import ApprovalGate
from console_app.tui.app import FanoutApp
from console_app.tui.main_screen.bars.activity_line import ActivityLine
from console_app.workplace import WorkingFolder
from tests.each import each
from tests.tui.parts import NOW, Answer, Tools, WrittenModel, app, calls, chat, echo, say, see, seen, until


class Clock:
    """Moves when the test says so."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def line(console: FanoutApp) -> str:
    """The line as it is painted; "" while it takes none."""
    widget = chat(console).query_one(ActivityLine)
    return seen(console).splitlines()[widget.region.y].strip() if widget.display else ""


async def says(pilot: Pilot[Any], words: str) -> None:
    console = pilot.app
    assert isinstance(console, FanoutApp)
    await until(pilot, lambda: words in line(console), words)


async def test_it_says_what_the_model_does_and_for_how_long(tmp_path: Path) -> None:
    thinks, writes, ends = asyncio.Event(), asyncio.Event(), asyncio.Event()
    answer: Answer = [
        thinks, ReasoningChunk("Hm."), writes, TextChunk("w" * 400), ends, UsageChunk(12_000, 400, cost=0.03),
        FinishChunk("stop"),
    ]  # fmt: skip
    clock = Clock()
    console = app(tmp_path, WrittenModel(answer), clock=clock)
    async with console.run_test(size=(80, 24)) as pilot:
        assert line(console) == ""
        await pilot.press(*"go", "enter")
        await says(pilot, "thinking")
        assert "stop" not in line(console), "the last line names it"
        await see(pilot, "esc stop  enter queue")
        clock.now += 4
        await says(pilot, "thinking 4 s")
        thinks.set()
        await see(pilot, "Hm.")
        clock.now += 31
        await says(pilot, "thinking 35 s · taking longer than expected")
        writes.set()
        await says(pilot, "writing")
        clock.now += 2
        await says(pilot, "writing · 50 tok/s")
        ends.set()
        await until(pilot, lambda: not chat(console).console.conversation.busy and line(console) == "")
        await until(pilot, lambda: chat(console).view.size.height == 24 - 5)  # it takes no line any more


async def test_a_turn_that_the_disk_holds_back_has_a_time_of_its_own(tmp_path: Path) -> None:
    class Disk:
        """Takes nothing while it is held."""

        def __init__(self) -> None:
            self.free = asyncio.Event()
            self.held = 0

        async def append(self, events: Sequence[Event]) -> None:
            if any(event.type == "turn.started" for event in events):
                self.held += 1
                await self.free.wait()

    clock, disk, ends = Clock(), Disk(), asyncio.Event()
    model = WrittenModel([RetryChunk(2, 90.0, "Overloaded.", 5), ends], [ends])
    console = app(tmp_path, model, store=disk, clock=clock)
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: disk.held == 1)
        clock.now += 3
        await says(pilot, "thinking 3 s")
        disk.free.set()
        await says(pilot, "retrying in 1 m 2")
        clock.now += 40
        await pilot.press("escape")
        await until(pilot, lambda: not chat(console).console.conversation.busy and line(console) == "")
        disk.free.clear()
        clock.now += 500
        await pilot.press(*"again", "enter")
        await until(pilot, lambda: disk.held == 2)
        clock.now += 2
        await says(pilot, "thinking 2 s")
        assert "longer" not in line(console)
        disk.free.set()


async def test_a_hook_that_is_asked_is_said_and_nothing_else_seems_to_go_on(tmp_path: Path) -> None:
    clock, held = Clock(), ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    hooks = {
        event: [
            {"hooks": [{"type": "command", "command": f"cat > /dev/null; until test -e {event}; do sleep 0.02; done"}]}
        ]
        for event in held
    }
    environ = {"FANOUT_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    place = WorkingFolder(Paths.find(environ), tmp_path, environ, hooks)
    tools, gate = Tools({("lab", "run"): echo}), ApprovalGate(ApprovalMode.YOLO)
    model = WrittenModel(calls(("lab_run", "{}"), text="w" * 400), say("Over."))
    console = app(tmp_path, model, tools, gate=gate, workplace=place, clock=clock)
    async with console.run_test(size=(100, 24)) as pilot:
        await pilot.press(*"go", "enter")
        for event, doing, row in zip(
            held,
            ("asking hooks 4 s", "working", "working", "asking hooks 4 s"),
            ("", "a hook is asked", "a hook is asked about the result", ""),
            strict=True,
        ):
            await says(pilot, doing.removesuffix(" 4 s"))
            await see(pilot, row)
            clock.now += 4
            await says(pilot, doing)
            assert "tok/s" not in seen(console)
            (tmp_path / event).touch()
        await until(pilot, lambda: not chat(console).console.conversation.busy)
        assert "a hook is asked" not in seen(console)


async def test_a_summary_has_the_time_that_it_took(tmp_path: Path) -> None:
    clock, go = Clock(), asyncio.Event()
    model = WrittenModel(say("One."), say("Two."), [go, *say("A summary.")])
    console = app(tmp_path, model, clock=clock)
    async with console.run_test(size=(80, 24)) as pilot:
        for number in (1, 2):
            await pilot.press(*"go", "enter")
            await until(
                pilot,
                lambda number=number: len(model.requests) == number and not chat(console).console.conversation.busy,
            )
        clock.now += 700
        await pilot.press(*"/compact", "enter")
        await says(pilot, "compacting")
        assert "11 m" not in line(console)
        clock.now += 5
        await says(pilot, "compacting 5 s")
        go.set()
        await see(pilot, "Compacted")


async def test_it_says_what_calls_cost_and_their_batch_counts_them(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def wait(_invocation: Invocation, _reporter: CallReporter) -> str:
        await go.wait()
        return "done"

    clock = Clock()
    model = WrittenModel(calls(*(("lab_wait", f'{{"n": {n}}}') for n in range(5))), say("All done."))
    console = app(tmp_path, model, Tools({("lab", "wait"): wait}), clock=clock)
    async with console.run_test(size=(80, 24)) as pilot:
        chat(console).services.engine.settings = EngineSettings(max_parallel=3)
        await pilot.press(*"go", "enter")
        await says(pilot, "working   1.6k tokens")
        clock.now += 12
        await see(pilot, "5 calls · 3 running · 2 queued · 3 calls are running, the most at once")
        await until(pilot, lambda: seen(console).count("12.0 s") == 3, "12.0 s of each call that runs")
        assert seen(console).count("3 running") == 1
        clock.now += 20
        await says(pilot, "working · taking longer than expected")
        go.set()
        await see(pilot, "All done.")


async def test_what_waits_for_you_is_said_and_moves_nothing(tmp_path: Path) -> None:
    async def act(_invocation: Invocation, _reporter: CallReporter) -> str:
        return "done"

    tools = Tools({("lab", "act"): act}, read_only=False)
    model = WrittenModel(calls(("lab_act", "{}")))
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK), clock=Clock())
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await says(pilot, "? paused")
        assert seen(console).count("needs you") == 1, "on the board"


async def test_another_try_is_counted_down(tmp_path: Path) -> None:
    clock, over = Clock(), asyncio.Event()
    model = WrittenModel([RetryChunk(2, 12.0, "Overloaded.", 5), over, TextChunk("Here."), FinishChunk("stop")])
    console = app(tmp_path, model, clock=clock)
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await says(pilot, "retrying in 12 s")
        await see(pilot, "Retrying: attempt 2 of 5")
        assert seen(console).count("2 of 5") == 1  # each is said once
        clock.now += 9
        await says(pilot, "retrying in 3 s")
        clock.now += 8
        await says(pilot, "thinking 5 s")
        over.set()
        await see(pilot, "Here.")


async def test_a_summary_in_the_middle_of_a_turn_is_said(tmp_path: Path) -> None:
    go = asyncio.Event()
    nearly_full: Answer = [TextChunk("One."), UsageChunk(900, 80), FinishChunk("stop")]
    answers: list[Answer] = [nearly_full, nearly_full, nearly_full, nearly_full]
    model = WrittenModel(*answers, [go, *say("A summary.")], say("Five."))
    console = app(tmp_path, model)
    async with console.run_test(size=(80, 24)) as pilot:
        for number in range(4):
            await pilot.press(*"go", "enter")
            await until(
                pilot,
                lambda number=number: len(model.requests) == number + 1 and not chat(console).console.conversation.busy,
            )
        chat(console).services.engine.window = lambda: 1000
        await pilot.press(*"go", "enter")
        await says(pilot, "compacting")
        go.set()
        await see(pilot, "Five.")


@each(("size", "left_out"), [((100, 24), ""), ((60, 15), "$0.030")])
async def test_what_fits_by_importance(tmp_path: Path, size: tuple[int, int], left_out: str) -> None:
    clock, over = Clock(), asyncio.Event()
    answer: Answer = [TextChunk("w"), UsageChunk(12_000, 400, cost=0.03), over, FinishChunk("stop")]
    console = app(tmp_path, WrittenModel(answer), clock=clock)
    async with console.run_test(size=size) as pilot:
        await pilot.press(*"go", "enter")
        await says(pilot, "writing")
        clock.now += 40
        await says(pilot, "writing · taking longer than expected")
        assert ("$0.030" in line(console)) is (not left_out)
        over.set()


async def test_a_key_that_is_bound_otherwise_is_named_so(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel([asyncio.Event()]), keymap={"chat.stop": "f8"})
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "f8 stop")
