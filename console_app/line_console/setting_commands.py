"""The slash commands of the line console for models, servers, permissions and how calls run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from console_app.config.own_settings import NEXT_START
from console_app.config.settings_file import BrokenSettings
from console_app.console.own_editor import edited
from console_app.console.permissions import MODES
from console_app.domain.amounts import plural
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.errors import ConfigError, UsageError
from console_app.domain.ports.provider import ProtocolMode, ReadsText, protocol_label, speaks
from console_app.domain.rules import parse_rule
from console_app.domain.safe_text import one_line
from console_app.domain.sampling import EFFORTS, Effort
from console_app.engine.approval_gate import Action
from console_app.line_console.connect_command import ConnectCommand
from console_app.line_console.line_command import LineCommand

if TYPE_CHECKING:
    from console_app.config.own_settings import OwnSettings
    from console_app.line_console.console import LineConsole

LOG_LINES = 40


class SettingCommands:
    """What they do, on one console."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say
        self._before_plan = ApprovalMode.ASK

    def all(self) -> Iterator[LineCommand]:
        """Models, servers, permissions and how calls run."""
        servers = self._c.server_commands
        yield LineCommand("model", "choose the model that answers", self._model, "[PROVIDER/MODEL]")
        yield LineCommand(
            "connect",
            "connect a model: on this machine, by its address, or with a key",
            ConnectCommand(self._c).run,
            "[ADDRESS]",
        )
        yield LineCommand("effort", "how much the model thinks", self._effort, "[LEVEL]")
        yield LineCommand("policy", "how the calls of one answer run", self._policy, "[parallel|sequential|single]")
        yield LineCommand("protocol", "how the model is given tools", self._protocol, "[auto|native|text|xml]")
        yield LineCommand("mode", "what runs without asking", self._mode, "[ask|auto|plan|yolo]")
        yield LineCommand("plan", "plan mode on and off: only reads run", self._plan)
        yield LineCommand(
            "permissions",
            "every rule; allow, ask or deny adds one, remove takes one away",
            self._permissions,
            "[allow SERVER.TOOL|remove 2]",
        )
        yield LineCommand("mcp", "servers and their tools, on and off", servers.servers, "[SERVER]")
        yield LineCommand("tools", "servers and their tools, as /mcp", servers.servers, "[SERVER]")
        yield LineCommand("reload", "read changed commands and mcp.json", servers.reload)
        yield LineCommand("trust", "trust what this project runs and sets", servers.trust)
        yield LineCommand("theme", "the colours of the console on a screen", self._theme, "[NAME]")
        yield LineCommand(
            "config",
            "every setting; shows, changes or unsets one; edit opens their file, one that is broken first",
            self._config,
            "[NAME [VALUE]|unset NAME|edit]",
        )
        yield LineCommand("doctor", "what is wrong, and what to do about it", self._doctor)
        yield LineCommand("log", "the end of the program's log", self._log)

    async def _model(self, rest: str) -> None:
        models = self._c.services.models
        picked = rest or await self._d.choose("Which model?", dict.fromkeys(await models.known(), ""))
        if picked:
            await models.switch(picked)
            self._say(f"Model: {one_line(picked, 60)}, from the next answer on.")

    async def _effort(self, rest: str) -> None:
        picked = rest or await self._d.choose("Effort", dict.fromkeys(("default", *EFFORTS), ""))
        effort: Effort | None = next((one for one in EFFORTS if one == picked), None)
        if picked and effort is None and picked != "default":
            raise UsageError(f"there is no effort {one_line(picked, 40)}")
        if picked:
            self._say(self._c.services.models.use_effort(effort))

    async def _policy(self, rest: str) -> None:
        engine, names = self._c.services.engine, [one.value for one in CallPolicy]
        picked = rest or await self._d.choose("Policy", dict.fromkeys(names, ""))
        if picked and picked not in names:
            raise UsageError(f"there is no policy {one_line(picked, 40)}")
        if picked:
            engine.settings = engine.settings.with_policy(CallPolicy(picked))
            self._say(f"Policy: {picked}, from the next answer on.")

    async def _protocol(self, rest: str) -> None:
        provider, modes = self._c.services.engine.provider, get_args(ProtocolMode)
        self._say(f"Tools are offered by protocol {protocol_label(provider)}.")
        if not speaks(provider, ReadsText):
            return
        picked = rest or await self._d.choose("Protocol", dict.fromkeys(modes, ""))
        mode = next((one for one in modes if one == picked), None)
        if picked and mode is None:
            raise UsageError(f"there is no protocol {one_line(picked, 40)}")
        if mode is not None:
            provider.choose(mode)
            self._say(f"Protocol {mode}, from the next request on.")

    async def _mode(self, rest: str) -> None:
        abouts = {mode.value: about for mode, about in MODES.items()}
        picked = rest or await self._d.choose("Mode", abouts)
        if picked and picked not in abouts:
            raise UsageError(f"there is no mode {one_line(picked, 40)}")
        if picked == ApprovalMode.PLAN.value and self._c.permissions.mode is not ApprovalMode.PLAN:
            self._before_plan = self._c.permissions.mode
        if picked:
            self._c.permissions.use_mode(ApprovalMode(picked))
            many = len(self._c.approvals.waiting)
            runs = f" /approve all runs the {plural(many, 'call')} waiting." if many else ""
            self._say(f"Mode: {picked}, {abouts[picked]}.{runs}")

    async def _plan(self, _rest: str) -> None:
        there = self._c.permissions.mode is ApprovalMode.PLAN
        await self._mode((self._before_plan if there else ApprovalMode.PLAN).value)

    async def _add_rule(self, action: Action, text: str) -> None:
        try:
            text = str(parse_rule(text))
        except ValueError as error:
            raise UsageError(f"{one_line(text, 60)} is no rule: {error}", "As in: /permissions allow notes.*") from None
        scope = await self._c.approvals.how_long(f"{action} {text}")
        if scope and self._c.permissions.add_rule(action, text, keep=scope == "always"):
            self._c.permissions.reconsider()

    async def _permissions(self, rest: str) -> None:
        rows = self._c.permissions.rows()
        word, _, number = rest.partition(" ")
        action = next((one for one in get_args(Action) if one == word), None)
        if action is not None and number.strip():
            await self._add_rule(action, number.strip())
            return
        if word == "remove" and number.isdecimal() and 1 <= int(number) <= len(rows):
            rule = rows[int(number) - 1].rule
            removed = rule is not None and self._c.permissions.remove_rule(rule)
            self._say("The rule is removed." if removed else "That rule can't be removed here.")
            return
        self._say(f"Mode: {self._c.permissions.mode.value}. /mode changes it. {plural(len(rows), 'rule')}.")
        for place, row in enumerate(rows, 1):
            self._say(f"  {place}. {row.action} {row.text}, {row.matches}, {row.source}")

    async def _theme(self, rest: str) -> None:
        picked = rest or await self._d.choose("Colours of the console on a screen", self._themes())
        if picked:
            self._check_theme(picked)
        if picked and self._c.services.remember_theme is not None:
            self._c.services.remember_theme(picked)
            self._say(f"The console on a screen opens with {picked}.")

    def _themes(self) -> dict[str, str]:
        folders = self._c.services.theme_dirs
        return {path.stem: "" for folder in folders for path in sorted(folder.glob("*.toml"))}

    def _check_theme(self, name: str) -> None:
        if name not in self._themes():
            raise UsageError(f"there is no theme {one_line(name, 40)}", "/theme lists them.")

    async def _config(self, rest: str) -> None:
        name, _, text = rest.partition(" ")
        if (own := self._c.services.settings) is None:
            self._say("There are no settings to change here.")
            return
        if name == "unset":
            await self._unset(own, text.strip())
            return
        if name == "edit":
            await self._edit(own)
            return
        if text:
            await self._set(own, name, text)
            return
        try:
            settings = [one for one in await asyncio.to_thread(own.read) if not rest or one.name == name]
        except BrokenSettings as error:
            raise ConfigError(error.detail, "/config edit opens it.") from None
        if not settings:
            raise UsageError(f"there is no setting {one_line(name, 40)}", "/config lists them.")
        for one in settings:
            self._say(self._c.services.redact(f"  {one.name}: {one.shown}, by {one.source}. {one.meaning}"))

    async def _set(self, own: OwnSettings, name: str, text: str) -> None:
        if name == "theme":
            self._check_theme(text)
        await asyncio.to_thread(own.write, name, text)
        later = await asyncio.to_thread(own.take_effect, name)
        self._say(f"{name} is written to {own.path}. {later or 'It holds from now on.'}")

    async def _edit(self, own: OwnSettings) -> None:
        path = await asyncio.to_thread(own.to_edit)
        before = await asyncio.to_thread(own.text, path)
        after = await edited(before, self._c.terminal_given_away(), suffix=".toml")
        if after.strip() == before.strip():
            self._say(f"Nothing was changed in {path}.")
            return
        wrong = await asyncio.to_thread(own.replace, path, f"{after}\n")
        self._say(f"{path} is kept. {f'Still wrong: {wrong}' if wrong else NEXT_START}")

    async def _unset(self, own: OwnSettings, name: str) -> None:
        if not await asyncio.to_thread(own.remove, name):
            raise UsageError(f"{one_line(name, 40) or 'nothing'} is not set in {own.path}", "/config lists what is.")
        later = await asyncio.to_thread(own.take_effect, name)
        self._say(f"{name} is taken out of {own.path}. {later or 'That holds from now on.'}")

    async def _doctor(self, _rest: str) -> None:
        if self._c.services.diagnose is not None:
            self._say("\n".join(await self._c.services.diagnose()))

    async def _log(self, _rest: str) -> None:
        path = self._c.services.log_path
        text = await asyncio.to_thread(path.read_text, "utf-8", "replace") if path.exists() else "The log is empty."
        self._say("\n".join(text.splitlines()[-LOG_LINES:]))
