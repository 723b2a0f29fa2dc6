"""/mcp: servers and what they offer as numbered lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from console_app.config.servers import Typed
from console_app.console import Services
from console_app.console.servers import ServerSwitches
from console_app.domain import one_line, plural
from console_app.line_console.examining import Examining
from console_app.line_console.line_ui import LineUi

_ADD = "add a server"


class ServerCommands:
    """Lets the user of one console list, switch, add and examine servers."""

    def __init__(self, services: Services, ui: LineUi, send: Callable[[str], None]) -> None:
        self._services = services
        self._ui = ui
        self._dialogue = ui.dialogue
        self.examining = Examining(services, ui.dialogue, send)

    async def servers(self, name: str) -> None:
        """/mcp: picks a server, then what to do with it."""
        switches = self._services.servers
        if switches is None:
            self._dialogue.say("There are no servers here.")
            return
        table = {
            one.name: f"{one.state.value}, {plural(one.tools, 'tool')}. {one.reason}" for one in switches.statuses()
        }
        picked = name or await self._dialogue.choose("Servers", {**table, _ADD: ""})
        if picked == _ADD:
            await self._add(switches)
        elif picked in table:
            await self._act(switches, picked)
        elif picked:
            self._dialogue.say(f"There is no server {one_line(picked, 40)}. /mcp lists them.")

    async def _act(self, switches: ServerSwitches, name: str) -> None:
        acts = {
            "on": "switch it on", "off": "switch it off", "tools": "its tools, prompts, resources: use, read, switch",
            "reconnect": "", "sign in": "in the browser", "rest": "off for an hour", "remove": "out of mcp.json",
            **self.examining.acts,
        }  # fmt: skip
        match await self._dialogue.choose(f"What with {name}?", acts):
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
                if await self._dialogue.agrees(f"Take {name} out of mcp.json?"):
                    await switches.remove(name)
            case str() as act if act in self.examining.acts:
                await self.examining.act(act, name)
                return
            case _:
                return
        state = next((one.state.value for one in switches.statuses() if one.name == name), "gone")
        self._dialogue.say(f"Server {name} is {state}.")

    async def _offers(self, switches: ServerSwitches, name: str) -> None:
        off = switches.selection.off
        table = {f"{one.kind} {one.name}": one for one in switches.offered() if one.server == name}
        abouts = {key: f"{'off' if one.key in off else 'on'}. {one.about}" for key, one in table.items()}
        picked = await self._dialogue.choose("Which one?", abouts)
        if picked is not None and not await self.examining.uses(table[picked]):
            await switches.apply(replace(switches.selection, off=off ^ {table[picked].key}))
            self._dialogue.say(f"{picked} is {'on' if table[picked].key in off else 'off'} now.")

    async def _add(self, switches: ServerSwitches) -> None:
        name = await self._ui.ask("Name of the server")
        line = await self._ui.ask("Its command with arguments, or its address") if name else None
        if not name or not line:
            return
        typed = Typed(name.strip(), line, "")
        wrong = typed.problems({one.name for one in switches.statuses()})
        if wrong:
            shown = {"name": one_line(name, 40), "target": one_line(line, 60)}
            self._dialogue.say("Not added: " + "; ".join(f"{shown[field]} {why}" for field, why in wrong.items()) + ".")
        else:
            await switches.put(typed.name, typed.fields({}))
            self._dialogue.say(f"Server {one_line(typed.name, 40)} is added and starts.")
