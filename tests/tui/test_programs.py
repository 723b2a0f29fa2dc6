"""Programs on the screen: each call stands below its program, also one that comes with a later answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from console_app.domain import Outcome
from console_app.domain.chunks import (
    CallClosed,
    CallOpened,
    Chunk,
    FinishChunk,
    ProviderCallFinished,
    ProviderCallStarted,
    ProviderWaits,
    TextChunk,
)
from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.asking.approval_board import ApprovalBoard
from tests.tui.parts import Answer, Tools, WrittenModel, app, decide, see, seen

PROGRAM = ProviderCallStarted("prog_1", "code_execution", "", json.dumps({"code": "await lab_look(path='a.py')"}))


def made(index: int, path: str, caller: str = "prog_1") -> list[Chunk]:
    """A call that the program makes."""
    opened = CallOpened(index, f"call-{path}", "lab_look", caller=caller)
    return [opened, CallClosed(index, json.dumps({"path": path}))]


class Bench:
    """A program of the provider with two calls, then one; the first waits for `free`, or all of them ask."""

    def __init__(self, *, asks: bool = False) -> None:
        self.free = asyncio.Event()
        self.tools = Tools({("lab", "look"): self._look}, read_only=not asks)
        first: Answer = [TextChunk("I write one."), PROGRAM, *made(0, "a.py"), *made(1, "b.py"), *made(2, "c.py", "")]
        end = ProviderCallFinished("prog_1", Outcome.SUCCEEDED, "all seen")
        self.model = WrittenModel(
            [*first, ProviderWaits(200), FinishChunk("tool_calls")],
            [*made(0, "d.py"), FinishChunk("tool_calls")],
            [end, TextChunk("That is it."), FinishChunk("stop")],
        )

    async def _look(self, invocation: Invocation, reporter: CallReporter) -> str:
        await self.free.wait()
        return "seen"


def rows(screen: str) -> list[tuple[str, int]]:
    """The calls on the screen in their order, and how far each is indented from the first."""
    names = ("code_execution", "a.py", "b.py", "c.py", "d.py")
    found = [
        (next((n for n in names if n in line), ""), line)
        for line in screen.splitlines()
        if " look " in line or names[0] in line
    ]
    starts = [line.index("look" if "look  " in line else names[0]) for _, line in found]
    return [(name, start - starts[0]) for (name, _), start in zip(found, starts, strict=True)]


async def test_calls_of_every_answer_stand_below_their_program(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "5 calls · 5 ok")
        assert rows(seen(pilot.app)) == [("code_execution", 0), ("a.py", 2), ("b.py", 2), ("d.py", 2), ("c.py", 0)]


async def test_of_calls_that_fold_once_they_ended_the_program_stays_with_its_result(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(80, 20)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "That is it.")
        await see(pilot, "+ 4 ok")
        assert "code_execution" in seen(pilot.app)
        assert "all seen" in seen(pilot.app)


async def test_the_board_says_until_when_the_program_takes_results(tmp_path: Path) -> None:
    bench = Bench(asks=True)
    bench.free.set()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "takes results for 3 m 20 s")
        await decide(pilot, "tab")
        await see(pilot, "3 need you · too late for its program in 200 s")
        await see(pilot, "? paused")
        await decide(pilot, "y", "y", "y")
        await see(pilot, "1 needs you · too late for its program in")
        await decide(pilot, "tab", "y")
        await see(pilot, "5 calls · 5 ok")


async def test_the_time_goes_on_while_a_board_is_folded_over_its_rows(tmp_path: Path) -> None:
    bench = Bench(asks=True)
    bench.free.set()
    async with app(tmp_path, bench.model, bench.tools).run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "3 need you")
        await pilot.press("alt+1")
        pilot.app.screen.query_one(ApprovalBoard).border_title = "of the second before"
        await see(pilot, "too late for its program in")
        await pilot.press("escape")
        await decide(pilot, "tab", "y", "y", "y")
        await see(pilot, "1 needs you")
