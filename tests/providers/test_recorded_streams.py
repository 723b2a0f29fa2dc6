"""Two turns with four calls each on the streams that others recorded: all run, and all goes back as it came."""

from __future__ import annotations

import asyncio
from typing import Any

from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from console_app.engine import Engine
from tests.each import each
from tests.engine.peers import Tools, ending, engine_of, only, play, spec
from tests.patience import PATIENCE
from tests.providers import strict_wire
from tests.providers.reading import provider_at
from tests.providers.recorded_streams import CALLS, RECORDED, Fields, Recorded, calls_in_a_call
from tests.wire_bytes import Answer, Text
from tests.wire_server import Request, WireServer


def results_of(body: Fields) -> list[Any]:
    """The results that a request gives."""
    given = body.get("messages") or body["input"]
    blocks = [block for one in given for block in (one["content"] if isinstance(one.get("content"), list) else [one])]
    return [one for one in blocks if one.get("role") == "tool" or one.get("type", "").endswith(("_output", "_result"))]


def parts_of(body: Fields) -> list[Fields]:
    """Return the messages, items or blocks of a request that the model wrote."""
    given = body.get("messages") or body["input"]
    blocks = [block for one in given for block in (one["content"] if isinstance(one.get("content"), list) else [])]
    return [*given, *blocks]


@each("recorded", RECORDED, ids=lambda one: one.what)
async def test_two_turns_with_four_calls(recorded: Recorded) -> None:
    tools, turn = Tools([spec(), spec("undo")]), 1

    def answer(request: Request) -> Any:
        return recorded.calls(turn) if len(results_of(request.body)) < 4 * turn else recorded.said(turn)

    with WireServer(answer) as server:
        provider = provider_at(server, recorded.api)
        engine = engine_of(provider, tools)
        try:
            async with asyncio.timeout(PATIENCE):
                for turn in (1, 2):
                    await _turn(engine, recorded, turn, tools)
        finally:
            await provider.close()
    for request in server.requests:
        if recorded.api == "openai-chat":
            strict_wire.check_chat(request.body, recorded.rules)
        else:
            strict_wire.check(recorded.api, request.body)
    last = server.requests[-1].body
    assert len(results_of(last)) == 2 * len(CALLS)
    for turn in (1, 2):
        for wanted in recorded.back(turn):
            found = [one for one in parts_of(last) if wanted.items() <= one.items()]
            assert found, (wanted, parts_of(last))


async def _turn(engine: Engine, recorded: Recorded, turn: int, tools: Tools) -> None:
    seen = await play(engine, f"turn {turn}")
    assert ending(seen).outcome == "completed", ending(seen).error
    assert sorted(str(one.arguments["n"]) for one in tools.ran) == [f"{turn}.{call}" for call in CALLS]
    tools.ran.clear()
    assert [one.text for one in only(seen, ev.Notice)] == []
    assert engine.history[-1].content == f"Done {turn}."
    thought = "".join(one.text for one in only(seen, ev.ReasoningDelta))
    assert thought.startswith(recorded.thought), thought


async def test_calls_that_stand_in_a_call_of_no_tool_are_refused_by_name() -> None:
    tools = Tools([spec()])
    with WireServer(
        lambda request: Answer(Text("Done.")) if results_of(request.body) else calls_in_a_call(1)
    ) as server:
        provider = provider_at(server, "openai-chat")
        seen = await play(engine_of(provider, tools), "turn 1")
        await provider.close()
    assert sorted(str(one.arguments["n"]) for one in tools.ran) == ["1.0", "1.3"]
    (refused,) = [one.content for one in only(seen, ev.CallFinished) if one.outcome is Outcome.INVALID]
    assert refused == "Unknown tool multi_tool_use.parallel. Available: demo_do."
    strict_wire.check_chat(server.requests[-1].body)
