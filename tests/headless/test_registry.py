"""Servers are found in a registry that the user set, and nothing is asked, written or started before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.each import each
from tests.headless.inside import Inside
from tests.program.lines import PICK, ended, typed
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.served import served

FOUND: list[Any] = [
    {
        "server": {
            "name": "io.example/notes",
            "description": "Keeps\nnotes\x1b[2J",
            "version": "1.2.3",
            "packages": [
                {
                    "registryType": "npm",
                    "identifier": "@example/notes",
                    "version": "1.2.3",
                    "environmentVariables": [
                        {"name": "NOTES_KEY", "isRequired": True},
                        {"name": "A=B", "isRequired": True},
                        {"name": "OTHER"},
                    ],
                }
            ],
        }
    },
    {"server": {"name": "io.example/far", "remotes": [{"type": "streamable-http", "url": "https://far.example/mcp"}]}},
    {"server": {"name": "io.example/py", "packages": [{"registryType": "pypi", "identifier": "py-server"}]}},
    {"server": {"name": "io.example/bad", "packages": [{"registryType": "npm", "identifier": "--eval=x"}]}},
    {"server": {"name": "a b\nc", "packages": [{"registryType": "npm", "identifier": "x"}]}},
    {"server": {"name": "io.example/file", "remotes": [{"type": "sse", "url": "file:///etc/passwd"}]}},
    {"server": [], "x": 1},
    7,
]


class _Registry(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []
    status = 200
    body = json.dumps({"servers": FOUND}).encode()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def registry() -> Iterator[tuple[type[_Registry], str]]:
    handler = type("Registry", (_Registry,), {"asked": []})
    with served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        yield handler, url


def test_nothing_is_asked_before_a_registry_is_set(fanout: Inside) -> None:
    done = fanout.run("mcp", "find", "notes")
    assert done.code == 2
    assert "mcp_registry" in done.err


def test_servers_are_found_and_can_be_added_as_they_are_shown(
    fanout: Inside, registry: tuple[type[_Registry], str]
) -> None:
    handler, address = registry
    fanout.write("home/config.toml", f'mcp_registry = "{address}"\n')
    done = fanout.run("mcp", "find", "my notes")
    assert done.code == 0, done.err
    assert handler.asked == ["/v0.1/servers?search=my+notes&limit=20&version=latest"]
    assert "needs NOTES_KEY in your environment" in done.out
    assert "\x1b" not in done.out
    for text in ("@example/notes@1.2.3", "https://far.example/mcp", "py-server"):
        assert text in done.out
    for text in ("--eval", "file:///", "A=B"):
        assert text not in done.out
    lines = [line.strip() for line in done.out.splitlines() if "fanout mcp add far" in line]
    assert lines == ["""fanout mcp add far '{"url": "https://far.example/mcp", "type": "http"}'"""]
    assert not (fanout.home / "mcp.json").exists()
    entry = lines[0].partition(" far ")[2].strip("'")
    assert fanout.run("mcp", "add", "far", entry).code == 0
    assert "far.example" in (fanout.home / "mcp.json").read_text()


def test_slash_mcp_add_finds_them_and_writes_only_what_was_picked(
    tmp_path: Path, registry: tuple[type[_Registry], str]
) -> None:
    fanout = Fanout(tmp_path)
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    argv = fanout.argv("--screen-reader", "-m", "offline/rehearsal")
    environment = fanout.environment({"TERM": "dumb", "FANOUT_MCP_REGISTRY": registry[1]})
    with Terminal(argv, env=environment, cwd=fanout.cwd, rows=800, columns=400) as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "/mcp add", "looks for servers by words of their names")
        typed(terminal, "/mcp add far", "io.example/notes: npx -y @example/notes@1.2.3 with NOTES_KEY", PICK)
        typed(terminal, ".", "")
        assert "far" not in (fanout.home / "mcp.json").read_text()
        typed(terminal, "/mcp add far", "io.example/far: https://far.example/mcp", PICK)
        typed(terminal, "io.example/far", "far is added and starts")
        assert json.loads((fanout.home / "mcp.json").read_text())["mcpServers"].keys() == {"far"}
        typed(terminal, "/mcp add far", PICK)
        typed(terminal, "io.example/far", "There is a server far already")
        ended(terminal)
    assert [asked.partition("&")[0] for asked in registry[0].asked] == ["/v0.1/servers?search=far"] * 3


ANSWERS = {
    "no JSON": (200, b"<html>"),
    "an error": (500, b"{}"),
    "a list": (200, b"[]"),
    "deep": (200, b"[" * 500_000),
    "huge": (200, b" " * 5_000_000),
    "elsewhere": (302, b""),
}


@each("what", ANSWERS)
def test_a_registry_that_answers_badly_is_one_line(
    what: str, fanout: Inside, registry: tuple[type[_Registry], str]
) -> None:
    handler, address = registry
    handler.status, handler.body = ANSWERS[what]
    fanout.write("home/config.toml", f'mcp_registry = "{address}"\n')
    done = fanout.run("mcp", "find", "x")
    assert "Traceback" not in done.err
    assert (done.code, len(done.err.splitlines())) == ((0, 0) if what == "a list" else (1, 1))
