"""Picking a model in a real terminal: at an endpoint that was only named by its URL, and while it is still asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.program.test_secrets import KEY, canaries
from tests.wire_bytes import Answer, Text
from tests.wire_server import Gate, Reply, Request, WireServer

LISTED = {"data": [{"id": "falcon"}, {"id": "llama3.2:1b"}]}


@pytest.fixture
def server() -> Iterator[WireServer]:
    def handler(request: Request) -> Reply | Answer:
        return Reply.json(LISTED) if request.method == "GET" else Answer(Text("Hello from it."))

    with WireServer(handler) as running:
        yield running


def console(folder: Path, server: WireServer, *arguments: str) -> Terminal:
    fanout = Fanout(folder)
    keys = {"OPENAI_API_KEY": "sk-canary-openai", "ANTHROPIC_API_KEY": "sk-canary-anthropic"}
    # Other endpoints answer nothing: what they list would come in between.
    urls = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "OLLAMA_HOST": "127.0.0.1:9"}
    arguments = ("--no-mcp", "--base-url", server.base_url("openai-chat"), *arguments)
    environment = fanout.environment(
        {"TERM": "xterm-256color", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"} | keys | urls
    )
    return Terminal(fanout.argv(*arguments), env=environment, cwd=fanout.cwd)


def test_a_base_url_alone_takes_the_first_model_and_shows_the_host(tmp_path: Path, server: WireServer) -> None:
    with console(tmp_path, server, "--", "hi") as terminal:
        terminal.expect("Hello from it")
        terminal.expect(rf"falcon · openai at {server.url.removeprefix('http://')}")
        assert server.requests[-1].body["model"] == "falcon"
        assert "canary" not in str([request.headers for request in server.requests])


def test_what_is_entered_while_models_are_listed_means_a_listed_one(tmp_path: Path, server: WireServer) -> None:
    first, second = Gate(), Gate()
    listing = Reply.json(LISTED)
    for gate in (first, second):
        server.script(Reply(listing.parts, 200, {}, "application/json", "length", before_headers=[gate]))
    with console(tmp_path, server) as terminal:
        terminal.expect("Ask, or /")
        first.wait_reached()
        terminal.type("/model\r")
        second.wait_reached()
        terminal.type("llama\r")
        terminal.expect("once they are listed")
        second.open()
        terminal.expect(r"llama3\.2:1b, from the next answer on")
        first.open()  # the start's own choice comes too late
        terminal.type("hi\r")
        terminal.expect("Hello from it")
        assert server.requests[-1].body["model"] == "llama3.2:1b"
        assert "no provider is called" not in terminal.text()


def test_a_key_typed_in_place_of_a_models_name_is_refused_and_kept_nowhere(tmp_path: Path, server: WireServer) -> None:
    with console(tmp_path, server, "-m", "openai/falcon") as terminal:
        terminal.expect("Ask, or /")
        terminal.type(f"/model {KEY}\r")
        terminal.expect("looks like a key")
        terminal.type("hi\r")
        terminal.expect("Hello from it")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
    assert [str(request.body) for request in server.requests if KEY in str(request.body)] == []
    assert canaries(Fanout(tmp_path)) == []
