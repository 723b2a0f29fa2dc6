"""Histories on their way out: whatever a conversation holds, each API gets a request that it accepts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig, Sampling
from console_app.domain.tools import Outcome, ToolCall, ToolSpec
from console_app.providers import open_provider
from console_app.providers.formats.anthropic import anthropic_messages
from console_app.providers.formats.openai_chat import chat_messages
from console_app.providers.formats.openai_responses import responses_input
from console_app.providers.formats.request_parts import legal_id, tool_schema, wire_name
from console_app.providers.text_protocol.provider import as_text
from tests.each import each
from tests.examples import examples
from tests.providers import strict_wire
from tests.providers.reading import ASK, TOOLS, message_of, provider_at, read
from tests.wire_bytes import APIS, DONE, Answer, Api, Call, Text, chat_call, chat_chunk
from tests.wire_bytes import Reasoning as Thought
from tests.wire_server import Reply, WireServer


def call(id: str, arguments: str = "{}", name: str = "demo_fail", *, raw: str = "") -> ToolCall:
    """A call of the history."""
    return ToolCall(id=id, name=name, arguments=arguments, raw=raw)


def result(id: str, content: str = "done", outcome: Outcome = Outcome.SUCCEEDED) -> ToolMessage:
    """Its result."""
    return ToolMessage(tool_call_id=id, content=content, outcome=outcome)


def request(*messages: UserMessage | AssistantMessage | ToolMessage, **fields: Any) -> ModelRequest:
    """A request with these messages."""
    return ModelRequest(messages, tools=TOOLS, **fields)


PARALLEL = request(
    UserMessage(content="Both."),
    AssistantMessage(content="Two calls.", tool_calls=(call("a", '{"x": 1}'), call("b"))),
    result("a"),
    result("b", "boom", Outcome.FAILED),
    UserMessage(content="And now?"),
)


def test_chat_gets_one_tool_message_a_call() -> None:
    assert [message["role"] for message in chat_messages(PARALLEL)] == ["user", "assistant", "tool", "tool", "user"]
    assert chat_messages(request(UserMessage(content="x"), system="Be brief."))[0]["role"] == "system"
    silent = request(AssistantMessage(tool_calls=(call("a"),)), result("a"))
    assert chat_messages(silent)[0]["content"] is None


def test_responses_get_an_item_a_call_and_an_item_a_result() -> None:
    kinds = [item.get("type", item.get("role")) for item in responses_input(PARALLEL)]
    assert kinds == ["user", "assistant"] + ["function_call"] * 2 + ["function_call_output"] * 2 + ["user"]


def test_anthropic_gets_one_user_message_that_opens_with_all_results() -> None:
    messages = anthropic_messages(PARALLEL)
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert [block.get("is_error") for block in messages[2]["content"]] == [None, True, None]
    assert messages[1]["content"][1] == {
        "type": "tool_use",
        "id": legal_id("a"),
        "name": "demo_fail",
        "input": {"x": 1},
    }


@each("arguments", ["", "{broken", "[1]", "null", '{"a": NaN}', '{"a": "\\ud83d"}', "{" * 5000])
def test_arguments_that_could_not_be_read_go_out_as_none(arguments: str) -> None:
    strict_wire.check_history(
        request(UserMessage(content="x"), AssistantMessage(tool_calls=(call("a", arguments),)), result("a"))
    )


def test_calls_as_text_are_in_the_form_asked_for_and_what_could_not_be_read_is_as_it_was() -> None:
    broken = call("b", '{"x": ', raw='<tool_call>{"name": "demo_fail", "x')
    written = call("c", '{"x": 2}', raw="demo_fail(x=2)")
    history = request(
        UserMessage(content="All."), AssistantMessage(tool_calls=(call("a", '{"x": 1}'), broken, written))
    )
    sent = as_text(replace(history, messages=(*history.messages, result("a", "It is done."))), "hermes_json").messages
    assert "It is done." in sent[2].content
    assert sent[1].content.splitlines() == [
        "<tool_call>",
        '{"name": "demo_fail", "arguments": {"x": 1}}',
        "</tool_call>",
        '<tool_call>{"name": "demo_fail", "x',
        "<tool_call>",
        '{"name": "demo_fail", "arguments": {"x": 2}}',
        "</tool_call>",
    ]


def test_blank_and_missing_texts() -> None:
    strict_wire.check_history(
        request(
            AssistantMessage(content="I begin."),
            UserMessage(content="  \n"),
            AssistantMessage(interrupted=True),
            UserMessage(content="again"),
            UserMessage(content="and again"),
            AssistantMessage(content=" ", tool_calls=(call("a"), call("b"))),
            result("a", ""),
            result("b", " ", Outcome.CANCELLED),
            system=" ",
        )
    )


def test_a_history_with_calls_and_no_tools_left() -> None:
    strict_wire.check_history(ModelRequest(PARALLEL.messages, tool_choice="none"))
    strict_wire.check_history(request(*PARALLEL.messages, tool_choice="none"))
    strict_wire.check_history(request(*PARALLEL.messages, tool_choice="required"))


def test_ids_of_another_provider_become_legal_and_stay_apart() -> None:
    ids = ["functions.get:0", "functions.get:1", "functions_get_0", "chatcmpl-tool-" + "f" * 32, "ü", "", "x" * 40]
    wired = [legal_id(id) for id in ids]
    assert len(set(wired)) == len(ids)
    assert all(len(id) == 9 and strict_wire.LEGAL_ID.fullmatch(id) for id in wired)
    assert legal_id("AbC123xyz") == "AbC123xyz"
    assert wire_name("no such tool!") == "no_such_tool_"


def test_schemas_that_no_api_takes_at_the_top() -> None:
    spec = ToolSpec(name="a", server="s", tool="a", input_schema={"anyOf": [{"type": "object"}], "required": ["x"]})
    assert tool_schema(spec) == {"required": ["x"], "type": "object", "properties": {}}


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_comes_back_as_it_was_written(server: WireServer, api: Api) -> None:
    """From wire to history and out again: the next request repeats text, calls and reasoning, in their order."""
    first = Answer(
        Thought("First this.", "c2lnbmVkLTE="),
        Text("Let me see."),
        Call("calculator_evaluate", '{"expression": "1+1"}', "call_a"),
        Thought("Then that.", "c2lnbmVkLTI="),
        Call("demo_fail", "{}", "call_b"),
    )
    server.script(first, Answer(Text("Done.")))
    provider = provider_at(server, api)
    chunks, _ = await read(provider)
    again = ModelRequest(
        (*ASK.messages, message_of(chunks, provider.endpoint), result("call_a"), result("call_b")), tools=TOOLS
    )
    await read(provider, again)
    await provider.close()
    body = server.requests[1].body
    strict_wire.check(api, body)
    calls = [("call_a", "calculator_evaluate"), ("call_b", "demo_fail")]
    if api == "anthropic":
        blocks = body["messages"][1]["content"]
        kinds = [block["type"] for block in blocks]
        assert kinds == ["thinking", "text", "tool_use", "thinking", "tool_use"]
        assert [(b["id"], b["name"]) for b in blocks if b["type"] == "tool_use"] == calls
        assert blocks[0] == {"type": "thinking", "thinking": "First this.", "signature": "c2lnbmVkLTE="}
    elif api == "openai-responses":
        items = body["input"][1:-2]
        kinds = [item.get("type", item.get("role")) for item in items]
        assert kinds == ["reasoning", "assistant", "function_call", "reasoning", "function_call"]
        assert [(i["call_id"], i["name"]) for i in items if i.get("type") == "function_call"] == calls
        assert [i["encrypted_content"] for i in items if i.get("type") == "reasoning"] == [
            "c2lnbmVkLTE=",
            "c2lnbmVkLTI=",
        ]
    else:
        message = body["messages"][1]
        assert [(c["id"], c["function"]["name"]) for c in message["tool_calls"]] == calls
        assert (message["content"], message["reasoning_content"]) == ("Let me see.", "First this.Then that.")


async def test_a_field_of_reasoning_without_a_word_goes_back_beside_calls(server: WireServer) -> None:
    asked = [chat_chunk({"reasoning_content": ""}), chat_call(0, id="a", name="demo_fail", arguments="{}")]
    server.script(Reply([*asked, chat_chunk({}, "tool_calls"), DONE]), Answer(Text("Done.")))
    provider = provider_at(server, "openai-chat")
    chunks, _ = await read(provider)
    await read(provider, request(*ASK.messages, message_of(chunks, provider.endpoint), result("a")))
    await provider.close()
    assert server.requests[1].body["messages"][1]["reasoning_content"] == ""


@pytest.mark.parametrize("api", APIS)
async def test_reasoning_goes_back_only_to_the_endpoint_that_wrote_it(server: WireServer, api: Api) -> None:
    server.script(Answer(Thought("Hm."), Call("demo_fail", "{}", "a")), *[Answer(Text("Done."))] * 3)
    provider = provider_at(server, api)
    chunks, _ = await read(provider)
    await provider.close()
    again = ModelRequest((*ASK.messages, message_of(chunks, provider.endpoint), result("a")), tools=TOOLS)
    for other in APIS:
        elsewhere = provider_at(server, other, name="another")
        await read(elsewhere, again)
        await elsewhere.close()
        assert b"Hm." not in server.requests[-1].raw
        strict_wire.check(other, server.requests[-1].body)


@each("api", APIS)
def test_what_only_the_vendor_itself_is_asked_for(api: Api) -> None:
    """Other servers might refuse these fields, or know them by another name."""
    for base_url in (None, "http://127.0.0.1:1/v1"):
        config = ProviderConfig("x", api, "gpt-5.5", base_url, "k")
        body = open_provider(config)._body(replace(PARALLEL, sampling=Sampling(max_tokens=50)))
        strict_wire.check(api, body)
        extras = {
            "openai-chat": "max_completion_tokens" in body,
            "openai-responses": body.get("reasoning") == {"summary": "auto"},
            "anthropic": all("eager_input_streaming" in tool for tool in body["tools"]),
        }
        assert extras[api] is (base_url is None)
    assert "reasoning" not in open_provider(ProviderConfig("x", api, "gpt-4.1", api_key="k"))._body(PARALLEL)


async def test_redacted_thinking_goes_back_unread(server: WireServer) -> None:
    from tests.wire_bytes import anthropic_end, anthropic_event, anthropic_start
    from tests.wire_server import Reply

    block = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    start = anthropic_event("content_block_start", index=0, content_block=block)
    stop = anthropic_event("content_block_stop", index=0)
    text = Answer(Text("Hm.")).events("anthropic")[2:-2]
    server.script(Reply([anthropic_start(), start, stop, *text, *anthropic_end("end_turn")]), Answer(Text("Done.")))
    provider = provider_at(server, "anthropic")
    chunks, _ = await read(provider)
    await read(provider, request(*ASK.messages, message_of(chunks), UserMessage(content="more")))
    await provider.close()
    assert server.requests[1].body["messages"][1]["content"] == [block, {"type": "text", "text": "Hm."}]


# -- any history that the engine may hold

texts = st.one_of(st.sampled_from(["", " ", "\n", "ok", "\x00\x1b[2J"]), st.text(max_size=12))
outcomes = st.sampled_from(list(Outcome))
names = st.one_of(st.sampled_from([tool.name for tool in TOOLS]), st.text(min_size=1, max_size=12))
broken = ["{}", "", '{"a": [1, null]}', "{oops", "[]", "7", '{"a": Infinity}']
arguments = st.one_of(st.sampled_from(broken), st.text(max_size=8))


@st.composite
def thoughts(draw: st.DrawFn) -> Reasoning:
    """Reasoning of any provider, with a place in the answer that may be wrong."""
    wire_format = draw(st.sampled_from(["anthropic", "openai-responses", "openai-chat", "other"]))
    place = {"calls_before": draw(st.integers(0, 5)), "text_before": draw(st.integers(0, 20))}
    block = {
        "anthropic": {"type": "thinking", "thinking": "t", "signature": "s"},
        "openai-responses": {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
    }.get(wire_format, {})
    data = draw(st.sampled_from([{}, {"block": block, **place}])) if block else {"field": "reasoning_content"}
    return Reasoning(provider=wire_format, text="t", data=data)


@st.composite
def histories(draw: st.DrawFn) -> tuple[UserMessage | AssistantMessage | ToolMessage, ...]:
    """Messages as the engine's history leaves them: each call has its one result, in order, right behind it."""
    out: list[UserMessage | AssistantMessage | ToolMessage] = []
    for turn in range(draw(st.integers(1, 3))):
        out.append(UserMessage(content=draw(texts)))
        for step in range(draw(st.integers(0, 2))):
            style = draw(st.sampled_from(["call", "fn.x:", "ü"]))
            ids = [f"{style}_{turn}_{step}_{n}" for n in range(draw(st.integers(0, 3)))]
            calls = tuple(ToolCall(id=id, name=draw(names), arguments=draw(arguments)) for id in ids)
            reasoning = tuple(draw(st.lists(thoughts(), max_size=2)))
            out.append(AssistantMessage(content=draw(texts), tool_calls=calls, reasoning=reasoning))
            out += [ToolMessage(tool_call_id=id, content=draw(texts), outcome=draw(outcomes)) for id in ids]
    if isinstance(out[-1], AssistantMessage) and not out[-1].tool_calls:
        out.append(UserMessage(content="go on"))
    return tuple(out)


@examples(120)
@given(histories(), st.booleans(), st.sampled_from(["auto", "none", "required"]), texts)
def test_any_history_is_accepted_by_all_three_apis(
    messages: tuple[UserMessage | AssistantMessage | ToolMessage, ...], tools: bool, choice: Any, system: str
) -> None:
    strict_wire.check_history(
        ModelRequest(
            messages,
            system=system,
            tools=TOOLS if tools else (),
            tool_choice=choice,
            sampling=Sampling(stop=(" ", "END")),
        )
    )
