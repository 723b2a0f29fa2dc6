"""News of servers: of their states, and of the files that say which there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from console_app.config.trust import Changes, ServerFiles, Untrusted
from console_app.console.talk.readiness import ServerView
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, one_line

if TYPE_CHECKING:
    from console_app.console.servers.switches import HubSwitches

MOST_NAMED = 6


class FileNews:
    """Tell one console that files of servers have changed, and read them again on /reload."""

    def __init__(self, files: ServerFiles, switches: HubSwitches, ui: UiPort) -> None:
        self._files = files
        self._switches = switches
        self._ui = ui

    @property
    def unread(self) -> str:
        names = " and ".join(one_line(path.name, 40) for path in self._files.unread)
        return f"{names} changed · /reload reads it" if names else ""

    async def look(self) -> None:
        for path in await asyncio.to_thread(self._files.news):
            self._ui.tell("info", f"{one_line(str(path), 200)} has changed. /reload reads it.")

    async def reload(self) -> None:
        try:
            choice = await asyncio.to_thread(self._files.read)
            if isinstance(choice, Untrusted):
                if not await self._trusts(choice):
                    return
                choice = await asyncio.to_thread(self._files.read)
            if isinstance(choice, Untrusted):
                return  # another again, between the yes and the reading
            for note in choice.notes:
                self._ui.tell("warning", one_line(note, 400))
            if choice.path is None:
                self._ui.toast("No mcp.json is read here.")
                return
            before, now = self._files.choice, choice.servers
            found = Changes.between(before.servers, now)
            await self._switches.reload(choice, found)
            await asyncio.to_thread(self._files.take, choice)
        except FanoutError as error:
            self._ui.tell("error", f"{one_line(error.line, 400)} Nothing was changed.")
            return
        another = before.path != choice.path  # the servers of the file before are gone from nothing that is yours
        what = (
            f"its servers are used now: {_named([one.name for one in now]) or 'none'}" if another else described(found)
        )
        self._ui.tell("info", f"{one_line(str(choice.path), 200)}: {what}.")

    async def _trusts(self, refused: Untrusted) -> bool:
        found = Changes.between(self._files.choice.servers, refused.servers)
        said = (refused.said[name] for name in (*found.added, *found.changed))
        lines = (f"{one_line(str(refused.path), 400)} has changed:", described(found), *said)
        if not await self._ui.trusts("\n".join(lines)):
            self._ui.toast("Not trusted: the servers stay as they are.")
            return False
        await asyncio.to_thread(self._files.trust, refused)
        return True


def described(found: Changes) -> str:
    parts = [
        f"{what} {_named(names)}"
        for what, names in (("added", found.added), ("removed", found.removed), ("restarted", found.changed))
        if names
    ]
    return " · ".join(parts) or "no server has changed"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(one_line(name, 40) for name in names[:MOST_NAMED]) + more


class ServerNews:
    """Tell one face of servers that need its user, once; what isn't so any more is taken back where it can be."""

    def __init__(self, statuses: Callable[[], Sequence[ServerView]], ui: UiPort) -> None:
        self._statuses = statuses
        self._ui = ui
        self._told: dict[str, tuple[str, str]] = {}  # server to its state, and the line about it

    def changed(self) -> None:
        troubled = {one.name: one for one in self._statuses() if one.state in ("failed", "needs sign-in")}
        for name, (state, line) in list(self._told.items()):
            if name not in troubled or troubled[name].state != state:
                del self._told[name]
                self._ui.take_back(line)
        for name, server in troubled.items():
            if name not in self._told:
                self._told[name] = str(server.state), _line(server)
                self._ui.tell("warning", self._told[name][1])


def _line(server: ServerView) -> str:
    name = one_line(server.name, 40)
    if server.state == "failed":
        why = one_line(server.reason, 200).rstrip(".")
        return f"Server {name} failed: {why}{'' if why.endswith('…') else '.'} Ctrl+L shows all servers."
    return f"Server {name} needs you to sign in: s on it in the servers (Ctrl+L), or fanout mcp auth {name}."
