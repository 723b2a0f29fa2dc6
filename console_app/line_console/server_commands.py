"""/mcp: servers and what they offer as numbered lists."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import get_args

from console_app.config.servers import Typed
from console_app.console import Console, Services
from console_app.console.reports import wire_text
from console_app.console.servers import HubSwitches, Offered, Pings
from console_app.domain import Level, UsageError, amounts, one_line, plural
from console_app.line_console.narrator import LineUi
from console_app.mcp_client import Composer, Hub, PromptArgument, ServerStatus
from console_app.mcp_client.offering import typed_names
from console_app.records import replace

MOST_LINES = 40  # of a log
MOST_MESSAGES = 30  # of a wire
_ADD = "add a server"
_USES = {"tool": "its words and what it takes", "prompt": "fill it in and send it", "resource": "read it"}


class ServerCommands:
    def __init__(self, services: Services, ui: LineUi, send: Callable[[str], None]) -> None:
        self._services = services
        self._ui = ui
        self._d = ui.dialogue
        self._send = send

    async def servers(self, console: Console, name: str) -> None:
        """/mcp: picks a server, then an act for it; with `add` in front, finds one in the registry."""
        if name.split()[:1] == ["add"]:
            await console.add_server(name.partition("add")[2].strip())
            return
        switches = self._services.servers
        if switches is None:
            self._d.say("There are no servers here.")
            return
        table = {
            one.name: f"{one.state.value}, {plural(one.tools, 'tool')}. {one.reason}" for one in switches.statuses()
        }
        picked = name or await self._d.choose("Servers", {**table, _ADD: ""})
        if picked == _ADD:
            await self._add(switches)
        elif picked in table:
            await self._act(switches, picked)
        elif picked:
            self._d.say(f"There is no server {one_line(picked, 40)}. /mcp lists them.")

    async def _act(self, switches: HubSwitches, name: str) -> None:
        acts = {
            "on": "switch it on", "off": "switch it off", "tools": "its tools, prompts, resources: use, read, switch",
            "reconnect": "", "sign in": "in the browser", "rest": "off for an hour", "remove": "out of mcp.json",
            "about": "all that is known of it", "log": "the end of its log",
            "level": "which lines it writes to its log", "ping": "how long it takes to answer",
            "wire": "its newest messages", "wire file": "all its messages, into a file",
        }  # fmt: skip
        match await self._d.choose(f"What with {name}?", acts):
            case "on" | "off" as how:
                picks = {**switches.selection.servers, name: how == "on"}
                await switches.apply(replace(switches.selection, servers=picks))
            case "tools":
                await self._offers(switches, name)
                return
            case "reconnect":
                await switches.reconnect(name)
            case "sign in":
                await switches.sign_in(name)
            case "rest":
                await switches.rest(name)
            case "remove":
                if await self._d.agrees(f"Take {name} out of mcp.json?"):
                    await switches.remove(name)
            case None:
                return
            case act:
                await self._examine(act, name)
                return
        state = next((one.state.value for one in switches.statuses() if one.name == name), "gone")
        self._d.say(f"Server {name} is {state}.")

    async def _offers(self, switches: HubSwitches, name: str) -> None:
        off = switches.selection.off
        table = {f"{one.kind} {one.name}": one for one in switches.offered() if one.server == name}
        abouts = {key: f"{'off' if one.key in off else 'on'}. {one.about}" for key, one in table.items()}
        picked = await self._d.choose("Which one?", abouts)
        if picked is not None and not await self._uses(table[picked]):
            await switches.apply(replace(switches.selection, off=off ^ {table[picked].key}))
            self._d.say(f"{picked} is {'on' if table[picked].key in off else 'off'} now.")

    async def _add(self, switches: HubSwitches) -> None:
        name = await self._ui.ask("Name of the server")
        line = await self._ui.ask("Its command with arguments, or its address") if name else None
        if not name or not line:
            return
        typed = Typed(name.strip(), line, "")
        wrong = typed.problems({one.name for one in switches.statuses()})
        if wrong:
            shown = {"name": one_line(name, 40), "target": one_line(line, 60)}
            self._d.say("Not added: " + "; ".join(f"{shown[field]} {why}" for field, why in wrong.items()) + ".")
        else:
            await switches.put(typed.name, typed.fields({}))
            self._d.say(f"Server {one_line(typed.name, 40)} is added and starts.")

    @property
    def _hub(self) -> Hub:
        if self._services.hub is None:
            raise UsageError("there are no servers here")
        return self._services.hub

    @cached_property
    def _pings(self) -> Pings:
        return Pings(self._hub, self._statuses, self._services.redact)

    async def _examine(self, act: str, server: str) -> None:
        match act:
            case "about":
                self._d.say(self._pings.report(server, not_asked="not asked yet", wire="/mcp, wire"))
            case "log":
                if (status := next((one for one in self._statuses() if one.name == server), None)) is None:
                    raise UsageError(f"{one_line(server, 40)} is not in mcp.json any more")
                path = status.log_path
                there = path is not None and path.exists()
                text = await asyncio.to_thread(path.read_text, "utf-8", "replace") if path and there else "It is empty."
                self._d.say("\n".join(text.splitlines()[-MOST_LINES:]))
            case "level":
                levels: tuple[Level, ...] = get_args(Level)
                picked = await self._d.choose("Lines from which level on?", dict.fromkeys(map(str, levels), ""))
                if picked is not None:
                    await self._hub.set_log_level(next(one for one in levels if one == picked), server)
                    self._d.say(f"{one_line(server, 40)} writes {picked} and above.")
            case "ping":
                self._d.say(await self._pings.ping(server))
            case "wire":
                self._wire(server)
            case _:
                rows = list(self._hub.traffic(server).after(0))
                folder, redact = self._services.working_folder, self._services.redact
                path = await asyncio.to_thread(wire_text.export, folder, server, rows, redact)
                self._d.say(f"{plural(len(rows), 'message')} written to {path}")

    async def _uses(self, item: Offered) -> bool:
        kind = item.kind
        picked = await self._d.choose(
            f"What with {one_line(item.name, 80)}?", {"use": _USES[kind], "switch": "on or off"}
        )
        if picked == "use":
            await {"tool": self._tool, "prompt": self._prompt, "resource": self._resource}[kind](item)
        return picked != "switch"

    async def read(self, server: str, uri: str) -> None:
        """Says a resource. Raises ServerError."""
        for part in await Composer(self._hub).attachments(server, uri):
            facts = ", ".join(word for word in (part.name, part.mime, amounts.size(part.size)) if word)
            self._d.say(f"{one_line(part.uri, 200)}: {one_line(facts, 200)}")
            self._d.say(part.text or (f"Saved as {part.path}" if part.path else "It is empty."))
        self._d.say(f"{self._hub.mention(server, uri)} in a message attaches it.")

    def _statuses(self) -> Sequence[ServerStatus]:
        return self._services.servers.statuses() if self._services.servers is not None else ()

    def _wire(self, server: str) -> None:
        rows = list(self._hub.traffic(server).after(0))
        self._d.say(f"{plural(len(rows), 'message')}; the newest {min(len(rows), MOST_MESSAGES)}:")
        for one in rows[-MOST_MESSAGES:]:
            way = "sent" if one.sent else "received"
            took = f", after {amounts.measured(one.seconds)}" if one.seconds is not None else ""
            at = time.strftime("%H:%M:%S", time.localtime(one.at))
            words = one_line(wire_text.brief(one, self._services.redact), 200)
            self._d.say(
                f"  {at} {way} {one.kind} {one_line(one.method, 60)}, {amounts.size(one.size)}{took}. {words}".rstrip()
            )

    async def _tool(self, item: Offered) -> None:
        spec = self._hub.tool(item.server, item.name)
        if spec is None:
            raise UsageError(f"{one_line(item.server, 40)} has no tool {one_line(item.name, 60)} any more")
        self._d.say(f"{spec.label}: {spec.description or 'no description'}")
        for title, schema in (("It takes", spec.input_schema), ("It returns", spec.output_schema)):
            if schema:
                self._d.say(f"{title}: {json.dumps(schema, indent=2, ensure_ascii=False)}")

    async def _prompt(self, item: Offered) -> None:
        if (found := self._hub.prompt(item.server, item.name)) is None:
            raise UsageError(f"the prompt {one_line(item.name, 60)} is off", "Switch it on first.")
        values = await self._filled_in(found[1].arguments)
        if values is not None:
            self._send(f"/{found[0]} {typed_names.written_arguments(values)}".rstrip())

    async def _resource(self, item: Offered) -> None:
        uri = item.name
        if (template := self._hub.template(item.server, uri)) is not None:
            values = await self._filled_in([PromptArgument(name, required=True) for name in template.variables])
            if values is None:
                return
            uri = template.expand(values)
        await self.read(item.server, uri)

    async def _filled_in(self, arguments: Sequence[PromptArgument]) -> Mapping[str, str] | None:
        values: dict[str, str] = {}
        for one in arguments:
            words = ", ".join(
                word for word in (one.name, one.description, "" if one.required else "may be left empty") if word
            )
            while (value := await self._d.ask(f"{one_line(words, 300)}:")) is not None and one.required and not value:
                self._d.say("It is needed. A full stop alone leaves.")
            if value is None:
                return None
            if value:
                values[one.name] = value
        return values
