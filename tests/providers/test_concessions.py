"""A part that an endpoint refuses is given up and told once, and left out from then on: no conversation gets stuck."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console_app.domain.chunks import Chunk
from console_app.domain.errors import ContextOverflow, ProviderError, ToolsRefused
from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import Effort, Sampling
from console_app.domain.tools import ToolCall, ToolSpec
from console_app.providers.faults.concessions import BETWEEN, MOST_TOOLS, NO_SIGNATURE, OutputLimit, output_limit
from console_app.providers.faults.tool_schemas import bare_lists
from console_app.providers.wire_provider import UNREADABLE_CALL
from tests.examples import EXPLORING
from tests.providers.reading import (
    ASK,
    TOOLS,
    calls_of,
    failure_of,
    finish_of,
    notices_of,
    provider_at,
    read,
    text_of,
    usage_of,
)
from tests.wire_bytes import APIS, DONE, Answer, Api, Call, Text, chat_chunk, chat_usage, sse
from tests.wire_server import Reply, WireServer

every_api = pytest.mark.parametrize("api", APIS)
LIMITS = {"openai-chat": "max_tokens", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}


def refusal(message: str, status: int = 400, **fields: Any) -> Reply:
    """An error as all three APIs word it."""
    return Reply.json(
        {"type": "error", "error": {"type": "invalid_request_error", "message": message, **fields}}, status
    )


async def asked_twice(
    server: WireServer, api: Api, *replies: Reply | Answer, request: ModelRequest = ASK, **config: Any
) -> tuple[list[Chunk], ProviderError | None, list[Chunk]]:
    """The chunks of an answer and its error, and the chunks of the next answer of the same provider."""
    server.script(*replies)
    provider = provider_at(server, api, **config)
    chunks, error = await read(provider, request)
    again, _ = await read(provider, request)
    await provider.close()
    return chunks, error, again


def data_of(api: Api, source: str) -> dict[str, Any]:
    """Reasoning as an older answer of `source` left it."""
    match api:
        case "openai-chat":
            return {"source": source, "field": "reasoning_content"}
        case "openai-responses":
            block = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA", "summary": []}
            return {"source": source, "block": block}
        case "anthropic":
            return {"source": source, "block": {"type": "thinking", "thinking": "Hm.", "signature": "c3RhbGU="}}


def after(api: Api, server: WireServer, *, id: str = "call_1") -> ModelRequest:
    """A conversation in which an older answer thought, and called a tool."""
    source = f"test {server.base_url(api)}"
    answer = AssistantMessage(
        tool_calls=(ToolCall(id=id, name="demo_fail"),),
        reasoning=(Reasoning(provider=api, text="Hm.", data=data_of(api, source)),),
    )
    result = ToolMessage(tool_call_id=id, content="done", name="demo_fail")
    return ModelRequest((UserMessage(content="Go."), answer, result, UserMessage(content="And?")), tools=TOOLS)


# -- what an older answer left


@pytest.mark.parametrize(
    ("api", "status", "message", "mark"),
    [
        ("anthropic", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", "c3RhbGU="),
        (
            "anthropic",
            400,
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response.",
            "c3RhbGU=",
        ),
        (
            "openai-responses",
            400,
            "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be "
            "decrypted or parsed.",
            "gAAAA",
        ),
        (
            "openai-responses",
            404,
            "Item with id 'rs_1' not found. Items are not persisted when `store` is false.",
            "rs_1",
        ),
        (
            "openai-responses",
            400,
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            "rs_1",
        ),
    ],
)
async def test_reasoning_that_is_refused_is_left_out_from_then_on(
    server: WireServer, api: Api, status: int, message: str, mark: str
) -> None:
    request = after(api, server)
    chunks, error, again = await asked_twice(
        server, api, refusal(message, status), Answer(Text("4")), Answer(Text("5")), request=request
    )
    assert error is None
    said = "test refuses the reasoning of older answers: the request is sent again without it."
    assert (notices_of(chunks), notices_of(again)) == ([said], [])
    assert (text_of(chunks), text_of(again)) == ("4", "5")
    assert [mark in json.dumps(one.body) for one in server.requests] == [True, False, False]


async def test_reasoning_that_came_since_goes_along(server: WireServer) -> None:
    old = after("anthropic", server)
    server.script(refusal("Invalid `signature` in `thinking` block"), *[Answer(Text("4"))] * 2)
    provider = provider_at(server, "anthropic")
    await read(provider, old)
    fresh = data_of("anthropic", f"test {server.base_url('anthropic')}")
    fresh["block"]["signature"] = "ZnJlc2g="
    newer = AssistantMessage(content="4", reasoning=(Reasoning(provider="anthropic", data=fresh),))
    await read(provider, ModelRequest((*old.messages, newer, UserMessage(content="On.")), tools=TOOLS))
    await provider.close()
    sent = json.dumps(server.requests[-1].body)
    assert "ZnJlc2g=" in sent
    assert "c3RhbGU=" not in sent


@every_api
async def test_a_refusal_that_nothing_can_be_left_out_for_ends_the_request(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, refusal("Invalid `signature` in `thinking` block"))
    assert "Invalid `signature`" in error.line
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("api", "message"),
    [
        ("openai-chat", "Tool call id was functions_get_0 but must be a-z, A-Z, 0-9, with a length of 9."),
        (
            "openai-chat",
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
        ),
        ("openai-responses", "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64."),
        ("anthropic", "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
    ],
)
async def test_ids_that_are_refused_are_short_ones_from_then_on(server: WireServer, api: Api, message: str) -> None:
    request = after(api, server, id="functions_get_0")
    server.script(refusal(message), Answer(Text("4")), Answer(Text("5")))
    provider = provider_at(server, api)
    chunks, _ = await read(provider, request)
    await read(provider, request)
    await provider.close()
    assert notices_of(chunks) == ["test refuses ids of older calls: the request is sent again with short ones."]
    for one in server.requests[1:]:
        written = json.dumps(one.body)
        assert "functions_get_0" not in written
        ids = {
            value
            for item in [*one.body.get("messages", []), *one.body.get("input", [])]
            for place in [
                item,
                *item.get("tool_calls", []),
                *(c for c in item.get("content") or [] if isinstance(c, dict)),
            ]
            for key in ("id", "call_id", "tool_call_id", "tool_use_id")
            if (value := place.get(key)) and item.get("type") != "reasoning"
        }
        assert len(ids) == 1
        assert all(len(id) == 9 and id.isalnum() for id in ids)


async def test_calls_without_a_signature_get_the_placeholder(server: WireServer) -> None:
    """Gemini's error is a list, and names what is missing."""
    message = "Function call is missing a thought_signature in functionCall parts. This is required for tools."
    refused = Reply.json([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}], 400)
    server.script(refused, Answer(Text("4")), Answer(Text("5")))
    provider = provider_at(server, "openai-chat")
    request = after("openai-chat", server)
    chunks, error = await read(provider, request)
    await read(provider, request)
    await provider.close()
    assert error is None
    assert len(notices_of(chunks)) == 1
    written = [NO_SIGNATURE in json.dumps(one.body) for one in server.requests]
    assert written == [False, True, True]


# -- one more try for a call that its own endpoint could not read

FAILED_CALL = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_the_endpoint_could_not_read_is_asked_for_once_more(
    server: WireServer, streamed: bool
) -> None:
    fault = {"error": {"message": FAILED_CALL, "code": "tool_use_failed", "failed_generation": "<function=x"}}
    refused = Reply([sse(fault, "error")]) if streamed else Reply.json(fault, 400)
    server.script(refused, Answer(Call("demo_fail")), refused, refused)
    provider = provider_at(server, "openai-chat")
    chunks, error = await read(provider)
    assert (error, calls_of(chunks)) == (None, [("demo_fail", "{}")])
    assert notices_of(chunks) == ["test could not read the model's call: the model is told, and asked again."]
    assert UNREADABLE_CALL in json.dumps(server.requests[1].body, ensure_ascii=False)
    _, error = await read(provider)
    await provider.close()
    assert error is not None
    assert "Failed to call a function" in error.line
    assert len(server.requests) == 4
    assert UNREADABLE_CALL not in json.dumps(server.requests[2].body, ensure_ascii=False)


async def test_a_malformed_call_of_gemini_too(server: WireServer) -> None:
    malformed = Reply(
        [chat_chunk({"content": ""}, "function_call_filter: MALFORMED_FUNCTION_CALL"), chat_usage((7, 1, 0)), DONE]
    )
    server.script(malformed, Answer(Call("demo_fail")), malformed, malformed)
    provider = provider_at(server, "openai-chat")
    chunks, error = await read(provider)
    assert (error, calls_of(chunks), finish_of(chunks)) == (None, [("demo_fail", "{}")], "tool_calls")
    first = usage_of(chunks)
    assert first is not None
    assert first.input_tokens == 7
    _, error = await read(provider)
    await provider.close()
    assert error is not None
    assert "wrote a call that its endpoint could not read" in error.line


# -- a token limit that is too large

CONTEXT = "This model's maximum context length is 8192 tokens"
TOO_LARGE = [
    (f"'max_tokens' or 'max_completion_tokens' is too large: 32000. {CONTEXT} and your request has 100 input tokens "
     "(32000 > 8192 - 100).", 8092),
    (f"{CONTEXT}. However, you requested 32100 tokens (100 in the messages, 32000 in the completion). Please reduce "
     "the length of the messages or completion.", 8092),
    ("You passed 1001 input tokens and requested 32000 output tokens. However, the model's context length is only 8192 "
     "tokens, resulting in a maximum input length of 192 tokens.", 7191),
    ("Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 32100 "
     "tokens: 100 tokens from the input messages and 32000 tokens for the completion.", 8092),
    ("max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
     16384),
    ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for test-model", 8192),
    ("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or "
     "`max_tokens` and try again", 10000),
    ("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]", 8192),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
     "`context_window` for this model", 8192),
    ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 100 `inputs` tokens and 32000 `max_new_tokens`", 8093),
    (f"This endpoint's {CONTEXT[13:]}. However, you requested about 32100 tokens (100 of text input, 32000 in the "
     'output). Please reduce the length of either one, or use the "middle-out" transform', 8092),
    ("Unable to submit request because it has a maxOutputTokens value of 32000 but the supported range is from 1 "
     "(inclusive) to 8193 (exclusive). Update the value and try again.", 8192),
    ("The maximum tokens you requested exceeds the model limit of 4096. Try again with a lower value.", 4096),
    ("too many tokens: max tokens must be less than or equal to 4096", 4096),
    ("max_tokens: Input should be less than or equal to 4096", 4096),
]  # fmt: skip


@pytest.mark.parametrize(
    ("api", "message", "most"),
    [(api, *one) for n, one in enumerate(TOO_LARGE) for api in (APIS if EXPLORING else [APIS[n % len(APIS)]])],
)
async def test_a_limit_that_is_too_large_is_lowered_to_what_the_message_says(
    server: WireServer, api: Api, message: str, most: int
) -> None:
    chunks, error, again = await asked_twice(
        server, api, refusal(message), Answer(Text("4")), Answer(Text("5")), max_tokens=32_000
    )
    assert (error, text_of(chunks), text_of(again)) == (None, "4", "5")
    assert notices_of(chunks) == [
        f"test refuses answers of up to 32,000 tokens: the request is sent again with {most:,}."
    ]
    assert notices_of(again) == []
    assert [one.body[LIMITS[api]] for one in server.requests] == [32_000, most, most]


@pytest.mark.parametrize(
    ("model", "first"),
    [("claude-sonnet-4-5-20250929", "enabled"), ("claude-opus-4-1", "enabled"), ("claude-opus-5", "adaptive")],
)
async def test_thinking_goes_over_to_the_other_way_and_then_goes(server: WireServer, model: str, first: str) -> None:
    other = {"enabled": "adaptive", "adaptive": "enabled"}[first]
    refused = [refusal(f'"thinking.type.{kind}" is not supported for this model.') for kind in (first, other)]
    server.script(*refused, *[Answer(Text("4"))] * 2)
    provider = provider_at(server, "anthropic", model=model, effort="medium", temperature=0.5)
    chunks, error = await read(provider)
    await read(provider)
    await provider.close()
    assert error is None
    told = {
        "enabled": "test refuses a budget of tokens for thinking: the request is sent again with adaptive thinking.",
        "adaptive": "test refuses adaptive thinking: the request is sent again with a budget of tokens for it.",
    }
    assert (notices_of(chunks)[0], len(notices_of(chunks))) == (told[first], 2)
    assert [one.body.get("thinking", {}).get("type") for one in server.requests] == [first, other, None, None]
    by = {"enabled": {"type": "enabled", "budget_tokens": 10_000}, "adaptive": {"type": "adaptive"}}
    assert [one.body["thinking"] for one in server.requests[:2]] == [by[first], by[other]]
    efforts = [one.body.get("output_config") for one in server.requests[:2]]
    assert efforts == [None if kind == "enabled" else {"effort": "medium"} for kind in (first, other)]


async def test_what_is_left_beside_a_longer_conversation_is_less(server: WireServer) -> None:
    message = f"{CONTEXT}. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion)."
    server.script(refusal(message), *[Answer(Text("4"))] * 2)
    provider = provider_at(server, "openai-chat", max_tokens=8000)
    short = ModelRequest((UserMessage(content="x" * 4000),))
    await read(provider, short)
    await read(provider, ModelRequest((UserMessage(content="x" * 8000),)))
    await provider.close()
    assert [one.body["max_tokens"] for one in server.requests][:2] == [8000, 7192]
    assert 6000 < server.requests[2].body["max_tokens"] < 6500


async def test_too_little_left_is_a_full_context(server: WireServer) -> None:
    message = f"{CONTEXT}. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion)."
    _, error = await failure_of(server, "openai-chat", refusal(message), max_tokens=1000)
    assert isinstance(error, ContextOverflow)
    assert len(server.requests) == 1


async def test_a_limit_that_is_refused_again_as_it_was_ends_the_request(server: WireServer) -> None:
    message = "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"
    _, error = await failure_of(server, "anthropic", *[refusal(message)] * 2, max_tokens=9000)
    assert "valid range" in error.line
    assert [one.body["max_tokens"] for one in server.requests] == [9000, 8192]


def test_what_money_is_left_for() -> None:
    message = "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only "
    assert output_limit(f"{message}afford 1234. To increase, visit the settings.") == OutputLimit(1234, of_account=True)
    assert output_limit("messages: roles must alternate") is None


# -- parameters and schemas


async def test_a_refused_effort_says_what_is_possible(server: WireServer) -> None:
    message = (
        "Unsupported value: 'xhigh' is not supported with the 'o3' model. "
        "Supported values are: 'low', 'medium', and 'high'."
    )
    server.script(refusal(message, param="reasoning_effort"), *[Answer(Text("4"))] * 2)
    provider = provider_at(server, "openai-chat", effort="xhigh")
    chunks, _ = await read(provider)
    await read(provider)
    await provider.close()
    assert notices_of(chunks) == [
        "test refuses reasoning_effort (possible: low, medium, high): the request is sent again without it."
    ]
    assert [one.body.get("reasoning_effort") for one in server.requests] == ["xhigh", None, None]


@every_api
async def test_another_effort_than_the_refused_one_is_sent(server: WireServer, api: Api) -> None:
    def asked(effort: Effort) -> ModelRequest:
        return ModelRequest(ASK.messages, sampling=Sampling(effort=effort))

    names = {"openai-chat": "reasoning_effort", "openai-responses": "reasoning.effort"}
    name = names.get(api, "output_config.effort")
    server.script(refusal(f"Invalid value for {name}: supported values are: 'low', 'high'."), *[Answer(Text("4"))] * 3)
    provider = provider_at(server, api, model="claude-opus-5")
    chunks, error = await read(provider, asked("max"))
    assert error is None
    assert "(possible: low, high)" in notices_of(chunks)[-1]
    await read(provider, asked("max"))
    await read(provider, asked("high"))
    await provider.close()
    sent = [("effort" in json.dumps(one.body) or "thinking" in one.body) for one in server.requests]
    assert sent[-3:] == [False, False, True]
    assert (provider.effort_for("max"), provider.effort_for("high"), provider.effort_for(None)) == ("", "high", "")


@pytest.mark.parametrize(
    "message",
    [
        'Invalid JSON payload received. Unknown name "additionalProperties" at '
        "'tools[0].function_declarations[0].parameters': Cannot find field.",
        "Invalid schema for function 'demo_set': In context=(), 'additionalProperties' is not permitted.",
        "tools.0.function.parameters: unsupported keyword: additionalProperties",
    ],
)
@every_api
async def test_a_refused_schema_keyword_is_left_out_of_every_tool(server: WireServer, api: Api, message: str) -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"additionalProperties": {"type": "object", "additionalProperties": False}},
    }
    request = ModelRequest(
        ASK.messages, tools=(ToolSpec(name="demo_set", server="demo", tool="set", input_schema=schema),)
    )
    server.script(refusal(message), *[Answer(Text("4"))] * 2)
    provider = provider_at(server, api)
    chunks, error = await read(provider, request)
    await read(provider, request)
    await provider.close()
    assert error is None
    assert notices_of(chunks) == [
        "test refuses additionalProperties in the tools' parameters: the request is sent again without it."
    ]
    for one in server.requests[1:]:
        (tool,) = one.body["tools"]
        sent = tool.get("input_schema") or tool.get("parameters") or tool["function"]["parameters"]
        assert sent == {"type": "object", "properties": {"additionalProperties": {"type": "object"}}}


def offering(**parameters: dict[str, Any]) -> ModelRequest:
    """A request with a tool `demo_odd` of those parameters, all needed, behind others."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    odd = ToolSpec(name="demo_odd", server="demo", tool="odd", input_schema=schema)
    return ModelRequest(ASK.messages, tools=(*TOOLS, odd))


def schema_sent(body: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the last tool."""
    tool = body["tools"][-1]
    return tool.get("input_schema") or tool.get("parameters") or tool["function"]["parameters"]


@pytest.mark.parametrize(
    "message",
    [
        "Invalid schema for function 'demo_odd': In context=('properties', 'xs'), array schema missing items.",
        "tools[0].function_declarations[3].parameters.properties[xs].items: missing field.",
        "tool parameters array type must have items",
    ],
)
@every_api
async def test_a_list_says_what_it_is_of_where_that_is_wanted(server: WireServer, api: Api, message: str) -> None:
    pair = {"type": "array", "items": [{"type": "string"}, {"type": "number"}]}
    request = offering(
        xs={"type": "array"},
        items={"anyOf": [{"type": ["array", "null"]}]},
        pair=pair,
        whole={"type": "array", "items": {"type": "string"}},
    )
    chunks, error, again = await asked_twice(
        server, api, refusal(message), Answer(Text("4")), Answer(Text("5")), request=request
    )
    assert (error, text_of(chunks), notices_of(again)) == (None, "4", [])
    assert len(notices_of(chunks)) == 1
    for one in server.requests[1:]:
        assert schema_sent(one.body)["properties"] == {
            "xs": {"type": "array", "items": {}},
            "items": {"anyOf": [{"type": ["array", "null"], "items": {}}]},
            "pair": {"type": "array", "items": {}},
            "whole": {"type": "array", "items": {"type": "string"}},
        }
    assert pair["items"], "the tool's own schema is as it was"


@pytest.mark.parametrize("more", [{}, {"items": {"type": "string"}}])
def test_lists_that_say_what_they_are_of_are_not_what_was_wanted(more: dict[str, Any]) -> None:
    assert bare_lists({"tools": [{"parameters": {"properties": {"xs": {"type": "array", **more}}}}]}) is (not more)


@every_api
async def test_names_of_parameters_go_out_plain_and_come_back_as_they_are(server: WireServer, api: Api) -> None:
    names = ("$filter", "StartTime<", "StartTime>", "ü" * 70, "plain.name-1")
    request = offering(**{name: {"type": "string"} for name in names})
    message = "tools.3.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
    provider = provider_at(server, api)
    server.script(refusal(message), Answer(Text("4")))
    chunks, error = await read(provider, request)
    assert (error, len(notices_of(chunks))) == (None, 1)
    sent = schema_sent(server.requests[1].body)
    written = list(sent["properties"])
    assert (sent["required"], len(set(written))) == (written, 5)
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in written)
    server.script(Answer(Call("demo_odd", json.dumps(dict.fromkeys(written, "x")))), Answer(Text("5")))
    chunks, _ = await read(provider, request)
    arguments = calls_of(chunks)[0][1]
    assert json.loads(arguments) == dict.fromkeys(names, "x")
    called = ToolCall(id="call_1", name="demo_odd", arguments=arguments)
    result = ToolMessage(tool_call_id="call_1", content="done", name="demo_odd")
    history = (*request.messages, AssistantMessage(tool_calls=(called,)), result)
    _, error = await read(provider, replace(request, messages=history))
    await provider.close()
    assert error is None
    if api == "anthropic":
        (use,) = server.requests[-1].body["messages"][1]["content"]
        assert list(use["input"]) == written, "the model reads what it wrote"


@pytest.mark.parametrize(
    "message",
    [
        "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
        "Invalid schema for function 'demo_odd': 'strange' is not valid under any of the given schemas.",
        "tools[0].function_declarations[3].parameters: reference to undefined schema",
        "tools.3.function.parameters: Input should be a valid dictionary",
    ],
)
@every_api
async def test_a_tool_whose_schema_is_refused_costs_itself_alone(server: WireServer, api: Api, message: str) -> None:
    request = offering(x={"type": "string"})
    chunks, error, again = await asked_twice(
        server, api, refusal(message), Answer(Text("4")), Answer(Text("5")), request=request
    )
    assert (error, text_of(chunks), notices_of(again)) == (None, "4", [])
    (told,) = notices_of(chunks)
    assert told.startswith("test refuses the tool demo_odd (")
    assert [len(one.body["tools"]) for one in server.requests] == [4, 3, 3]
    assert "demo_odd" not in json.dumps(server.requests[1].body)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (
            "Invalid 'tools[3].function.description': string too long. Expected a string with maximum length 1024, but "
            "got a string with length 2100 instead.",
            "string_above_max_length",
        ),
        ("tools.3.custom.description: String should have at most 1024 characters", ""),
        ("'x...' is too long - 'tools.3.function.description'", ""),
    ],
)
@every_api
async def test_a_tools_description_is_as_long_as_the_endpoint_takes(
    server: WireServer, api: Api, message: str, code: str
) -> None:
    long = ToolSpec(name="demo_long", server="demo", tool="long", description="Words. " * 300)
    request = ModelRequest(ASK.messages, tools=(*TOOLS, long))
    chunks, error, again = await asked_twice(
        server, api, refusal(message, code=code), Answer(Text("4")), Answer(Text("5")), request=request
    )
    assert (error, text_of(chunks), notices_of(again)) == (None, "4", [])
    assert len(notices_of(chunks)) == 1
    for one in server.requests[1:]:
        tool = one.body["tools"][-1]
        said = tool.get("function", tool)["description"]
        assert (len(said), said[-1], said[:20]) == (1024, "\u2026", long.description[:20])
        first = one.body["tools"][0]
        assert first.get("function", first)["description"] == TOOLS[0].description


async def test_refusals_of_one_tool_after_another_come_to_an_end(server: WireServer) -> None:
    tools = tuple(ToolSpec(name=f"demo_{n}", server="demo", tool=f"{n}") for n in range(40))
    server.script(*[refusal("tools.0.input_schema: not today")] * 40)
    provider = provider_at(server, "anthropic")
    _, error = await read(provider, ModelRequest(ASK.messages, tools=tools))
    await provider.close()
    assert error is not None
    assert "not today" in error.line
    assert len(server.requests) == MOST_TOOLS + 1


# -- pictures


@every_api
async def test_a_picture_that_is_refused_is_only_named_and_the_next_one_is_sent(
    server: WireServer, api: Api, tmp_path: Path
) -> None:
    def asked(*names: str) -> ModelRequest:
        paths = [tmp_path / name for name in names]
        for path in paths:
            path.write_bytes(b"\x89PNG\r\n\x1a\n" + path.name.encode())
        return ModelRequest((UserMessage(content="What is it?", images=tuple(map(str, paths))),))

    server.script(refusal("messages.0.content.1: Could not process image"), *[Answer(Text("4"))] * 2)
    provider = provider_at(server, api)
    chunks, _ = await read(provider, asked("bad.png"))
    await read(provider, asked("bad.png", "good.png"))
    await provider.close()
    assert notices_of(chunks) == ["test refuses a picture: the request is sent again with the words about it alone."]
    assert [json.dumps(one.body).count("iVBORw0K") for one in server.requests] == [1, 0, 1]


# -- the message of the system


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        (422, "This model doesn't support system prompts."),
    ],
)
async def test_what_the_system_says_begins_the_first_message_where_its_role_is_refused(
    server: WireServer, status: int, message: str
) -> None:
    request = replace(after("openai-chat", server), system="Be brief.")
    chunks, error, again = await asked_twice(
        server, "openai-chat", refusal(message, status), Answer(Text("4")), Answer(Text("5")), request=request
    )
    assert error is None
    assert (text_of(chunks), text_of(again)) == ("4", "5")
    assert notices_of(chunks) == [
        "test refuses a system message: the request is sent again with its words before the first message."
    ]
    assert notices_of(again) == []
    first, *others = (request.body["messages"] for request in server.requests)
    assert first[0] == {"role": "system", "content": "Be brief."}
    for sent in others:
        assert sent[0] == {"role": "user", "content": "Be brief.\n\nGo."}
        assert sent[1:] == first[2:]


async def test_a_refused_system_message_joins_pictures_too_and_a_history_that_begins_with_an_answer(
    server: WireServer, tmp_path: Path
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(16))
    asked = UserMessage(content="Go.", images=(str(picture),))
    server.script(refusal("System role not supported"), Answer(Text("4")), Answer(Text("5")))
    provider = provider_at(server, "openai-chat")
    await read(provider, ModelRequest((asked,), system="Be brief."))
    await read(provider, ModelRequest((AssistantMessage(content="Hello."), asked), system="Be brief."))
    await provider.close()
    first, second = (request.body["messages"] for request in server.requests[1:])
    assert [part.get("text") for part in first[0]["content"]][:2] == ["Be brief.", "Go."]
    assert [message["role"] for message in second] == ["user", "assistant", "user"]


async def test_where_only_two_roles_are_known_the_system_goes_first_and_the_tools_then(server: WireServer) -> None:
    told = "Only user and assistant roles are supported!"
    server.script(refusal(told), refusal(told))
    provider = provider_at(server, "openai-chat")
    chunks, error = await read(provider, replace(ASK, system="Be brief."))
    await provider.close()
    assert isinstance(error, ToolsRefused)
    assert ["a system message" in text for text in notices_of(chunks)] == [True]


TURNED = [
    UserMessage(content="Go."),
    UserMessage(content="Quickly."),  # the turn before was stopped
    AssistantMessage(content="One moment."),
    AssistantMessage(tool_calls=(ToolCall(id="call_1", name="demo_fail"),)),
    ToolMessage(tool_call_id="call_1", content="cancelled", name="demo_fail"),
    UserMessage(content="Leave it."),
]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Unexpected role 'user' after role 'tool'"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (
            500,
            "Jinja Exception: After the optional system message, conversation roles must alternate user and assistant "
            "roles except for tool calls and results.",
        ),
    ],
)
async def test_messages_go_by_turns_where_that_is_wanted(server: WireServer, status: int, message: str) -> None:
    request = ModelRequest(tuple(TURNED), tools=TOOLS, system="Be brief.")
    chunks, error, again = await asked_twice(
        server, "openai-chat", refusal(message, status), Answer(Text("4")), Answer(Text("5")), request=request
    )
    assert error is None
    assert notices_of(chunks) == [
        "test refuses two messages in a row, or one behind results: "
        "the request is sent again with the two as one, or a word between."
    ]
    assert (text_of(chunks), text_of(again), notices_of(again)) == ("4", "5", [])
    first, *others = ([(one["role"], one["content"]) for one in sent.body["messages"]] for sent in server.requests)
    assert len(first) == 1 + len(TURNED)
    assert (
        others
        == [
            [
                ("system", "Be brief."),
                ("user", "Go.\n\nQuickly."),
                ("assistant", "One moment."),
                ("tool", "cancelled"),
                ("assistant", BETWEEN),
                ("user", "Leave it."),
            ]
        ]
        * 2
    )
    assert server.requests[1].body["messages"][2]["tool_calls"]


async def test_an_order_that_is_refused_as_it_should_be_ends_the_request(server: WireServer) -> None:
    _, error = await failure_of(server, "openai-chat", refusal("Conversation roles must alternate user/assistant/..."))
    assert "must alternate" in error.line
    assert len(server.requests) == 1


# -- reasoning and streams that an endpoint wants otherwise


@pytest.mark.parametrize(
    "message",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "requires reasoning_content on every assistant message, but assistant message at index 6 is missing it",
        "Missing `reasoning_content` field in the assistant message at message index 2.",
    ],
)
async def test_reasoning_that_is_missed_goes_with_every_answer_from_then_on(server: WireServer, message: str) -> None:
    source = f"test {server.base_url('openai-chat')}"
    kept = Reasoning(provider="openai-chat", text="Hm.", data=data_of("openai-chat", source))
    elsewhere = Reasoning(
        provider="anthropic", text="Secret.", data=data_of("anthropic", "other https://other.example")
    )
    call = ToolCall(id="call_1", name="demo_fail")
    messages = (
        UserMessage(content="Go."),
        AssistantMessage(content="One.", reasoning=(kept,)),
        UserMessage(content="On."),
        AssistantMessage(tool_calls=(call,), reasoning=(elsewhere,)),  # another model's
        ToolMessage(tool_call_id="call_1", content="done", name="demo_fail"),
        AssistantMessage(content="Two."),
        UserMessage(content="And?"),
    )
    chunks, error, again = await asked_twice(
        server,
        "openai-chat",
        refusal(message),
        Answer(Text("4")),
        Answer(Text("5")),
        request=ModelRequest(messages, tools=TOOLS),
    )
    assert error is None
    assert notices_of(chunks) == [
        "test refuses older answers without their reasoning: "
        "the request is sent again with it, or a blank where there is none."
    ]
    assert (text_of(chunks), text_of(again), notices_of(again)) == ("4", "5", [])
    sent = [
        [one.get("reasoning_content") for one in request.body["messages"] if one["role"] == "assistant"]
        for request in server.requests
    ]
    assert sent == [[None] * 3, ["Hm.", " ", " "], ["Hm.", " ", " "]]
    assert all("Secret." not in json.dumps(request.body) for request in server.requests)


@every_api
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Streaming is not supported for this model"),
        (422, "stream=true is not supported"),
        (500, "Cannot use tools with stream"),
        (400, "Streaming completion is not support yet, please remove 'stream' key value in the request payload."),
        (400, "Your organization must be verified to stream this model."),
        (400, "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is."),
        (400, "Tool calling is not supported in streaming mode"),
    ],
)
async def test_an_endpoint_that_does_not_stream_answers_as_a_whole(
    server: WireServer, api: Api, status: int, message: str
) -> None:
    whole = Reply.json(WHOLE[api])
    chunks, error, again = await asked_twice(server, api, refusal(message, status), whole, whole)
    assert error is None
    assert notices_of(chunks) == [
        "test refuses to stream its answer: the request is sent again for the whole of it at once."
    ]
    assert (text_of(chunks), text_of(again), notices_of(again)) == ("Whole.", "Whole.", [])
    assert [request.body["stream"] for request in server.requests] == [True, False, False]
    assert ["stream_options" in request.body for request in server.requests[1:]] == [False, False]


WHOLE: dict[Api, dict[str, Any]] = {
    "openai-chat": {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Whole."}}]},
    "openai-responses": {
        "status": "completed",
        "output": [{"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Whole."}]}],
    },
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "Whole."}], "stop_reason": "end_turn"},
}


async def test_options_of_a_stream_that_are_refused_leave_the_stream(server: WireServer) -> None:
    chunks = await refused_once(server, "Unsupported parameter: 'stream_options' is not supported with this model")
    assert notices_of(chunks) == ["test refuses stream_options: the request is sent again without it."]
    assert [request.body["stream"] for request in server.requests] == [True, True]


async def refused_once(server: WireServer, message: str) -> list[Any]:
    server.script(refusal(message), Answer(Text("4")))
    provider = provider_at(server, "openai-chat")
    chunks, error = await read(provider)
    await provider.close()
    assert error is None
    return chunks
