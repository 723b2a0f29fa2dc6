"""A provider reads most of a fan-out's requests from its cache, counted by the published rule at a local endpoint."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import Sampling
from console_app.domain.tools import ToolCall
from console_app.providers.formats.cache_marks import MARK, forwards_marks, mark_anthropic, mark_chat
from console_app.providers.formats.openai_chat import chat_messages
from tests.each import each
from tests.prompt_cache import Counted, PromptCache, as_messages
from tests.providers import strict_wire
from tests.providers.reading import TOOLS, answer_to, message_of, notices_of, provider_at, read
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import Reply, WireServer

CALLS = 64
SYSTEM = "Be brief. " * 50


def step(number: int, calls: int = CALLS) -> Answer:
    """An answer of so many calls."""
    return Answer(
        Text(f"Step {number}."),
        *[Call("demo_fail", json.dumps({"n": n}), f"call_{number}_{n}", size=100) for n in range(calls)],
    )


def results(number: int, calls: int = CALLS) -> list[ToolMessage]:
    """Their results."""
    return [ToolMessage(tool_call_id=f"call_{number}_{n}", content=f"Result {n}: " + "x" * 200) for n in range(calls)]


async def requests_of(server: WireServer, api: Api, steps: int, **config: Any) -> list[dict[str, Any]]:
    """The bodies of the requests of a turn that fans out at each step."""
    server.script(*map(step, range(steps)))
    provider = provider_at(server, api, **config)
    messages: list[UserMessage | AssistantMessage | ToolMessage] = [UserMessage(content="Go on.")]
    for number in range(steps):
        request = ModelRequest(tuple(messages), system=SYSTEM, tools=TOOLS, conversation="01J-conversation")
        chunks, error = await read(provider, request)
        assert error is None
        messages += [message_of(chunks), *results(number)]
    await provider.close()
    bodies = [request.body for request in server.requests]
    for body in bodies:
        strict_wire.check(api, body)
    return bodies


def shares(counted: list[Counted]) -> list[float]:
    """The share of each request's input that was read from the cache, but for what is new in it."""
    return [one.read / before.total for before, one in itertools.pairwise(counted)]


async def test_each_step_of_64_calls_reads_all_of_the_one_before(server: WireServer) -> None:
    cache = PromptCache()
    counted = [cache.take(body) for body in await requests_of(server, "anthropic", 5)]
    assert counted[0].read == 0
    assert shares(counted) == [1.0] * 4
    assert all(one.fresh == 0 for one in counted)


async def test_one_mark_at_the_end_would_miss_the_last_step(server: WireServer) -> None:
    """The rule that is counted by is the one that makes the marks necessary."""
    bodies = await requests_of(server, "anthropic", 3)
    for body in bodies:
        marked = [block for message in body["messages"] for block in message["content"] if "cache_control" in block]
        for block in marked[:-1]:
            del block["cache_control"]
    cache = PromptCache()
    assert shares([cache.take(body) for body in bodies])[-1] < 0.2


async def test_tools_and_system_are_read_by_another_conversation(server: WireServer) -> None:
    cache = PromptCache()
    (first,) = await requests_of(server, "anthropic", 1)
    cache.take(first)
    block = {"type": "text", "text": "Else.", "cache_control": MARK}
    other = {**first, "messages": [{"role": "user", "content": [block]}]}
    assert cache.take(other).read > len(SYSTEM) // 4


def test_a_note_that_only_one_request_carries_moves_no_mark() -> None:
    def body(*after: dict[str, Any]) -> dict[str, Any]:
        result = [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]
        out: dict[str, Any] = {"messages": [{"role": "user", "content": [*result, *after]}]}
        mark_anthropic(out)
        return out

    cache = PromptCache()
    cache.take(body({"type": "text", "text": "Think first."}))
    assert cache.take(body()).read == cache.take(body()).total


async def test_an_endpoint_that_refuses_the_marks_is_asked_without(server: WireServer) -> None:
    refusal = Reply.json({"error": {"message": "cache_control: Extra inputs are not permitted"}}, 400)
    chunks = await answer_to(server, "anthropic", refusal, Answer(Text("hi")))
    assert notices_of(chunks) == ["test refuses cache_control: the request is sent again without it."]
    assert b"cache_control" in server.requests[0].raw
    assert b"cache_control" not in server.requests[1].raw


async def test_responses_name_the_conversation_and_chat_has_no_marks(server: WireServer) -> None:
    bodies = await requests_of(server, "openai-responses", 2)
    assert [body["prompt_cache_key"] for body in bodies] == ["01J-conversation"] * 2
    server.requests.clear()
    assert all("cache_control" not in json.dumps(body) for body in await requests_of(server, "openai-chat", 2))


def test_claude_behind_a_router_is_marked_in_content_parts() -> None:
    cache, counted = PromptCache(), list[Counted]()
    messages: list[UserMessage | AssistantMessage | ToolMessage] = [UserMessage(content="Go on.")]
    for number in range(4):
        request = ModelRequest(tuple(messages), system=SYSTEM, tools=TOOLS, sampling=Sampling())
        body: dict[str, Any] = {"messages": chat_messages(request)}
        mark_chat(body)
        counted.append(cache.take(as_messages(body)))
        answer = step(number)
        calls = [piece for piece in answer.pieces if isinstance(piece, Call)]
        asked = tuple(ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in calls)
        messages += [AssistantMessage(content="Step.", tool_calls=asked), *results(number)]
    assert shares(counted) == [1.0] * 3


@each(
    ("url", "model", "marked"),
    [
        ("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-5", True),
        ("https://openrouter.ai/api/v1", "openai/gpt-5.5", False),
        ("https://notopenrouter.ai/v1", "anthropic/claude-sonnet-5", False),
        ("http://127.0.0.1:1/v1", "anthropic/claude-sonnet-5", False),
    ],
)
def test_only_routers_that_are_known_get_marks(url: str, model: str, marked: bool) -> None:
    assert forwards_marks(url, model) is marked


@pytest.mark.parametrize("cache", ["auto", "on", "off"])
@pytest.mark.parametrize("api", APIS)
async def test_the_setting_says_whether_a_host_that_is_not_known_gets_marks(
    server: WireServer, api: Api, cache: str
) -> None:
    bodies = await requests_of(server, api, 2, cache=cache) if (api, cache) != ("openai-chat", "on") else []
    marked = any("cache_control" in json.dumps(body) or "prompt_cache_key" in body for body in bodies)
    assert marked == (cache != "off" and api != "openai-chat")


async def test_a_host_that_refuses_marks_gets_none_any_more(server: WireServer) -> None:
    refusal = Reply.json({"error": {"message": "messages.0: content must be a string"}}, 400)
    server.script(refusal, Answer(Text("hi")), Answer(Text("hi")))
    provider = provider_at(server, "openai-chat", cache="on")
    asked = ModelRequest((UserMessage(content="Go on."),), system=SYSTEM)
    told = [notices_of((await read(provider, asked))[0]) for _ in range(2)]
    await provider.close()
    assert told == [["test refuses cache_control: the request is sent again without it."], []]
    assert [b"cache_control" in request.raw for request in server.requests] == [True, False, False]
