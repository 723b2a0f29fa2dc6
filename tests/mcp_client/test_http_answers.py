"""Sloppy servers behind HTTP answer calls in odd ways: each of two calls gets its own answer, or says why not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from console_app.config.servers import ServerConfig
from console_app.mcp_client import ServerState
from tests.mcp_client.conftest import StartHub
from tests.wire_server import Reply, Request, WireServer

Answer = Callable[[dict[str, Any]], Reply]


def _server(answer: Answer) -> Callable[[Request], Reply]:
    """Shakes hands as servers do, and answers calls so; `answer` is given the right message."""

    def reply(request: Request) -> Reply:
        asked: dict[str, Any] = request.body or {}
        match asked.get("method"):
            case "initialize":
                about: dict[str, Any] = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
                result: dict[str, Any] = {"protocolVersion": "2025-03-26", **about}
            case "tools/list":
                result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("work", "other")]}
            case "tools/call":
                said = f"{asked['params']['name']} done"
                return answer({"jsonrpc": "2.0", "id": asked["id"], "result": _text(said)})
            case _:
                return Reply(status=405 if request.method == "GET" else 202, content_type=None, framing="length")
        return Reply.json({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    return reply


def _text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def _events(*data: str, end: str = "\n") -> Reply:
    return Reply([f"event: message{end}data: {one}{end}{end}".encode() for one in data])


def _note(said: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": said}}


def _other(right: dict[str, Any], id: object) -> dict[str, Any]:
    return right | {"id": id, "result": _text("for another")}


SLOPPY: dict[str, Answer] = {
    "a batch": lambda right: Reply.json([right]),
    "a batch with more": lambda right: Reply.json([_note("x"), _other(right, 999), right, _note("y")]),
    "a batch in an event": lambda right: _events(json.dumps([right, _note("y")])),
    "events that are no JSON": lambda right: _events("hello", "{}", "[1]", "7", json.dumps(right)),
    "an event that is no JSON, CR LF": lambda right: _events("hello", json.dumps(right), end="\r\n"),
    "an answer to none": lambda right: _events(json.dumps(_other(right, 999)), json.dumps(right)),
    "answers to null and to words": lambda right: _events(
        *(json.dumps(_other(right, id)) for id in (None, "zz", True, 1.5)), json.dumps(right)
    ),
    "the other call's answer first": lambda right: _events(
        *(json.dumps(_other(right, right["id"] + step)) for step in (1, -1)), json.dumps(right)
    ),
    "over several lines": lambda right: _events(json.dumps(right, indent=1).replace("\n", "\ndata: ")),
    "id last, as text": lambda right: Reply.json({"result": right["result"], "jsonrpc": "2.0", "id": str(right["id"])}),
}


@pytest.mark.parametrize("how", SLOPPY)
async def test_each_call_gets_its_own_answer(start_hub: StartHub, how: str) -> None:
    with WireServer(_server(SLOPPY[how])) as server:
        bench = await start_hub(ServerConfig.model_validate({"name": "web", "url": f"{server.url}/mcp"}))
        for _ in range(2):
            both = await asyncio.gather(bench.call("work"), bench.call("other"))
            assert [result.content for result in both] == ["work done", "other done"], both
        assert bench.status().state is ServerState.READY
        await bench.hub.close()


def _refusal(id: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "out of paper"}}


ANOTHER = "The server answered another request (id 999) in place of this one"
NONE: dict[str, tuple[Answer, str]] = {
    "another's": (lambda right: Reply.json(_other(right, 999)), ANOTHER),
    "another's, a batch": (lambda right: Reply.json([_other(right, 999)]), ANOTHER),
    "another's, an event": (lambda right: _events(json.dumps(_other(right, 999))), ANOTHER),
    "no JSON, an event": (lambda _: _events("hello"), "The server's answer can't be read as JSON-RPC"),
    "broken JSON, an event": (
        lambda right: _events(json.dumps(right)[:-1]),
        "The server's answer can't be read as JSON-RPC",
    ),
    "refused without an id": (lambda _: Reply.json(_refusal(None)), "out of paper"),
    "refused with a word for an id": (lambda _: Reply.json(_refusal("server-error")), "out of paper"),
    "refused without an id, an event": (lambda _: _events(json.dumps(_refusal(None))), "out of paper"),
}


@pytest.mark.parametrize("how", NONE)
async def test_a_call_that_gets_no_answer_of_its_own_says_so_at_once(start_hub: StartHub, how: str) -> None:
    answer, reason = NONE[how]
    with WireServer(_server(answer)) as server:
        bench = await start_hub(ServerConfig.model_validate({"name": "web", "url": f"{server.url}/mcp"}))
        for _ in range(2):
            both = await asyncio.gather(bench.call("work"), bench.call("other"))
            assert all(reason in (result.error or "") for result in both), both
        assert bench.status().state is ServerState.READY
        await bench.hub.close()
