"""Calls in the background at an endpoint that takes late outputs: tools are offered for them, and the output of a call
follows with the call's own id."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from console_app.domain import ApprovalMode
from console_app.domain import events as ev
from console_app.domain.transcript import ToModel, Transcript
from console_app.engine import Engine, Turn
from console_app.sessions.repair import closing_events
from tests.engine.peers import Tools, engine_of, only, play
from tests.engine.strict_history import check_events
from tests.providers import strict_wire
from tests.providers.reading import provider_at
from tests.providers.test_server_tools import message_item, response_events
from tests.wire_bytes import Answer, Text
from tests.wire_server import Reply, WireServer

API = "openai-responses"


def item(number: int, *, late: bool = True, **arguments: Any) -> dict[str, Any]:
    made = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "demo_do"}
    written = json.dumps({"n": str(number), **arguments})
    return made | {"arguments": written, "status": "completed"} | ({"async": True} if late else {})


def asked(*items: dict[str, Any]) -> Reply:
    return Reply(response_events(*items))


def outputs(body: dict[str, Any]) -> dict[str, str]:
    return {one["call_id"]: one["output"] for one in body["input"] if one.get("type") == "function_call_output"}


def users(body: dict[str, Any]) -> list[str]:
    return [one["content"] for one in body["input"] if one.get("role") == "user"]


def detach_first(turn: Turn, event: ev.Event) -> None:
    if isinstance(event, ev.CallStarted) and turn.number == 1 and event.call_id == "call_1":
        assert turn.detach_call(event.call_id)


@asynccontextmanager
async def talk(
    *replies: Any, programs: str = "off", **config: Any
) -> AsyncGenerator[tuple[Engine, Tools, list[dict[str, Any]]]]:
    """A conversation whose calls may be late, its tools, and the bodies of its requests at its end."""
    bodies: list[dict[str, Any]] = []
    tools = Tools()
    with WireServer() as server:
        server.script(*replies)
        provider = provider_at(server, API, **{"late_outputs": True} | config)
        engine = engine_of(provider, tools, mode=ApprovalMode.YOLO, background_after=3600, programs=programs)
        yield engine, tools, bodies
        await provider.close()
        bodies += [request.body for request in server.requests]
    for body in bodies:
        strict_wire.check(API, body)


async def test_the_output_follows_under_the_id_of_its_call_and_the_model_reads_nothing_in_its_place() -> None:
    replies = asked(item(1, do="wait"), item(2), message_item(9, "Both started.")), Answer(Text("Two is there."))
    async with talk(*replies, Answer(Text("One too."))) as (engine, tools, bodies):
        check_events(await play(engine, react=detach_first))
        tools.event("1").set()
        while await engine.background.next_slice(16):
            pass
        check_events(await play(engine, "and one?"))
    first, second, third = bodies
    assert [tool["async"] for tool in first["tools"] if tool["name"] == "demo_do"] == [True]
    assert outputs(second) == {"call_2": "result of 2"}
    assert users(second) == ["go"], "no word of ours stands for the output"
    assert list(outputs(third)) == ["call_2", "call_1"]
    assert "result of 1" in outputs(third)["call_1"]
    assert users(third) == ["go", "and one?"]
    assert third["input"][: len(second["input"])] == second["input"], "what was read before comes from the cache"


async def test_a_model_that_waits_for_nothing_else_is_told_that_the_call_runs() -> None:
    async with talk(asked(item(1, do="hang")), Answer(Text("It runs.")), Answer(Text("Still."))) as (engine, _, bodies):
        events = await play(engine, react=detach_first)
        await play(engine, "is it there?")
        (started,) = only(events, ev.CallStarted)
        assert engine.background.cancel_call(started.call_id)
    assert [outputs(body) for body in bodies] == [{}, {}, {}]
    assert users(bodies[1]) == ["go", ToModel.IN_BACKGROUND]
    assert bodies[2]["input"][: len(bodies[1]["input"])] == bodies[1]["input"]


async def test_a_call_that_was_cut_while_it_ran_on_is_answered_once_the_session_goes_on() -> None:
    replies = asked(item(1, do="hang"), item(2)), Answer(Text("Two is there.")), Answer(Text("Again?"))
    async with talk(*replies) as (engine, _, bodies):
        events = await play(engine, react=detach_first)
        resumed = engine_of(engine.provider)
        for message in Transcript.of([*events, *closing_events(events)]).history:
            resumed.record(ev.MessageAdded.of(message))
        await play(resumed, "and one?")
        engine.background.cancel()
    assert "was interrupted" in outputs(bodies[2])["call_1"]


async def test_a_call_that_its_model_waits_for_has_its_output_at_once_and_a_message_later() -> None:
    replies = asked(item(1, late=False, do="wait"), item(2)), Answer(Text("Two is there.")), Answer(Text("One too."))
    async with talk(*replies) as (engine, tools, bodies):
        await play(engine, react=detach_first)
        tools.event("1").set()
        while await engine.background.next_slice(16):
            pass
        await play(engine, "and one?")
    assert outputs(bodies[2]) == {"call_1": ToModel.IN_BACKGROUND, "call_2": "result of 2"}
    assert "result of 1" in users(bodies[2])[1]


async def test_an_endpoint_that_refuses_late_outputs_is_told_once() -> None:
    no = Reply.json({"error": {"message": "Unknown parameter: 'tools[0].async'."}}, 400)
    async with talk(no, Answer(Text("Yes.")), Answer(Text("Yes."))) as (engine, _, bodies):
        events = await play(engine)
        await play(engine, "again")
    assert ["async" in json.dumps(body["tools"]) for body in bodies] == [True, False, False]
    assert len([one for one in only(events, ev.Notice) if "refuses tools.async" in one.text]) == 1


async def test_what_programs_may_call_is_offered_without() -> None:
    async with talk(Answer(Text("Yes.")), programs="auto", runs_programs=True) as (engine, _, bodies):
        await play(engine)
    assert "async" not in json.dumps(bodies[0]["tools"]), "unless the setting programs is off"
