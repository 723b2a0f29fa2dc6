"""The whole program without a face: what there is to see, to do and to decide. A face draws it, and decides nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from console_app.console.activity import ActivityStatus
from console_app.console.calls import Calls
from console_app.console.files import Attachments
from console_app.console.pending import PendingCalls
from console_app.console.permissions import Permissions
from console_app.console.servers import Watching
from console_app.console.servers.news import FileNews, ServerNews
from console_app.console.services import Services
from console_app.console.talk.conversation import MANUAL, SHELL, Conversation
from console_app.console.talk.readiness import ConsoleStart, Readiness
from console_app.console.talk.sessions import READ_ONLY, Sessions
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, UsageError, event_news, one_line

if TYPE_CHECKING:
    from console_app.console.talk.conversation import Around
    from console_app.domain import Attachment, Event


async def _none_written() -> str:
    return ""


class Console:
    """The program behind one face, its `ui`. `opened` is called once the session asked for is open, or can't be."""

    def __init__(self, services: Services, ui: UiPort, *, opened: Callable[[], None] = lambda: None) -> None:
        engine, library = services.engine, services.library
        self.services, self.ui, self.models = services, ui, services.models
        self.watching = Watching(services.hub, ui)
        self.attachments = Attachments(
            services.working_folder,
            services.pictures_path,
            services.hub,
            lambda: engine.provider.no_pictures,
            named=library is not None,
        )
        self.readiness = Readiness(services.server_statuses, services.connect)
        self.conversation = Conversation(
            engine,
            services.store,
            ui,
            ready=lambda: self._start.ready_to_send(self.sessions),
            attachments=self.attachments,
            attached=self._were_read,
            heard=self._heard,
            clock=services.clock,
        )
        self.sessions = Sessions(
            self.conversation, library, ui, services.working_folder, services.page, replayed=services.replay is not None
        )
        self.permissions = Permissions(engine, lambda: self.conversation.calls_of, services.rules, ui)
        self.calls = Calls(self.conversation, ui)
        self.pending = PendingCalls(engine, lambda: ui.transcript)
        self.activity = ActivityStatus(self.conversation, self.readiness, lambda: ui.transcript)
        self.read_commands: Callable[[], Awaitable[str]] = _none_written  # `Commands` reads them
        self.server_files: FileNews | None = None
        if services.server_files is not None and services.servers is not None:
            self.server_files = FileNews(services.server_files, services.servers, ui)
        self._start = ConsoleStart(services, self.readiness, ui, opened)
        self._news = ServerNews(services.server_statuses, ui)
        self.untrusted = tuple[str, ...]()  # the names of what waits for trust
        self._waits = ""  # the line that said what waits for trust
        self._wrong: tuple[str, ...] = ()  # what of the project's files was said to be wrong
        services.on_servers_changed(self.servers_changed)

    # -- its life

    async def start(self) -> None:
        """Load services, open the session asked for, and wait for servers; what goes wrong is told."""
        await self._start.run(self.sessions)

    async def read_project(self) -> None:
        """Read the commands that people wrote, and tell which of the project's files wait for trust."""
        await self.read_commands()
        await self.services.engine.look_around()
        await self.say_what_waits()

    async def close(self) -> None:
        self.services.human.close()
        await self.conversation.close()

    def servers_changed(self) -> None:
        """Look at tools again, as a server came, went or has another list."""
        self.ui.changed()
        self.permissions.reconsider()
        self._news.changed()
        if not self.sessions.read_only:
            self.conversation.take_up()

    # -- what a user does

    def fails(self, error: FanoutError) -> None:
        if isinstance(error, UsageError):
            line = error.line
            named = not line.partition(" ")[0].isalpha()  # a setting, a command or a path stays as it is written
            self.ui.toast(line if named else line[:1].upper() + line[1:])
        else:
            self.ui.tell("error", error.line)

    def send(self, text: str, *, typed: str | None = None, around: Around = nullcontext) -> bool:
        """Send a prompt, now or behind what runs; `typed` was not pasted. The turn runs within `around`. False, and
        told, where nothing can be sent. `!command` runs by hand."""
        calls = None
        if text.startswith("!") and (command := text[1:].strip()):
            calls = f"{SHELL} {json.dumps({'command': command}, ensure_ascii=False)}"
        elif text.startswith("@") and (agents := self.services.engine.agents) is not None:
            kind, _, task = text[1:].partition(" ")
            if task.strip() and kind in agents.kinds and not (self.services.working_folder / kind).exists():
                calls = f"fanout.agent {json.dumps({'task': task.strip(), 'kind': kind}, ensure_ascii=False)}"
        if may := self.may_send():
            self.conversation.send(text, typed=typed, calls=calls, around=around)
        return may

    def may_send(self) -> bool:
        """Tell whether anything can be sent in this session; the user is told where it can't."""
        if self.sessions.read_only:
            self.ui.toast(READ_ONLY)
        return not self.sessions.read_only

    def call_by_hand(self, calls: str, said: str = "") -> None:
        """Run calls that are given as tools and JSON; the conversation shows what was `said` for them."""
        if self.may_send():
            self.conversation.send(said or f"{MANUAL}{calls}", calls=calls)

    async def use_model(self, name: str | None) -> None:
        if name and name != self.models.name:
            await self.models.switch(name)
            self.ui.changed()
            self.ui.toast(f"Model: {one_line(name, 60)}, from the next answer on.")

    async def add_server(self, words: str) -> None:
        """Look for servers in the registry, and add the one that is picked: what it runs is shown before."""
        servers = self.services.servers
        if servers is None or not words:
            raise UsageError("/mcp add looks for servers by words of their names", "As: /mcp add github")
        found = await servers.find(words)
        if not found:
            self.ui.toast("The registry has no such server that could be started here.")
            return
        lines = {name: about for name, (about, _) in found.items()}
        if (picked := await self.ui.choose("Add a server and start it", lines)) is None:
            return
        name = picked.rpartition("/")[2]
        if name in {one.name for one in servers.statuses()}:
            raise UsageError(f"there is a server {one_line(name, 40)} already", "Remove it first, in /mcp.")
        await servers.put(name, found[picked][1])
        self.ui.toast(f"{one_line(name, 40)} is added and starts.")

    def stop(self) -> bool:
        """Stop what runs; a message whose turn has not begun is given back. False when nothing runs."""
        if text := self.conversation.call_off():
            self.ui.give_back(text)
            return True
        return self.conversation.stop()

    def go_on(self) -> bool:
        return (self.conversation.on_its_way is not None and self.readiness.skip()) or self.conversation.resume()

    def _heard(self, event: Event) -> None:
        self.activity.pace.heard(event)
        if event_news.News.of(event) & event_news.News.OVER:
            self.services.human.call_ended(event_news.call_of(event))

    # -- the project's files

    async def say_what_waits(self) -> None:
        """Tell in one line which files of the project wait for trust, and how to see them."""
        if (project := self.services.project_trust) is None:
            return
        self.trusted()
        waiting, self.untrusted, problems = await asyncio.to_thread(project.survey)
        if waiting:
            self._waits = f"{one_line(waiting, 300)}: {self.ui.key_of('trust')} shows it all, and asks."
            self.ui.tell("warning", self._waits)
        if problems and problems != self._wrong:
            self._wrong = problems
            first, *others = problems
            more = f" And {len(others)} more, which /trust tells." if others else ""
            self.ui.tell("warning", f"{first.rstrip('.')}.{more}")

    def trusted(self) -> None:
        self.ui.take_back(self._waits)

    def _were_read(self, attachments: Sequence[Attachment]) -> None:
        for one in attachments:
            if one.server:
                self.watching.seen(one.server, one.uri)
