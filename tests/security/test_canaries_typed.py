"""A secret that is typed into a server's question: not seen while it is typed, and afterwards nowhere at all.

The server gives it back on every way it has: as its result, as an error, in its log and on stderr.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.patience import until_there
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.security.canaries import CANARIES, files, leaks
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

PASSWORD, KEY = CANARIES[6], CANARIES[7]

ASKING = """
import json, sys
FORM = {"type": "object", "properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}}
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if method == "initialize":
        asked = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}}}
        send(id=number, result={**asked, "serverInfo": {"name": "asks", "version": "1"}})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("asks", "fails")]
        send(id=number, result={"tools": tools})
    elif method == "tools/call":
        call, name = number, message["params"]["name"]
        if name == "fails":
            send(id=call, error={"code": -32000, "message": f"no: {told}"})
            continue
        send(id="q", method="elicitation/create", params={"message": "Who is it?", "requestedSchema": FORM})
    elif number == "q":
        told = json.dumps(message["result"])
        print(told, told.encode().hex(), file=sys.stderr, flush=True)
        send(method="notifications/message", params={"level": "error", "data": told})
        send(id=call, result={"content": [{"type": "text", "text": told}], "structuredContent": message["result"]})
    elif number is not None:
        send(id=number, error={"code": -32601, "message": "no such method"})
"""


@pytest.fixture
def fanout(tmp_path: Path) -> Fanout:
    fanout = Fanout(tmp_path)
    script = fanout.write("asks.py", ASKING)
    fanout.write(
        "home/mcp.json", json.dumps({"mcpServers": {"asks": {"command": sys.executable, "args": [str(script)]}}})
    )
    return fanout


def answers() -> list[Answer]:
    return [Answer(Call("asks_asks", "{}")), Answer(Call("asks_fails", "{}")), Answer(Text("All said."))]


def exported(fanout: Fanout) -> dict[str, bytes]:
    """The last session in every form."""
    said: dict[str, bytes] = {}
    session = json.loads(fanout.run("sessions", "list", "--json").out)["sessions"][0]["id"]
    for form in ("md", "html", "jsonl", "svg", "cast", "trace"):
        done = fanout.run("sessions", "export", session, "--format", form, "-o", f"taken.{form}")
        assert done.code == 0, done.err
        said[form] = (fanout.cwd / f"taken.{form}").read_bytes()
    return said


def test_what_is_typed_on_the_board_is_seen_and_kept_nowhere(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(*answers())
        env = fanout.environment(
            {"OPENAI_BASE_URL": server.base_url("openai-chat"), "OPENAI_API_KEY": "k-12345", "TERM": "xterm-256color"}
        )
        argv = fanout.argv("--debug", "--approval-mode", "yolo", "-m", "openai/m", "--", "go")
        with Terminal(argv, env=env, cwd=fanout.cwd, rows=50, columns=160) as terminal:
            terminal.expect("Who is it")
            terminal.decide("enter", "y accept")
            terminal.type(PASSWORD)
            terminal.expect("•" * len(PASSWORD))
            terminal.press("tab")
            terminal.type(KEY)
            terminal.wait_until(lambda text: text.count("•" * len(KEY)) == 2)
            terminal.decide("ctrl+s", "ctrl+s accept")
            terminal.expect("All said")
            _look_around(terminal, fanout)
            raw = terminal.whole()
        sent = {f"request {number}": request.raw for number, request in enumerate(server.requests)}
    assert any(b"(hidden)" in raw for raw in sent.values()), "the model was told that there was one"
    log = b"".join(data for path, data in files(fanout).items() if "asks" in Path(path).name and path.endswith(".log"))
    assert b"(hidden)" in log, "the server gave it back"
    assert leaks({"the terminal": raw, **sent, **exported(fanout), **files(fanout)}) == []


def _look_around(terminal: Terminal, fanout: Fanout) -> None:
    terminal.press("ctrl+l")
    terminal.expect("to search servers")
    terminal.press("w")
    terminal.expect("Wire of asks")
    terminal.press("enter")
    terminal.expect("space fold")
    terminal.press("c")
    terminal.expect("Copied")
    terminal.press("escape")
    terminal.expect_gone("space fold")
    terminal.press("x")
    until_there(lambda: any(fanout.cwd.glob("wire-asks-*.jsonl")), "the export of the wire")
    terminal.press("escape")
    terminal.expect_gone("Wire of asks")
    terminal.press("escape")
    terminal.expect_gone("to search servers")
    terminal.type("/request\r")
    terminal.expect("The next request")
    terminal.press("c")
    terminal.press("escape")
    terminal.expect_gone("The next request")
    terminal.press("ctrl+d")
    terminal.wait_exit()


def test_what_is_typed_as_a_line_is_seen_and_kept_nowhere(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(*answers())
        env = fanout.environment(
            {"OPENAI_BASE_URL": server.base_url("openai-chat"), "OPENAI_API_KEY": "k-12345", "TERM": "dumb"}
        )
        argv = fanout.argv("--screen-reader", "--debug", "--approval-mode", "yolo", "-m", "openai/m", "--", "go")
        with Terminal(argv, env=env, cwd=fanout.cwd, rows=200, columns=160) as terminal:
            terminal.expect("Who is it")
            terminal.type("/answer\n")
            terminal.expect("1 of 2: password.* not shown")
            terminal.type(f"{PASSWORD}\n")
            terminal.expect("2 of 2: api_key.* not shown")
            terminal.type(f"{KEY}\n")
            terminal.expect("All said")
            terminal.type("/quit\n")
            terminal.wait_exit()
            raw = terminal.whole()
        sent = {f"request {number}": request.raw for number, request in enumerate(server.requests)}
    assert leaks({"the terminal": raw, **sent, **exported(fanout), **files(fanout)}) == []
