"""Tools that the provider runs itself: shown as its own calls, and sent back whole and in place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console_app.domain.chunks import Chunk, ProviderCallFinished, ProviderCallStarted
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import Outcome
from tests.providers import strict_wire
from tests.providers.reading import (
    ASK,
    TOOLS,
    answer_to,
    assert_well_formed,
    broken_of,
    calls_of,
    finish_of,
    ids_of,
    message_of,
    notices_of,
    provider_at,
    read,
    text_of,
)
from tests.providers.test_requests import result
from tests.wire_bytes import (
    Answer,
    Api,
    Text,
    anthropic_delta,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    responses_event,
)
from tests.wire_server import Reply, WireServer

CALC = "calculator_evaluate"
SEARCH: dict[str, Any] = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "tide tables"},
}
FOUND: dict[str, Any] = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "title": "Tides", "url": "https://a.example/t", "encrypted_content": "b3BhcXVl"}
    ],
}
ASKED: dict[str, Any] = {
    "type": "mcp_tool_use",
    "id": "mcptoolu_1",
    "name": "find",
    "server_name": "notes",
    "input": {"q": "x"},
}
TOLD: dict[str, Any] = {
    "type": "mcp_tool_result",
    "tool_use_id": "mcptoolu_1",
    "is_error": True,
    "content": [{"type": "text", "text": "no such note"}],
}
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "Search first.", "signature": "c2ln"}
CITED: dict[str, Any] = {
    "type": "text",
    "text": "High water at six.",
    "citations": [{"type": "web_search_result_location", "url": "https://a.example/t", "encrypted_index": "aQ=="}],
}
USE: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": CALC, "input": {"expression": "1"}}
PLAIN: dict[str, Any] = {"type": "text", "text": "Let me see."}


def block_events(index: int, block: dict[str, Any]) -> list[bytes]:
    """How one content block is streamed."""
    match block["type"]:
        case "text":
            begun: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [anthropic_delta(index, "text_delta", text=block["text"])]
            deltas += [anthropic_delta(index, "citations_delta", citation=one) for one in block.get("citations", [])]
        case "thinking":
            begun = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [anthropic_delta(index, "thinking_delta", thinking=block["thinking"])]
            deltas.append(anthropic_delta(index, "signature_delta", signature=block["signature"]))
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            begun = {**block, "input": {}}
            written = json.dumps(block["input"])
            pieces = ["", written[:4], written[4:]]
            deltas = [anthropic_delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
        case _:
            begun, deltas = block, []
    start = anthropic_event("content_block_start", index=index, content_block=begun)
    return [start, *deltas, anthropic_event("content_block_stop", index=index)]


def message_events(*blocks: dict[str, Any], stop: str = "end_turn") -> list[bytes]:
    """A whole streamed message."""
    body = [event for index, block in enumerate(blocks) for event in block_events(index, block)]
    return [anthropic_start(), *body, *anthropic_end(stop)]


def item_events(index: int, item: dict[str, Any]) -> list[bytes]:
    """How one output item is streamed."""
    begun = {
        name: value
        for name, value in item.items()
        if name in ("type", "id", "call_id", "caller", "name", "phase", "server_label")
    }
    where = {"output_index": index, "item_id": item["id"]}
    out = [responses_event("response.output_item.added", output_index=index, item=begun)]
    if item["type"] == "message":
        delta = item["content"][0]["text"]
        out.append(responses_event("response.output_text.delta", delta=delta, content_index=0, **where))
    if item["type"] == "function_call":
        out.append(responses_event("response.function_call_arguments.delta", delta=item["arguments"], **where))
    return [*out, responses_event("response.output_item.done", output_index=index, item=item)]


def response_events(*items: dict[str, Any]) -> list[bytes]:
    """A whole streamed response, whose last event repeats it."""
    body = [event for index, item in enumerate(items) for event in item_events(index, item)]
    response = {"status": "completed", "output": list(items), "usage": None}
    return [*body, responses_event("response.completed", response=response)]


def message_item(number: int, text: str, **more: Any) -> dict[str, Any]:
    """A message among output items."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    } | more


def call_item(number: int) -> dict[str, Any]:
    """A call among output items."""
    arguments = f'{{"expression": "{number}"}}'
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": CALC}
    return item | {"arguments": arguments, "status": "completed"}


REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
WEB: dict[str, Any] = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "tide tables", "sources": [{"type": "url", "url": "https://a.example/t"}]},
}
CONNECTOR: dict[str, Any] = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "notes",
    "name": "find",
    "arguments": '{"q": "x"}',
    "output": "one note",
    "error": None,
}


def panels_of(chunks: list[Chunk]) -> list[tuple[str, str, Outcome, str]]:
    """Return server, name, outcome and shown result of each of the provider's own calls."""
    started = {chunk.id: chunk for chunk in chunks if isinstance(chunk, ProviderCallStarted)}
    ended = [chunk for chunk in chunks if isinstance(chunk, ProviderCallFinished)]
    return [(started[one.id].server, started[one.id].name, one.outcome, one.content) for one in ended]


async def sent_back(server: WireServer, api: Api, events: list[bytes], *answers: str) -> tuple[list[Chunk], Any]:
    """The chunks of an answer, and the body of the request that follows it."""
    server.script(Reply(events), Answer(Text("Done.")))
    provider = provider_at(server, api)
    chunks, error = await read(provider)
    assert error is None
    assert_well_formed(chunks)
    results = [result(call_id) for call_id in answers] or [UserMessage(content="And now?")]
    await read(provider, ModelRequest((*ASK.messages, message_of(chunks, provider.endpoint), *results), tools=TOOLS))
    await provider.close()
    body = server.requests[-1].body
    strict_wire.check(api, body)
    return chunks, body


async def test_anthropic_blocks_go_back_whole_and_in_place(server: WireServer) -> None:
    blocks = [PLAIN, THOUGHT, SEARCH, FOUND, ASKED, TOLD, CITED, USE]
    chunks, body = await sent_back(server, "anthropic", message_events(*blocks, stop="tool_use"), "toolu_1")
    assert body["messages"][1]["content"] == blocks
    assert calls_of(chunks) == [(CALC, '{"expression": "1"}')]
    assert panels_of(chunks) == [
        ("", "web_search", Outcome.SUCCEEDED, "Tides · https://a.example/t"),
        ("notes", "find", Outcome.FAILED, "no such note"),
    ]
    started = [one.arguments for one in chunks if isinstance(one, ProviderCallStarted)]
    assert started == ['{"query": "tide tables"}', '{"q": "x"}']


async def test_anthropic_texts_and_calls_keep_their_order(server: WireServer) -> None:
    second = {**USE, "id": "toolu_2", "input": {"expression": "2"}}
    blocks = [PLAIN, USE, {"type": "text", "text": "And another."}, second, {"type": "text", "text": "Both."}]
    _, body = await sent_back(server, "anthropic", message_events(*blocks, stop="tool_use"), "toolu_1", "toolu_2")
    assert body["messages"][1]["content"] == blocks


async def test_a_server_tool_that_was_cut_off_is_left_out(server: WireServer) -> None:
    """Its call without a result, in an answer that nothing continues, would have the whole request refused."""
    chunks, body = await sent_back(server, "anthropic", message_events(PLAIN, SEARCH))
    assert body["messages"][1]["content"] == [PLAIN]
    assert not panels_of(chunks)


async def test_a_paused_answer_goes_back_as_it_stands(server: WireServer) -> None:
    """The next request ends with it: that is how the provider is told to go on."""
    server.script(Reply(message_events(THOUGHT, SEARCH, stop="pause_turn")), Reply(message_events(FOUND, CITED)))
    provider = provider_at(server, "anthropic")
    first, _ = await read(provider)
    assert (finish_of(first), notices_of(first), broken_of(first)) == ("paused", [], [])
    paused = message_of(first).model_copy(update={"paused": True})
    second, _ = await read(provider, ModelRequest((*ASK.messages, paused), tools=TOOLS))
    await provider.close()
    assert server.requests[1].body["messages"][1:] == [{"role": "assistant", "content": [THOUGHT, SEARCH]}]
    strict_wire.check("anthropic", server.requests[1].body)
    assert text_of(second) == CITED["text"]


async def test_responses_items_go_back_whole_and_in_place(server: WireServer) -> None:
    items = [
        message_item(1, "Let me see.", phase="commentary"),
        call_item(1),
        REASONING,
        WEB,
        CONNECTOR,
        message_item(2, "And this.", phase="commentary"),
        call_item(2),
    ]
    chunks, body = await sent_back(server, "openai-responses", response_events(*items), "call_1", "call_2")
    back = body["input"][1:-2]
    assert [item.get("type", "message") for item in back] == [item["type"] for item in items]
    assert back[0] == {"role": "assistant", "content": "Let me see.", "phase": "commentary"}
    assert back[2:5] == [REASONING, WEB, CONNECTOR]
    assert back[5] == {"role": "assistant", "content": "And this.", "phase": "commentary"}
    assert [one[:2] for one in panels_of(chunks)] == [("", "web_search"), ("notes", "find")]
    assert panels_of(chunks)[1][3] == "one note"


async def test_texts_with_something_between_them_are_apart_for_people_and_go_back_as_they_came(
    server: WireServer,
) -> None:
    chunks, body = await sent_back(server, "anthropic", message_events(PLAIN, SEARCH, FOUND, CITED, stop="end_turn"))
    assert text_of(chunks) == "Let me see.\n\nHigh water at six."
    assert body["messages"][1]["content"] == [PLAIN, SEARCH, FOUND, CITED]
    cited = [CITED, {"type": "text", "text": " And so on."}]
    assert text_of(await answer_to(server, "anthropic", Reply(message_events(*cited)))) == CITED["text"] + " And so on."
    items = [message_item(1, "First."), message_item(2, "Then this.")]
    chunks, body = await sent_back(server, "openai-responses", response_events(*items))
    assert text_of(chunks) == "First.\n\nThen this."
    assert [item["content"] for item in body["input"][1:-1]] == ["First.", "Then this."]


async def test_without_its_reasoning_nothing_of_the_provider_goes_back(server: WireServer) -> None:
    items = [{**REASONING, "encrypted_content": None}, WEB, message_item(1, "Six.")]
    _, body = await sent_back(server, "openai-responses", response_events(*items))
    assert body["input"][1] == {"role": "assistant", "content": "Six."}


@pytest.mark.parametrize("api", ["anthropic", "openai-responses"])
async def test_blocks_go_to_no_other_endpoint(server: WireServer, api: Api) -> None:
    events = (
        message_events(SEARCH, FOUND, CITED)
        if api == "anthropic"
        else response_events(REASONING, WEB, message_item(1, "x"))
    )
    message = message_of(await answer_to(server, api, Reply(events)))
    server.script(Answer(Text("Done.")))
    elsewhere = provider_at(server, api, name="another")
    await read(elsewhere, ModelRequest((*ASK.messages, message, UserMessage(content="more"))))
    await elsewhere.close()
    assert b"tide tables" not in server.requests[-1].raw
    strict_wire.check(api, server.requests[-1].body)


async def test_tools_of_the_provider_stand_beside_ours(server: WireServer) -> None:
    server.script(*[Answer(Text("hi"))] * 2)
    kinds: list[tuple[Api, str]] = [("anthropic", "web_search_20250305"), ("openai-responses", "web_search")]
    for api, kind in kinds:
        provider = provider_at(server, api, extra_body={"tools": [{"type": kind, "name": "web_search"}]})
        await read(provider)
        await provider.close()
        tools = server.requests[-1].body["tools"]
        assert len(tools) == len(TOOLS) + 1
        assert tools[-1]["type"] == kind


# -- closing events of the Responses API

ONLY = [message_item(1, "Let me see."), call_item(1), message_item(2, "Done?"), call_item(2)]


def deltas_left_out(events: list[bytes], *kinds: bytes) -> list[bytes]:
    return [event for event in events if not any(kind in event.split(b"\n")[0] for kind in kinds)]


@pytest.mark.parametrize(
    "left_out",
    [
        (),
        (b".delta",),
        (b".delta", b"output_item.added"),
        (b".delta", b"output_item.added", b"output_item.done"),
        (b"output_item.added", b"output_item.done"),
        (b"output_item.done", b".delta"),
    ],
)
async def test_what_comes_only_in_a_closing_event_is_read_once(server: WireServer, left_out: tuple[bytes, ...]) -> None:
    if left_out == (b"output_item.added", b"output_item.done"):
        events = deltas_left_out(response_events(*[item for item in ONLY if item["type"] == "message"]), *left_out)
        assert text_of(await answer_to(server, "openai-responses", Reply(events))) == "Let me see.\n\nDone?"
        return
    chunks = await answer_to(server, "openai-responses", Reply(deltas_left_out(response_events(*ONLY), *left_out)))
    assert_well_formed(chunks)
    assert text_of(chunks) == "Let me see.\n\nDone?"
    assert calls_of(chunks) == [(CALC, '{"expression": "1"}'), (CALC, '{"expression": "2"}')]
    assert ids_of(chunks) == ["call_1", "call_2"]


async def test_text_that_only_its_own_closing_event_holds(server: WireServer) -> None:
    where = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    done = responses_event("response.output_text.done", text="Hello there.", **where)
    part = responses_event("response.output_text.delta", delta="Hello", **where)
    refusal = responses_event("response.refusal.done", refusal="No.", output_index=1, item_id="m2", content_index=0)
    end = responses_event("response.completed", response={"status": "completed"})
    chunks = await answer_to(server, "openai-responses", Reply([part, done, done, refusal, end]))
    assert text_of(chunks) == "Hello there.\n\nNo."


async def test_items_whose_ids_change_midway_are_told_by_place_and_call(server: WireServer) -> None:
    events = [
        event.replace(b'"msg_', f'"m{number}_'.encode()).replace(b'"fc_', f'"f{number}_'.encode())
        for number, event in enumerate(response_events(*ONLY))
    ]
    chunks = await answer_to(server, "openai-responses", Reply(events))
    assert text_of(chunks) == "Let me see.\n\nDone?"
    assert calls_of(chunks) == [(CALC, '{"expression": "1"}'), (CALC, '{"expression": "2"}')]


async def test_calls_under_one_place_are_told_by_their_items(server: WireServer) -> None:
    def event(kind: str, item: str, **fields: Any) -> bytes:
        return responses_event(f"response.function_call_arguments.{kind}", output_index=0, item_id=item, **fields)

    added = [
        responses_event("response.output_item.added", output_index=0, item={**call_item(n), "arguments": ""})
        for n in (1, 2)
    ]
    deltas = [event("delta", f"fc_{n}", delta=piece) for piece in ('{"expression":', ' "x"}') for n in (1, 2)]
    cut = responses_event("response.incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}})
    foreign = event("done", "fc_3", arguments="{}")
    own = event("done", "fc_2", arguments='{"expression": "x"}')
    chunks = await answer_to(server, "openai-responses", Reply([*added, *deltas, foreign, own, cut]))
    assert calls_of(chunks) == [(CALC, '{"expression": "x"}')]
    assert broken_of(chunks) == ["cut off by the token limit after 19 characters"]


async def test_an_item_that_nobody_here_knows_is_said(server: WireServer) -> None:
    events = response_events({"type": "local_shell_call", "id": "sh_1"}, message_item(1, "hi"))
    chunks = await answer_to(server, "openai-responses", Reply(events))
    (notice,) = notices_of(chunks)
    assert "local_shell_call" in notice
    assert message_of(chunks) == AssistantMessage(content="hi", reasoning=message_of(chunks).reasoning)
    assert not calls_of(chunks)


async def test_anthropic_blocks_that_are_interleaved_keep_their_own(server: WireServer) -> None:
    """A block's end ends that block alone: thinking goes on behind it, and keeps its signature."""
    thinking, use = block_events(0, THOUGHT), block_events(1, USE)
    events = [anthropic_start(), thinking[0], *use, *thinking[1:], *anthropic_end("tool_use")]
    chunks = await answer_to(server, "anthropic", Reply(events))
    assert calls_of(chunks) == [(CALC, '{"expression": "1"}')]
    (kept,) = message_of(chunks).reasoning
    assert kept.data["block"] == THOUGHT
