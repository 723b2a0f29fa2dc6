"""An agent of anyone's as the engine of a kind: a program is started for a task, and ended with all that it started."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from console_app._version import __version__
from console_app.acp_client.serving import Served
from console_app.acp_client.updates import AgentCall, AgentUpdates
from console_app.acp_client.wire import AUTHENTICATION, AgentError, AgentRefusal, Peer
from console_app.domain import Outcome, UserMessage, agents, one_line
from console_app.domain import events as ev
from console_app.domain.tools import ServerIdentity
from console_app.mcp_client import transport

VERSION = 1  # of the protocol
STARTING = 90.0  # seconds that a program may take to answer before it does anything: some load for 15
_ENDED_EARLY = {
    "max_tokens": "it reached the most tokens that its model may write",
    "max_turn_requests": "it reached the most requests that it may make for a task",
    "refusal": "it refuses to go on",
    "cancelled": "it stopped by itself",
}
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """An agent's program. `environment` is all of it; `mode`, `model` and `sign_in` are words of the agent."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    folder: Path = Path()
    mode: str = ""
    model: str = ""
    sign_in: str = ""  # the id of a way to authenticate

    @property
    def identity(self) -> ServerIdentity:
        """The program as rules know it."""
        digest = hashlib.sha256(json.dumps(self.command).encode()).hexdigest()
        return ServerIdentity(digest=digest, text=shlex.join(self.command))


class AcpEngine:
    """Implements `domain.agents.AgentEngine`. `tools` gives the labels of those of our tools that are on."""

    def __init__(self, program: AgentProgram, tools: Callable[[], Collection[str]] = tuple) -> None:
        self._program = program
        self._tools = tools
        self._guard = transport.Guard()
        self._guard.hurried = True  # a call that is stopped is over at once
        self._tasks: dict[str, _Work] = {}

    async def run(self, task: agents.AgentTask, host: agents.AgentHost) -> str:
        """Do a task in a program of its own. Raises AgentError."""
        program, errors = self._program, _Errors()
        self._guard.start()
        try:
            process = await transport.ServerProcess.start(
                transport.Program(program.command[0], program.command[1:], program.environment, str(program.folder)),
                errors,
                self._guard,
            )
        except (OSError, ValueError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise AgentError(f"{program.name} can't be started: {program.command[0]}: {words}") from None
        work = self._tasks[task.call_id] = _Work(program, task, host, process, self._tools())
        try:
            return await work.answer()
        except AgentError as error:
            raise AgentError(f"{program.name}: {error.detail}", error.hint) from None
        except AgentRefusal as error:
            raise AgentError(f"{program.name}: {error}") from None
        finally:
            del self._tasks[task.call_id]
            await transport.to_the_end(work.close())

    def steer(self, call_id: str, text: str) -> bool:
        """Say something to the agent: it reads that behind its answer, since the protocol has no other way."""
        work = self._tasks.get(call_id)
        return work is not None and work.steer(text)

    async def close(self) -> None:
        """End what is left of all its programs."""
        await self._guard.close()


class _Work:
    """One task with its program."""

    def __init__(
        self,
        program: AgentProgram,
        task: agents.AgentTask,
        host: agents.AgentHost,
        process: transport.ServerProcess,
        tools: Collection[str],
    ) -> None:
        self._program, self._task, self._host = program, task, host
        self._process = process
        self._peer = Peer(process, self._told, self._asked)
        self._updates = AgentUpdates(program.name, program.identity, host)
        self._served = Served(host, program.folder, tools)
        self._session = ""
        self._steering: list[str] = []
        self._spent = 0.0
        self._listening = asyncio.create_task(self._peer.listen(), name=f"acp {program.name}")

    async def answer(self) -> str:
        """Do the task, and return the last words."""
        await self._begin()
        words = await self._prompted(self._task.task)
        while self._steering:
            words = await self._prompted(self._steering.pop(0))
        return words

    async def _begin(self) -> None:
        hello = await self._peer.ask(
            "initialize",
            {
                "protocolVersion": VERSION,
                "clientCapabilities": self._served.capabilities(),
                "clientInfo": {"name": "fanout", "title": "Fanout", "version": __version__},
            },
            STARTING,
        )
        if (version := hello.get("protocolVersion")) != VERSION:
            raise AgentError(
                f"it speaks version {one_line(str(version), 20)} of the protocol, and Fanout version {VERSION}"
            )
        ways = hello.get("authMethods")
        try:
            if self._program.sign_in:
                await self._peer.ask("authenticate", {"methodId": self._program.sign_in}, STARTING)
            opened = await self._peer.ask("session/new", {"cwd": str(self._program.folder), "mcpServers": []}, STARTING)
        except AgentRefusal as refused:
            if refused.code == AUTHENTICATION:
                raise AgentError(*_sign_in(self._program.name, str(refused), ways)) from None
            raise
        if not isinstance(session := opened.get("sessionId"), str) or not session:
            raise AgentError("it gave its session no id")
        self._session = session
        model = self._task.model or self._program.model
        if self._program.mode:
            await self._choose("mode", self._program.mode, opened)
        if model:
            await self._choose("model", model, opened)
        self._host.tell(
            ev.SessionStarted(
                model=model,
                provider=self._program.name,
                protocol="acp",
                strategy="",
                policy="",
            )
        )

    async def _choose(self, what: str, wanted: str, opened: Mapping[str, Any]) -> None:
        """Set the mode or model that was asked for. Raises AgentError for one that the agent doesn't have."""
        known: list[str] = []
        for option in _mappings(opened.get("configOptions")):
            if option.get("category") == what:
                choices = [*_mappings(option.get("options"))]
                choices += [inner for group in choices for inner in _mappings(group.get("options"))]
                values = {str(one["value"]): str(one.get("name", "")) for one in choices if "value" in one}
                if value := next((value for value, name in values.items() if wanted in (value, name)), ""):
                    chosen = {"sessionId": self._session, "configId": option.get("id"), "value": value}
                    await self._peer.ask("session/set_config_option", chosen, STARTING)
                    return
                known += values
        listed, key, method, member = {
            "mode": ("availableModes", "id", "session/set_mode", "modeId"),
            "model": ("availableModels", "modelId", "session/set_model", "modelId"),
        }[what]
        about = opened.get(f"{what}s")
        values = (
            [one.get(key) for one in _mappings(cast("dict[str, Any]", about).get(listed))]
            if isinstance(about, dict)
            else []
        )
        if wanted in values:
            await self._peer.ask(method, {"sessionId": self._session, member: wanted}, STARTING)
            return
        there = ", ".join(map(str, [*known, *values])) or "none to choose from"
        raise AgentError(f"it has no {what} {one_line(wanted, 60)}", f"There are: {one_line(there, 400)}.")

    async def _prompted(self, prompt: str) -> str:
        self._host.tell(ev.TurnStarted(prompt=prompt))
        self._host.tell(ev.MessageAdded.of(UserMessage(content=prompt)))
        self._host.tell(ev.StepStarted())
        outcome: ev.TurnOutcome = "failed"
        self._updates.over = False
        asked = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        try:
            response = await self._peer.ask("session/prompt", asked, answered=self._updates.end)
            outcome = "completed"
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            words = self._updates.end_prompt(Outcome.CANCELLED if outcome == "cancelled" else Outcome.INTERRUPTED)
            self._host.tell(ev.TurnFinished(outcome=outcome))
        self._report(response.get("usage"))
        if (reason := response.get("stopReason")) in ("refusal", "cancelled"):
            raise AgentError(_ENDED_EARLY[str(reason)])
        if early := _ENDED_EARLY.get(str(reason)):
            self._host.tell(ev.Notice(level="warning", text=f"{self._program.name}: {early}"))
        if not words and not self._updates.calls:
            raise AgentError("it ended its turn without a word or a call")
        return words

    def _report(self, usage: Any) -> None:
        """Tell tokens and price, as far as the agent does."""
        about = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
        tokens = {name: value for name, value in about.items() if isinstance(value, int) and value >= 0}
        cost = self._updates.cost
        if tokens or cost is not None:
            self._host.tell(
                ev.UsageReported(
                    input_tokens=tokens.get("inputTokens", 0),
                    output_tokens=tokens.get("outputTokens", 0),
                    cached_tokens=tokens.get("cachedReadTokens"),
                    cost=None if cost is None else max(cost - self._spent, 0.0),
                )
            )
        self._spent = cost if cost is not None else self._spent

    def steer(self, text: str) -> bool:
        """Keep a message until the answer that is being written has ended."""
        if not self._session:
            return False
        self._steering.append(text)
        return True

    # What the agent asks and tells

    def _told(self, method: str, params: dict[str, Any]) -> None:
        if method == "session/update" and params.get("sessionId") == self._session:
            update = params.get("update")
            self._updates.take(cast("dict[str, Any]", update) if isinstance(update, dict) else {})

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._updates.over or not self._session or params.get("sessionId") != self._session:
            if method == "session/request_permission":
                return _CANCELLED
            raise AgentRefusal("no task is open in that session")
        if method == "session/request_permission":
            return await self._permitted(params)
        return await self._served.answer(method, params)

    async def _permitted(self, params: dict[str, Any]) -> dict[str, Any]:
        options = [one for one in _mappings(params.get("options")) if isinstance(one.get("optionId"), str)]
        about = params.get("toolCall")
        call = self._updates.call(cast("dict[str, Any]", about) if isinstance(about, dict) else {}, begin=True)
        if call is None or call.finished or not options:
            return _CANCELLED
        self._updates.flush()
        self._updates.make_ready(call)
        try:
            permit = await self._host.permitted(call.id, self._updates.spec(call), call.shown, self._why(call, options))
        except asyncio.CancelledError:
            return _CANCELLED
        if permit.allowed:
            self._updates.start(call)
        else:
            call.denied = True
        wanted = ("allow_once", "allow_always") if permit.allowed else ("reject_once", "reject_always")
        for kind in wanted:
            for option in options:
                if option.get("kind") == kind:
                    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return _CANCELLED

    def _why(self, call: AgentCall, options: list[dict[str, Any]]) -> str:
        words = " · ".join(one_line(str(one.get("name", one["optionId"])), 60) for one in options[:8])
        return f"{self._program.name} asks: {call.title or call.tool} ({words})"

    async def close(self) -> None:
        """Tell the agent to stop, and end its program."""
        if self._session:
            self._peer.tell("session/cancel", {"sessionId": self._session})
        self._updates.end()
        await asyncio.gather(self._peer.close(), self._served.close())
        await self._process.stop()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)


_CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}


def _mappings(value: Any) -> list[dict[str, Any]]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]


def _sign_in(name: str, said: str, ways: Any) -> tuple[str, str]:
    """Return what is wrong and what to do where an agent wants its user to sign in."""
    known = _mappings(ways)
    listed = "; ".join(
        one_line(f"{one.get('id')}: {one.get('description') or one.get('name') or ''}", 160) for one in known[:6]
    )
    hint = f"Its ways are {listed}." if listed else "Sign in with its own program."
    return (
        f"it wants you to sign in ({one_line(said, 120)})",
        f"{hint} Set `sign_in` or a key in `env` of [agents.{name}].",
    )


class _Errors:
    """What the program writes to standard error: its newest line, for the reason of an end, and the log."""

    def __init__(self) -> None:
        self.last_line = ""

    def write(self, data: bytes) -> None:
        lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            self.last_line = one_line(lines[-1], 300)

    def write_line(self, text: str) -> None:
        self.last_line = text

    def flush(self) -> None:
        """There is nothing to keep."""

    def close(self) -> None:
        if self.last_line:
            log.info("the newest line of an agent's standard error: %s", self.last_line)
