"""A tool that needs no argument does not run when its call was never wholly received: the engine at a real endpoint."""

from __future__ import annotations

import json
from typing import Any

from console_app.domain import events as ev
from console_app.providers.stream.calls_in_pieces import UNOWNED
from tests.each import each
from tests.engine.peers import Tools, engine_of, only, play, results_of, spec
from tests.providers.reading import provider_at
from tests.wire_bytes import (
    DONE,
    Answer,
    Api,
    Text,
    anthropic_delta,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    chat_call,
    chat_chunk,
    responses_event,
)
from tests.wire_server import Reply, WireServer

ALL = "demo_delete_all"
ONE = '{"n": 1}'
CHAT = chat_call(0, id="a", name=ALL, arguments="")
BLOCK = anthropic_event(
    "content_block_start", index=0, content_block={"type": "tool_use", "id": "a", "name": ALL, "input": {}}
)
STOP = anthropic_event("content_block_stop", index=0)


def item(number: int, name: str = ALL, index: int = 0) -> bytes:
    """The beginning of a call of the Responses API."""
    body = {"type": "function_call", "id": f"item_{number}", "call_id": f"call_{number}", "name": name, "arguments": ""}
    return responses_event("response.output_item.added", output_index=index, item=body)


def arguments(number: int, text: str, kind: str = "delta", **labels: Any) -> bytes:
    """A fragment of its arguments, or with `done` all of them."""
    field = {"delta": "delta", "done": "arguments"}[kind]
    where = labels or {"item_id": f"item_{number}", "output_index": 0}
    return responses_event(f"response.function_call_arguments.{kind}", **where, **{field: text})


def response(kind: str, **fields: Any) -> bytes:
    """The last event of a response."""
    return responses_event(f"response.{kind}", response=fields)


def chat_index_null(text: str) -> bytes:
    return chat_chunk({"tool_calls": [{"index": None, "function": {"arguments": text}}]})


NEVER: dict[str, tuple[Api, list[bytes], str]] = {
    "an error together with a finish reason": (
        "openai-chat",
        [CHAT, chat_chunk({}, "error", error={"code": 502, "message": "upstream died"}), DONE],
        "cut off by an error of the endpoint",
    ),
    "an error inside of the choice": (
        "openai-chat",
        [CHAT, chat_chunk(choices=[{"finish_reason": "error", "error": {"message": "upstream died"}}]), DONE],
        "cut off by an error of the endpoint",
    ),
    "no finish reason": ("openai-chat", [CHAT, DONE], "cut off by an end without a finish reason"),
    **{
        f"finish reason {reason}": ("openai-chat", [CHAT, chat_chunk({}, reason), DONE], f"cut off by {why}")
        for reason, why in {
            "length": "the token limit",
            "content_filter": "the finish reason “content_filter”",
            "insufficient_system_resource": "the finish reason “insufficient_system_resource”",
            "MALFORMED_FUNCTION_CALL": "the finish reason “MALFORMED_FUNCTION_CALL”",
            "error": "the finish reason “error”",
            "what\x1b[2J": "the finish reason “what␛[2J”",
        }.items()
    },
    **{
        f"stop reason {reason}": ("anthropic", [anthropic_start(), BLOCK, STOP, *anthropic_end(reason)], reason)
        for reason in ("refusal", "pause_turn", "stop_sequence", "something_new")
    },
    "an error event behind the block": (
        "anthropic",
        [anthropic_start(), BLOCK, STOP, anthropic_event("error", error={"type": "api_error", "message": "died"})],
        "cut off by an error of the endpoint",
    ),
    **{
        f"incomplete by {reason}": (
            "openai-responses",
            [
                item(0),
                arguments(0, "", "done"),
                response("incomplete", status="incomplete", incomplete_details={"reason": reason}),
            ],
            f"cut off by {why}",
        )
        for reason, why in {
            "max_output_tokens": "the token limit",
            "content_filter": "the finish reason “content_filter”",
            "": "the finish reason “incomplete”",
        }.items()
    },
    "completed but cancelled": (
        "openai-responses",
        [item(0), response("completed", status="cancelled")],
        "cut off by the finish reason “cancelled”",
    ),
    "a failed response": (
        "openai-responses",
        [item(0), response("failed", status="failed", error={"message": "died"})],
        "cut off by an error of the endpoint",
    ),
    "arguments of neither label": (
        "openai-responses",
        [item(0), item(1), arguments(0, ONE, output_index=0), response("completed", status="completed")],
        UNOWNED,
    ),
}

ALONE: dict[str, tuple[Api, list[bytes]]] = {
    "no index after the first fragment": (
        "openai-chat",
        [CHAT, chat_call(None, arguments=ONE), chat_chunk({}, "tool_calls"), DONE],
    ),
    "an index of null after the first fragment": (
        "openai-chat",
        [CHAT, chat_index_null(ONE), chat_chunk({}, "tool_calls"), DONE],
    ),
    "the name in the last fragment": (
        "openai-chat",
        [chat_call(0, id="a", arguments=ONE), chat_call(0, name=ALL), chat_chunk({}, "tool_calls"), DONE],
    ),
    "an index only at the start of the block": (
        "anthropic",
        [
            anthropic_start(),
            BLOCK,
            anthropic_event("content_block_delta", delta={"type": "input_json_delta", "partial_json": ONE}),
            STOP,
            *anthropic_end("tool_use"),
        ],
    ),
}


@each("name", ALONE)
async def test_a_call_alone_runs_with_all_that_was_written(name: str) -> None:
    api, events = ALONE[name]
    tools = Tools([spec("delete_all")])
    with WireServer() as server:
        server.script(Reply(events), Answer(Text("Done.")))
        provider = provider_at(server, api)
        await play(engine_of(provider, tools))
        await provider.close()
    assert [one.arguments for one in tools.ran] == [json.loads(ONE)]


@each("name", NEVER)
async def test_it_does_not_run(name: str) -> None:
    api, events, why = NEVER[name]
    tools = Tools([spec("delete_all")])
    with WireServer() as server:
        server.script(Reply(events), *[Answer(Text("Sorry."))] * 2)
        provider = provider_at(server, api)
        seen = await play(engine_of(provider, tools))
        await provider.close()
    assert tools.ran == []
    finished = results_of(seen)
    assert finished
    assert {result.outcome.value for result in finished} == {"invalid"}
    for result in finished:
        assert why in result.content
        assert "This call was not run" in result.content


async def test_calls_in_turns_under_one_output_index_keep_their_own_arguments() -> None:
    events = [item(0), item(1), arguments(1, '{"n": '), arguments(0, ""), arguments(1, "2}")]
    events += [arguments(0, "", "done"), arguments(1, '{"n": 2}', "done"), response("completed", status="completed")]
    tools = Tools([spec("delete_all")])
    with WireServer() as server:
        server.script(Reply(events), Answer(Text("Done.")))
        provider = provider_at(server, "openai-responses")
        seen = await play(engine_of(provider, tools))
        await provider.close()
    ready = {event.call_id: event.arguments for event in only(seen, ev.CallReady)}
    assert ready == {"call_0": {}, "call_1": {"n": 2}}


async def test_a_block_that_was_stopped_before_the_next_began_runs() -> None:
    """A cut takes only the call that it goes through."""
    second = BLOCK.replace(b'"index":0', b'"index":1').replace(b'"id":"a"', b'"id":"b"')
    events = [anthropic_start(), BLOCK, STOP, second, anthropic_delta(1, "input_json_delta", partial_json="{")]
    tools = Tools([spec("delete_all")])
    with WireServer() as server:
        server.script(Reply([*events, *anthropic_end("max_tokens")]), *[Answer(Text("Done."))] * 2)
        provider = provider_at(server, "anthropic")
        seen = await play(engine_of(provider, tools))
        await provider.close()
    assert {result.call_id: result.outcome.value for result in results_of(seen)} == {"a": "succeeded", "b": "invalid"}
