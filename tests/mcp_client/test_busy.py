"""A server behind HTTP that has no room for a call now has not run it: the call is sent again, while it says to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console_app.domain.tools import Outcome
from console_app.mcp_client import ServerState
from tests.mcp_client.conftest import StartHub
from tests.mcp_client.test_http import http
from tests.wire_server import Reply, Request, WireServer

TEXT: dict[str, Any] = {"content_type": "text/plain", "framing": "length"}
TOO_FAST = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "ten calls a minute"}}


class Busy:
    """An MCP server that answers the first calls with `refusals`."""

    def __init__(self, *refusals: Reply) -> None:
        self.refusals = list(refusals)
        self.ran = 0

    def __call__(self, request: Request) -> Reply:
        asked = request.body or {}
        match asked.get("method"):
            case "initialize":
                about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}
                result: dict[str, Any] = {"protocolVersion": "2025-06-18", **about}
            case "tools/list":
                result = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
            case "tools/call" if self.refusals:
                return self.refusals.pop(0)
            case "tools/call":
                self.ran += 1
                result = {"content": [{"type": "text", "text": "done"}]}
            case _:
                return Reply(status=405 if request.method == "GET" else 202, content_type=None, framing="length")
        return Reply.json({"jsonrpc": "2.0", "id": asked["id"], "result": result}, 200)


def at_once(status: int = 429) -> Reply:
    return Reply([b"busy"], status, {"Retry-After": "0"}, **TEXT)


@pytest.mark.parametrize(
    "refusals",
    [
        [at_once(), at_once()],
        [at_once(503)],
        [Reply.json(TOO_FAST, 429, {"Retry-After": "0"})] * 2,
        [Reply([b"<html>busy"], 429, {"Retry-After": "0"}, "text/html", "length")],
    ],
)
async def test_a_call_that_there_was_no_room_for_is_sent_again(start_hub: StartHub, refusals: list[Reply]) -> None:
    endpoint = Busy(*refusals)
    with WireServer(endpoint) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        results = await asyncio.gather(bench.call("work"), bench.call("work"))
        assert [result.content for result in results] == ["done"] * 2
        assert endpoint.ran == 2
        await bench.hub.close()


@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        (Reply([b"busy"], 429, {"Retry-After": "3600"}, **TEXT), "The server refused the call: HTTP 429"),
        (Reply.json(TOO_FAST, 429, {"Retry-After": "3600"}), "ten calls a minute"),
        (Reply([b"busy"], 503, {}, **TEXT), "The server refused the call: HTTP 503"),
        (Reply([b"busy"], 500, {"Retry-After": "0"}, **TEXT), "The server refused the call: HTTP 500"),
    ],
)
async def test_what_is_not_soon_or_may_have_run_fails_at_once(start_hub: StartHub, refusal: Reply, why: str) -> None:
    endpoint = Busy(refusal)
    with WireServer(endpoint) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        result = await bench.call("work")
        assert result.outcome is Outcome.FAILED
        assert (result.error or "").startswith(why)
        assert (endpoint.ran, bench.status().state) == (0, ServerState.READY)
        await bench.hub.close()


async def test_a_server_that_never_has_room_fails_the_call_in_the_end(start_hub: StartHub) -> None:
    endpoint = Busy(*[at_once()] * 40)
    with WireServer(endpoint) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        result = await bench.call("work")
        assert (result.outcome, endpoint.ran) == (Outcome.FAILED, 0)
        assert 30 < len(endpoint.refusals) < 40
        await bench.hub.close()
