"""Servers behind HTTP, on loopback: the SDK's own server over streamable HTTP and over the older SSE."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from console_app.config.servers import ServerConfig
from console_app.domain.tools import Outcome
from console_app.mcp_client import ServerState
from console_app.mcp_client.transport.cutting import CUT
from tests.mcp_client.conftest import FIXTURES, Bench, Reports, StartHub
from tests.patience import PATIENCE, until_there
from tests.raw_server import raw_server
from tests.wire_server import Reply, Request, WireServer


@contextmanager
def serving(file: Path, port: str = "0") -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The server of fixtures/sdk_server.py: its URL and its process."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(FIXTURES / "sdk_server.py"), str(file), port]
    with subprocess.Popen(command, env=environment) as process:
        try:
            until_there(lambda: file.exists() and bool(file.read_text()), "its port: it binds before it writes")
            yield f"http://127.0.0.1:{file.read_text()}", process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def sdk_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of one that serves MCP at /mcp, the older way at /sse, and to those with a token at /guarded/mcp."""
    with serving(tmp_path_factory.mktemp("sdk") / "port") as (url, _):
        yield url


def http(url: str, **fields: object) -> ServerConfig:
    return ServerConfig.model_validate({"name": "web", "url": url, **fields})


async def test_a_server_over_http_does_what_one_over_stdio_does(
    start_hub: StartHub, sdk_site: str, tmp_path: Path
) -> None:
    bench = await start_hub(http(f"{sdk_site}/mcp"))
    status = bench.status()
    assert (status.state, status.transport, status.protocol_version) == (ServerState.READY, "http", "2026-07-28")
    assert status.instructions == "Ask politely."
    await _the_wire_is_recorded(bench)
    await _calls_at_once(bench)
    await _logs_stay_apart(bench)
    await _cancel_reaches_the_server(bench)
    await _files_are_saved(bench, tmp_path / "files")
    result = await bench.call("weather", city="Rome")
    assert result.structured == {"degrees": 21.5}
    assert len((await bench.call("big", size=10_000_000)).content) == 10_000_000
    assert (await bench.call("big", size=40_000_000)).error == "The result is too large: the limit is 32 MB."
    assert bench.status().state is ServerState.READY


async def _calls_at_once(bench: Bench) -> None:
    results = await asyncio.gather(*(bench.call("barrier", calls=8) for _ in range(8)))
    assert {result.content for result in results} == {"through"}


async def _logs_stay_apart(bench: Bench) -> None:
    reports = {name: Reports() for name in ("red", "green", "blue")}
    await asyncio.gather(*(bench.call("report", report, name=name) for name, report in reports.items()))
    for name, report in reports.items():
        assert report.progressed == [(1, 2, name)]
        assert report.logged == [("info", f"{name} says hello")]


async def _cancel_reaches_the_server(bench: Bench) -> None:
    reports = Reports()
    call = asyncio.create_task(bench.call("hang", reports))
    await reports.news.wait()
    call.cancel()
    await asyncio.wait({call})
    assert (await bench.call("was_cancelled")).content == "yes"


async def _files_are_saved(bench: Bench, folder: Path) -> None:
    result = await bench.call("media")
    again = await bench.call("media")
    names = [artifact.name for artifact in result.artifacts]
    assert names == ["image.png", "audio.wav", "spec", "c-tar.gz"]
    assert again.artifacts[0].name == "image-2.png"
    picture = folder / "image.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600
    assert f"[image of type image/png, 16 bytes, saved as {picture}]" in result.content
    assert "[link to spec, https://example.com/spec]" in result.content
    assert "[resource file:///a.txt]\ninside" in result.content
    assert "[resource note://b of type text/x-lua]\nlocal b" in result.content
    assert "iVBOR" not in result.content  # no base64


async def _the_wire_is_recorded(bench: Bench) -> None:
    name = bench.status().name
    assert 0 < await bench.hub.ping(name) < PATIENCE
    found = [(one.sent, one.kind, one.method) for one in bench.hub.traffic(name).after(0)]
    assert (True, "request", "tools/list") in found
    assert (False, "result", "tools/list") in found
    assert bench.hub.traffic(name).handshake is not None


async def test_an_older_server_is_spoken_to_over_sse_without_being_told(start_hub: StartHub, sdk_site: str) -> None:
    url = f"{sdk_site}/sse"
    bench = await start_hub(http(url), http(url, name="told", transport="sse"))
    assert [status.state for status in bench.hub.statuses()] == [ServerState.READY, ServerState.READY]
    assert bench.status().protocol_version == "2025-11-25"
    await _the_wire_is_recorded(bench)
    results = await asyncio.gather(*(bench.call("barrier", server=name, calls=2) for name in ("web", "told")))
    assert {result.content for result in results} == {"through"}


async def test_credentials_come_from_headers_and_a_refusal_says_its_status(start_hub: StartHub, sdk_site: str) -> None:
    url = f"{sdk_site}/guarded/mcp"
    bench = await start_hub(
        http(url, name="right", headers={"Authorization": "Bearer right"}),
        http(url, name="wrong", headers={"Authorization": "Bearer wrong"}),
        http(url, name="none"),
        http(url.replace("/mcp", "/else"), name="elsewhere", headers={"Authorization": "Bearer right"}),
    )
    assert {status.name: status.reason for status in bench.hub.statuses()} == {
        "right": "",
        "wrong": "HTTP 401 Unauthorized: the credentials of `headers` were refused",
        "none": "HTTP 401 Unauthorized: it wants you to sign in, or credentials in `headers`",
        "elsewhere": "HTTP 404 Not Found: no MCP endpoint at this URL",
    }


async def test_a_refused_connection_says_where(start_hub: StartHub) -> None:
    bench = await start_hub(http("http://user:secret@127.0.0.1:9/mcp?key=secret"))
    assert bench.status().reason == "connection refused at http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "result": {', "application/json", "(Invalid JSON: EOF while parsing an object "),
        (b'{"jsonrpc": "2.0", "id": 1, "result": "a text"}', "application/json", "(result: Input should be an object)"),
        (b'{"jsonrpc": "2.0", "id": 1}', "application/json", "(it has neither a result nor an error)"),
        (b"", None, "the answer has no content type"),
    ],
)
async def test_an_answer_that_is_no_message_is_said_in_words_without_the_answer_itself(
    start_hub: StartHub, body: bytes, kind: str | None, reason: str
) -> None:
    with WireServer(lambda _: Reply([body], 200, {}, kind, "length")) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        told = bench.status().reason
        assert bench.status().state is ServerState.FAILED
        assert reason in told
        assert told.startswith("the answer ")
        assert told.endswith(f" at {server.url}")
        assert "JSONRPC" not in told
        await bench.hub.close()


async def test_a_page_that_is_no_mcp_server_is_a_failure_in_one_line(start_hub: StartHub) -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"<html>hello</html>"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n")
        writer.write(b"content-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async with raw_server(page) as port:
        bench = await start_hub(http(f"http://127.0.0.1:{port}/"))
        assert bench.status().state is ServerState.FAILED
        assert bench.status().reason == f"the answer is no MCP message but text/html at http://127.0.0.1:{port}"
        await bench.hub.close()


async def test_a_byte_order_mark_before_an_answer_is_passed_over(start_hub: StartHub) -> None:
    def answer(request: Request) -> Reply:
        message = json.loads(request.raw or b"{}")
        if "id" not in message:
            return Reply([], 202, {}, "application/json", "length")
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "bom", "version": "1"}}
        result = info if message["method"] == "initialize" else {"tools": [{"name": "one", "inputSchema": {}}]}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode("utf-8-sig")
        return Reply([body], 200, {}, "application/json", "length")

    with WireServer(answer) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        assert [spec.tool for spec in bench.hub.tools()] == ["one"], bench.status().reason
        await bench.hub.close()


async def test_a_little_gzip_that_is_a_large_answer_is_refused_by_its_decoded_size(start_hub: StartHub) -> None:
    bomb = gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 64 * 2**20 + b'"}')
    assert len(bomb) < 100_000
    with WireServer(lambda _: Reply([bomb], 200, {"content-encoding": "gzip"}, "application/json", "length")) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        assert bench.status().state is ServerState.FAILED
        assert "The result is too large: the limit is 32 MB." in bench.status().reason
        assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"
        await bench.hub.close()


def _deep_answer(request: Request, how: str, levels: int) -> Reply:
    """A server of one plain tool and one whose schema and result are nested deeper than JSON readers go."""
    asked = request.body or {}
    deep = '{"a":' * levels + "1" + "}" * levels
    match asked.get("method"):
        case "initialize":
            found = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "d"}}
            found["serverInfo"] |= {"version": "1"}
            result = json.dumps(found)
        case "tools/list":
            schema = '{"type":"object","properties":' + deep + "}"
            tools = ((name, schema if name == "abyss" else '{"type":"object"}') for name in ("plain", "abyss"))
            listed = (f'{{"name":"{name}","inputSchema":{schema}}}' for name, schema in tools)
            result = '{"tools":[' + ",".join(listed) + "]}"
        case "tools/call":
            result = '{"content":[{"type":"text","text":"[[{ said"}],"structuredContent":' + deep + "}"
        case _:
            return Reply(status=405 if request.method == "GET" else 202, content_type=None, framing="length")
    message = f'{{"jsonrpc":"2.0","id":{json.dumps(asked["id"])},"result":{result}}}'.encode()
    if how == "json":
        return Reply([message], 200, {}, "application/json", "length")
    event = b": hello\r\nevent: message\r\ndata: " + message + b"\r\n\r\n"
    size = max(len(event) // 7, 1)
    return Reply([event[start : start + size] for start in range(0, len(event), size)])


@pytest.mark.parametrize("levels", [100, 400, 20_000])
@pytest.mark.parametrize("how", ["json", "events"])
async def test_what_is_nested_too_deep_costs_itself_alone_and_says_so(
    start_hub: StartHub, how: str, levels: int
) -> None:
    with WireServer(lambda request: _deep_answer(request, how, levels)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        assert bench.status().state is ServerState.READY, bench.status().reason
        assert [spec.tool for spec in bench.hub.tools()] == (["plain", "abyss"] if levels < 120 else ["plain"])
        if levels > 120:
            reason = "its inputSchema is nested more than 120 levels deep"
            assert {tool.name: tool.reason for tool in bench.status().rejected} == {"abyss": reason}
        result = await bench.call("plain")
        assert result.outcome is Outcome.SUCCEEDED
        assert "[[{ said" in result.content
        assert (CUT in json.dumps(result.structured)) == (levels > 150)
        await bench.hub.close()


class Forgetful:
    """A server whose sessions are gone when it was restarted; `how` is its answer to one that it doesn't know."""

    def __init__(self, how: Reply) -> None:
        self.how = how
        self.sessions = 0
        self.ran: list[str] = []

    def restart(self) -> None:
        self.sessions += 1

    def __call__(self, request: Request) -> Reply:
        asked = request.body or {}
        method = asked.get("method")
        headers: dict[str, str] = {}
        if method == "initialize":
            self.sessions += 1
            headers = {"Mcp-Session-Id": str(self.sessions)}
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "1"}}
            result: dict[str, object] = {"protocolVersion": "2025-06-18", **about}
        elif request.method == "POST" and request.headers.get("mcp-session-id") != str(self.sessions):
            return self.how
        elif method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("work", "other")]}
        elif method == "tools/call":
            self.ran.append(asked["params"]["name"])
            result = {"content": [{"type": "text", "text": f"in session {self.sessions}"}]}
        else:
            return Reply(status=405 if request.method == "GET" else 202, content_type=None, framing="length")
        return Reply.json({"jsonrpc": "2.0", "id": asked["id"], "result": result}, 200, headers)


@pytest.mark.parametrize(
    "how",
    [
        Reply([b"Not Found"], 404, {}, "text/plain", "length"),
        Reply.json({"jsonrpc": "2.0", "error": {"code": -32001, "message": "Session not found"}, "id": None}, 404),
        Reply.json(
            {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}, 404
        ),
        Reply.json(
            {
                "jsonrpc": "2.0",
                "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"},
                "id": None,
            },
            400,
        ),
        Reply.json(
            {"jsonrpc": "2.0", "error": {"code": -32000, "message": "Bad Request: Server not initialized"}, "id": None},
            400,
        ),
    ],
    ids=["404", "404 and JSON", "404 and JSON with an id", "400 and JSON", "400 of one begun anew"],
)
async def test_a_server_that_knows_the_session_no_more_gets_the_calls_in_a_new_one(
    start_hub: StartHub, monkeypatch: pytest.MonkeyPatch, how: Reply
) -> None:
    monkeypatch.setattr("console_app.mcp_client.connecting.session.LAST_ANSWERS", PATIENCE)
    endpoint = Forgetful(how)
    with WireServer(endpoint) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        assert (await bench.call("work")).content == "in session 1"
        endpoint.restart()
        both = await asyncio.gather(bench.call("work"), bench.call("other"))
        assert [result.content for result in both] == ["in session 3"] * 2
        assert sorted(endpoint.ran) == ["other", "work", "work"]
        assert bench.status().state is ServerState.READY
        await bench.hub.close()


async def test_an_endpoint_that_never_answers_is_given_up_after_its_timeout(start_hub: StartHub) -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with raw_server(silence) as port:
        bench = await start_hub(http(f"http://127.0.0.1:{port}/mcp", timeout=0.5))
        assert bench.status().reason == f"no answer to the handshake in time from http://127.0.0.1:{port}"
        await bench.hub.close()


async def test_a_call_that_loses_its_server_fails_and_the_server_is_found_again(
    start_hub: StartHub, tmp_path: Path
) -> None:
    with serving(tmp_path / "port") as (url, process):
        bench = await start_hub(http(f"{url}/mcp"))
        reports = Reports()
        call = asyncio.create_task(bench.call("hang", reports))
        await reports.news.wait()
        process.kill()
        result = await call
    assert result.outcome is Outcome.FAILED
    assert (result.error or "").startswith("web went away")
    await bench.until_state(ServerState.FAILED)
    assert bench.status().reason.startswith("connection refused at http://127.0.0.1:")
    with serving(tmp_path / "again", url.rpartition(":")[2]):
        await bench.hub.connection("web").reconnect()
        assert bench.status().state is ServerState.READY
        assert (await bench.call("weather", city="Rome")).outcome is Outcome.SUCCEEDED
        await bench.hub.close()
