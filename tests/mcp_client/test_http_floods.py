"""Answers over HTTP that never end: a byte now and then, a header, log lines. Each has a deadline or a bound."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.questions import ElicitationAnswer
from console_app.domain.tools import Outcome
from console_app.mcp_client import Asking, ServerState
from console_app.mcp_client.connecting.session import MOST_ASKED
from console_app.mcp_client.transport.cutting import taken_events
from tests.engine.peers import Model, calls, engine_of, outcomes, play
from tests.mcp_client.conftest import Reports, StartHub
from tests.mcp_client.people import Person
from tests.mcp_client.test_http import http
from tests.wire_server import Gate, Hang, Part, Pause, Reply, Request, WireServer

LINES = 4_000
TRICKLE: list[Part] = [b" ", Pause(0.02)]


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


class Peer:
    """An MCP server whose calls are answered with `parts`, of that content type."""

    def __init__(self, kind: str, *parts: Part) -> None:
        self._kind, self._parts = kind, parts
        self.answered: Callable[[str], None] = lambda _id: None

    def __call__(self, request: Request) -> Reply:
        asked = request.body or {}
        match asked.get("method"):
            case "initialize":
                info = {"serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}, "logging": {}}}
                return self._result(asked, {"protocolVersion": "2025-11-25", **info})
            case "tools/list":
                tool = {"name": "work", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
                return self._result(asked, {"tools": [tool]})
            case "tools/call":
                return Reply(self._for(asked["id"]), 200, {}, self._kind)
            case "server/discover":
                return Reply.json({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
            case None if asked:
                self.answered(asked["id"])
                return Reply.json({}, 202)
            case _:
                return Reply.json({}, 202 if "id" not in asked and asked else 405)

    def _for(self, identifier: int) -> Sequence[Part]:
        return [
            part.replace(b"IDENTIFIER", str(identifier).encode()) if isinstance(part, bytes) else part
            for part in self._parts
        ]

    def _result(self, asked: dict[str, Any], result: dict[str, Any]) -> Reply:
        return Reply.json({"jsonrpc": "2.0", "id": asked["id"], "result": result})


async def test_an_answer_that_comes_a_byte_now_and_then_ends_at_its_deadline(start_hub: StartHub) -> None:
    with WireServer(Peer("application/json", b'{"jsonrpc": "2.0",', *TRICKLE * 5_000)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        assert bench.status().state is ServerState.READY, bench.status().reason
        engine = engine_of(Model(calls({}, {}, name="web_work")), bench.hub, call_timeout=0.5)
        await play(engine)
        assert outcomes(engine) == ["timed_out", "timed_out"]
        await bench.hub.close()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            b'{"jsonrpc": "2.0", "id": IDENTIFIER, "result": {"a": ' + b"9" * 5_000 + b"}}",
            "(Invalid JSON: number out of range",
        ),
        (b'{"jsonrpc": "2.0"', "(Invalid JSON: EOF"),
        (b'{"jsonrpc": "2.0", "id": IDENTIFIER, "result": 5}', "("),
    ],
    ids=["number", "half", "other"],
)
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_is_none_is_told_in_one_line(
    start_hub: StartHub, kind: str, answer: bytes, why: str
) -> None:
    framed = answer if kind == "application/json" else b"event: message\ndata: " + answer + b"\n\n"
    with WireServer(Peer(kind, framed)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        result = await bench.call("work")
        assert result.outcome is Outcome.FAILED
        assert f"The server's answer can't be read as JSON-RPC {why}" in result.content
        assert result.content.count("\n") == 0
        await bench.hub.close()


async def test_a_flood_of_unpacked_comments_lets_others_run() -> None:
    """A little gzip is 64 MB at once: what runs meanwhile has its turn between two pieces of it."""
    unpacked = 0

    async def turns() -> None:
        nonlocal unpacked
        while True:
            await asyncio.sleep(0)
            unpacked += 1

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b": " + b"x" * 2**20 + b"\n"

    turning = asyncio.create_task(turns())
    size = sum([len(piece) async for piece in taken_events(pieces(), 2**25)])
    turning.cancel()
    assert size > 64 * 2**20
    assert unpacked >= 60


async def test_a_header_without_end_is_a_failure_in_one_line(start_hub: StartHub) -> None:
    endless: list[Part] = [b"HTTP/1.1 200 OK\r\nX-Endless: ", *[b"x" * 65_536] * 2_000, Hang()]
    with WireServer(lambda _: Reply(before_headers=endless)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        assert bench.status().state is ServerState.FAILED
        assert "\n" not in bench.status().reason
        assert bench.status().reason
        await bench.hub.close()


def _logs() -> list[Part]:
    lines = (
        _line({"method": "notifications/message", "params": {"level": "info", "data": f"line {number}"}})
        for number in range(LINES)
    )
    return [b"".join(b"event: message\ndata: " + line + b"\n\n" for line in lines)]


async def test_a_flood_of_log_lines_before_a_result_leaves_the_result(start_hub: StartHub) -> None:
    result = _line({"id": 0, "result": {"content": [{"type": "text", "text": "done"}]}}).replace(
        b": 0,", b": IDENTIFIER,"
    )
    parts: list[Part] = [*_logs(), b"event: message\ndata: " + result + b"\n\n"]
    with WireServer(Peer("text/event-stream", *parts)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        reports = Reports()
        answer = await bench.call("work", reports)
        assert (answer.outcome, answer.content) == (Outcome.SUCCEEDED, "done")
        assert len(reports.logged) <= LINES
        await bench.hub.close()


async def test_a_server_that_asks_without_end_is_listened_to_a_hundred_times(start_hub: StartHub) -> None:
    form = {"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    asked = {f"q{number}" for number in range(MOST_ASKED + 20)}
    questions = [_line({"id": name, "method": "elicitation/create", "params": form}) for name in asked]
    result = _line({"id": 0, "result": {"content": [{"type": "text", "text": "done"}]}}).replace(
        b": 0,", b": IDENTIFIER,"
    )
    all_answered = Gate()

    def answered(name: str) -> None:
        asked.discard(name)
        if not asked:
            all_answered.open()

    events = [b"event: message\ndata: " + line + b"\n\n" for line in (*questions, result)]
    peer = Peer("text/event-stream", *events[:-1], all_answered, events[-1])
    peer.answered = answered
    with WireServer(peer) as server:
        person, reports = Person(ElicitationAnswer("decline")), Reports()
        bench = await start_hub(http(f"{server.url}/mcp"), asking=Asking(person))
        assert (await bench.call("work", reports)).content == "done"
        assert len(person.asked) == MOST_ASKED
        assert [words for level, words in reports.logged if level == "warning"] == [
            f"the server asks more than {MOST_ASKED} times: no more is asked for it"
        ]
        assert reports.holds == 0
        await bench.hub.close()


async def test_a_flood_of_log_lines_without_a_result_puts_no_deadline_off_for_ever(start_hub: StartHub) -> None:
    with WireServer(Peer("text/event-stream", *_logs() * 25, Hang())) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        engine = engine_of(Model(calls({}, name="web_work")), bench.hub, call_timeout=0.1)
        events = await play(engine)
        assert outcomes(engine) == ["timed_out"]
        assert sum(isinstance(event, ev.CallLog) for event in events) <= LINES * 25
        await bench.hub.close()
