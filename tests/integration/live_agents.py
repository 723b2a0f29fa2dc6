"""Agents that other people wrote, from npm, on models of this machine: three calls at once, allowed, denied and stopped.

Each is driven through `AcpModel`, as `fanout -m acp/NAME` and a kind of `[agents.NAME]` drive it. Their models are
local endpoints that speak the formats of the real ones.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from console_app.acp_client import AcpModel, AgentProgram
from console_app.domain import ApprovalMode, Decision, Outcome
from console_app.domain import events as ev
from console_app.domain.tools import ServerIdentity
from console_app.engine import Engine, Turn
from tests.engine.peers import ending, engine_of, only, play
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, Request, WireServer

MODULES = Path(os.environ.get("FANOUT_TEST_AGENTS", "none"))
SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")
MARK = "touch "


@dataclass(frozen=True)
class Real:
    """How an agent is started, and pointed at a model here. `home` is a folder of its own, `url` the model's."""

    command: tuple[str, ...]
    variables: Callable[[Path, str], Mapping[str, str]]
    mode: str = ""
    files: Callable[[str], Mapping[str, str]] = field(default=lambda _: {})


def node(package: str, program: str) -> tuple[str, ...]:
    return (str(MODULES / "node/bin/node"), str(MODULES / package / program))


def codex(home: Path, url: str) -> Mapping[str, str]:
    provider = {"name": "here", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "HERE_KEY"}
    config = {"model": "gpt-5", "model_provider": "here", "model_providers": {"here": provider}}
    return {"CODEX_CONFIG": json.dumps(config), "INITIAL_AGENT_MODE": "read-only", "HERE_KEY": "x"}


OPENCODE = {
    "model": "here/m",
    "permission": {"bash": "ask"},
    "provider": {"here": {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}}, "options": {}}},
}
AGENTS = {
    "claude": Real(
        node("@agentclientprotocol/claude-agent-acp", "dist/index.js"),
        lambda _, url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x"},
    ),
    "codex": Real(node("@agentclientprotocol/codex-acp", "dist/index.js"), codex),
    "gemini": Real(
        (*node("@google/gemini-cli", "bundle/gemini.js"), "--acp", "-m", "gemini-2.5-flash"),
        lambda _, url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    ),
    "opencode": Real(
        (str(MODULES / "opencode-linux-x64/bin/opencode"), "acp"),
        lambda _, url: {},
        files=lambda url: {
            "opencode.json": json.dumps(
                OPENCODE | {"provider": {"here": OPENCODE["provider"]["here"] | {"options": {"baseURL": f"{url}/v1"}}}}  # type: ignore[index]
            )
        },
    ),
}


def arguments(tool: str, command: str) -> dict[str, Any]:
    match tool:
        case "exec_command":
            return {"cmd": command}
        case "shell":
            return {"command": ["sh", "-c", command]}
        case "shell_command":
            return {"command": command}
        case _:
            return {"command": command, "description": "make a file"}


def answer(request: Request) -> Answer | Reply:
    """Three shell calls for the prompt, then words; words alone for what has no shell."""
    if request.method != "POST" or not isinstance(body := request.body, dict):
        return Reply.json({"data": [], "models": []})
    text = json.dumps(body)
    tools = [name for name in SHELLS if f'"{name}"' in text]
    last = text.rfind("Go on with three.")
    fresh = last >= 0 and MARK not in text[last:] and bool(tools)
    calls = [(tools[0], arguments(tools[0], f"{MARK}{name}")) for name in "abc"] if fresh else []
    if "generateContent" in request.path or "streamGenerateContent" in request.path:
        parts: list[dict[str, Any]] = [{"functionCall": {"name": tool, "args": given}} for tool, given in calls]
        content = {"role": "model", "parts": parts or [{"text": "All done."}]}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        if "stream" not in request.path:
            return Reply.json(whole)
        return Reply([f"data: {json.dumps(whole)}\n\n".encode()])
    if request.api is None:
        return Reply.json({"input_tokens": 10})
    if body.get("stream") is not True and request.api == "anthropic":
        words = {"type": "text", "text": "All done."}
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [words]}
        return Reply.json(message | {"stop_reason": "end_turn", "stop_sequence": None, "usage": usage})
    return Answer(*(Call(tool, json.dumps(given)) for tool, given in calls)) if calls else Answer(Text("All done."))


@pytest.fixture
def model() -> Iterator[WireServer]:
    with WireServer(answer) as server:
        yield server


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, tmp_path: Path, model: WireServer) -> tuple[str, Path, Engine]:
    name: str = request.param
    real = AGENTS[name]
    if not Path(real.command[-1] if real.command[-1].startswith("/") else real.command[0]).exists():
        pytest.skip(f"{name} is not installed")
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    for file, text in real.files(model.url).items():
        (work / file).write_text(text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", **real.variables(home, model.url)}
    known = ServerIdentity(digest=name, text=name)
    return name, work, (lambda: engine_of(AcpModel(AgentProgram(name, real.command, known, environment, work, real.mode)), mode=ApprovalMode.ASK))


def show(name: str, events: list[ev.Event]) -> None:
    for event in events:
        fields = event.model_dump(exclude={"session_id", "turn", "step", "seq", "at", "agent"}, exclude_defaults=True)
        print(name, json.dumps(fields, default=str)[:400])


async def test_one_is_allowed_one_denied_and_one_stopped(agent: Any, model: WireServer) -> None:
    name, work, made = agent
    engine = made()
    asked: list[str] = []

    def decide(turn: Turn, event: ev.Event) -> None:
        if not isinstance(event, ev.ApprovalRequested):
            return
        command = json.dumps(engine.transcript.calls[event.call_id].arguments)
        asked.append(command)
        if f"{MARK}a" in command:
            assert turn.resolve(event.call_id, Decision.ALLOW)
        elif f"{MARK}b" in command:
            assert turn.resolve(event.call_id, Decision.DENY)
        else:
            turn.cancel()

    async with asyncio.timeout(150):
        events = await play(engine, "Go on with three.", react=decide)
    show(name, events)
    print(name, "FILES", sorted(one.name for one in work.iterdir()), ending(events), [one.path for one in model.requests][:12])
    await engine.close()
