"""The slash commands of the line console for models, servers, permissions and how calls run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, get_args

from console_app.config.settings import BrokenSettings, OwnSettings
from console_app.console import MODES, files
from console_app.domain import ApprovalMode, ConfigError, FanoutError, UsageError, one_line, plural
from console_app.domain.rules import parse_rule
from console_app.domain.settings import VENDOR_URLS
from console_app.engine import Action

if TYPE_CHECKING:
    from console_app.config.settings import OwnSettings
    from console_app.console import Connecting, Console, Listing
    from console_app.line_console.console import LineConsole

OTHER = "another address"
_VENDORS = {VENDOR_URLS["openai-chat"]: "OpenAI, with a key", VENDOR_URLS["anthropic"]: "Anthropic, with a key"}
_KEY = "Its key, which is not shown while you type. It is sent to this address alone. An empty line: it needs none."


class ConnectCommand:
    """Connects a model on one console. Nothing is kept before the model has answered."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say

    async def run(self, rest: str) -> None:
        """Ask for the address and all else that /connect needs, a line each. Left at any of them, nothing has
        changed."""
        if (connecting := self._c.console.services.connecting) is None:
            raise UsageError("no other model can answer here")
        address, needs_key = (rest, False) if rest else await self._address(connecting)
        if not address:
            return
        listing = await self._listing(connecting, address, needs_key)
        model = None if listing is None else await self._model(listing)
        if listing is None or not model:
            return
        self._say(f"Trying {one_line(model, 120)} with one short request.")
        seconds = await connecting.try_out(listing.connection, model)
        self._say(f"It answered in {seconds:.1f} s. {await connecting.keep(listing.connection, model)}")

    async def _address(self, connecting: Connecting) -> tuple[str, bool]:
        """Return the address that was picked or typed, "" for none, and whether it is known to want a key."""
        self._say("Looking for models on this machine.")
        found = {one.url: one for one in await connecting.local()}
        about = {url: f"on this machine: {one.name}, {_amount(one.models)}" for url, one in found.items()}
        picked = await self._d.choose("Connect a model", {**about, **_VENDORS, OTHER: "typed by you"})
        if picked == OTHER:
            return ((await self._d.ask("Its address, as http://127.0.0.1:1234/v1.")) or "").strip(), False
        return picked or "", picked in _VENDORS or (picked in found and found[picked].models is None)

    async def _listing(self, connecting: Connecting, address: str, needs_key: bool) -> Listing | None:
        """The models of an address; where it wants a key that is asked for, until it is taken or the question left."""
        key = ""
        while True:
            if needs_key:
                typed = await self._d.ask(_KEY, secret=True)
                if typed is None:
                    return None
                key = typed.strip()
            try:
                return await connecting.listing(address, key)
            except FanoutError as error:
                if getattr(error, "status", None) not in (401, 403):
                    raise
                self._say(error.line)
                needs_key = True

    async def _model(self, listing: Listing) -> str | None:
        if listing.models:
            return await self._d.choose("Which model?", dict.fromkeys(listing.models, ""))
        typed = await self._d.ask(f"{listing.why} Type the name of a model.")
        return None if typed is None else typed.strip()


def _amount(models: tuple[str, ...] | None) -> str:
    if models is None:
        return "with a key"
    return plural(len(models), "model")


class SettingWays:
    """Carries out the commands that change settings, on one console."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say
        self._before_plan = ApprovalMode.ASK

    async def connect(self, _console: Console, rest: str) -> None:
        """Connects a model by its address."""
        await ConnectCommand(self._c).run(rest)

    async def mode(self, console: Console, rest: str) -> None:
        """Chooses which later calls run without asking."""
        abouts = {mode.value: about for mode, about in MODES.items()}
        picked = rest or await self._d.choose("Mode", abouts)
        if picked and picked not in abouts:
            raise UsageError(f"there is no mode {one_line(picked, 40)}")
        if picked == ApprovalMode.PLAN.value and console.permissions.mode is not ApprovalMode.PLAN:
            self._before_plan = console.permissions.mode
        if picked:
            console.permissions.use_mode(ApprovalMode(picked))
            many = len(self._c.approvals.waiting)
            runs = f" /approve all runs the {plural(many, 'call')} waiting." if many else ""
            self._say(f"Mode: {picked}, {abouts[picked]}.{runs}")

    async def plan(self, console: Console, _rest: str) -> None:
        """Goes into plan mode, and out of it to the mode before."""
        there = console.permissions.mode is ApprovalMode.PLAN
        await self.mode(console, (self._before_plan if there else ApprovalMode.PLAN).value)

    async def _add_rule(self, console: Console, action: Action, text: str) -> None:
        try:
            text = str(parse_rule(text))
        except ValueError as error:
            raise UsageError(f"{one_line(text, 60)} is no rule: {error}", "As in: /permissions allow notes.*") from None
        scope = await self._c.approvals.how_long(f"{action} {text}")
        if scope and console.permissions.add_rule(action, text, keep=scope == "always"):
            console.permissions.reconsider()

    async def permissions(self, console: Console, rest: str) -> None:
        """Tells the mode and the rules, adds a rule or removes one."""
        rows = console.permissions.rows()
        word, _, number = rest.partition(" ")
        action = next((one for one in get_args(Action) if one == word), None)
        if action is not None and number.strip():
            await self._add_rule(console, action, number.strip())
            return
        if word == "remove" and number.isdecimal() and 1 <= int(number) <= len(rows):
            rule = rows[int(number) - 1].rule
            removed = rule is not None and console.permissions.remove_rule(rule)
            self._say("The rule is removed." if removed else "That rule can't be removed here.")
            return
        self._say(f"Mode: {console.permissions.mode.value}. /mode changes it. {plural(len(rows), 'rule')}.")
        for place, row in enumerate(rows, 1):
            self._say(f"  {place}. {row.action} {row.text}, {row.matches}, {row.source}")

    async def theme(self, console: Console, rest: str) -> None:
        """Chooses the colours of the console on a screen."""
        picked = rest or await self._d.choose("Colours of the console on a screen", self._themes())
        if picked:
            self._check_theme(picked)
        if picked and self._c.console.services.remember_theme is not None:
            self._c.console.services.remember_theme(picked)
            self._say(f"The console on a screen opens with {picked}.")

    def _themes(self) -> dict[str, str]:
        folders = self._c.console.services.theme_dirs
        return {path.stem: "" for folder in folders for path in sorted(folder.glob("*.toml"))}

    def _check_theme(self, name: str) -> None:
        if name not in self._themes():
            raise UsageError(f"there is no theme {one_line(name, 40)}", "/theme lists them.")

    async def config(self, console: Console, rest: str) -> None:
        """Tells settings, changes one, unsets one or opens their file."""
        name, _, text = rest.partition(" ")
        if (own := self._c.console.services.settings) is None:
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
            self._say(self._c.console.services.redact(f"  {one.name}: {one.shown}, by {one.source}. {one.meaning}"))

    async def _set(self, own: OwnSettings, name: str, text: str) -> None:
        if name == "theme":
            self._check_theme(text)
        await asyncio.to_thread(own.write, name, text)
        later = await asyncio.to_thread(own.take_effect, name)
        self._say(f"{name} is written to {own.path}. {later or 'It holds from now on.'}")

    async def _edit(self, own: OwnSettings) -> None:
        path = await asyncio.to_thread(own.to_edit)
        before = await asyncio.to_thread(own.text, path)
        after = await files.edited(before, self._c.terminal_given_away(), suffix=".toml")
        if after.strip() == before.strip():
            self._say(f"Nothing was changed in {path}.")
            return
        wrong = await asyncio.to_thread(own.replace, path, f"{after}\n")
        self._say(f"{path} is kept. {f'Still wrong: {wrong}' if wrong else OwnSettings.NEXT_START}")

    async def _unset(self, own: OwnSettings, name: str) -> None:
        if not await asyncio.to_thread(own.remove, name):
            raise UsageError(f"{one_line(name, 40) or 'nothing'} is not set in {own.path}", "/config lists what is.")
        later = await asyncio.to_thread(own.take_effect, name)
        self._say(f"{name} is taken out of {own.path}. {later or 'That holds from now on.'}")
