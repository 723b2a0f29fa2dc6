"""Agents that other people wrote, from npm, on models of this machine: calls at once, allowed, denied and stopped.

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
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from console_app.acp_client import AcpModel, AgentProgram
from console_app.domain import ApprovalMode, Decision, Outcome
from console_app.domain import events as ev
from console_app.domain.agents import AgentKind
from console_app.domain.tools import ServerIdentity
from console_app.engine import Turn
from tests.engine.peers import ending, engine_of, only, play, tool_texts
from tests.engine.test_agents import Models, agents_of, says, sends
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, Request, WireServer

MODULES = Path(os.environ.get("FANOUT_TEST_AGENTS", "none"))
SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")
MARK = "touch "
STOPPED_AFTER = 4.0  # seconds from the last question
PROMPT = "Go on with three."


@dataclass(frozen=True)
class Real:
    """How an agent is started, and pointed at a model here. Both are given the address of the model."""

    command: tuple[str, ...]
    variables: Callable[[str], Mapping[str, str]]
    files: Callable[[str], Mapping[str, str]] = field(default=lambda _: {})
    mode: str = ""


def node(package: str, program: str) -> tuple[str, ...]:
    return (str(MODULES / "node/bin/node"), str(MODULES / package / program))


def codex(url: str) -> Mapping[str, str]:
    provider = {"name": "here", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "HERE_KEY"}
    config = {"model": "gpt-5", "model_provider": "here", "model_providers": {"here": provider}}
    return {"CODEX_CONFIG": json.dumps(config), "INITIAL_AGENT_MODE": "read-only", "HERE_KEY": "x"}


def opencode(url: str) -> Mapping[str, str]:
    here = {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}}, "options": {"baseURL": f"{url}/v1"}}
    return {"opencode.json": json.dumps({"model": "here/m", "permission": {"bash": "ask"}, "provider": {"here": here}})}


AGENTS = {
    "claude": Real(
        node("@agentclientprotocol/claude-agent-acp", "dist/index.js"),
        lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x"},
        mode="default",  # it may begin in one where a model of its own decides, and nobody is asked
    ),
    "codex": Real(node("@agentclientprotocol/codex-acp", "dist/index.js"), codex),
    "gemini": Real(
        (*node("@google/gemini-cli", "bundle/gemini.js"), "--acp", "-m", "gemini-2.5-flash"),
        lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    ),
    "opencode": Real(
        (str(MODULES / "opencode-linux-x64/bin/opencode"), "acp"),
        lambda _: {},
        files=opencode,
    ),
}


def arguments(tool: str, command: str) -> dict[str, Any]:
    match tool:
        case "exec_command":
            return {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "make a file"}
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
    tools = [name for name in SHELLS if f'"{name}"' in json.dumps(body.get("tools"))]
    text = json.dumps(next((body[key] for key in ("messages", "input", "contents") if key in body), ""))
    last = text.rfind(PROMPT)
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


class Agents:
    """The agents of a test, each with a home and a folder of its own, on the model here."""

    def __init__(self, folder: Path, model: WireServer) -> None:
        self._folder, self._model = folder, model

    def program(self, name: str) -> AgentProgram:
        real = AGENTS[name]
        if not all(Path(word).exists() for word in real.command[:2] if word.startswith("/")):
            pytest.skip(f"{name} is not installed")
        home, work = self._folder / f"{name}-home", self.work(name)
        for folder in (home, work):
            folder.mkdir()
        for file, text in real.files(self._model.url).items():
            (work / file).write_text(text)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", **real.variables(self._model.url)}
        identity = ServerIdentity(digest=name, text=name)
        return AgentProgram(name, real.command, identity, environment, work, mode=real.mode)

    def work(self, name: str) -> Path:
        return self._folder / f"{name}-work"

    def made(self, name: str) -> list[str]:
        """The files that its calls made."""
        return [one for one in "abc" if (self.work(name) / one).exists()]


@pytest.fixture
def agents(tmp_path: Path, model: WireServer) -> Agents:
    return Agents(tmp_path, model)


def ends(events: list[ev.Event]) -> dict[str, Outcome]:
    """How each call ended, by what it was to do."""
    told = {event.call_id: json.dumps(event.arguments) for event in only(events, ev.CallReady)}
    results = {told[event.call_id]: event.outcome for event in only(events, ev.CallFinished) if event.call_id in told}
    return {name: outcome for text, outcome in results.items() for name in "abc" if f"{MARK}{name}" in text}


@pytest.mark.parametrize("name", AGENTS)
async def test_one_is_allowed_one_denied_and_one_stopped(agents: Agents, name: str) -> None:
    engine = engine_of(AcpModel(agents.program(name)), mode=ApprovalMode.ASK)
    loop = asyncio.get_running_loop()

    def decide(turn: Turn, event: ev.Event) -> None:
        if not isinstance(event, ev.ApprovalRequested):
            return
        command = json.dumps(engine.transcript.calls[event.call_id].arguments)
        if f"{MARK}c" in command:
            loop.call_later(STOPPED_AFTER, turn.cancel)
        else:
            assert turn.resolve(event.call_id, Decision.ALLOW if f"{MARK}a" in command else Decision.DENY)

    async with asyncio.timeout(150):
        events = await play(engine, PROMPT, react=decide)
    await engine.close()
    told = ends(events)
    assert told["b"] is Outcome.DENIED
    if name in ("codex", "opencode"):  # to which a no is the end of the answer, with all that waits
        assert told["c"] is (Outcome.INTERRUPTED if name == "codex" else Outcome.FAILED)
        assert ending(events).outcome == "completed"
    else:
        assert (told["a"], told["c"]) == (Outcome.SUCCEEDED, Outcome.CANCELLED)
        assert ending(events).outcome == "cancelled"
        assert agents.made(name) == ["a"]
    assert not engine.transcript.open_calls


async def test_two_work_beside_a_child_of_ours(agents: Agents) -> None:
    pair = ("claude", "codex")
    kinds = {name: AgentKind(name, "theirs", opens=partial(AcpModel, agents.program(name))) for name in pair}
    sent = sends(*({"task": PROMPT, "kind": name} for name in pair), {"task": "ours", "kind": "general"})
    engine = agents_of(Models(go=[sent], ours=[says("ours is done")]), mode=ApprovalMode.YOLO, kinds=kinds)
    async with asyncio.timeout(150):
        events = await play(engine)
    await engine.close()
    assert ending(events).outcome == "completed"
    first, second, ours = tool_texts(engine)
    assert "All done." in first
    assert "All done." in second
    assert ours == "ours is done"
    assert [agents.made(name) for name in pair] == [["a", "b", "c"]] * 2
    begun = [event.at for event in only(events, ev.TurnStarted) if event.agent]
    over = [event.at for event in only(events, ev.TurnFinished) if event.agent in pair]
    assert max(begun) < min(over), "they ran beside each other"


@pytest.mark.parametrize("name", AGENTS)
async def test_killed_in_the_middle_it_is_a_failed_turn_with_a_line(agents: Agents, name: str) -> None:
    program = agents.program(name)
    engine = engine_of(AcpModel(program), mode=ApprovalMode.ASK)

    def kill(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            for pid in processes(program.command[0]):
                os.kill(pid, signal.SIGKILL)

    async with asyncio.timeout(150):
        events = await play(engine, PROMPT, react=kill)
    await engine.close()
    assert ending(events).outcome == "failed"
    assert f"{name}: it was ended by SIGKILL" in (ending(events).error or "")
    assert not engine.transcript.open_calls
    assert agents.made(name) == []
    assert processes(str(agents.work(name))) == []


def processes(word: str) -> list[int]:
    """The processes that were started with `word` as their program, or in that folder."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            first = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
            if entry.name.isdigit() and (first == word or str((entry / "cwd").readlink()) == word):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
