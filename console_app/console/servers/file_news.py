"""Notices that mcp.json is another on disk, offers to read it, and says what came of that.

It is looked at when a message is sent and when the servers screen opens, in a thread: nothing polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from console_app.config.trust import Changes, ServerFiles, Untrusted
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, one_line

if TYPE_CHECKING:
    from console_app.config.servers import ServerChoice

MOST_NAMED = 6


@runtime_checkable
class Reloads(Protocol):
    """Where the servers of a file take effect."""

    async def reload(self, choice: ServerChoice, found: Changes) -> None:
        """Only servers that changed start again."""
        ...


class FileNews:
    """Of one console."""

    def __init__(self, files: ServerFiles, switches: Reloads, ui: UiPort) -> None:
        self._files = files
        self._switches = switches
        self._ui = ui

    @property
    def unread(self) -> str:
        """What was told of and not read since, in a few words; "" where that is nothing."""
        names = " and ".join(one_line(path.name, 40) for path in self._files.unread)
        return f"{names} changed · /reload reads it" if names else ""

    async def look(self) -> None:
        """Says which file is another than when it was last looked at."""
        for path in await asyncio.to_thread(self._files.news):
            self._ui.tell("info", f"{one_line(str(path), 200)} has changed. /reload reads it.")

    async def reload(self) -> None:
        """/reload: reads the files, has what changed take effect, and says what that was."""
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
    """What changed, in one line."""
    parts = [
        f"{what} {_named(names)}"
        for what, names in (("added", found.added), ("removed", found.removed), ("restarted", found.changed))
        if names
    ]
    return " · ".join(parts) or "no server has changed"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(one_line(name, 40) for name in names[:MOST_NAMED]) + more
