"""Errors are read where they stand, whoever wrote them, and a full context is known by every vendor's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console_app.domain.errors import ContextOverflow
from console_app.providers.faults.error_bodies import ErrorBody, html_title, read_error
from tests.providers.reading import failure_of
from tests.wire_bytes import APIS, Api, sse
from tests.wire_server import Reply, WireServer

every_api = pytest.mark.parametrize("api", APIS)
BUSY = "The model is on holiday"
RAW = json.dumps({"error": {"message": BUSY, "code": "away"}})
BODIES: list[Any] = [
    [{"error": {"code": 400, "message": BUSY, "status": "INVALID_ARGUMENT"}}],
    {"error": BUSY},
    {"error": {"message": BUSY}},
    {"error": {"message": RAW}},
    {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": RAW, "provider_name": "Lab"}}},
    {"error": {"message": "Provider returned error", "metadata": {"raw": json.loads(RAW)}}},
    {"object": "error", "message": BUSY, "type": "BadRequestError", "code": 400},
    {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": BUSY}]},
    {"detail": {"error": {"message": BUSY}}},
    {"message": {"detail": [{"loc": ["body"], "msg": BUSY}]}},
    {"errors": [{"message": BUSY}]},
    {"code": 400, "reason": BUSY},
]


@every_api
@pytest.mark.parametrize("body", BODIES)
async def test_the_reason_is_said_in_whatever_shape_it_comes(server: WireServer, api: Api, body: Any) -> None:
    _, error = await failure_of(server, api, Reply.json(body, 400))
    assert BUSY in error.line
    assert "{" not in error.line
    assert f"messages: {BUSY}" in error.line or "messages" not in str(body)


@every_api
async def test_an_error_status_with_the_events_of_a_stream(server: WireServer, api: Api) -> None:
    """As LiteLLM answers where its stream could not begin."""
    body = Reply([sse({"error": {"message": BUSY, "code": "500"}}), b"data: [DONE]\n\n"], 400)
    _, error = await failure_of(server, api, body)
    assert error.line.endswith(f": {BUSY}")


@every_api
@pytest.mark.parametrize(
    "body", [{"object": "error", "message": BUSY}, {"error": BUSY}, [{"error": {"message": BUSY}}]]
)
async def test_an_error_with_status_200_too(server: WireServer, api: Api, body: Any) -> None:
    _, error = await failure_of(server, api, Reply.json(body, 200))
    assert f"reported an error: {BUSY}" in error.line


@every_api
@pytest.mark.parametrize("line", [f'error: {{"code":400,"message":"{BUSY}"}}', f'error:{{"message":"{BUSY}"}}'])
async def test_an_error_in_a_field_of_its_own(server: WireServer, api: Api, line: str) -> None:
    """As llama.cpp streams it."""
    _, error = await failure_of(server, api, Reply([f"{line}\n\n".encode()]))
    assert BUSY in error.line


@every_api
async def test_an_error_that_is_a_page(server: WireServer, api: Api) -> None:
    page = b"<!doctype html><head><style>b{}</style></head><body>upstream <b>is away</b> for now</body>"
    _, error = await failure_of(server, api, Reply([page], 400, content_type="text/html"))
    assert "upstream is away for now" in error.line


def test_bodies_that_say_nothing_or_too_much() -> None:
    deep: Any = BUSY
    for _ in range(50):
        deep = {"error": deep}
    assert read_error(deep) == ErrorBody()
    for nothing in (None, 3, [], {}, [[]], {"error": None}, {"detail": [{}]}):
        assert read_error(nothing).message == ""
    assert read_error("plain") == ErrorBody("plain")
    assert read_error('{"broken') == ErrorBody('{"broken')
    assert html_title("<p></p>") == "untitled"


FULL = [
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "the request exceeds the available context size, try increasing it",
    "input length exceeds the context length",
    "prompt too long; exceeded max context length by 300 tokens",
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Trying to keep the first 4567 tokens when context the overflows. However, the model is loaded with 4096",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "too many tokens: size limit exceeded by 1234 tokens. Try using shorter or fewer inputs.",
    "Invalid request: Your request exceeded model token limit: 8192",
    "Prompt exceeds max length",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "Input is too long for requested model.",
    "Request too large for model `x` on tokens per minute (TPM): Limit 6000, please reduce your message "
    "size and try again.",
]


@pytest.mark.parametrize("message", FULL)
async def test_a_full_context_in_every_vendors_words(server: WireServer, message: str) -> None:
    _, error = await failure_of(server, "openai-chat", Reply.json({"error": {"message": message}}, 400))
    assert isinstance(error, ContextOverflow)


@every_api
async def test_a_full_context_behind_a_router(server: WireServer, api: Api) -> None:
    raw = json.dumps({"error": {"message": "Too much.", "code": "context_length_exceeded"}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    _, error = await failure_of(server, api, Reply.json(body, 400))
    assert isinstance(error, ContextOverflow)


async def test_tokens_of_a_minute_are_no_full_context(server: WireServer) -> None:
    reply = Reply.json({"error": {"message": "too many tokens per minute: rate limit"}}, 400)
    _, error = await failure_of(server, "openai-chat", reply)
    assert not isinstance(error, ContextOverflow)
