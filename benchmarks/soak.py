"""Thousands of scripted turns with three calls each through engine, session file and console: does anything grow?

    python -m benchmarks.soak [TURNS] [--endless]

Conversations of fifty turns follow one another: what is in a conversation stays as long as it does, and is not growth.
With `--endless` all turns are one conversation, and what a turn adds is what is kept of it: its messages, its calls,
and the blocks that paint them. Growth is counted after the first turns, when caches are full and imports done: Python's
own memory by tracemalloc, the process's by the kernel, and the number of tasks, descriptors, threads, widgets and
garbage-tracked objects.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import tempfile
import threading
import time
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.console import parser
from console_app.console import Models, Services
from console_app.domain import ApprovalMode, Outcome, ToolResult, ToolSpec, ports
from console_app.domain import chunks as ch
from console_app.domain.tools import ToolAnnotations
from console_app.engine import ApprovalGate, Engine
from console_app.tui.app import FanoutApp
from console_app.tui.main_screen.screen import ChatScreen

CALLS = 3
NEW_AFTER = 50  # turns of a conversation; looks are taken where a new one begins, as what is said is meant to stay
THEMES = Path(__file__).parents[1] / "themes"


class Model(ports.Provider):
    """Asks for three calls, then says a sentence. Keeps nothing of what it was sent."""

    name, model, protocol = "soak", "script", "native"

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        yield self._answer(request.messages[-1].role == "tool")

    async def _answer(self, called: bool) -> AsyncIterator[ch.Chunk]:
        if called:
            for word in ("All ", "three ", "**gave** ", "`something`."):
                yield ch.TextChunk(word)
        else:
            for index in range(CALLS):
                yield ch.CallOpened(index, "", "lab_work")
                yield ch.CallClosed(index, json.dumps({"number": index}))
        yield ch.UsageChunk(100, 20)
        yield ch.FinishChunk("stop" if called else "tool_calls")


class Tools:
    """One tool that answers at once."""

    def tools(self) -> Sequence[ToolSpec]:
        """See Toolset."""
        return [ToolSpec(name="lab_work", server="lab", tool="work", annotations=ToolAnnotations(read_only=True))]

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        """See Toolset."""
        reporter.progress(1, 2, "half way")
        await asyncio.sleep(0)
        return ToolResult(outcome=Outcome.SUCCEEDED, content=f"result {invocation.arguments['number']}")


@dataclass(frozen=True)
class Look:
    """What is there at one moment. Sizes in bytes."""

    turns: int
    traced: int
    resident: int
    tasks: int
    descriptors: int
    threads: int
    widgets: int
    blocks: int
    painted: int  # lines that are kept painted
    objects: int  # without these lines: how many there are swings by tens of thousands between two looks


def _look(turns: int, app: FanoutApp, screen: ChatScreen) -> Look:
    blocks = screen.view.blocks
    painted = sum(block.kept for block in blocks)
    for block in blocks:
        block.forget()
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Look(
        turns=turns,
        traced=tracemalloc.get_traced_memory()[0],
        resident=pages * os.sysconf("SC_PAGE_SIZE"),
        tasks=len(asyncio.all_tasks()),
        descriptors=len(os.listdir("/proc/self/fd")),
        threads=threading.active_count(),
        widgets=sum(1 for _ in app.screen.walk_children()),
        blocks=len(blocks),
        painted=painted,
        objects=len(gc.get_objects()),
    )


async def soak(turns: int, folder: Path, *, every: int, new_after: int, trace: bool = True) -> list[Look]:
    """Runs `turns` turns, a new conversation after each `new_after`; looks after every `every`."""
    engine = Engine(provider=Model(), toolset=Tools(), gate=ApprovalGate(ApprovalMode.AUTO))
    services = Services(
        engine=engine,
        models=Models(engine),
        history_path=folder / "history",
        log_path=folder / "fanout.log",
        theme_dirs=[THEMES],
        working_folder=folder,
    )
    app = FanoutApp(services)
    looks: list[Look] = []
    if trace:
        tracemalloc.start()
    async with app.run_test(size=(100, 40)) as pilot:
        screen: Any = app.screen_stack[0]
        for turn in range(1, turns + 1):
            screen.prompt_area.send("Do three things.")
            await screen.console.conversation.ended()
            if turn % 10 == 0:
                await pilot.pause()
            if turn % new_after == 0:
                await pilot.pause()
                screen.console.sessions.begin()
            if turn % every == 0:
                await pilot.pause()
                looks.append(_look(turn, app, screen))
    if trace:
        tracemalloc.stop()
    return looks


def growth(looks: Sequence[Look], begin: int) -> dict[str, float]:
    """What grew a turn, from the first look at or after `begin` turns to the last."""
    first, last = next(look for look in looks if look.turns >= begin), looks[-1]
    turns = max(last.turns - first.turns, 1)
    return {name: (value - asdict(first)[name]) / turns for name, value in asdict(last).items() if name != "turns"}


def main() -> None:
    """Prints each look, and what grew a turn."""
    words = parser(__doc__)
    words.add_argument("turns", metavar="TURNS", type=int, nargs="?", default=10_000)
    words.add_argument("--endless", action="store_true", help="one conversation of all turns")
    given = words.parse_args()
    turns, endless = given.turns, given.endless
    begin = time.monotonic()
    every = NEW_AFTER * max(turns // NEW_AFTER // 10, 1)
    with tempfile.TemporaryDirectory() as folder:
        looks = asyncio.run(soak(turns, Path(folder), every=every, new_after=turns + 1 if endless else NEW_AFTER))
    for look in looks:
        print(json.dumps(asdict(look)))
    print(f"{turns:,} turns in {time.monotonic() - begin:.0f} s; grown a turn after the first tenth:")
    print(json.dumps(growth(looks, turns // 10), indent=2))


if __name__ == "__main__":
    main()
