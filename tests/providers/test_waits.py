"""A wait is read wherever an endpoint states it: every way of saying so, in every place of every wire format."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import pytest

from console_app.providers import preload
from console_app.providers.faults import waits
from tests.each import each
from tests.examples import EXPLORING
from tests.providers.reading import Waits, provider_at, read, retries_of, text_of
from tests.wire_bytes import APIS, Answer, Api, Text, chat_chunk, sse
from tests.wire_server import Reply, Request, WireServer

BUSY = "Slow down"
LIMIT = "rate_limit_exceeded"


@dataclass(frozen=True)
class Said:
    """A way to ask for a wait: fields of an error, its message, or headers."""

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    message: str = BUSY
    headers: dict[str, str] = field(default_factory=dict[str, str])


def _span(seconds: float) -> str:
    """`6m0s`, as OpenAI writes it."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return "".join((f"{hours}h" if hours else "", f"{minutes}m" if hours or minutes else "", f"{rest:g}s"))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat().replace("+00:00", "Z")


RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
QUOTED = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0"}
IN_BODIES: dict[str, Callable[[float], Said]] = {
    "retry_after": lambda s: Said({"retry_after": s}),
    "retry_after as a text": lambda s: Said({"retry_after": f"{s}s"}),
    "retry_after_ms": lambda s: Said({"retry_after_ms": s * 1000}),
    "retryDelay": lambda s: Said({"details": [{"@type": "other"}, {"@type": RETRY_INFO, "retryDelay": f"{s}s"}]}),
    "retryDelay as an object": lambda s: Said(
        {"details": [{"@type": RETRY_INFO, "retryDelay": {"seconds": str(int(s)), "nanos": round(s % 1 * 10**9)}}]}
    ),
    "resets_in_seconds": lambda s: Said({"plan_type": "plus", "resets_in_seconds": s}),
    "resets_at": lambda s: Said({"resets_at": time.time() + s}),
    "resets_at as ISO 8601": lambda s: Said({"resets_at": _iso(s)}),
    "reset header in metadata": lambda s: Said(
        {"metadata": {"headers": {**QUOTED, "X-RateLimit-Reset": str(round((time.time() + s) * 1000))}}}
    ),
    "estimated_time": lambda s: Said({"estimated_time": s}),
    "try again in": lambda s: Said(
        message=f"Rate limit reached: Limit 3, Used 3. Please try again in {_span(s)}. Bye."
    ),
    "try again in seconds": lambda s: Said(message=f"{BUSY}: please try again in {s} seconds."),
    "please wait": lambda s: Said(message=f"Limit of 10 per 60s exceeded. Please wait {s} seconds before retrying."),
    "retry in": lambda s: Said(message=f"You exceeded your current quota.\nPlease retry in {s}s."),
    "will reset after": lambda s: Said(message=f"Your quota will reset after {_span(s)}"),
    "try again at": lambda s: Said(message=f"Try again at {_iso(s)}."),
}
IN_HEADERS: dict[str, Callable[[float], Said]] = {
    "Retry-After": lambda s: Said(headers={"Retry-After": str(s)}),
    "Retry-After as a date": lambda s: Said(headers={"Retry-After": formatdate(time.time() + s + 0.5, usegmt=True)}),
    "retry-after-ms": lambda s: Said(headers={"retry-after-ms": str(s * 1000)}),
    "X-RateLimit-Reset": lambda s: Said(headers={**QUOTED, "X-RateLimit-Reset": str(time.time() + s)}),
    "of requests": lambda s: Said(
        headers={"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": _span(s)}
    ),
    "of tokens": lambda s: Said(
        headers={"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": _iso(s)}
    ),
}


def _error(said: Said, **more: Any) -> dict[str, Any]:
    return {"message": said.message, "type": LIMIT, "code": LIMIT, **said.fields, **more}


def _router(said: Said) -> dict[str, Any]:
    raw = json.dumps({"error": _error(said)})
    return {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": raw}}}


Place = Callable[[Said], Reply]
REFUSED: dict[str, Place] = {
    "error": lambda said: Reply.json({"error": _error(said)}, 429, said.headers),
    "beside the error": lambda said: Reply.json(
        {"error": {"message": said.message, "code": LIMIT}, **said.fields}, 429, said.headers
    ),
    "a list": lambda said: Reply.json([{"error": _error(said)}], 429, said.headers),
    "at a router": lambda said: Reply.json(_router(said), 429, said.headers),
    "detail": lambda said: Reply.json({"detail": _error(said)}, 503, said.headers),
    "of a plan": lambda said: Reply.json({"error": _error(said)}, 403, said.headers),
    "status 200": lambda said: Reply.json({"error": _error(said)}, 200, said.headers),
    "events": lambda said: Reply([sse({"error": _error(said)}), b"data: [DONE]\n\n"], 429, said.headers),
}
STREAMED: dict[Api, dict[str, Place]] = {
    "openai-chat": {
        "chunk": lambda said: Reply([sse({"error": _error(said)})], headers=said.headers),
        "chunk with choices": lambda said: Reply(
            [chat_chunk({"role": "assistant", "content": ""}), chat_chunk({}, "error", error=_error(said))],
            headers=said.headers,
        ),
        "router": lambda said: Reply([sse(_router(said))], headers=said.headers),
    },
    "openai-responses": {
        "response.failed": lambda said: Reply(
            [
                sse(
                    {
                        "type": "response.failed",
                        "response": {
                            "status": "failed",
                            "error": _error(said),
                            "tools": [{"parameters": {"properties": {"retry_after": 5_000}}}],
                        },
                    },
                    "response.failed",
                )
            ],
            headers=said.headers,
        ),
        "error": lambda said: Reply([sse({**_error(said), "type": "error"}, "error")], headers=said.headers),
        "nested": lambda said: Reply(
            [sse({"type": "error", "status": 429, "error": _error(said)}, "error")], headers=said.headers
        ),
    },
    "anthropic": {
        "error": lambda said: Reply([sse({"type": "error", "error": _error(said)}, "error")], headers=said.headers),
    },
}
# Headers of a plan's refusal may be of any limit, and a router's or a list's error is one of many shapes of a body.
_NOT = {("beside the error", "retryDelay"), ("beside the error", "retryDelay as an object")}
_NOT |= {("beside the error", "reset header in metadata"), *(("of a plan", kind) for kind in IN_HEADERS)}


def _cases() -> Iterator[tuple[str, Api, Callable[[float], Said], Place]]:
    """Every kind in every place; where all formats have a place, each of them meets a third of the kinds there.

    Outside of `make explore` a place meets some of the kinds, and each kind has its turn in some place of each format.
    """
    kinds = IN_BODIES | IN_HEADERS
    for number, api in enumerate(APIS):
        for column, (place, reply) in enumerate({**REFUSED, **STREAMED[api]}.items()):
            for row, (kind, said) in enumerate(kinds.items(), number + column):
                every = (len(APIS) if place in REFUSED else 1) if EXPLORING else (8 if place in REFUSED else 5)
                if (place, kind) not in _NOT and row % every == 0:
                    yield f"{api}-{place}-{kind}", api, said, reply


CASES = list(_cases())


@each(("api", "said", "place"), [case for _, *case in CASES], [label for label, *_ in CASES])
async def test_a_short_wait_is_waited_for_and_a_long_one_said_with_a_time_of_day(
    server: WireServer, api: Api, said: Callable[[float], Said], place: Place
) -> None:
    preload()  # which takes some of the time until an instant
    before = len(server.requests)
    server.script(place(said(31.5)), Answer(Text("4")), place(said(9568)))
    waited = Waits()
    provider = provider_at(server, api, waited)
    chunks, error = await read(provider)
    assert error is None
    assert sum(waited.seconds) == pytest.approx(31.5, abs=1.5)
    assert [retry.delay for retry in retries_of(chunks)] == [pytest.approx(31.5, abs=1.5)]
    assert text_of(chunks) == "4"

    began = time.time()
    chunks, error = await read(provider)
    await provider.close()
    assert error is not None
    assert error.unavailable
    found = re.search(r"Retry in 3 hours, at (\d\d:\d\d)\.", error.line)
    assert found is not None, error.line
    assert found[1] in {time.strftime("%H:%M", time.localtime(began + 9568 + more)) for more in (-2, 0, 2, 60)}
    assert not retries_of(chunks)
    assert len(server.requests) == before + 3


# -- who else hears of it


class Held(Waits):
    """Sleeping goes on until the test lets time go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.sleepers = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        self.sleepers.release()
        await self.go.wait()
        self.now = max(self.now, until)


@each("api", APIS)
async def test_one_wait_is_shared_by_all_who_ask_there(api: Api) -> None:
    at: list[float] = []
    shared = Held()

    def reply(_: Request) -> Reply | Answer:
        at.append(shared.now)
        return REFUSED["error"](Said({"resets_in_seconds": 20})) if len(at) == 1 else Answer(Text("4"))

    async def one(provider: Any) -> str:
        chunks, error = await read(provider)
        assert error is None
        return text_of(chunks)

    with WireServer(reply) as server:
        limiter = shared.limiter()
        providers = [provider_at(server, api, shared, limiter=limiter) for _ in range(8)]
        asked = [asyncio.create_task(one(providers[0]))]
        await shared.sleepers.acquire()
        asked += [asyncio.create_task(one(provider)) for provider in providers[1:]]
        for _ in providers[1:]:
            await shared.sleepers.acquire()
        assert len(server.requests) == 1
        shared.go.set()
        assert await asyncio.gather(*asked) == ["4"] * 8
        for provider in providers:
            await provider.close()
    assert len(at) == 9
    assert min(at[1:]) >= 120


@each("api", APIS)
async def test_a_long_wait_is_told_to_the_others_without_asking(api: Api) -> None:
    with WireServer(lambda _: REFUSED["error"](Said({"resets_in_seconds": 9568}))) as server:
        shared = Waits()
        limiter = shared.limiter()
        errors: list[str] = []
        for _ in range(5):
            provider = provider_at(server, api, shared, limiter=limiter)
            _, error = await read(provider)
            await provider.close()
            assert error is not None
            assert error.unavailable
            errors.append(error.line)
        assert len(server.requests) == 1
        assert all(BUSY in line and "Retry in 3 hours, at " in line for line in errors)
        other = provider_at(server, api, shared, limiter=limiter, model="another")
        await read(other)  # which may have a limit of its own
        await other.close()
        assert len(server.requests) == 2
        shared.now += 61  # a look in a minute: a person may have paid
        for _ in range(2):
            provider = provider_at(server, api, shared, limiter=limiter)
            await read(provider)
            await provider.close()
        assert len(server.requests) == 3


@pytest.mark.parametrize("api", APIS)
async def test_who_alone_asks_is_told_why_it_waits(server: WireServer, api: Api) -> None:
    used_up = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "12s"}
    server.script(Reply(Answer(Text("1")).events(api), headers=used_up), Answer(Text("2")))
    shared = Waits()
    provider = provider_at(server, api, shared)
    await read(provider)
    chunks, error = await read(provider)
    await provider.close()
    assert error is None
    (retry,) = retries_of(chunks)
    assert (retry.attempt, retry.why) == (1, "rate limit")
    assert retry.delay == pytest.approx(12)
    assert text_of(chunks) == "2"


# -- what is no wait


@each(
    "message",
    [
        "timed out waiting 30 seconds for the upstream",
        "connection reset after 5s",
        "Please try again later",
        "failed after 3 retries in 20 s",
        "Rate limit of 10 per 60s exceeded",
        "try again in 5 different ways",
        "again 1.2.3s",
        "",
    ],
)
def test_words_that_ask_for_no_wait(message: str) -> None:
    assert waits.in_words(message) is None


@each("value", ["", "soon", "-5", "nan", "inf", "Tue, 99 Foo 2026", True, None, [], {}, -1, 10**20])
def test_values_that_are_no_wait(value: Any) -> None:
    assert waits.seconds(value) is None
    assert waits.in_headers({"retry-after": value}) is None
    assert waits.in_fields({"retry_after": value}) is None


def test_an_instant_that_has_passed_is_no_wait_to_speak_of() -> None:
    now = 1_700_000_000.0
    for past in (now - 5, (now - 5) * 1000, formatdate(now - 5, usegmt=True), "2001-01-01T00:00:00Z"):
        assert waits.seconds(past, lambda: now) == 0


def test_a_limit_with_something_left_asks_for_nothing() -> None:
    assert waits.in_headers({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "9s"}) is None
    assert waits.in_headers({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "9"}) is None
    assert waits.in_headers({"x-ratelimit-reset-tokens": "9s"}) is None


def test_the_fields_of_a_request_that_an_error_quotes_are_not_the_endpoints() -> None:
    quoted = {"detail": [{"msg": "no", "input": {"retry_after": 600}}], "error": {"retry_after": 600}}
    assert waits.in_fields(quoted) is None


def test_a_hostile_error_is_read_at_once() -> None:
    deep: Any = {"retry_after": 600}
    for _ in range(5_000):
        deep = {"details": deep}
    wide = {f"f{number}": {"details": [1] * 50} for number in range(20_000)}
    began = time.process_time()
    assert waits.in_fields(deep) is None
    assert waits.in_fields(wide) is None
    for piece in ("try again in ", "retry 1", "1s ", "wait a ", "1h1m1s,", "resets " + "9" * 50):
        waits.in_words(piece * 2_000)
    assert time.process_time() - began < 2
