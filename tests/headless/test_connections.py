"""Each command connects to the addresses that docs/privacy.md names: every one stands here, with all it opens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from console_app.command_line.commands import COMMANDS
from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Text
from tests.wire_server import Reply, Request, WireServer

MODEL, OTHER, SERVER, REGISTRY = "the model", "another provider", "an MCP server", "the registry"
OLLAMA = "Ollama on this machine"
# The words of each command, and what it connects to. A command that isn't here fails the test.
CONNECTS: dict[str, tuple[list[str], set[str]]] = {
    "run": (["hi"], {MODEL, SERVER}),
    "batch": (["items.jsonl", "-o", "r.jsonl"], {MODEL, SERVER}),
    "diff": (["a.jsonl", "b.jsonl"], set()),
    "call": (["calculator.evaluate", '{"expression": "1"}'], set()),
    "parse": (["--tools", "tools.json"], set()),
    "program": (["p.py"], {SERVER}),
    "mcp list": ([], {SERVER}),
    "mcp get": (["remote"], set()),
    "mcp test": (["calculator"], set()),
    "mcp add": (["new", "--", "true"], set()),
    "mcp find": (["files"], {REGISTRY}),
    "mcp remove": (["new"], set()),
    "mcp auth": (["remote"], {SERVER}),
    "mcp import": (["--yes"], set()),
    "mcp trust": ([], set()),
    "trust": ([], set()),
    "agents list": ([], set()),
    "agents show": (["explore"], set()),
    "agents make": (["mine"], set()),
    "agents add": (["theirs", "--yes"], {REGISTRY}),
    "endpoint test": (["--yes"], {MODEL}),
    "sessions list": ([], set()),
    "sessions search": (["hi"], set()),
    "sessions show": (["none"], set()),
    "sessions export": (["none", "-o", "x.html"], set()),
    "sessions import": (["a.jsonl"], set()),
    "sessions rename": (["none", "title"], set()),
    "sessions fork": (["none"], set()),
    "sessions delete": (["none", "--yes"], set()),
    "models": ([], {MODEL, OTHER, OLLAMA}),
    "themes": ([], set()),
    "auth set": (["lab"], set()),
    "auth remove": (["lab"], set()),
    "auth list": ([], set()),
    "doctor": ([], {MODEL, OTHER, OLLAMA, SERVER}),
    "config path": ([], set()),
    "config show": ([], set()),
    "config list": ([], set()),
    "config get": (["model"], set()),
    "config set": (["max_steps", "3"], set()),
    "config unset": (["max_steps"], set()),
    "config edit": ([], set()),
    "config validate": ([], set()),
    "schema": ([], set()),
    "completion": (["bash"], set()),
    "man": ([], set()),
}
# `serve` listens and opens nothing: tests/web. `acp` ends its own process, and is an editor's: tests/acp_agent.
ELSEWHERE = {"serve", "acp"}
_WATCHED: list[list[int]] = []


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and _WATCHED and isinstance(address := arguments[1], tuple):
        _WATCHED[-1].append(int(address[1]))


sys.addaudithook(_heard)  # it can't be taken away again: outside of a test it hears nothing


@contextmanager
def watched() -> Iterator[list[int]]:
    """The ports that are connected to meanwhile."""
    _WATCHED.append([])
    try:
        yield _WATCHED[-1]
    finally:
        _WATCHED.pop()


def listing(request: Request) -> Answer | Reply:
    if request.path.endswith("/models"):
        return Reply.json({"data": [{"id": "m"}]})
    if "/servers" in request.path:
        return Reply.json({"servers": [], "metadata": {}})
    return Answer(Text("hello"))


@pytest.mark.parametrize("command", CONNECTS)
def test_a_command_connects_to_nothing_else(command: str, fanout: Inside) -> None:
    with (
        WireServer(listing) as model,
        WireServer(listing) as other,
        WireServer(listing) as registry,
        WireServer(lambda _: Reply.json({}, 404)) as server,
    ):
        fanout.write(
            "home/config.toml",
            f'model = "lab/m"\nmcp_registry = "{registry.url}"\nagent_registry = "{registry.url}"\n'
            f'[providers.lab]\napi = "openai-chat"\nbase_url = "{model.base_url("openai-chat")}"\n'
            f'api_key_env = "LAB_KEY"\n[providers.far]\napi = "openai-chat"\napi_key_env = "FAR_KEY"\n'
            f'base_url = "{other.base_url("openai-chat")}"\n',
        )
        fanout.write_servers("home/mcp.json", remote={"url": f"{server.url}/mcp"})
        fanout.write("items.jsonl", '{"prompt": "hi"}\n')
        fanout.write("tools.json", "[]")
        fanout.write("p.py", "remote_tool = 1\n")
        words, expected = CONNECTS[command]
        names = {port_of(one.url): name for one, name in ((model, MODEL), (other, OTHER), (registry, REGISTRY))}
        names |= {port_of(server.url): SERVER, 11434: OLLAMA}
        with watched() as ports:
            done = fanout.run(*command.split(), *words, env={"LAB_KEY": "k1", "FAR_KEY": "k2", "EDITOR": "true"})
    assert {names.get(port, f"port {port}") for port in ports} == expected, done.err


def port_of(url: str) -> int:
    return int(url.rstrip("/").rpartition(":")[2].partition("/")[0])


def test_every_command_is_told_of() -> None:
    every = {
        f"{command.name} {action.name}" if action else command.name
        for command in COMMANDS.values()
        for action in (command.actions or (None,))
    }
    assert every == {*CONNECTS, *ELSEWHERE}


def test_the_page_names_every_command_that_connects() -> None:
    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text()
    missing = [name for name, (_, found) in CONNECTS.items() if found and f"`fanout {name}`" not in page]
    assert missing == []
