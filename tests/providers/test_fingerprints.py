"""A test of an endpoint leaves what later sessions begin with: nothing is sent that it was seen to refuse."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from console_app.config.models import KnownEndpoints, KnownRefusals, Refusals
from console_app.domain import chunks as ch
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig, Sampling
from console_app.domain.tools import ToolCall, ToolSpec
from console_app.providers import open_provider, probe
from tests.each import each
from tests.examples import EXPLORING
from tests.providers.live_endpoint import LiveEndpoint
from tests.providers.reading import TOOLS, read
from tests.wire_bytes import APIS, DONE, Answer, Api, chat_call, chat_chunk, chat_usage
from tests.wire_server import Reply, Request, WireServer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "xs": {"type": "array"},
        "$filter": {"type": "string", "pattern": "^a", "default": "a", "format": "uri", "title": "Filter"},
        "n": {"anyOf": [{"const": 1}, {"type": "null"}], "exclusiveMinimum": 0},
    },
}
ODD = ToolSpec(name="demo_odd", server="demo", tool="odd", description="x" * 1_100, input_schema=SCHEMA)


@dataclass(frozen=True)
class Refused:
    """Something that an endpoint refuses: how a body that has it looks, and the words."""

    name: str
    apis: tuple[Api, ...]
    has: Callable[[str, dict[str, Any]], Any]
    words: str


def follows(first: str, second: str) -> Callable[[str, dict[str, Any]], bool]:
    def has(whole: str, body: dict[str, Any]) -> bool:
        roles = [one["role"] for one in body["messages"]]
        return (first, second) in pairwise(roles)

    return has


CHAT: tuple[Api, ...] = ("openai-chat",)
REFUSED = [
    Refused("stream_options", CHAT, lambda _, body: "stream_options" in body, "Unknown field: stream_options"),
    Refused("system", CHAT, follows("system", "user"), "System role not supported"),
    Refused("order", CHAT, follows("tool", "user"), "Unexpected role 'user' after role 'tool'"),
    Refused(
        "null",
        CHAT,
        lambda _, body: any(one.get("content", "") is None for one in body["messages"]),
        "content: Input should be a valid string",
    ),
    Refused(
        "ids",
        CHAT,
        lambda whole, _: '"id": "call_' in whole,
        "messages.1.tool_calls.0.id: Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    Refused("cache key", ("openai-responses",), lambda _, body: "prompt_cache_key" in body, "No prompt_cache_key here"),
    Refused("store", ("openai-responses",), lambda _, body: "store" in body, "Unknown parameter: 'store'"),
    Refused(
        "reasoning",
        ("openai-responses", "anthropic"),
        lambda whole, body: '"encrypted_content": "' in whole or '"signature": "' in whole,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Refused("temperature", APIS, lambda _, body: "temperature" in body, "Unsupported parameter: 'temperature'"),
    Refused("parallel", CHAT, lambda _, body: "parallel_tool_calls" in body, "No parallel_tool_calls here"),
    Refused(
        "names",
        APIS,
        lambda whole, _: "$odd" in whole or "$filter" in whole,
        "tools.1.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    ),
    Refused(
        "items",
        APIS,
        lambda whole, body: '{"type": "array"}' in whole or ("minItems" in whole and '"items"' not in whole),
        "Invalid schema for function 'x': In context=('properties', 'xs'), array schema missing items.",
    ),
    Refused(
        "description",
        APIS,
        lambda whole, _: "x" * 1_050 in whole or "Never call it. " * 70 in whole,
        "tools.1.function.description: string too long. Expected a string with maximum length 1024",
    ),
    *(
        Refused(
            keyword,
            APIS,
            lambda whole, _, word=keyword: f'"{word}":' in whole,
            f"tools.1.parameters: unsupported keyword: '{keyword}'",
        )
        for keyword in ("additionalProperties", "pattern", "default", "format", "title", "const", "exclusiveMinimum")
    ),
]


class Refusing:
    """A live endpoint that refuses one thing, and counts how often."""

    def __init__(self, refused: Refused) -> None:
        self._refused = refused
        self._live = LiveEndpoint()
        self.count = 0

    def __call__(self, request: Request) -> Reply | Answer:
        if self._refused.has(json.dumps(request.body), request.body):
            self.count += 1
            return Reply.json({"error": {"message": self._refused.words}}, 400)
        return self._live(request)


async def after_test(server: WireServer, api: Api, home: Path) -> ProviderConfig:
    config = ProviderConfig("lab", api, "m", server.base_url(api))
    known = started(home)
    await probe(config, known, lambda _: None, str)
    refused = known.of(config.model_identity).lasting()
    KnownEndpoints(home / "endpoints.json", "1").keep(config.model_identity, {}, refused)
    return config


def started(home: Path, version: str = "1") -> KnownRefusals:
    """Return the refusals that a new session knows where nothing but the fingerprint was kept."""
    (home / "refusals.json").unlink(missing_ok=True)
    return KnownRefusals(home / "refusals.json", version, KnownEndpoints(home / "endpoints.json", version))


async def converse(config: ProviderConfig, known: KnownRefusals) -> list[ch.Chunk]:
    """A session of two requests: what the first one gave goes back in the second, behind it a word of the user."""
    provider = open_provider(config, known)
    asked = UserMessage(content="Call test_note once")
    tools = (*TOOLS, ODD)
    request = ModelRequest(
        (asked,), system="Be short.", tools=tools, sampling=Sampling(temperature=0.5), conversation="c"
    )
    chunks, error = await read(provider, request)
    assert error is None
    kept = {one.index: one.data for one in chunks if isinstance(one, ch.ProviderData)}
    call = ToolCall(id="a", name="test_note", arguments='{"word": "one"}', provider_data=kept.get(0, {}))
    answer = AssistantMessage(
        tool_calls=(call,),
        reasoning=tuple(one.reasoning for one in chunks if isinstance(one, ch.ReasoningFinished)),
        provider_data=kept.get(None, {}),
        endpoint=provider.endpoint,
    )
    result = ToolMessage(tool_call_id="a", name="test_note", content="noted")
    more, error = await read(
        provider, replace(request, messages=(asked, answer, result, UserMessage(content="Go on.")))
    )
    assert error is None
    await provider.close()
    return [*chunks, *more]


@pytest.mark.parametrize(
    ("api", "refused"),
    [
        pytest.param(api, one, id=f"{api}-{one.name}")
        for number, one in enumerate(REFUSED)
        for api in (one.apis if EXPLORING else [one.apis[number % len(one.apis)]])
    ],
)
async def test_a_session_sends_nothing_that_a_test_saw_refused(tmp_path: Path, api: Api, refused: Refused) -> None:
    refusing = Refusing(refused)
    with WireServer(refusing) as server:
        config = await after_test(server, api, tmp_path)
        seen, refusing.count = refusing.count, 0
        chunks = await converse(config, started(tmp_path))
    assert seen, "the test provokes it"
    assert (refusing.count, [one.text for one in chunks if isinstance(one, ch.NoticeChunk)]) == (0, [])


async def test_a_test_begins_anew(tmp_path: Path) -> None:
    with WireServer(LiveEndpoint()) as server:
        config = ProviderConfig("lab", "openai-chat", "m", server.base_url("openai-chat"))
        known = started(tmp_path)
        known.of(config.model_identity).fields["stream_options"] = None
        known.keep(config.model_identity)
        await probe(config, known, lambda _: None, str)
    assert known.of(config.model_identity) == Refusals()


async def test_arguments_that_a_test_saw_under_another_label_need_nobody_s_word(tmp_path: Path) -> None:
    """As Cerebras and Nebius label them."""

    def split(request: Request) -> Reply | Answer:
        if "Call test_note once" not in json.dumps(request.body) or "noted" in json.dumps(request.body):
            return LiveEndpoint()(request)
        name, words = (
            chat_call(0, id="call_0", name="test_note", arguments=""),
            chat_call(1, arguments='{"word": "one"}'),
        )
        return Reply([name, words, chat_chunk({}, "tool_calls"), chat_usage((10, 5, 2)), DONE])

    with WireServer(split) as server:
        config = await after_test(server, "openai-chat", tmp_path)
        asks = [
            one.must_ask
            for known in (KnownRefusals(), started(tmp_path))
            for one in await converse(config, known)
            if isinstance(one, ch.CallClosed)
        ]
    assert (bool(asks[0]), asks[1]) == (True, "")


async def test_an_answer_that_fills_its_limit_is_cut_where_a_test_saw_that_hidden(tmp_path: Path) -> None:
    live = LiveEndpoint("hides a cut")
    with WireServer(live) as server:
        config = await after_test(server, "openai-chat", tmp_path)
        ends: list[str] = []
        for limit in (5, 6):  # five tokens are counted
            for known in (KnownRefusals(), started(tmp_path)):
                provider = open_provider(config, known)
                asked = ModelRequest((UserMessage(content="Say yes."),), sampling=Sampling(max_tokens=limit))
                chunks, _ = await read(provider, asked)
                ends += [one.reason for one in chunks if isinstance(one, ch.FinishChunk)]
                await provider.close()
    assert ends == ["stop", "length", "stop", "stop"]


@each("written", ["[]", "{", '{"KEY": 3}', '{"KEY": {"version": "1", "refused": {"sees": "no"}}}'])
def test_a_fingerprint_that_is_none_is_passed_over(tmp_path: Path, written: str) -> None:
    (tmp_path / "endpoints.json").write_text(written)
    assert started(tmp_path).of("KEY") == Refusals()


def test_the_fingerprint_of_another_version_is_not_used_and_a_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    KnownEndpoints(tmp_path / "endpoints.json", "1").keep("KEY", {}, {"sees": False})
    with caplog.at_level(logging.WARNING):
        known = started(tmp_path, "2")
        assert known.of("KEY") == Refusals()
        known.keep("KEY")
    (line,) = caplog.messages
    assert "KEY" in line
    assert started(tmp_path).of("KEY") == Refusals(sees=False)


def test_what_a_chosen_protocol_forgot_stays_forgotten(tmp_path: Path) -> None:
    KnownEndpoints(tmp_path / "endpoints.json", "1").keep("KEY", {}, {"sees": False})
    known = started(tmp_path)
    known.of("KEY").clear()
    known.keep("KEY")
    again = KnownRefusals(tmp_path / "refusals.json", "1", KnownEndpoints(tmp_path / "endpoints.json", "1"))
    assert again.of("KEY") == Refusals()
