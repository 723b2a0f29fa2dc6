"""`fanout sessions`: what was kept, on the command line. What is found is printed safe for a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from console_app.domain.errors import UsageError
from console_app.domain.safe_text import json_line
from console_app.headless import session_text
from console_app.headless.interrupts import Interrupts
from console_app.headless.output import OutputStreams
from console_app.sessions.export import MOVING, export, form_of, imported, write_new
from console_app.sessions.library import Library
from console_app.sessions.places import end_of_turn
from console_app.sessions.recent import SHORT_ID
from console_app.sessions.replay import Replay
from console_app.sessions.store import new_session_id

_MOST_LISTED = 100_000


def moving_format(arguments: Namespace) -> str:
    """svg or cast, where --format, or without it the ending of --output, says so; else ""."""
    asked: str = arguments.format or form_of(arguments.output or "")
    return asked if asked in MOVING else ""


class SessionCommand:
    """One run of the command. `run` does what `arguments.action` says."""

    def __init__(self, arguments: Namespace, library: Library, output: OutputStreams, interrupts: Interrupts) -> None:
        self._arguments = arguments
        self._words: list[str] = arguments.words
        self._library = library
        self._store = library.store
        self._output = output
        self._interrupts = interrupts

    async def run(self) -> None:
        """Raises FanoutError."""
        actions: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "list": self._list,
            "search": self._search,
            "show": self._show,
            "export": self._export,
            "import": self._import,
            "rename": self._rename,
            "fork": self._fork,
            "delete": self._delete,
        }
        await actions[self._arguments.action]()

    async def _list(self) -> None:
        line = session_text.info_json if self._arguments.json else session_text.info_line
        infos = await self._store.sessions(self._arguments.limit or _MOST_LISTED)
        if not infos and not self._arguments.json:
            self._output.error_line("No saved sessions yet.")
        for info in infos:
            self._print(line(info))

    async def _search(self) -> None:
        line = session_text.hit_json if self._arguments.json else session_text.hit_line
        hits = await self._store.search(" ".join(self._some("WORDS")), self._arguments.limit or 100)
        if not hits and not self._arguments.json:
            self._output.error_line("Nothing was found.")
        for hit in hits:
            self._print(line(hit))

    async def _show(self) -> None:
        info = await self._store.find(self._one("ID"))
        events = await self._store.load(info.id)
        if self._arguments.replay:
            replay = Replay(events, self._arguments.speed)

            async def play() -> None:
                async for event in replay.play():
                    self._print(json_line(event.model_dump()))

            await self._interrupts.race(play())
        elif self._arguments.json:
            for event in events:
                self._print(json_line(event.model_dump()))
        else:
            self._print("\n\n".join(session_text.conversation(events)))

    async def _export(self) -> None:
        info = await self._store.find(self._one("ID"))
        events = await self._store.load(info.id)
        target = Path(self._arguments.output).expanduser() if self._arguments.output else None
        form = self._arguments.format or form_of(self._arguments.output or "") or "md"
        text = await asyncio.to_thread(export, events, form, info.title, self._library.redactor)
        if target is not None:
            self._print(str(await asyncio.to_thread(write_new, target, text)))
        elif form == "jsonl":
            for line in text.splitlines():
                self._print(json_line(json.loads(line)))
        else:
            self._output.out(text)

    async def _import(self) -> None:
        name = self._one("FILE")
        try:
            data = await asyncio.to_thread(sys.stdin.buffer.read if name == "-" else Path(name).read_bytes)
        except OSError as error:
            raise UsageError(f"can't read {name}: {error.strerror or error}") from None
        session_id = new_session_id()
        lines = data.decode("utf-8-sig", "replace").split("\n")  # a line separator inside a text is no end of line
        await self._store.add(imported(lines, name, session_id))
        self._print(session_id)

    async def _rename(self) -> None:
        first, *title = self._some("ID TITLE")
        if not title:
            raise UsageError("rename needs an ID and a title", "fanout sessions rename ID NEW TITLE")
        await self._store.rename((await self._store.find(first)).id, " ".join(title))

    async def _fork(self) -> None:
        info = await self._store.find(self._one("ID"))
        up_to: int | None = None
        if self._arguments.turn is not None:
            up_to = end_of_turn(await self._store.load(info.id), self._arguments.turn)
            if up_to is None:
                raise UsageError(f"{info.id[:SHORT_ID]} has no turn {self._arguments.turn}")
        self._print(await self._store.fork(info.id, up_to))

    async def _delete(self) -> None:
        infos = [await self._store.find(word) for word in self._some("ID")]
        if not self._arguments.yes:
            await self._confirm([info.title for info in infos])
        for info in infos:
            await self._library.delete(info.id)

    async def _confirm(self, titles: list[str]) -> None:
        if not os.isatty(0):
            raise UsageError(
                "deleting asks, and there is no one to answer (non-interactive)", "--yes deletes without asking."
            )
        for title in titles:
            self._output.error_line(f"  {title}")
        self._output.error_line("Delete permanently? y/N")
        await self._output.drain(0)
        answer = await self._interrupts.race(asyncio.to_thread(sys.stdin.readline))
        if answer.strip().lower() not in ("y", "yes"):
            raise UsageError("nothing was deleted")

    def _one(self, what: str) -> str:
        if len(self._words) != 1:
            raise self._needs(f"one {what}")
        return self._words[0]

    def _some(self, what: str) -> list[str]:
        if not self._words:
            raise self._needs(what)
        return self._words

    def _needs(self, what: str) -> UsageError:
        action = self._arguments.action
        return UsageError(f"{action} needs {what}", f"See fanout sessions {action} --help.")

    def _print(self, line: str) -> None:
        self._output.out(line + "\n")
