"""A request that may pass later is sent again, visibly, and only while nothing of its answer was shown."""

from __future__ import annotations

import asyncio

import pytest

from console_app.domain.chunks import RetryChunk
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import Sampling
from console_app.providers.faults.fault import RetryPolicy, status_may_pass
from tests.providers.reading import (
    ASK,
    Waits,
    answer_to,
    failure_of,
    notices_of,
    provider_at,
    read,
    retries_of,
    text_of,
)
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, Request, WireServer

every_api = pytest.mark.parametrize("api", APIS)


def busy(status: int = 429, **headers: str) -> Reply:
    """A refusal that may pass."""
    return Reply.json({"error": {"message": "slow down"}}, status, {n.replace("_", "-"): v for n, v in headers.items()})


@every_api
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_the_second_try_answers(server: WireServer, api: Api, status: int) -> None:
    chunks = await answer_to(server, api, busy(status), Answer(Text("4")))
    (retry,) = retries_of(chunks)
    assert chunks[0] is retry
    assert retry.attempt == 2
    assert retry.why.startswith(str(status))
    assert text_of(chunks) == "4"
    assert server.requests[0].body == server.requests[1].body


@every_api
async def test_five_tries_with_growing_waits(server: WireServer, api: Api) -> None:
    server.script(*[busy(503)] * 5)
    waits = Waits()
    provider = provider_at(server, api, waits)
    chunks, error = await read(provider)
    await provider.close()
    assert error is not None
    assert "failed (HTTP 503): slow down (after 5 tries)" in error.line
    assert waits.seconds == [0.5, 1.0, 2.0, 4.0] == [retry.delay for retry in retries_of(chunks)]
    assert len(server.requests) == 5


@every_api
async def test_the_endpoint_says_how_long_to_wait(server: WireServer, api: Api) -> None:
    server.script(busy(Retry_After="7"), busy(retry_after_ms="1500"), Answer(Text("4")))
    waits = Waits()
    provider = provider_at(server, api, waits)
    chunks, error = await read(provider)
    await provider.close()
    assert error is None
    assert waits.seconds == [7.0, 1.5] == [retry.delay for retry in retries_of(chunks)]


@every_api
async def test_a_wait_of_more_than_a_minute_says_when_to_come_back(server: WireServer, api: Api) -> None:
    chunks, error = await failure_of(server, api, busy(Retry_After="600"))
    assert "rate limit (429): slow down. Retry in 10 minutes, at " in error.line
    assert error.retry_after == 600
    assert not retries_of(chunks)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("86400", "Retry in 24 hours, on "),
        ("8640000", "Retry in 100 days, on "),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "Retry in 9,999 days."),
    ],
)
async def test_a_wait_of_days_names_the_day(server: WireServer, asked: str, told: str) -> None:
    _, error = await failure_of(server, "openai-chat", busy(Retry_After=asked))
    assert told in error.line


@every_api
async def test_waiting_ends_at_once_when_cancelled(server: WireServer, api: Api) -> None:
    server.script(busy(Retry_After="50"))
    provider = provider_at(server, api)
    provider = type(provider)(provider._config, retry=RetryPolicy())  # waits for real
    waiting = asyncio.Event()

    async def turn() -> None:
        async with provider.stream(ASK) as stream:
            async for chunk in stream:
                assert isinstance(chunk, RetryChunk)
                waiting.set()

    task = asyncio.ensure_future(turn())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await provider.close()
    assert len(server.requests) == 1


def test_the_server_may_forbid_a_retry_but_not_ask_for_a_wrong_one() -> None:
    assert not status_may_pass(503, {"x-should-retry": "false"})
    assert not status_may_pass(400, {"x-should-retry": "true"})
    assert status_may_pass(418, {"x-should-retry": "true"})
    assert not status_may_pass(501, {})


def test_waits_are_spread() -> None:
    delays = [RetryPolicy(jitter=lambda value=value: value).delay(3, None) for value in (0.0, 0.5, 1.0)]
    assert delays == [2.0, 1.75, 1.5]
    assert RetryPolicy(jitter=lambda: 0.0).delay(99, None) == 20


# -- an optional field that the endpoint refuses


@pytest.mark.parametrize(
    ("api", "field", "message"),
    [
        ("openai-chat", "stream_options", "Unknown field: stream_options"),
        ("openai-chat", "parallel_tool_calls", "Unsupported parameter: 'parallel_tool_calls' is not supported."),
        ("openai-chat", "temperature", "Unsupported value: 'temperature' does not support 0.5 with this model."),
        ("openai-chat", "stream_options", "Argument not supported on this model: streamOptions"),
        ("openai-responses", "parallel_tool_calls", 'Unknown name "parallelToolCalls": Cannot find field.'),
        ("openai-responses", "include", "Encrypted content is not supported with this model."),
        ("openai-responses", "parallel_tool_calls", "Unsupported parameter: 'parallel_tool_calls'"),
        ("anthropic", "temperature", "temperature: Extra inputs are not permitted"),
    ],
)
async def test_a_refused_field_is_left_out_from_then_on(server: WireServer, api: Api, field: str, message: str) -> None:
    request = ModelRequest(ASK.messages, tools=ASK.tools, sampling=Sampling(temperature=0.5))
    server.script(Reply.json({"error": {"message": message}}, 400), Answer(Text("4")), Answer(Text("5")))
    provider = provider_at(server, api)
    chunks, error = await read(provider, request)
    assert error is None
    assert notices_of(chunks) == [f"test refuses {field}: the request is sent again without it."]
    assert not retries_of(chunks)
    await read(provider, request)
    await provider.close()
    assert [field in sent.body for sent in server.requests] == [True, False, False]


async def test_a_server_that_refuses_many_fields_is_asked_with_few() -> None:
    def picky(request: Request) -> Reply | Answer:
        refused = [name for name in ("stream_options", "parallel_tool_calls") if name in request.body]
        return Reply.json({"error": {"message": f"unknown {refused[0]}"}}, 400) if refused else Answer(Text("4"))

    with WireServer(picky) as strict:
        chunks = await answer_to(strict, "openai-chat")
    assert text_of(chunks) == "4"
    assert len(notices_of(chunks)) == 2


async def test_the_other_name_of_the_token_limit(server: WireServer) -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    server.script(Reply.json({"error": {"message": message, "param": "max_tokens"}}, 400), Answer(Text("4")))
    provider = provider_at(server, "openai-chat", max_tokens=50)
    await read(provider)
    await provider.close()
    assert [request.body.get("max_tokens") for request in server.requests] == [50, None]
    assert server.requests[1].body["max_completion_tokens"] == 50


async def test_a_smaller_largest_answer(server: WireServer) -> None:
    message = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for test-model"
    chunks = await answer_to(server, "anthropic", Reply.json({"error": {"message": message}}, 400), Answer(Text("4")))
    assert notices_of(chunks) == ["test refuses answers of up to 32,000 tokens: the request is sent again with 8,192."]
    assert server.requests[1].body["max_tokens"] == 8192


async def test_a_request_that_is_wrong_otherwise_is_not_sent_again(server: WireServer) -> None:
    await failure_of(server, "openai-chat", Reply.json({"error": {"message": "messages: roles must alternate"}}, 400))
    assert len(server.requests) == 1
