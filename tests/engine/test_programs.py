"""Programs that the model writes: each call inside asks, runs, fails, stops and is run again as any other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from console_app.domain import ApprovalMode, Decision, Message, ToolMessage
from console_app.domain import events as ev
from console_app.domain.schema import object_of
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate, Engine, Turn
from console_app.programs import Runner
from tests.engine.peers import DONE, Model, Reaction, Tools, calls, ending, play, spec, tool_texts
from tests.engine.strict_history import check_events, check_history

PROGRAM = "fanout_program"
SCHEMA = object_of({name: {"type": "string"} for name in ("n", "do")} | {"seconds": {"type": "number"}})


def tools(**more: Any) -> Tools:
    return Tools([spec("do", input_schema=SCHEMA, **more), spec("write-it", read_only=False, input_schema=SCHEMA)])


def engine_for(
    code: str, there: Tools | None = None, mode: ApprovalMode = ApprovalMode.YOLO, **settings: Any
) -> Engine:
    engine = Engine(
        provider=Model(calls({"code": code}, name=PROGRAM)),
        toolset=there or tools(),
        gate=ApprovalGate(mode),
        programs=Runner(),
    )
    engine.settings = replace(engine.settings, programs="auto", **settings)
    return engine


async def result_of(code: str, react: Reaction | None = None, **more: Any) -> str:
    engine = engine_for(code, **more)
    events = await play(engine, react=react)
    check_history(engine)
    check_events(events)
    assert ending(events).outcome == "completed"
    assert [message.tool_call_id for message in engine.transcript.history if isinstance(message, ToolMessage)] == [
        "call_1_1_0"
    ]
    return tool_texts(engine)[0]


async def test_calls_of_a_program_run_in_parallel_and_its_value_is_the_result() -> None:
    there = tools()
    code = """
import asyncio
found = await asyncio.gather(*[demo_do(n=str(k), seconds=0.3) for k in range(8)])
print(len(found), "calls")
[found[0], found[7]]
"""
    assert await result_of(code, there=there) == '8 calls\n["result of 0", "result of 7"]'
    assert there.most_running == 8


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("", "invalid"),
        ("1 +", "SyntaxError"),
        ("await demo_do(1, 2, 3, 4)", "TypeError: demo_do() takes 3 arguments, and 4 were given"),
        ("await nothing_like_it()", "NameError: name 'nothing_like_it' is not defined"),
        ("await fanout_program(code='1')", "NameError: name 'fanout_program' is not defined"),
        ("await demo_do(do='fail')", "RuntimeError: Tool execution failed: no such order"),
        ("await demo_do(do='error')", "the server is gone"),
        ("open('/etc/passwd').read()", "PermissionError"),
        ("import socket", "ModuleNotFoundError"),
        ("x = [1]\nwhile True:\n    x = x + x", "MemoryError"),
        ("for k in range(300):\n    await demo_do(n=str(k))", "RuntimeError: a program makes at most 256 calls"),
        ("print('before')\n1 / 0", "It had printed:\nbefore"),
    ],
)
async def test_what_goes_wrong_is_said_and_nothing_of_the_host_is_reached(code: str, says: str) -> None:
    if not code:
        engine = engine_for(code)
        await play(engine)
        assert "code" in tool_texts(engine)[0]
        return
    text = await result_of(code)
    assert says in text
    assert "root:" not in text


async def test_an_error_of_a_call_can_be_caught() -> None:
    code = "try:\n    await demo_do(do='fail')\nexcept RuntimeError as error:\n    print('caught', error)"
    assert await result_of(code) == "caught Tool execution failed: no such order"


def deciding(decide: Callable[[Turn, ev.Event], None]) -> Reaction:
    return lambda turn, event: decide(turn, event)


async def test_each_call_asks_and_one_that_is_denied_holds_up_its_own_await_alone() -> None:
    code = """
import asyncio
async def one(k):
    try:
        return await demo_write_it(n=str(k))
    except RuntimeError as error:
        return str(error)
await asyncio.gather(*[one(k) for k in range(3)])
"""
    asked: list[str] = []

    def decide(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            asked.append(event.call_id)
            verdict = Decision.DENY if len(asked) == 2 else Decision.ALLOW
            turn.resolve(event.call_id, verdict, feedback="not that one" if verdict is Decision.DENY else None)

    there = tools()
    text = await result_of(code, decide, there=there, mode=ApprovalMode.AUTO)
    assert len(asked) == 3
    assert text.count("result of") == 2
    assert "not that one" in text
    assert len(there.ran) == 2


async def test_a_call_of_a_program_is_stopped_and_run_again_while_the_program_waits() -> None:
    there = tools()
    stopped: list[str] = []

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted) and event.call_id != "call_1_1_0":
            if not stopped:
                stopped.append(event.call_id)
                asyncio.get_running_loop().call_soon(turn.retry, event.call_id)
            else:
                there.event("1").set()

    text = await result_of("await demo_do(n='1', do='wait')", react, there=there)
    assert text == "result of 1"
    assert len(there.ran) == 2


async def test_events_name_the_program_and_a_replay_has_its_calls_behind_it() -> None:
    engine = engine_for("await demo_do(n='1')\nawait demo_do(n='2')")
    events = await play(engine)
    announced = [event for event in events if isinstance(event, ev.CallAnnounced)]
    assert [(one.parent, one.index) for one in announced] == [("", 0), ("call_1_1_0", 0), ("call_1_1_0", 0)]
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    step = transcript.turns[0].steps[0]
    assert [call.parent for call in step.batch.calls] == ["", "call_1_1_0", "call_1_1_0"]
    assert [call.outcome for call in step.batch.calls] == ["succeeded"] * 3


async def test_stopping_the_turn_ends_the_program_and_all_its_calls() -> None:
    there = tools()

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted) and event.call_id != "call_1_1_0":
            turn.cancel()

    engine = engine_for("await demo_do(do='hang')", there)
    events = await play(engine, react=react)
    assert ending(events).outcome == "cancelled"
    finished = {event.call_id: event.outcome for event in events if isinstance(event, ev.CallFinished)}
    assert len(finished) == 2
    assert set(finished.values()) == {"cancelled"}
    messages: list[Message] = [one for one in engine.transcript.history if isinstance(one, ToolMessage)]
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("plan", "offered"),
    [("auto", {PROGRAM, "demo_do", "demo_write-it"}), ("off", {"demo_do", "demo_write-it"}), ("only", {PROGRAM})],
)
async def test_what_is_offered_by_the_setting(plan: str, offered: set[str]) -> None:
    model = Model(DONE)
    engine = Engine(provider=model, toolset=tools(), programs=Runner())
    engine.settings = replace(engine.settings, programs=plan)
    await play(engine)
    assert {one.name for one in model.requests[0].tools} == offered
    if plan == "only":
        assert (
            "demo_write_it(n: str = ..., do: str = ..., seconds: float = ...)" in model.requests[0].tools[0].description
        )
