"""/connect of the line console: an address, a key where it wants one, a model; tried with one request, then kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_app.domain import FanoutError, UsageError, one_line, plural
from console_app.domain.settings import VENDOR_URLS

if TYPE_CHECKING:
    from console_app.console import Connecting, Listing
    from console_app.line_console.console import LineConsole

OTHER = "another address"
_VENDORS = {VENDOR_URLS["openai-chat"]: "OpenAI, with a key", VENDOR_URLS["anthropic"]: "Anthropic, with a key"}
_KEY = "Its key, which is not shown while you type. It is sent to this address alone. An empty line: it needs none."


class ConnectCommand:
    """On one console. Nothing is kept before a model has answered."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say

    async def run(self, rest: str) -> None:
        """/connect: asks for what it needs, one line each; left at any of them, nothing has changed."""
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
        """What was picked or typed, "" for none, and whether it is known to want a key."""
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
