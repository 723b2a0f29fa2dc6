"""Engines that share their slots keep the limits of app, server and tool together, and files apart."""

from __future__ import annotations

import asyncio
from typing import Any

from console_app.domain.approvals import ApprovalMode
from console_app.domain.settings import EngineSettings
from console_app.domain.tools import Outcome, ToolSpec
from console_app.engine import ApprovalGate, Engine, Slots
from tests.each import each
from tests.engine.peers import DONE, Model, Tools, calls, play, results_of, spec
from tests.patience import until_so


def engine(tools: Tools, slots: Slots, arguments: list[dict[str, Any]], **settings: Any) -> Engine:
    return Engine(
        provider=Model(calls(*arguments), DONE),
        toolset=tools,
        settings=EngineSettings(dedupe=False, **settings),
        gate=ApprovalGate(ApprovalMode.YOLO),
        slots=slots,
    )


@each(
    ("tool", "settings", "most"),
    [
        (spec(), {"max_parallel": 3}, 3),
        (spec(server_limit=2), {}, 2),
        (spec(tool_limit=2), {}, 2),
        (spec(tool_limit=1), {}, 1),
        (spec(parallel=False), {}, 1),
        (spec(), {}, 12),
    ],
)
async def test_limits_hold_for_all_together(tool: ToolSpec, settings: dict[str, Any], most: int) -> None:
    tools, slots = Tools([tool]), Slots()
    gate = tools.event("all")
    engines = [
        engine(tools, slots, [{"do": "wait", "n": "all", "k": n} for n in range(3)], **settings) for _ in range(4)
    ]
    playing = [asyncio.create_task(play(one)) for one in engines]
    await until_so(lambda: tools.running >= most, f"{most} that run")  # they start by themselves: nothing tells of it
    gate.set()
    ended = await asyncio.gather(*playing)
    assert tools.most_running == most
    assert [result.outcome for events in ended for result in results_of(events)] == [Outcome.SUCCEEDED] * 12


async def test_one_file_is_written_by_one_call_of_all() -> None:
    tools, slots = Tools([spec(read_only=False)]), Slots()
    engines = [engine(tools, slots, [{"path": "/a/b", "seconds": 0.001}, {"path": "/a/./b"}]) for _ in range(5)]
    await asyncio.gather(*(play(one) for one in engines))
    assert (tools.most_running, len(tools.ran)) == (1, 10)


async def test_a_turn_that_is_stopped_gives_its_slots_to_the_others() -> None:
    tools, slots = Tools([spec(server_limit=1)]), Slots()
    hanging = engine(tools, slots, [{"do": "hang"}])
    async with hanging.start("go"):
        await until_so(lambda: tools.running > 0, "one that hangs")
        waiting = asyncio.create_task(play(engine(tools, slots, [{}])))
    events = await waiting
    assert [result.outcome for result in results_of(events)] == [Outcome.SUCCEEDED]
