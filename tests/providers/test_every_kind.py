"""Every kind that the SDKs know is read, kept or refused with a reason: the SDKs' own unions say which there are.

A kind that a newer SDK brings fails here until somebody says what becomes of it.
"""

from __future__ import annotations

from typing import Any, get_args

import anthropic.types.beta as claude
import pytest
from anthropic.types import StopReason, ToolUnionParam
from anthropic.types.beta import BetaStopReason
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageToolCallUnion, ChatCompletionToolUnionParam
from openai.types.chat.chat_completion_chunk import ChoiceDelta
from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent, ToolParam

from console_app.domain.chunks import Chunk, ProviderCallFinished, ProviderCallStarted, ReasoningFinished
from console_app.domain.messages import UserMessage
from console_app.domain.ports import ModelRequest
from console_app.providers.formats import openai_chat_answer, openai_responses_answer
from tests.each import each
from tests.providers.reading import (
    ASK,
    TOOLS,
    answer_to,
    broken_of,
    calls_of,
    message_of,
    notices_of,
    provider_at,
    read,
    text_of,
)
from tests.providers.test_server_tools import message_events, response_events, sent_back
from tests.sdk_models import arms, constants, kinds, whole
from tests.wire_bytes import DONE, anthropic_end, anthropic_event, anthropic_start, chat_chunk, responses_event, sse
from tests.wire_server import Reply, WireServer

CALC = "calculator_evaluate"
ASKED = {
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "mcp_approval_request": "mcp_approval_response",
    "shell_call": "shell_call_output",
}
PANELS = (
    "code_interpreter_call",
    "file_search_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "tool_search_call",
    "web_search_call",
)
ITEMS = {
    "message": "text",
    "function_call": "call",
    "function_call_output": "refused",
    "reasoning": "kept",
    "additional_tools": "kept",
    "compaction": "kept",
    "program": "kept",
    "program_output": "kept",
    "tool_search_output": "kept",
    **dict.fromkeys(PANELS, "kept"),
    **dict.fromkeys(ASKED, "refused"),
    **dict.fromkeys(ASKED.values(), "kept"),
}
# Events that are passed over: their item, or the end of the answer, says all of it again.
PASSED = {
    "response.audio.": "Fanout asks for no sound",
    "response.code_interpreter_call": "the item has the code",
    "response.compaction.": "the item is what counts",
    "response.content_part.added": "the part is empty yet",
    "response.file_search_call.": "the item has what was found",
    "response.shell_call": "the item has the command and its output",
    "response.web_search_call.": "the item has what was found",
    "response.image_generation_call.": "the item has the picture",
    "response.mcp_call": "the item has arguments and output",
    "response.mcp_list_tools.": "the item has the tools",
    "response.output_text.annotation.added": "nothing is made of annotations",
    "response.custom_tool_call_input.": "the item is refused",
    "response.reasoning_summary_part.": "the texts of the parts come as events of their own",
    "response.reasoning_summary_text.done": "the item has the text",
    "response.reasoning_text.done": "the item has the text",
}
BLOCKS = {
    "text": "text",
    "tool_use": "call",
    "thinking": "kept",
    "redacted_thinking": "kept",
    "server_tool_use": "kept",
    "mcp_tool_use": "kept",
    "advisor_tool_result": "kept",
    "bash_code_execution_tool_result": "kept",
    "code_execution_tool_result": "kept",
    "compaction": "kept",
    "container_upload": "kept",
    "fallback": "kept",
    "mcp_tool_listing": "kept",
    "mcp_tool_result": "kept",
    "text_editor_code_execution_tool_result": "kept",
    "tool_search_tool_result": "kept",
    "web_fetch_tool_result": "kept",
    "web_search_tool_result": "kept",
}
# Tools that are not Fanout's own: whoever wants one writes it into `extra_body`.
NOT_OFFERED = {
    "openai-chat": {"custom"},
    "openai-responses": {
        "apply_patch",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "custom",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "namespace",
        "programmatic_tool_calling",
        "shell",
        "tool_search",
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
    },
}
ANTHROPIC_FAMILIES = (
    *("advisor", "bash", "browser", "code_execution", "computer", "mcp_toolset", "memory", "text_editor"),
    *("tool_search_tool", "web_fetch", "web_search"),
)


def item_of(kind: str) -> dict[str, Any]:
    """An example of an output item that ended well, with what an endpoint would write."""
    item, _ = whole(kinds(ResponseOutputItem)[kind])
    item |= {"id": f"id_{kind}", "status": "completed"} if "status" in item else {"id": f"id_{kind}"}
    match kind:
        case "function_call":
            item |= {"name": CALC, "arguments": '{"expression": "1"}', "call_id": "call_1"}
        case "mcp_approval_response":
            item |= {"approval_request_id": "id_mcp_approval_request"}
        case "local_shell_call_output":
            item |= {"id": "local_shell_call"}
        case _ if "call_id" in item:
            item |= {"call_id": kind.removesuffix("_output")}
        case _:
            pass
    return item


def kept_in(chunks: list[Chunk]) -> list[dict[str, Any]]:
    """The blocks that go back as they came."""
    data = [one.reasoning.data for one in chunks if isinstance(one, ReasoningFinished)]
    return [one["block"] for one in data if "block" in one]


def test_every_output_item_has_a_fate() -> None:
    assert set(kinds(ResponseOutputItem)) == set(ITEMS)


@pytest.mark.parametrize("kind", ITEMS)
async def test_an_output_item_is_read_kept_or_refused(server: WireServer, kind: str) -> None:
    item = item_of(kind)
    chunks = await answer_to(server, "openai-responses", Reply(response_events(item)))
    kept = kept_in(chunks)
    assert not broken_of(chunks)
    match ITEMS[kind]:
        case "text":
            assert text_of(chunks) == "text"
        case "call":
            assert calls_of(chunks) == [(CALC, '{"expression": "1"}')]
        case "kept":
            assert [one["type"] for one in kept] == [kind]
            assert kind == "reasoning" or kept == [item]
            assert any(isinstance(one, ProviderCallFinished) for one in chunks) is (kind in (*PANELS, "program_output"))
        case _:
            assert not kept
            assert [notice for notice in notices_of(chunks) if kind in notice and "left out" in notice]


@pytest.mark.parametrize("kind", ASKED)
async def test_what_somebody_else_gave_an_output_goes_back_with_it(server: WireServer, kind: str) -> None:
    items = item_of(kind), item_of(ASKED[kind])
    chunks = await answer_to(server, "openai-responses", Reply(response_events(*items)))
    kept = kept_in(chunks)
    assert kept == list(items)
    assert not notices_of(chunks)


@pytest.mark.parametrize("answered", [False, True])
async def test_a_search_of_tools_that_its_client_is_to_make_goes_back_only_with_what_was_found(
    server: WireServer, answered: bool
) -> None:
    search = item_of("tool_search_call") | {"execution": "client"}
    found = item_of("tool_search_output") | {"execution": "client", "call_id": search["call_id"]}
    items = [search, found] if answered else [search]
    ends = [event for event in response_events(*items) if b"output_item.added" not in event]
    chunks = await answer_to(server, "openai-responses", Reply(ends))
    assert kept_in(chunks) == (items if answered else [])
    assert [notice for notice in notices_of(chunks) if "tool_search_call" in notice] or answered
    assert not any(isinstance(one, ProviderCallStarted) for one in chunks)


async def test_an_item_that_nobody_knows_goes_back_as_it_came(server: WireServer) -> None:
    item = {"type": "hologram_call", "id": "h_1", "beam": {"colour": "blue"}}
    server.script(Reply(response_events(item, item_of("message"))), Reply(response_events(item_of("message"))))
    provider = provider_at(server, "openai-responses")
    chunks, _ = await read(provider)
    answer = message_of(chunks, provider.endpoint)
    await read(provider, ModelRequest((*ASK.messages, answer, UserMessage(content="And now?")), tools=TOOLS))
    await provider.close()
    assert item in server.requests[-1].body["input"]


@pytest.mark.parametrize("late", [False, True])
async def test_who_made_a_call_goes_back_with_it(server: WireServer, late: bool) -> None:
    caller = {"type": "program", "caller_id": "prog_1"}
    call = item_of("function_call") | {"caller": caller, "namespace": "maths", "async": None}
    program = {"type": "program", "id": "pr_1", "call_id": "prog_1", "code": "1", "fingerprint": "f"}
    *begun, added, done, end = [event for event in response_events(program, call) if b".delta" not in event]
    first = {name: value for name, value in call.items() if name != "caller"} if late else call
    told = responses_event("response.output_item.added", output_index=1, item=first)
    _, body = await sent_back(server, "openai-responses", [*begun, told, done, end], "call_1")
    assert b"function_call" in added
    _, sent, output = [item for item in body["input"] if "call_id" in item]
    assert (sent["caller"], sent["namespace"], output["caller"]) == (caller, "maths", caller)
    block = {"type": "tool_use", "id": "toolu_1", "name": CALC, "input": {"expression": "1"}}
    block |= {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}, "toolset_name": "maths"}
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "1"}}
    _, body = await sent_back(server, "anthropic", message_events(use, block, stop="tool_use"), "toolu_1")
    assert block in body["messages"][1]["content"]


async def test_text_that_comes_with_the_end_of_its_part_alone_is_read(server: WireServer) -> None:
    where = {"output_index": 0, "item_id": "id_message", "content_index": 0}
    added, *_ = response_events(item_of("message"))
    parts = [{"type": "output_text", "text": "well"}, {"type": "refusal", "refusal": ", no"}]
    ends = [responses_event("response.content_part.done", part=part, **where) for part in parts]
    response = {"status": "completed", "output": [], "usage": None}
    chunks = await answer_to(
        server, "openai-responses", Reply([added, *ends, responses_event("response.completed", response=response)])
    )
    assert text_of(chunks) == "well, no"


def test_every_event_of_a_response_has_a_fate() -> None:
    read_here = constants(openai_responses_answer)
    unnamed = {
        kind
        for kind in kinds(ResponseStreamEvent)
        if kind not in read_here and kind != "error" and not kind.startswith(tuple(PASSED))
    }
    assert not unnamed


async def test_events_that_are_passed_over_say_nothing(server: WireServer) -> None:
    passed = [kind for kind in kinds(ResponseStreamEvent) if kind.startswith(tuple(PASSED))]
    examples = [whole(kinds(ResponseStreamEvent)[kind])[0] for kind in passed]
    events = [sse({**one, "output_index": 0, "item_id": "id_message"}, one["type"]) for one in examples]
    first, *rest = response_events(item_of("message"))
    chunks = await answer_to(server, "openai-responses", Reply([first, *events, *rest]))
    assert (text_of(chunks), notices_of(chunks), broken_of(chunks)) == ("text", [], [])


def test_every_block_has_a_fate() -> None:
    assert set(kinds(claude.BetaContentBlock)) == set(BLOCKS)


@pytest.mark.parametrize("kind", BLOCKS)
async def test_a_block_is_read_or_kept(server: WireServer, kind: str) -> None:
    block, _ = whole(kinds(claude.BetaContentBlock)[kind])
    uses = {"server_tool_use": "input", "mcp_tool_use": "input"}
    block |= {uses[kind]: {"q": "x"}} if kind in uses else {}
    block |= {"name": CALC, "input": {"expression": "1"}} if kind == "tool_use" else {}
    block |= {"citations": []} if kind == "text" else {}
    chunks = await answer_to(server, "anthropic", Reply(message_events(block)))
    kept = kept_in(chunks)
    assert not broken_of(chunks)
    match BLOCKS[kind]:
        case "text":
            assert text_of(chunks) == "text"
        case "call":
            assert [name for name, _ in calls_of(chunks)] == [CALC]
        case _:
            assert kept == [block]


def test_every_delta_of_a_block_is_read() -> None:
    known = {"text_delta", "input_json_delta", "citations_delta", "thinking_delta", "signature_delta"}
    grown = {"compaction_delta"}  # of a block that goes back as it came: its fields are set
    assert set(kinds(claude.BetaRawContentBlockDelta)) == known | grown


# The deltas that are a block's own: all others are those of another block, under a false index.
DELTAS = {
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "compaction": {"compaction_delta"},
    **{kind: {"input_json_delta"} for kind in ("tool_use", "server_tool_use", "mcp_tool_use")},
}


@each("kind", BLOCKS)
async def test_deltas_of_other_blocks_leave_a_block_as_it_is(kind: str) -> None:
    block, _ = whole(kinds(claude.BetaContentBlock)[kind])
    block |= {"name": CALC, "input": {"expression": "1"}} if kind == "tool_use" else {}
    strange = [
        whole(model)[0]
        for delta, model in kinds(claude.BetaRawContentBlockDelta).items()
        if delta not in DELTAS.get(kind, ())
    ]
    assert strange
    words = {"type": "text", "text": "Well."}
    begun, first, *rest = message_events(block, words)
    between = [anthropic_event("content_block_delta", index=0, delta=one) for one in strange]
    with WireServer() as server:
        plain = await answer_to(server, "anthropic", Reply([begun, first, *rest]))
        odd = await answer_to(server, "anthropic", Reply([begun, first, *between, *rest]))
    assert [one for one in kept_in(odd) if one["type"] == kind] == kept_in(plain)
    assert calls_of(odd) == calls_of(plain)
    marks = [one.reasoning.data.get("text") for one in odd if isinstance(one, ReasoningFinished)]
    assert not any(set(mark or {}) - {"citations"} for mark in marks)


async def test_a_block_grows_by_deltas_of_its_own(server: WireServer) -> None:
    start = anthropic_event("content_block_start", index=0, content_block={"type": "compaction", "content": None})
    delta = anthropic_event("content_block_delta", index=0, delta={"type": "compaction_delta", "content": "in short"})
    stop = anthropic_event("content_block_stop", index=0)
    events = [anthropic_start(), start, delta, stop, *anthropic_end("end_turn")]
    chunks = await answer_to(server, "anthropic", Reply(events))
    assert kept_in(chunks) == [{"type": "compaction", "content": "in short"}]


def test_every_event_of_a_message_is_read() -> None:
    from console_app.providers.formats import anthropic_answer

    assert set(kinds(claude.BetaRawMessageStreamEvent)) <= constants(anthropic_answer)


def test_fields_of_calls_and_deltas_are_all_read() -> None:
    from console_app.providers.formats import anthropic_answer

    assert set(claude.BetaToolUseBlock.model_fields) <= constants(anthropic_answer)
    call = kinds(ResponseOutputItem)["function_call"].model_fields
    assert {field.alias or name for name, field in call.items()} <= constants(openai_responses_answer)
    assert set(ChoiceDelta.model_fields) <= constants(openai_chat_answer)


@pytest.mark.parametrize("reason", sorted({*get_args(StopReason), *get_args(BetaStopReason)}))
async def test_every_stop_reason_is_known(server: WireServer, reason: str) -> None:
    text = {"type": "text", "text": "well"}
    chunks = await answer_to(server, "anthropic", Reply(message_events(text, stop=reason)))
    assert not [notice for notice in notices_of(chunks) if "not known" in notice]


CHOICE = get_args(ChatCompletionChunk.model_fields["choices"].annotation)[0]


@pytest.mark.parametrize("reason", get_args(arms(CHOICE.model_fields["finish_reason"].annotation)[0]))
async def test_every_finish_reason_is_known(server: WireServer, reason: str) -> None:
    events = [chat_chunk({"content": "well"}), chat_chunk({}, reason), DONE]
    chunks = await answer_to(server, "openai-chat", Reply(events))
    assert not [notice for notice in notices_of(chunks) if "not known" in notice]


DETAILS = arms(Response.model_fields["incomplete_details"].annotation)[0]


@pytest.mark.parametrize("reason", get_args(arms(DETAILS.model_fields["reason"].annotation)[0]))
async def test_every_reason_to_be_incomplete_is_known(server: WireServer, reason: str) -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": [item_of("message")]}
    chunks = await answer_to(
        server, "openai-responses", Reply([responses_event("response.incomplete", response=response)])
    )
    assert not [notice for notice in notices_of(chunks) if "not known" in notice]


def test_every_kind_of_tool_is_offered_or_named() -> None:
    assert set(kinds(ToolParam)) == {"function"} | NOT_OFFERED["openai-responses"]
    assert set(kinds(ChatCompletionToolUnionParam)) == {"function"} | NOT_OFFERED["openai-chat"]
    assert set(kinds(ChatCompletionMessageToolCallUnion)) == {"function", "custom"}
    for union in (ToolUnionParam, claude.BetaToolUnionParam):
        assert not [kind for kind in kinds(union) if kind != "custom" and not kind.startswith(ANTHROPIC_FAMILIES)]
