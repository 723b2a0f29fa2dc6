"""The servers screen's door to the hub, the picks of this folder and mcp.json."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console_app.config.files import Paths
from console_app.config.servers import (
    Kind,
    Selection,
    ServerChoice,
    ServerConfig,
    ServerFile,
    read_mcp_config,
)
from console_app.console.permissions import source_of, traits
from console_app.domain import ToolSpec, amounts, errors, one_line
from console_app.engine import ApprovalGate
from console_app.mcp_client import HubSwitch, Resource, ResourceTemplate
from console_app.records import dataclass, replace

if TYPE_CHECKING:
    from console_app.config.trust import Changes
    from console_app.domain import Level
    from console_app.mcp_client import Hub, ServerStatus


def uri_of(one: Resource | ResourceTemplate) -> str:
    return one.uri if isinstance(one, Resource) else one.uri_template


def facts_of(one: Resource | ResourceTemplate) -> str:
    bytes_ = amounts.size(one.size) if isinstance(one, Resource) and one.size else ""
    named = one.title or (one.name if one.name not in uri_of(one) else "") or one.description
    return " · ".join(part for part in (named, one.mime, bytes_) if part)


def about_of(one: Resource | ResourceTemplate) -> str:
    facts = facts_of(one)
    return " · ".join(part for part in (facts, one.description if one.description not in facts else "") if part)


REST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Offered:
    """A thing that a server offers. `tokens` is about what it costs in every request: only tools are sent along."""

    server: str
    kind: Kind
    name: str
    about: str = ""
    tokens: int = 0
    traits: str = ""  # what the server says of a tool's effects

    @property
    def key(self) -> tuple[str, Kind, str]:
        return self.server, self.kind, self.name


@dataclass(frozen=True, slots=True)
class _Rest:
    """The hour that a server is disconnected for: the words for its status, and the timer that ends it."""

    words: str
    timer: asyncio.TimerHandle


class HubSwitches(HubSwitch):
    """The servers of one console. An action raises FanoutError where it can't be done, which is shown as one line."""

    def __init__(self, hub: Hub, paths: Paths, folder: Path, choice: ServerChoice, selection: Selection) -> None:
        super().__init__(hub, self.statuses)
        self._paths = paths
        self._folder = folder
        self._use(choice)
        self._defaults = {server.name: not server.disabled for server in choice.servers}
        self._offered: Sequence[Offered] | None = None
        self._resting: dict[str, _Rest] = {}
        self._waking: asyncio.Future[None] | None = None  # held, or the loop may forget it
        self.on_reload: Callable[[ServerChoice], None] | None = None
        # Called in a thread once mcp.json was written from here, for the servers as the files have them then.
        self.on_write: Callable[[], ServerChoice | None] | None = None
        self.registry = ""  # the address of one of servers
        self.selection = selection
        self.revision = 0  # goes up whenever a server's state or offer changes

    @property
    def file(self) -> Path:
        """The uppermost file; in place of the bundled one, the user's own."""
        return self._file.path

    def changed(self) -> None:
        """Note that the hub changed; its listener calls this."""
        self._offered = None
        self.revision += 1

    def statuses(self) -> Sequence[ServerStatus]:
        resting = self._resting
        return [
            replace(status, state=status.state.STOPPED, reason=resting[status.name].words)
            if status.name in resting
            else status
            for status in self._hub.statuses()
        ]

    def offered(self) -> Sequence[Offered]:
        """Return everything that the servers list, including what is switched off."""
        if self._offered is None:
            found = [
                Offered(s.server, "tool", s.tool, s.description, tokens_of(s), traits(s)) for s in self._hub.all_tools()
            ]
            for offers in self._hub.offers():
                found += [Offered(p.server, "prompt", p.name, p.description or p.title) for p in offers.prompts]
                listed = (*offers.resources, *offers.templates)
                found += [Offered(one.server, "resource", uri_of(one), about_of(one) or one.name) for one in listed]
            self._offered = found
        return self._offered

    def default_on(self, name: str) -> bool:
        return self._defaults.get(name, True)

    async def apply(self, selection: Selection) -> None:
        """Switch servers and tools, and keep the picks for this folder."""
        selection.save(self._paths, self._folder)
        self.selection = selection
        self._hub.select(selection.off)
        for status in self._hub.statuses():
            if status.name in self._resting and selection.servers.get(status.name, self.default_on(status.name)):
                continue
            self._wake(status.name)
            await self._hub.set_enabled(status.name, selection.servers.get(status.name, self.default_on(status.name)))

    async def switch_on(self, name: str) -> Sequence[ToolSpec]:
        """Switch a server on as the screen does, keep that for this folder, and return its tools once it is up."""
        selection = replace(self.selection, servers={**self.selection.servers, name: True})
        selection.save(self._paths, self._folder)
        self.selection = selection
        return await super().switch_on(name)

    async def reconnect(self, name: str) -> None:
        if self._wake(name):
            await self._hub.set_enabled(name, True)
        else:
            await self._hub.connection(name).reconnect()

    async def rest(self, name: str) -> None:
        """Disconnect a server for an hour; reconnecting ends that."""
        if not any(one.name == name and one.state != "disabled" for one in self._hub.statuses()):
            raise errors.ServerError(f"{name} is not connected")
        until = time.strftime("%H:%M", time.localtime(time.time() + REST_SECONDS))
        timer = asyncio.get_running_loop().call_later(REST_SECONDS, self._rested, name)
        self._resting[name] = _Rest(f"disconnected by you until {until}, r connects it now", timer)
        await self._hub.set_enabled(name, False)

    def _rested(self, name: str) -> None:
        if self._wake(name):
            self._waking = asyncio.ensure_future(self._hub.set_enabled(name, True))

    def _wake(self, name: str) -> bool:
        rest = self._resting.pop(name, None)
        if rest is not None:
            rest.timer.cancel()
        return rest is not None

    async def reload(self, choice: ServerChoice, found: Changes) -> None:
        """Put a changed file into effect: only the servers that changed start again."""
        self._use(choice)
        self._defaults = {server.name: not server.disabled for server in choice.servers}
        for name in found.removed:
            self._wake(name)
            await self._hub.remove(name)
        for server in self.selection.applied(choice.servers):
            if server.name in found.added or server.name in found.changed:
                self._wake(server.name)
                await self._hub.put(server)
        if self.on_reload is not None:
            self.on_reload(choice)

    async def sign_in(self, name: str) -> None:
        status = await self._hub.sign_in(name)
        if status.state != "ready":
            raise errors.ServerError(f"{name} is {status.state.value}: {status.reason or 'no reason given'}")

    async def set_log_level(self, name: str, level: Level) -> None:
        await self._hub.set_log_level(level, name)

    def written(self, name: str) -> Mapping[str, Any]:
        return self._file.fields(name)

    async def find(self, words: str) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """Look for servers in the registry that is set: what each runs and is for, and its fields in mcp.json."""
        from console_app.mcp_client import find_servers

        found = await find_servers(self.registry, words)
        return {one.name: (f"{one.runs}  {one.description}", one.fields) for one in found}

    async def put(self, name: str, fields: Mapping[str, Any]) -> None:
        text = self._file.put(name, fields)
        await self._wrote()
        config = self._configured(name, text)
        self._wake(name)
        self._defaults[name] = not config.disabled
        await self._hub.put(
            config.model_copy(update={"disabled": not self.selection.servers.get(name, not config.disabled)})
        )

    async def remove(self, name: str) -> None:
        """Take a server out of the file, and have the one of that name that a file below has."""
        self._file.remove(name)
        left = await self._wrote()
        self._defaults.pop(name, None)
        self._wake(name)
        await self._hub.remove(name)
        for server in self.selection.applied([one for one in left if one.name == name]):
            await self._hub.put(server)

    async def _wrote(self) -> Sequence[ServerConfig]:
        """Return the servers as the files have them now, as far as that is known."""
        choice = await asyncio.to_thread(self.on_write) if self.on_write is not None else None
        if choice is None:
            return ()
        self._use(choice)
        if self.on_reload is not None:
            self.on_reload(choice)
        return choice.servers

    def _use(self, choice: ServerChoice) -> None:
        self._file, self._groups = ServerFile.of(self._paths, choice), choice.groups

    def _configured(self, name: str, text: str) -> ServerConfig:
        for server in read_mcp_config(text, self.file, os.environ).servers:
            if server.name == name:
                return server.for_groups(self._groups)
        raise errors.ServerError(f"{self.file} has no server {name}")


def tokens_of(spec: ToolSpec) -> int:
    return max(spec.characters // amounts.CHARACTERS_A_TOKEN, 1)


_VERDICTS = {"allow": "runs without asking", "ask": "asks first", "deny": "is denied"}


def facts_of_tool(spec: ToolSpec, gate: ApprovalGate, *, on: bool, behind: bool) -> list[tuple[str, str]]:
    since = "once the model has found it" if behind else "in every request"
    cost = f"~{tokens_of(spec):,} tokens {since}" if on else "nothing: it is off"
    limits = [f"{spec.timeout:g} s without progress"] if spec.timeout is not None else []
    limits += [f"{spec.server_limit} at once of its server"] if spec.server_limit is not None else []
    rows = [("effects", effects(spec)), ("cost", cost), ("rule", _rule_of(spec, gate))]
    rows += [("", text) for text in _conditions(spec, gate)]
    return [*rows, ("limits", ", ".join(limits))] if limits else rows


def effects(spec: ToolSpec) -> str:
    notes = spec.annotations
    said: list[str] = []
    assumed: list[str] = []
    (said if notes.declares_effect else assumed).append(notes.effect)
    said += ["running it again changes nothing more"] if notes.idempotent and not notes.read_only else []
    if not notes.open_world or notes.says_open_world:
        said.append("reaches outside its server" if notes.open_world else "stays within its server")
    else:
        assumed.append("reach outside its server" if assumed else "may reach outside its server")
    parts = [f"{', '.join(said)} (declared by the server)"] if said else []
    return "; ".join([*parts, *([f"not declared: {' and '.join(assumed)}"] if assumed else [])])


def _rule_of(spec: ToolSpec, gate: ApprovalGate) -> str:
    """Say what becomes of a call without further conditions, and which rule or mode says so."""
    verdict = gate.check(spec.model_copy(update={"input_schema": {}}), {})  # no default meets a rule's condition
    spoke = next((rule for rule in gate.rules if str(rule) == verdict.rule), None)
    why = f"rule {one_line(spoke.text, 80)} ({source_of(spoke.source)})" if spoke is not None else verdict.why
    if spoke is None and spec.require_approval and not spec.changed:
        why = "mcp.json, require_approval"
    return f"{_VERDICTS[verdict.action]}: {one_line(why, 200)}"


def _conditions(spec: ToolSpec, gate: ApprovalGate) -> list[str]:
    return [
        f"{_VERDICTS[rule.action]} where it matches {one_line(rule.text, 120)} ({source_of(rule.source)})"
        for rule in gate.rules
        if rule.arguments and rule.speaks_of(spec)
    ]
