"""Shared by the provider tests: providers that point at a wire server, and answers read to their end."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from console_app.config.models import KnownRefusals
from console_app.domain.chunks import (
    CallBroken,
    CallClosed,
    CallDelta,
    CallOpened,
    Chunk,
    FinishChunk,
    NoticeChunk,
    ProviderData,
    ReasoningChunk,
    ReasoningFinished,
    RetryChunk,
    TextChunk,
    UsageChunk,
)
from console_app.domain.errors import ProviderError
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig, Sampling
from console_app.domain.tools import ToolCall, ToolSpec
from console_app.providers import open_provider
from console_app.providers.endpoint.rate_limiter import RateLimiter
from console_app.providers.faults.fault import RetryPolicy
from console_app.providers.wire_provider import WireProvider
from tests.wire_bytes import Api
from tests.wire_server import WireServer

KEY = "sk-test-0123456789abcdef"
TOOLS = (
    ToolSpec(name="calculator_evaluate", server="calculator", tool="evaluate", description="Works it out."),
    ToolSpec(name="demo_fail", server="demo", tool="fail"),
    ToolSpec(name="demo_fail_twice", server="demo", tool="fail_twice"),
)
ASK = ModelRequest((UserMessage(content="Go on."),), tools=TOOLS)


def request_with(tools: Iterable[ToolSpec]) -> ModelRequest:
    """A request that offers `tools`."""
    return ModelRequest(ASK.messages, tools=tuple(tools))


class Waits:
    """Stands in for sleeping between tries: remembers how long, returns at once, and its clock has gone on."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.now = 100.0

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds

    def limiter(self) -> RateLimiter:
        """Return a limiter whose time goes on by these sleeps alone."""
        return RateLimiter(lambda: self.now, self.sleep)


@functools.cache
def _kind(api: Api) -> type[WireProvider]:
    """The class of a provider, which tests make with waits of their own."""
    return type(open_provider(ProviderConfig(name="test", api=api, model="test-model", base_url="http://localhost")))


def provider_at(
    server: WireServer,
    api: Api,
    waits: Waits | None = None,
    known: KnownRefusals | None = None,
    limiter: RateLimiter | None = None,
    **config: Any,
) -> WireProvider:
    """A provider of `api` that talks to `server`."""
    waits = waits or Waits()
    fields: dict[str, Any] = {"name": "test", "model": "test-model", "base_url": server.base_url(api), "api_key": KEY}
    sampling = Sampling(**{name: config.pop(name) for name in list(config) if name in Sampling.model_fields})
    settings = ProviderConfig(api=api, sampling=sampling, **fields | config)
    policy = RetryPolicy(settings.max_tries, waits.sleep, lambda: 0.0)
    return _kind(api)(settings, retry=policy, known=known, limiter=limiter or waits.limiter())


async def read(provider: WireProvider, request: ModelRequest = ASK) -> tuple[list[Chunk], ProviderError | None]:
    """All chunks of one answer, and the error that ended it."""
    chunks: list[Chunk] = []
    try:
        async with provider.stream(request) as stream:
            async for chunk in stream:
                chunks.append(chunk)
    except ProviderError as error:
        return chunks, error
    return chunks, None


async def answer_to(server: WireServer, api: Api, *replies: Any, request: ModelRequest = ASK) -> list[Chunk]:
    """The chunks of one answer that must end well."""
    server.script(*replies)
    provider = provider_at(server, api)
    try:
        chunks, error = await read(provider, request)
    finally:
        await provider.close()
    assert error is None, error
    assert isinstance(chunks[-1], FinishChunk)
    return chunks


async def failure_of(server: WireServer, api: Api, *replies: Any, **config: Any) -> tuple[list[Chunk], ProviderError]:
    """The chunks before the error of an answer that must fail, and the error."""
    server.script(*replies)
    provider = provider_at(server, api, **config)
    try:
        chunks, error = await read(provider)
    finally:
        await provider.close()
    assert error is not None
    assert KEY not in str(error)
    assert "\n" not in error.line
    return chunks, error


def text_of(chunks: Iterable[Chunk]) -> str:
    """The visible text."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


def reasoning_of(chunks: Iterable[Chunk]) -> str:
    """The reasoning as it was shown."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningChunk))


def calls_of(chunks: Iterable[Chunk]) -> list[tuple[str, str]]:
    """Name and arguments of every call that may run, in call order; "" for no arguments."""
    chunks = list(chunks)
    names = {chunk.index: chunk.name for chunk in chunks if isinstance(chunk, CallOpened)}
    closed = {chunk.index: chunk.arguments for chunk in chunks if isinstance(chunk, CallClosed)}
    return [(names[index], closed[index]) for index in sorted(closed)]


def ids_of(chunks: Iterable[Chunk]) -> list[str]:
    """The ids of the calls, as the endpoint gave them."""
    return [chunk.id for chunk in chunks if isinstance(chunk, CallOpened)]


def broken_of(chunks: Iterable[Chunk]) -> list[str]:
    """Return the fault of each call that can't run."""
    return [chunk.problem for chunk in chunks if isinstance(chunk, CallBroken)]


def deltas_of(chunks: Iterable[Chunk], index: int) -> str:
    """The arguments of a call as they were shown arriving."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, CallDelta) and chunk.index == index)


def usage_of(chunks: Iterable[Chunk]) -> UsageChunk | None:
    """The usage, None when none was reported."""
    return next((chunk for chunk in chunks if isinstance(chunk, UsageChunk)), None)


def retries_of(chunks: Iterable[Chunk]) -> list[RetryChunk]:
    """The retries that were announced."""
    return [chunk for chunk in chunks if isinstance(chunk, RetryChunk)]


def notices_of(chunks: Iterable[Chunk]) -> list[str]:
    """The notices."""
    return [chunk.text for chunk in chunks if isinstance(chunk, NoticeChunk)]


def finish_of(chunks: Iterable[Chunk]) -> str | None:
    """Why the answer ended, None when it was cut."""
    return next((chunk.reason for chunk in chunks if isinstance(chunk, FinishChunk)), None)


def kept_of(chunks: Iterable[Chunk], index: int | None = None) -> dict[str, Any]:
    """Return the data that the endpoint wants back with the call at `index`, or with the message."""
    kept = [chunk.data for chunk in chunks if isinstance(chunk, ProviderData) and chunk.index == index]
    return kept[-1] if kept else {}


def message_of(chunks: Iterable[Chunk], endpoint: str = "") -> AssistantMessage:
    """The message that an answer of `endpoint` becomes in the history."""
    chunks = list(chunks)
    closed = {chunk.index: chunk.arguments for chunk in chunks if isinstance(chunk, CallClosed)}
    calls = [
        ToolCall(
            id=chunk.id or f"call_1_1_{chunk.index}",
            name=chunk.name,
            arguments=closed.get(chunk.index) or "{}",
            provider_data=kept_of(chunks, chunk.index),
        )
        for chunk in chunks
        if isinstance(chunk, CallOpened)
    ]
    return AssistantMessage(
        content=text_of(chunks),
        tool_calls=tuple(calls),
        reasoning=tuple(chunk.reasoning for chunk in chunks if isinstance(chunk, ReasoningFinished)),
        endpoint=endpoint,
        provider_data=kept_of(chunks),
    )


def assert_well_formed(chunks: list[Chunk]) -> None:
    """The order that every answer keeps: calls open in call order, end once, and nothing follows the finish."""
    opened: list[int] = []
    ended: list[int] = []
    for chunk in chunks:
        match chunk:
            case CallOpened():
                opened.append(chunk.index)
            case CallDelta():
                assert chunk.index in opened
                assert chunk.index not in ended
            case CallClosed() | CallBroken():
                assert chunk.index in opened
                assert chunk.index not in ended
                ended.append(chunk.index)
            case _:
                pass
    assert opened == list(range(len(opened)))
    assert sorted(ended) == opened
    finishes = [number for number, chunk in enumerate(chunks) if isinstance(chunk, FinishChunk)]
    assert finishes in ([], [len(chunks) - 1])
