"""A program of an agent with its one session: opened, asked one prompt after the other, ended with all it started."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from console_app._version import __version__
from console_app.acp_client.serving import OURS, Served
from console_app.acp_client.updates import AgentCall, AgentUpdates
from console_app.acp_client.wire import AUTHENTICATION, AgentError, AgentRefusal, Peer
from console_app.domain import Outcome, Reasoning, one_line, ports, safe_text
from console_app.domain import events as ev
from console_app.domain.tools import ServerIdentity
from console_app.mcp_client import transport
from console_app.records import dataclass, field

VERSION = 1  # of the protocol
_PROVIDER = "acp"  # of what is kept with its messages
STARTING = 90.0  # seconds that a program may take to answer before it does anything: some load for 15
STOPPING = 10.0  # seconds that it may take to end an answer that was stopped, before it is asked anything else
MOST_CHOICES = 200
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
    identity: ServerIdentity  # the program as rules know it
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    folder: Path = Path()
    mode: str = ""
    model: str = ""
    sign_in: str = ""  # the id of a way to authenticate
    servers: tuple[str, ...] = ()  # patterns of MCP servers that it is given
    problem: str = ""  # why it can't be started


class AgentSession:
    """Made by `open`, ended by `close`. A prompt that is stopped leaves it open."""

    def __init__(self, program: AgentProgram, process: transport.ServerProcess, host: ports.AgentHost) -> None:
        self._program = program
        self._process = process
        self._peer = Peer(process, self._told, self._asked)
        self._updates = AgentUpdates(program.name, program.identity, host)
        self._served = Served(host, program.folder)
        self._host = host
        self._id = ""
        self._offered: dict[str, Any] = {}  # modes and options, as the agent says them
        self._answer: asyncio.Future[dict[str, Any]] | None = None  # of the newest prompt
        self._spent = 0.0
        self._limit: asyncio.Future[str]  # which one its answer has used up
        self._keeps = False  # it can load a session of an earlier run
        self.goes_on = False  # with such a session
        self._ways: Any = None  # to sign in, as the agent says them
        self._listening = asyncio.create_task(self._peer.listen(), name=f"acp {program.name}")

    @classmethod
    async def open(
        cls, program: AgentProgram, guard: transport.Guard, host: ports.AgentHost, model: str = ""
    ) -> AgentSession:
        if program.problem:
            raise AgentError(f"{program.name} can't be started: {program.problem}")
        guard.start()
        try:
            process = await transport.ServerProcess.start(
                transport.Program(program.command[0], program.command[1:], program.environment, str(program.folder)),
                _Errors(),
                guard,
            )
        except (OSError, ValueError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise AgentError(f"{program.name} can't be started: {program.command[0]}: {words}") from None
        session = cls(program, process, host)
        try:
            await session._begin(model or program.model)
        except BaseException as error:
            await transport.to_the_end(session.close())
            raise session._named(error) from None
        return session

    def _named(self, error: BaseException) -> BaseException:
        if isinstance(error, AgentError):
            return AgentError(f"{self._program.name}: {error.detail}", error.hint)
        if isinstance(error, AgentRefusal) and error.code == AUTHENTICATION:  # of its session, or of the first prompt
            said, hint = _sign_in(self._program.name, str(error), self._ways)
            return AgentError(f"{self._program.name}: {said}", hint)
        return AgentError(f"{self._program.name}: {error}") if isinstance(error, AgentRefusal) else error

    async def _begin(self, model: str) -> None:
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
        self._ways = hello.get("authMethods")
        if self._program.sign_in:
            await self._peer.ask("authenticate", {"methodId": self._program.sign_in}, STARTING)
        able = safe_text.as_object(hello.get("agentCapabilities"))
        self._keeps = able.get("loadSession") is True
        servers = self._servers(safe_text.as_object(able.get("mcpCapabilities")))
        asked = {"cwd": str(self._program.folder), "mcpServers": servers}
        opened = await self._loaded(asked) if self._keeps else None
        if opened is None:
            opened = await self._peer.ask("session/new", asked, STARTING)
            if not isinstance(session := opened.get("sessionId"), str) or not session:
                raise AgentError("it gave its session no id")
            self._id = session
        self._offered = opened
        for what, wanted in (("mode", self._program.mode), ("model", model)):
            if wanted:
                await self._choose(what, wanted)

    async def _loaded(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Load the session that gave the newest answer; None where there is none, or the agent has it no more. What
        the agent repeats of it meanwhile is in our history."""
        kept = self._host.kept(_PROVIDER)
        if kept.get("agent") != self._program.name or not isinstance(session := kept.get("session"), str):
            return None
        self._id = session
        try:
            opened = await self._peer.ask("session/load", {"sessionId": session, **asked}, STARTING)
        except AgentRefusal as refused:
            self._id = ""
            log.info("%s can't load its session: %s", self._program.name, refused)
            return None
        self.goes_on = True
        return opened

    def _servers(self, able: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the servers that the agent is given, as it wants them; say which, since it calls them by itself."""
        wanted = self._program.servers
        chosen = {
            name: entry
            for name, entry in (self._host.servers().items() if wanted else ())
            if name not in OURS and any(fnmatchcase(name, pattern) for pattern in wanted)
        }
        given = {name: _server(name, entry) for name, entry in chosen.items() if _can_take(entry, able)}
        if given:
            words = f"{self._program.name} is given {', '.join(given)}, and calls them by itself, not under your rules"
            self._host.tell(ev.Notice(level="info", text=words))
        if left := chosen.keys() - given.keys():
            words = f"{self._program.name} can't be given {', '.join(sorted(left))}: it has no way to reach them"
            self._host.tell(ev.Notice(level="warning", text=words))
        return list(given.values())

    # What it lets its user choose

    @property
    def offers(self) -> list[ports.AgentOffer]:
        found = [offer for one in _mappings(self._offered.get("configOptions")) if (offer := _option(one)) is not None]
        for name, listed, key, chosen in (
            ("mode", "availableModes", "id", "currentModeId"),
            ("model", "availableModels", "modelId", "currentModelId"),
        ):
            about = self._offered.get(f"{name}s")
            if isinstance(about, dict) and not any(name in (one.id, one.category) for one in found):
                said = cast("dict[str, Any]", about)
                choices = {str(one.get(key)): str(one.get("name", "")) for one in _mappings(said.get(listed))}
                found.append(ports.AgentOffer(name, name, str(said.get(chosen, "")), choices, own=False))
        return found

    async def choose(self, name: str, wanted: str) -> ports.AgentOffer:
        try:
            return await self._choose(name, wanted)
        except (AgentError, AgentRefusal) as error:
            raise self._named(error) from None

    async def _choose(self, name: str, wanted: str) -> ports.AgentOffer:
        offer = next((one for one in self.offers if name in (one.id, one.category)), None)
        choices: Mapping[str, str] = offer.choices if offer is not None else {}
        value = next((value for value, label in choices.items() if wanted in (value, label)), "")
        if offer is None or not value:
            there = ", ".join(choices) or "none to choose from"
            raise AgentError(f"it has no {name} {one_line(wanted, 60)}", f"There are: {one_line(there, 400)}.")
        method, chosen = {
            True: ("session/set_config_option", {"configId": offer.id, "value": value}),
            False: (f"session/set_{name}", {"modelId" if name == "model" else "modeId": value}),
        }[offer.own]
        said = await self._peer.ask(method, {"sessionId": self._id, **chosen}, STARTING)
        self._offered = {**self._offered, **_chosen(self._offered, offer, value), **_known(said)}
        return next((one for one in self.offers if one.id == offer.id), offer)

    # What it is asked

    @property
    def ended(self) -> bool:
        return self._process.exit_code is not None or self._listening.done()

    @property
    def stuck(self) -> bool:
        return self._answer is not None and not self._answer.done()

    async def prompt(self, text: str, host: ports.AgentHost) -> str:
        if self._answer is not None:
            await asyncio.wait({self._answer}, timeout=STOPPING)
        if self.stuck:
            raise AgentError(f"{self._program.name}: it does not stop what it did before, and was ended")
        self._host = host
        updates = self._updates = AgentUpdates(self._program.name, self._program.identity, host, self._spent)
        self._served = served = Served(host, self._program.folder)
        if self._keeps:
            updates.kept = (Reasoning(provider=_PROVIDER, data={"agent": self._program.name, "session": self._id}),)
        updates.over = False
        self._limit = limit = asyncio.get_running_loop().create_future()
        outcome = Outcome.INTERRUPTED
        asked = {"sessionId": self._id, "prompt": [{"type": "text", "text": text}]}
        asking = self._peer.ask("session/prompt", asked, answered=updates.end)
        answer = self._answer = asyncio.ensure_future(asking)
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait({answer, limit}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                self._peer.tell("session/cancel", {"sessionId": self._id})
                raise AgentError(limit.result())
            response = answer.result()
        except asyncio.CancelledError:
            outcome = Outcome.CANCELLED
            self._peer.tell("session/cancel", {"sessionId": self._id})
            raise
        except (AgentError, AgentRefusal) as error:
            raise self._named(error) from None
        finally:
            updates.end()
            words = updates.end_prompt(outcome)
            await transport.to_the_end(self._answered_all(served))
        updates.report_usage(response.get("usage"))
        self._spent = updates.spent
        reason = response.get("stopReason")
        if reason == "cancelled" and any(call.denied for call in updates.calls.values()):
            host.tell(ev.Notice(level="info", text=f"{self._program.name} ended its answer at the call you denied"))
            return words
        if reason in ("refusal", "cancelled"):
            raise AgentError(f"{self._program.name}: {_ENDED_EARLY[str(reason)]}")
        if early := _ENDED_EARLY.get(str(reason)):
            host.tell(ev.Notice(level="warning", text=f"{self._program.name}: {early}"))
        if not words and not updates.calls:
            raise AgentError(f"{self._program.name}: it ended its turn without a word or a call")
        return words

    async def _answered_all(self, served: Served) -> None:
        await asyncio.gather(self._peer.close(), served.close())

    # What the agent asks and tells

    def _told(self, method: str, params: dict[str, Any]) -> None:
        if method != "session/update" or not self._id or params.get("sessionId") != self._id:
            return
        update = safe_text.as_object(params.get("update"))
        self._offered |= _known(update)
        if update.get("sessionUpdate") == "current_mode_update" and isinstance(self._offered.get("modes"), dict):
            self._offered["modes"] = {**self._offered["modes"], "currentModeId": update.get("currentModeId")}
        self._updates.take(update)
        of_use = update.get("sessionUpdate") == "usage_update" and self.stuck and not self._limit.done()
        if of_use and (limit := self._host.spent()):
            self._limit.set_result(limit)

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._updates.over or not self._id or params.get("sessionId") != self._id:
            if method == "session/request_permission":
                return _CANCELLED
            raise AgentRefusal("no task is open in that session")
        if method == "session/request_permission":
            return await self._permitted(params)
        return await self._served.answer(method, params)

    async def _permitted(self, params: dict[str, Any]) -> dict[str, Any]:
        options = [one for one in _mappings(params.get("options")) if isinstance(one.get("optionId"), str)]
        updates = self._updates
        call = updates.call(safe_text.as_object(params.get("toolCall")), begin=True)
        if call is None or call.finished or not options:
            return _CANCELLED
        updates.flush()
        updates.make_ready(call)
        try:
            permit = await self._host.permitted(call.id, updates.spec(call), call.shown, self._why(call, options))
        except asyncio.CancelledError:
            return _CANCELLED
        if updates.over:
            return _CANCELLED
        allowed = permit.allowed and dict(permit.arguments) == call.shown
        if allowed:
            updates.start(call)
        else:
            call.denied = True
        if permit.allowed and not allowed:
            words = f"{self._program.name} can't be given other arguments: the call was denied"
            self._host.tell(ev.Notice(level="warning", text=words))
        wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        for kind in wanted:
            for option in options:
                if option.get("kind") == kind:
                    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return _CANCELLED

    def _why(self, call: AgentCall, options: list[dict[str, Any]]) -> str:
        words = " · ".join(one_line(str(one.get("name", one["optionId"])), 60) for one in options[:8])
        return f"{self._program.name} asks: {call.title or call.tool} ({words})"

    async def close(self) -> None:
        if self._id:
            self._peer.tell("session/cancel", {"sessionId": self._id})
        self._updates.end()
        await self._answered_all(self._served)
        await self._process.stop()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)


def _can_take(entry: Mapping[str, Any], able: Mapping[str, Any]) -> bool:
    """Tell whether the protocol has a way to name a server: every agent takes programs, and none of them a folder."""
    return able.get(entry["type"]) is True if "url" in entry else not entry["cwd"]


def _server(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    listed = {
        key: [{"name": one, "value": text} for one, text in entry[key].items()] if key in ("env", "headers") else value
        for key, value in entry.items()
        if key != "cwd"
    }
    return {"name": name, **listed}


_CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", one) for one in safe_text.as_list(value) if isinstance(one, dict)]


def _known(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"configOptions": said["configOptions"]} if isinstance(said.get("configOptions"), list) else {}


def _option(said: Mapping[str, Any]) -> ports.AgentOffer | None:
    values = _mappings(said.get("options"))
    values += [inner for group in values for inner in _mappings(group.get("options"))]
    choices = {str(one["value"]): str(one.get("name", "")) for one in values[:MOST_CHOICES] if "value" in one}
    if not choices or not isinstance(said.get("id"), str):
        return None
    return ports.AgentOffer(str(said["id"]), str(said.get("category", "")), str(said.get("currentValue", "")), choices)


def _chosen(offered: Mapping[str, Any], offer: ports.AgentOffer, value: str) -> dict[str, Any]:
    if offer.own:
        options = _mappings(offered.get("configOptions"))
        return {
            "configOptions": [one | {"currentValue": value} if one.get("id") == offer.id else one for one in options]
        }
    current = "currentModeId" if offer.id == "mode" else "currentModelId"
    return {f"{offer.id}s": {**offered[f"{offer.id}s"], current: value}}


def _sign_in(name: str, said: str, ways: Any) -> tuple[str, str]:
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
    """Keeps the newest line of the program's standard error, which gives the reason of its end, and logs all of it."""

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
