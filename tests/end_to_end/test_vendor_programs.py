"""Programs that the vendor runs: their calls are calls like any other, below the program, and all goes back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from console_app.domain import ApprovalMode, Decision, Outcome, ToolMessage, ToolResult
from console_app.domain import events as ev
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.schema import object_of
from console_app.domain.transcript import CallView, Transcript
from console_app.engine import Engine, Turn
from console_app.sessions.repair import closing_events
from tests.each import each
from tests.engine.peers import Reaction, Tools, ending, engine_of, only, play, spec
from tests.engine.strict_history import check_events
from tests.providers import strict_wire
from tests.providers.reading import provider_at
from tests.providers.test_server_tools import message_events, message_item, response_events
from tests.wire_bytes import Answer, Api, Text, anthropic_event, responses_event
from tests.wire_server import Reply, WireServer

NATIVE: list[Api] = ["anthropic", "openai-responses"]
KIND = "code_execution_20260521"
CALLER = "code_execution_20260120"  # the newest that the SDK has a type for
CODE = {"anthropic": "print(await demo_do(n='1'))", "openai-responses": "text(await tools.demo_do({n: '1'}))"}
SCHEMA = object_of({name: {"type": "string"} for name in ("n", "do")})
GIVES = object_of({"value": {"type": "string"}})


def use(number: int, tool: str = "demo_do", **arguments: Any) -> dict[str, Any]:
    """A call that the program makes, in Anthropic's words."""
    given = {"n": str(number)} if tool == "demo_do" else {}
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {**given, **arguments}}
    return block | {"caller": {"type": CALLER, "tool_id": "srvtoolu_1"}}


def item(number: int, tool: str = "demo_do", **arguments: Any) -> dict[str, Any]:
    """The same in the words of the Responses API."""
    block = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool}
    written = json.dumps(use(number, tool, **arguments)["input"])
    return block | {"arguments": written, "status": "completed", "caller": {"type": "program", "caller_id": "prog_1"}}


RUN = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": CODE["anthropic"]}}
RAN = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1"} | {
    "content": {"type": "code_execution_result", "stdout": "result of 1", "stderr": "", "return_code": 0, "content": []}
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
PROGRAM = {"type": "program", "id": "pr_1", "call_id": "prog_1", "code": CODE["openai-responses"], "fingerprint": "f1"}
OUTPUT = {"type": "program_output", "id": "po_1", "call_id": "prog_1", "result": "result of 1", "status": "completed"}


def container(seconds: float) -> dict[str, Any]:
    """The container that programs run in, as it is told of."""
    return {"id": "container_1", "expires_at": datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()}


def in_container(events: list[bytes], seconds: float, stop: str = "tool_use") -> list[bytes]:
    told = {"stop_reason": stop, "stop_sequence": None, "container": container(seconds)}
    return [
        anthropic_event("message_delta", delta=told, usage={"output_tokens": 5}) if b"message_delta" in event else event
        for event in events
    ]


def begun(api: Api, *calls: dict[str, Any], seconds: float = 270, first: bool = True) -> Reply:
    """An answer in which a program makes these calls."""
    if api == "openai-responses":
        made = [item(one["number"], **one.get("more", {})) for one in calls]
        return Reply(response_events(*([THOUGHT, PROGRAM] if first else []), *made))
    uses = [use(one["number"], **one.get("more", {})) for one in calls]
    return Reply(in_container(message_events(*([RUN] if first else []), *uses, stop="tool_use"), seconds))


def ended(api: Api) -> Reply:
    """The answer in which the program has ended."""
    if api == "openai-responses":
        return Reply(response_events(OUTPUT, message_item(9, "Done.")))
    return Reply(in_container(message_events(RAN, {"type": "text", "text": "Done."}), 270, "end_turn"))


def call(number: int, **more: Any) -> dict[str, Any]:
    return {"number": number, "more": more}


class Giving(Tools):
    """Tools that give words for people, and data beside them."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        result = await super().call(invocation, reporter)
        return result.model_copy(update={"structured": {"value": invocation.arguments["n"]}})


class Played:
    """The end of some turns with these answers: the engine, its events, and the bodies of the requests."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.bodies: list[dict[str, Any]] = []
        self.tools = Tools([spec("do", input_schema=SCHEMA, output_schema=GIVES)])

    async def of(
        self,
        api: Api,
        *replies: Any,
        prompts: Sequence[str] = ("go",),
        react: Reaction | None = None,
        mode: ApprovalMode = ApprovalMode.YOLO,
        programs: str = "auto",
        runs: bool | None = True,
    ) -> Engine:
        with WireServer() as server:
            server.script(*replies)
            provider = provider_at(server, api, runs_programs=runs)
            engine = engine_of(provider, self.tools, mode=mode, programs=programs)
            for prompt in prompts:
                seen = await play(engine, prompt, react=react)
                check_events(seen)
                self.events += seen
            await provider.close()
            self.bodies = [request.body for request in server.requests]
        for body in self.bodies:
            strict_wire.check(api, body)
        return engine

    @property
    def shown(self) -> list[CallView]:
        """The calls as they stand."""
        return Transcript.of(self.events).turns[0].calls


def said(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The items or blocks of the history, without marks of the cache."""
    if "input" in body:
        return body["input"]
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]


@each("api", NATIVE)
async def test_calls_of_a_program_stand_below_it_and_all_goes_back_as_it_came(api: Api) -> None:
    played = Played()
    replies = begun(api, call(1), call(2)), begun(api, call(3), first=False), ended(api), Answer(Text("Yes."))
    await played.of(api, *replies, prompts=("go", "more"))
    program, *inner = played.shown
    assert (program.origin, program.depth, program.outcome, program.content) == (
        "provider",
        0,
        "succeeded",
        "result of 1",
    )
    assert (program.arguments or {})["code"] == CODE[api]
    assert not only(played.events, ev.Notice)
    assert [(one.parent, one.depth, one.outcome) for one in inner] == [(program.id, 1, "succeeded")] * 3
    assert [event.outcome for event in only(played.events, ev.TurnFinished)] == ["completed"] * 2
    last = said(played.bodies[-1])
    if api == "anthropic":
        assert [one for one in last if one["type"] not in ("text", "tool_result")] == [RUN, use(1), use(2), use(3), RAN]
        assert ["container" in body for body in played.bodies] == [False, True, True, True]
        assert played.bodies[1]["container"] == "container_1"
        assert [one["type"] for one in played.bodies[1]["messages"][-1]["content"]] == ["tool_result"] * 2
    else:
        assert [one for one in last if one.get("type") in ("program", "program_output")] == [PROGRAM, OUTPUT]
        of_program = [one for one in last if str(one.get("type")).startswith("function_call")]
        assert [one["caller"]["caller_id"] for one in of_program] == ["prog_1"] * 6
        assert last.index(THOUGHT) + 1 == last.index(PROGRAM)


def offer(body: dict[str, Any]) -> tuple[list[str] | None, bool]:
    """Who may call the tool, and whether programs are offered."""
    tool = next(one for one in body["tools"] if one.get("name") == "demo_do")
    kinds = {one.get("type") for one in body["tools"]}
    assert ("output_schema" in tool) == ("allowed_callers" in tool and "parameters" in tool)
    return tool.get("allowed_callers"), bool({KIND, "programmatic_tool_calling"} & kinds)


@each("api", NATIVE)
async def test_tools_are_offered_by_the_setting(api: Api) -> None:
    own = KIND if api == "anthropic" else "programmatic"
    for programs, runs, callers in (
        ("auto", True, ["direct", own]),
        ("only", True, [own]),
        ("off", True, None),
        ("auto", False, None),
        ("auto", None, None),  # it is no vendor's own address
    ):
        played = Played()
        await played.of(api, Answer(Text("Done.")), programs=programs, runs=runs)
        assert offer(played.bodies[0]) == (callers, callers is not None)


@each("api", NATIVE)
async def test_an_endpoint_that_refuses_programs_is_told_once(api: Api) -> None:
    words = {
        "anthropic": "tools.1: code_execution_20260521 is not supported by this model",
        "openai-responses": "Tool 'programmatic_tool_calling' is not supported with this model.",
    }[api]
    played = Played()
    refused = Reply.json({"error": {"message": words}}, 400)
    await played.of(api, refused, Answer(Text("One.")), Answer(Text("Two.")), prompts=("go", "more"))
    assert [offer(body)[1] for body in played.bodies] == [True, False, False]
    assert len(only(played.events, ev.Notice)) == 1


@each("told_in", ["added", "done"])
async def test_a_call_stands_below_its_program_whichever_event_names_the_caller(told_in: str) -> None:
    events = [part for part in begun("openai-responses", call(1)).parts if isinstance(part, bytes)]
    silent = [
        responses_event(name, **without_caller(fields)) if told_in not in name else event
        for event in events
        for name, fields in [named(event)]
    ]
    played = Played()
    await played.of("openai-responses", Reply(silent), ended("openai-responses"))
    program, inner = played.shown
    assert (inner.parent, inner.depth, inner.outcome, inner.arguments) == (program.id, 1, "succeeded", {"n": "1"})
    of_call = [one for one in said(played.bodies[1]) if str(one.get("type")).startswith("function_call")]
    assert [one["caller"]["caller_id"] for one in of_call] == ["prog_1"] * 2


def named(event: bytes) -> tuple[str, dict[str, Any]]:
    """The name of an event of the Responses API, and its other fields."""
    fields = json.loads(event.partition(b"data: ")[2])
    return fields.pop("type"), fields


def without_caller(value: Any) -> Any:
    if isinstance(value, list):
        return [without_caller(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: without_caller(one) for name, one in fields.items() if name != "caller"}
    return value


@each("api", NATIVE)
async def test_each_call_asks_and_a_no_reaches_its_program_alone(api: Api) -> None:
    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            allowed = event.call_id.endswith("1")
            turn.resolve(event.call_id, Decision.ALLOW if allowed else Decision.DENY)

    played = Played()
    played.tools = Tools([spec("do", input_schema=SCHEMA, read_only=False)])
    await played.of(api, begun(api, call(1), call(2)), ended(api), react=react, mode=ApprovalMode.ASK)
    assert [one.outcome for one in played.shown] == ["succeeded", "succeeded", "denied"]
    assert ending(played.events).outcome == "completed"


@each("api", NATIVE)
async def test_one_call_is_stopped_and_one_runs_again_while_the_program_waits(api: Api) -> None:
    played = Played()
    again: list[str] = []

    def react(turn: Turn, event: ev.Event) -> None:
        soon = asyncio.get_running_loop().call_soon
        match event:
            case ev.CallStarted(call_id="toolu_2" | "call_2"):
                soon(turn.cancel_call, event.call_id)
            case ev.CallStarted(call_id="toolu_1" | "call_1") if again:
                played.tools.event("1").set()
            case ev.CallStarted(call_id="toolu_1" | "call_1"):
                again.append(event.call_id)
                soon(turn.retry, event.call_id)
            case _:
                pass

    await played.of(api, begun(api, call(1, do="wait"), call(2, do="hang")), ended(api), react=react)
    assert [(one.outcome, one.attempt) for one in played.shown] == [
        ("succeeded", 1),
        ("succeeded", 2),
        ("cancelled", 1),
    ]
    results = [one for one in said(played.bodies[1]) if one.get("type") in ("tool_result", "function_call_output")]
    assert len(results) == 2


@each("api", NATIVE)
async def test_a_program_that_nobody_goes_on_with_leaves_a_history_that_is_accepted(api: Api) -> None:
    """The turn was stopped while a call ran: its program has ended, and the call is one of the model's."""

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted) and event.call_id in ("toolu_1", "call_1"):
            turn.cancel()

    played = Played()
    await played.of(api, begun(api, call(1, do="hang")), Answer(Text("Done.")), prompts=("go", "more"), react=react)
    assert [one.outcome for one in played.shown] == ["interrupted", "cancelled"]
    if api == "anthropic":
        assert not [one for one in said(played.bodies[1]) if one["type"] == "server_tool_use" or "caller" in one]


@each("api", NATIVE)
async def test_a_console_that_died_beside_a_program_is_repaired_with_the_calls_of_each_answer(api: Api) -> None:
    played = Played()
    await played.of(api, begun(api, call(1)), begun(api, call(2), first=False), ended(api))
    starts = [n for n, event in enumerate(played.events) if isinstance(event, ev.CallStarted)]
    cut = played.events[: starts[-1] + 1]
    repaired = Transcript.of([*cut, *closing_events(cut)])
    assert [call.outcome for call in repaired.turns[0].calls] == ["interrupted", "succeeded", "interrupted"]
    history = repaired.history
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [one.tool_call_id for one in history if isinstance(one, ToolMessage)][-1] == repaired.turns[0].calls[-1].id
    assert [call.id for call in repaired.turns[0].cut_off] == [repaired.turns[0].calls[-1].id]  # may run again


async def test_how_long_the_container_is_kept_is_told_and_a_program_in_one_that_is_over_is_left() -> None:
    played = Played()
    await played.of("anthropic", begun("anthropic", call(1), seconds=200), ended("anthropic"))
    (told,) = only(played.events, ev.CallExtended)[:1]
    assert told.call_id == played.shown[0].id
    assert 190 < (told.limit or 0) <= 200
    over = Played()
    await over.of("anthropic", begun("anthropic", call(1), seconds=-5), Answer(Text("Done.")))
    assert "container" not in over.bodies[1]
    assert not [one for one in said(over.bodies[1]) if one["type"] == "server_tool_use" or "caller" in one]
    assert [one.outcome for one in over.shown] == [Outcome.INTERRUPTED, Outcome.SUCCEEDED]


async def test_a_container_that_the_endpoint_no_longer_has_is_replaced() -> None:
    gone = Reply.json({"error": {"message": "container: container_1 has expired"}}, 400)
    played = Played()
    await played.of("anthropic", begun("anthropic", call(1)), gone, Answer(Text("Done.")))
    assert ["container" in body for body in played.bodies] == [False, True, False]
    assert ending(played.events).outcome == "completed"


async def test_a_program_reads_the_data_that_the_tools_schema_promises() -> None:
    played = Played()
    played.tools = Giving([spec("do", input_schema=SCHEMA, output_schema=GIVES)])
    await played.of("openai-responses", begun("openai-responses", call(1)), ended("openai-responses"))
    (output,) = [one for one in said(played.bodies[1]) if one.get("type") == "function_call_output"]
    assert json.loads(output["output"]) == {"value": "1"}


@each("api", NATIVE)
async def test_a_call_of_a_program_that_has_ended_runs_again_and_its_new_result_goes_back(api: Api) -> None:
    with WireServer() as server:
        server.script(begun(api, call(1, do="fail")), ended(api), Answer(Text("Yes.")))
        provider = provider_at(server, api, runs_programs=True)
        engine = engine_of(provider, Tools([spec("do", input_schema=SCHEMA)]), programs="auto")
        await play(engine)
        inner = next(one.id for one in engine.transcript.calls.values() if one.joins)
        async with engine.rerun(inner, {"n": "7"}) as again:
            events = [event async for event in again]
        await play(engine, "more")
        await provider.close()
        body = server.requests[-1].body
    assert [event.outcome for event in only(events, ev.CallFinished)] == ["succeeded"]
    strict_wire.check(api, body)
    assert b"result of 7" in server.requests[-1].raw
    kept = [one for one in said(body) if one in (RUN, RAN, PROGRAM, OUTPUT)]
    assert len(kept) == 2
