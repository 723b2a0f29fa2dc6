"""Errors of servers keep their words, whatever their shape, and pages that a call needs are named."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from console_app.domain.tools import Outcome
from tests.mcp_client.conftest import SaidServer, StartHub
from tests.mcp_client.test_busy import Busy
from tests.mcp_client.test_http import http
from tests.wire_server import Reply, Request, WireServer

TOOLS = {"tools/list": {"result": {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}}}
PAGE = "https://example.com/login?state=" + "x" * 400
ODD: list[tuple[Any, str]] = [
    ("out of cheese", "out of cheese"),
    ({"code": "E_CHEESE", "message": "out of cheese"}, "out of cheese (E_CHEESE)"),
    ({"code": "-32000", "message": "out of cheese"}, "out of cheese"),
    ({"code": -32000.0, "message": "out of cheese"}, "out of cheese"),
    ({"message": "out of cheese"}, "out of cheese"),
    ({"code": 7, "detail": "out of cheese"}, "out of cheese"),
    ({"code": None, "message": None, "error": "out of cheese"}, "out of cheese"),
    (["out of cheese"], '["out of cheese"]'),
    ({"code": 1, "cheese": 0}, '{"code": 1, "cheese": 0}'),
    (True, "true"),
]


@pytest.mark.parametrize("over", ["stdio", "json", "sse"])
async def test_an_error_of_any_shape_keeps_its_words(start_hub: StartHub, said_server: SaidServer, over: str) -> None:
    errors = [error for error, _ in ODD]
    if over == "stdio":
        bench = await start_hub(said_server({**TOOLS, "tools/call": [{"error": error} for error in errors]}))
        results = [await bench.call("work") for _ in ODD]
    else:
        left = iter(errors)

        def answer(request: Request) -> Reply:
            if (request.body or {}).get("method") != "tools/call":
                return Busy()(request)
            message = {"jsonrpc": "2.0", "id": request.body["id"], "error": next(left)}
            if over == "json":
                return Reply.json(message, 200)
            return Reply([b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"])

        with WireServer(answer) as server:
            bench = await start_hub(http(server.url))
            results = [await bench.call("work") for _ in ODD]
    told = [(result.outcome, result.error) for result in results]
    assert told == [(Outcome.FAILED, words) for _, words in ODD]


def needed(url: str) -> dict[str, Any]:
    page = {"mode": "url", "elicitationId": "e1", "url": url, "message": "Sign in"}
    return {"error": {"code": -32042, "message": "Sign in first.", "data": {"elicitations": [page]}}}


async def test_the_page_that_a_call_needs_is_named_where_nobody_opens_it(
    start_hub: StartHub, said_server: SaidServer
) -> None:
    bench = await start_hub(said_server({**TOOLS, "tools/call": needed(PAGE)}))
    result = await bench.call("work")
    assert result.error == f"Sign in first: open {PAGE}, then call again."


WANTS = [
    {"auth_required": True, "url": PAGE},
    {"type": "auth_required", "oauth_start_url": PAGE, "message": "who are you"},
    {"auth_required": {"auth_url": PAGE}},
    {"results": {"auth_required": True, "login_url": PAGE}, "meta_data": {"is_error": True}},
]


async def test_a_result_that_wants_a_sign_in_names_its_page_and_links_it(
    start_hub: StartHub, said_server: SaidServer
) -> None:
    given = list[dict[str, Any]]()
    for fields in WANTS:
        text = {"content": [{"type": "text", "text": json.dumps(fields)}]}
        structured = [{"content": [], "structuredContent": one} for one in (fields, {"result": fields})]
        given += [text, *structured, {**text, "isError": True}]
    bench = await start_hub(said_server({**TOOLS, "tools/call": [{"result": one} for one in given]}))
    for one in given:
        result = await bench.call("work")
        assert result.error == f"It wants you to sign in: open {PAGE}, then run the call again.", one
        assert [link.uri for link in result.artifacts] == [PAGE], one


async def test_a_refusal_is_its_own_calls_whatever_others_hear(start_hub: StartHub) -> None:
    """The refused call is answered first; others succeed before its words are asked for."""

    def answer(request: Request) -> Reply:
        body = request.body or {}
        if body.get("method") == "tools/call" and body["params"]["arguments"]:
            return Reply([b"no"], body["params"]["arguments"]["status"], content_type="text/plain", framing="length")
        return Busy()(request)

    with WireServer(answer) as server:
        bench = await start_hub(http(server.url))
        statuses = [402, 0, 409, 0, 418, 0, 422, 0] * 4
        results = await asyncio.gather(*(bench.call("work", **({"status": one} if one else {})) for one in statuses))
    for status, result in zip(statuses, results, strict=True):
        assert (f"HTTP {status}" in (result.error or "")) if status else result.outcome is Outcome.SUCCEEDED
