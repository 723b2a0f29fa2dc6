"""Endpoints that search among tools themselves are sent those that are too many, to be loaded when found."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from console_app.domain import UserMessage
from console_app.domain.ports import ModelRequest
from tests.engine.peers import Tools, ending, engine_of, outcomes, play
from tests.engine.test_tool_search import FIND, many
from tests.providers import strict_wire
from tests.providers.reading import notices_of, provider_at, read
from tests.providers.test_server_tools import message_events, response_events
from tests.wire_bytes import Answer, Api, Call, Text
from tests.wire_server import Reply, Request, WireServer

NATIVE: list[Api] = ["anthropic", "openai-responses"]
CALL = json.dumps({"n": 1})
BLOCKS: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "work 7"}},
    {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "lab_work_7"}],
        },
    },
    {"type": "tool_use", "id": "toolu_1", "name": "lab_work_7", "input": {"n": 1}},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "tool_search_call", "id": "tsc_1", "execution": "server", "status": "completed", "arguments": {"q": "7"}},
    {"type": "tool_search_output", "id": "tso_1", "execution": "server", "status": "completed", "tools": []},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "lab_work_7", "arguments": CALL},
]
SEARCHED = {
    "anthropic": lambda: Reply(message_events(*BLOCKS, stop="tool_use")),
    "openai-responses": lambda: Reply(response_events(*ITEMS)),
}
REFUSED = {
    "anthropic": "tools.0: tool_search_tool_bm25_20251119 is not supported by this model",
    "openai-responses": "Tool 'tool_search' is not supported with this model.",
}


def sent(request: Request) -> tuple[list[str], list[str], list[str]]:
    """The names of the tools that are to be loaded when found, of those that are listed, and the types of others."""
    tools = request.body["tools"]
    named = [tool for tool in tools if ("name" in tool and "type" not in tool) or tool.get("type") == "function"]
    later = [tool["name"] for tool in named if tool.get("defer_loading")]
    return (
        later,
        [one["name"] for one in named if one["name"] not in later],
        [t["type"] for t in tools if t not in named],
    )


def same_at_the_start(before: str, now: str) -> int:
    differing = (place for place, (old, new) in enumerate(zip(before, now, strict=False)) if old != new)
    return next(differing, min(len(before), len(now)))


@pytest.mark.parametrize("api", NATIVE)
async def test_a_tool_that_the_endpoint_found_is_called_and_all_goes_back_as_it_came(
    server: WireServer, api: Api
) -> None:
    server.script(SEARCHED[api](), Answer(Text("Done.")))
    provider = provider_at(server, api, tool_search=True)
    engine = engine_of(provider, Tools([*many(200), *many(1, "near", offer="always")]), builtin_tools=frozenset())
    events = await play(engine)
    await provider.close()
    assert ending(events).outcome == "completed"
    assert outcomes(engine)[-1] == "succeeded"
    for request in server.requests:
        strict_wire.check(api, request.body)
        later, listed, others = sent(request)
        assert (len(later), listed) == (200, ["near_work_0"])
        assert others == ["tool_search_tool_bm25_20251119" if api == "anthropic" else "tool_search"]
        assert FIND not in request.raw.decode()
    again = server.requests[1].body
    if api == "anthropic":
        assert [dict(one) for one in again["messages"][1]["content"]] == BLOCKS
        assert [tool for tool in again["tools"] if "cache_control" in tool and tool.get("defer_loading")] == []
    else:
        assert [one for one in again["input"] if str(one.get("type")).startswith("tool_search")] == ITEMS[:2]


@pytest.mark.parametrize("api", NATIVE)
async def test_an_endpoint_that_refuses_it_is_told_once_and_the_model_searches_here(
    server: WireServer, api: Api
) -> None:
    server.script(Reply.json({"error": {"message": REFUSED[api]}}, 400), Answer(Text("One.")), Answer(Text("Two.")))
    provider = provider_at(server, api, tool_search=True)
    engine = engine_of(provider, Tools(many(200)))
    assert [event.outcome for event in map(ending, [await play(engine), await play(engine, "again")])] == [
        "completed",
        "completed",
    ]
    await provider.close()
    assert [len(sent(request)[0]) for request in server.requests] == [200, 0, 0]
    assert [len(sent(request)[1]) for request in server.requests] == [0, 200, 1]
    assert sent(server.requests[2])[1] == [FIND]


@pytest.mark.parametrize("api", ["openai-chat", *NATIVE])
async def test_elsewhere_nothing_is_deferred(server: WireServer, api: Api) -> None:
    server.script(Answer(Text("Done.")))
    provider = provider_at(server, api)
    request = ModelRequest((UserMessage(content="hi"),), tools=tuple(many(2)), deferred=frozenset({"lab_work_1"}))
    chunks, error = await read(provider, request)
    await provider.close()
    assert error is None
    assert notices_of(chunks) == []
    assert b"defer_loading" not in server.requests[0].raw


@pytest.mark.parametrize(
    ("api", "native"),
    [("openai-chat", False), ("openai-responses", False), ("anthropic", False)] + [(api, True) for api in NATIVE],
)
async def test_an_endpoints_cache_has_95_in_a_hundred_of_what_was_sent_before(
    server: WireServer, api: Api, native: bool
) -> None:
    """Forty requests, three of them behind a search; thirteen where the endpoint searches. What an endpoint can take
    from its cache is what a request begins with as the one before it did: tools, the system prompt, messages."""
    answers: list[Answer] = []
    steps = 12 if native else 39
    for number in range(steps):
        found = number // 13
        if number % 13 == 0 and not native:
            answers.append(Answer(Call(FIND, json.dumps({"query": f"number{found}"}))))
        else:
            order = f"{number} " + "and what is to be done with it, at some length " * 10
            answers.append(Answer(Call(f"lab_work_{found}", json.dumps({"n": order}))))
    server.script(*answers, Answer(Text("Done.")))
    provider = provider_at(server, api, tool_search=native)
    engine = engine_of(provider, Tools(many(200)), builtin_tools=frozenset(), max_steps=50)
    assert ending(await play(engine)).outcome == "completed"
    await provider.close()
    sent = [
        json.dumps(
            [body["tools"], body.get("system"), body.get("instructions"), body.get("input", body.get("messages"))]
        )
        .replace(', "cache_control": {"type": "ephemeral"}', "")
        .rstrip("]")
        for body in (request.body for request in server.requests)
    ]
    assert len(sent) == steps + 1
    kept = sum(same_at_the_start(before, now) for before, now in itertools.pairwise(sent))
    share = kept / sum(map(len, sent[:-1]))
    assert share >= (0.999 if native else 0.95)
