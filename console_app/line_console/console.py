"""The line console: puts its parts together, and reads line after line until it is left."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

from console_app.console.calls import Calls
from console_app.console.files.attachments import Attachments
from console_app.console.permissions import Permissions
from console_app.console.services import Services
from console_app.console.slash_commands import parse
from console_app.console.talk.conversation import Conversation
from console_app.console.talk.queued import Around
from console_app.console.talk.readiness import Readiness, named
from console_app.console.talk.sessions import READ_ONLY, Disk, Sessions
from console_app.console.talk.starting import ConsoleStart
from console_app.domain.errors import FanoutError
from console_app.domain.ports.provider import no_pictures
from console_app.domain.safe_text import one_line
from console_app.domain.todo import TodoItem
from console_app.headless.output import OutputStreams
from console_app.line_console.approvals import LineApprovals
from console_app.line_console.call_numbers import CallNumbers
from console_app.line_console.custom_commands import LineCustomCommands
from console_app.line_console.dialogue import LEAVE, Dialogue
from console_app.line_console.line_command import LineCommand
from console_app.line_console.line_ui import LineUi
from console_app.line_console.narrator import Narrator
from console_app.line_console.questions import LineQuestions
from console_app.line_console.server_commands import ServerCommands
from console_app.line_console.typed_lines import TypedLines

log = logging.getLogger(__name__)


class LineConsole:
    """Of one terminal. Its parts are for the commands. `on_leaving` gets the exit code when it is left."""

    approvals: LineApprovals
    questions: LineQuestions

    def __init__(
        self,
        services: Services,
        output: OutputStreams,
        typed: TypedLines,
        commands: Callable[[LineConsole], Mapping[str, LineCommand]],
        on_leaving: Callable[[int], None] = lambda _code: None,
    ) -> None:
        self.services = services
        self.dialogue = Dialogue(output, typed.newest, typed.unseen)
        self.numbers = CallNumbers()
        narrator = Narrator(
            self.numbers,
            self.dialogue.say,
            lambda call: self.approvals.ask(call),
            lambda call: self.questions.say(call),
        )
        self.ui = LineUi(self.dialogue, self.numbers, narrator, self._changed, lambda: self.approvals.say_due())
        self.readiness = Readiness(services.server_statuses, services.connect)
        self._start = ConsoleStart(services, self.readiness, self.ui)
        engine = services.engine
        attachments = Attachments(
            *(services.working_folder, services.pictures_path, services.hub),
            lambda: no_pictures(engine.provider),
            named=services.library is not None,
        )
        self.conversation = Conversation(
            engine,
            services.store,
            self.ui,
            ready=lambda: self._start.ready_to_send(self.sessions),
            attachments=attachments,
            clock=services.clock,
        )
        self.sessions = Sessions(self.conversation, services.library, self.ui, services.working_folder)
        if services.library is not None:
            Disk(services.library, self.ui)
        self.permissions = Permissions(engine, lambda: self.conversation.calls_of, services.rules, self.ui)
        self.calls = Calls(self.conversation, self.ui)
        self.approvals = LineApprovals(
            *(engine, self.permissions, self.calls, self.numbers, self.dialogue),
            line=lambda: typed.number,
            folder=services.working_folder,
        )
        self.questions = LineQuestions(services.human, self.calls, self.numbers, self.dialogue, lambda: typed.number)
        self.server_commands = ServerCommands(services, self.ui, self.send)
        self.commands = commands(self)
        self.custom = LineCustomCommands(services, self.ui, self.send)
        self.server_commands.commands_changed = self.read_commands
        self._typed = typed
        self._on_leaving = on_leaving
        self._left = asyncio.Event()
        self._code = 0
        self._command: asyncio.Task[None] | None = None
        self._waits_for = ""
        self._may_leave = False

    @property
    def items(self) -> Sequence[TodoItem]:
        """The to-do list."""
        return self.numbers.transcript.todo

    async def run(self, prompt: str | None) -> int:
        """Until it is left; what runs has ended then, and is stored."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.quit, 128 + number)
        self.dialogue.say("Fanout, as lines. /help lists what you can do.")
        if (provider := self.services.engine.provider).name == "offline":
            self.dialogue.say(f"{provider.model}, a scripted offline model, answers. /connect connects another.")
        for problem in self.services.problems:
            self.dialogue.say(problem)
        await self.read_commands()
        project = self.services.project_trust
        if project is not None and (waiting := await asyncio.to_thread(project.summary)):
            self.dialogue.say(f"{one_line(waiting, 300)}: /trust shows it all, and asks.")
        self.questions.listen()
        self.services.on_servers_changed(self._servers_changed)
        start = asyncio.create_task(self._start.run(self.sessions))
        if prompt:
            self.send(prompt)
        reading = asyncio.create_task(self._read())
        await self._left.wait()
        self._on_leaving(self._code)
        reading.cancel()
        start.cancel()
        self.services.human.close()
        await self.conversation.close()
        await self.services.close()
        return self._code

    def quit(self, code: int = 0) -> None:
        """Leaves."""
        self._code = code
        self._left.set()

    async def read_commands(self) -> str:
        """Reads the commands that people wrote, again too."""
        return await self.custom.read(self.commands)

    def send(self, text: str, *, around: Around = nullcontext) -> None:
        """A message to the model, now or behind what runs; `around`: see Conversation."""
        if self.sessions.read_only:
            self.dialogue.say(READ_ONLY)
            return
        queued = self.conversation.busy
        self.conversation.send(text, around=around)
        if queued:
            self.dialogue.say("Queued. /steer says something to the turn that runs, /unsend takes it back.")

    def stop(self) -> None:
        """Stops what runs; a message that has not begun is given back."""
        if text := self.conversation.call_off():
            self.ui.give_back(text)
        elif not self.conversation.stop():
            self.dialogue.say("Nothing runs.")

    @contextmanager
    def terminal_given_away(self) -> Generator[None]:
        """Another program has the terminal."""
        with self._typed.left_alone(), self.dialogue.silent():
            yield

    # -- lines

    async def _read(self) -> None:
        while (line := await self._typed.next()) is not None:
            self._may_leave = False
            if not self.dialogue.take(line, self._typed.number):
                await self.conversation.settled()  # a line behind the word that a turn is done finds it so
                self._take(line)
            await self._settled()
        self.quit()

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        if (asked := parse(line)) is None and self.dialogue.asks:
            self.dialogue.say("That was typed before the question, and is not its answer.")
            if not self.ui.give_back(line):
                self.dialogue.say(f"Not sent: {line}")
        elif line.strip() == LEAVE:
            self.dialogue.say("There is nothing to leave. Nothing was sent.")
        elif asked is None:
            self.send(line)
        elif (command := {**self.custom.by_name, **self.commands}.get(asked[0])) is None:
            if asked[0] in self.custom.untrusted:
                waits = "is a command of this project that waits for your trust: /trust shows it, and asks."
                self.dialogue.say(f"/{asked[0]} {waits}")
                return
            near = [name for name in (*self.commands, *self.custom.by_name) if name.startswith(asked[0][:2])]
            meant = f"Did you mean /{near[0]}? " if near else ""
            self.dialogue.say(f"There is no command /{one_line(asked[0], 40)}. {meant}/help lists them.")
        else:
            self._command = asyncio.create_task(self._run(partial(command.run, asked[1])))

    async def _run(self, doing: Callable[[], Awaitable[object]]) -> None:
        try:
            await doing()
        except FanoutError as error:
            self.dialogue.say(f"Error: {error.line}")
        except Exception as error:
            log.exception("a command failed")
            self.dialogue.say(f"Error: unexpected {error!r}. /log has the details.")

    async def _settled(self) -> None:
        """Returns when the command is done or asks something: a line typed ahead of that is meant for it."""
        if self._command is None or self._command.done():
            return
        opened = asyncio.ensure_future(self.dialogue.opened.wait())
        await asyncio.wait({self._command, opened}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()

    def _interrupted(self) -> None:
        """Ctrl+C: leaves a question, ends a command, stops the turn; twice with nothing left leaves."""
        if self._typed.shows_interrupts:
            self.dialogue.end_line()
        if self.dialogue.leave():
            return
        if self._command is not None and not self._command.done():
            self._command.cancel()
        elif self.conversation.busy:
            self.stop()
        elif self._may_leave:
            self.quit()
        else:
            self._may_leave = True
            self.dialogue.say("Press Ctrl+C again to leave.")

    def _servers_changed(self) -> None:
        """A tool may be another than the one that was said."""
        self.permissions.reconsider()
        self._changed()

    def _changed(self) -> None:
        """A message that waits for servers says so, once."""
        waits = named(self.readiness.connecting) if self.readiness.connecting else ""
        if self.conversation.on_its_way is not None and waits and not self._waits_for:
            self.dialogue.say(f"Waiting for {waits}. /go begins without.")
            self._waits_for = waits
