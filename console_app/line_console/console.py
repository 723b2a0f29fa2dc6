"""The line console: puts its parts together, and reads line after line until it is left."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from functools import partial

from console_app.console import Around, Console, Services
from console_app.console.intents import Bound, Commands, parse
from console_app.headless import OutputStreams, end_within
from console_app.line_console.approvals import LineApprovals, LineQuestions
from console_app.line_console.commands import LineWays
from console_app.line_console.dialogue import LEAVE, Dialogue
from console_app.line_console.narrator import LineUi
from console_app.line_console.server_commands import ServerCommands
from console_app.line_console.typed_lines import TypedLines
from console_app.line_console.wording import CallNumbers

QUITTING = 3.0  # seconds from when a console is left to the end of the process

log = logging.getLogger(__name__)


async def run(services: Services, prompt: str | None) -> int:
    """Run the console of this terminal until it is left; return the exit code."""
    output = OutputStreams()
    with TypedLines() as typed:
        code = await LineConsole(services, output, typed, partial(end_within, QUITTING)).run(prompt)
    await output.finish()
    output.close()
    return code


class LineConsole:
    """Runs the console of one terminal, line by line. `on_leaving` is told the exit code when the user leaves."""

    def __init__(
        self,
        services: Services,
        output: OutputStreams,
        typed: TypedLines,
        on_leaving: Callable[[int], None] = lambda _code: None,
    ) -> None:
        self.dialogue = Dialogue(output, typed.newest, typed.unseen)
        self.numbers = CallNumbers()
        self.ui = ui = LineUi(self.dialogue, self.numbers, self._changed)
        self.console = console = Console(services, ui)
        parts = (console, self.numbers, self.dialogue, lambda: typed.number)
        ui.approvals, ui.questions = LineApprovals(*parts), LineQuestions(*parts)
        self.server_commands = ServerCommands(services, ui, self.send)
        self.commands = Commands(console)
        self.commands.use(LineWays(self).all())
        self._typed = typed
        self._on_leaving = on_leaving
        self._left = asyncio.Event()
        self._code = 0
        self._command: asyncio.Task[None] | None = None
        self._waits_for = ""
        self._may_leave = False

    async def run(self, prompt: str | None) -> int:
        """Run until the user leaves. Everything that runs has ended then, and is stored."""
        loop, services = asyncio.get_running_loop(), self.console.services
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.quit, 128 + number)
        self.dialogue.say("Fanout, as lines. /help lists what you can do.")
        if (provider := services.engine.provider).name == "offline":
            self.dialogue.say(f"{provider.model}, a scripted offline model, answers. /connect connects another.")
        for problem in services.problems:
            self.dialogue.say(problem)
        await self.console.read_project()
        services.human.listen(self.ui.questions.changed)
        services.on_servers_changed(self.console.servers_changed)
        start = asyncio.create_task(self.console.start())
        if prompt:
            self.send(prompt)
        reading = asyncio.create_task(self._read())
        await self._left.wait()
        self._on_leaving(self._code)
        reading.cancel()
        start.cancel()
        await self.console.close()
        await services.close()
        return self._code

    def quit(self, code: int = 0) -> None:
        self._code = code
        self._left.set()

    def send(self, text: str, *, around: Around = nullcontext) -> None:
        """Sends a message to the model, now or behind what runs, within `around`."""
        queued = self.console.conversation.busy
        if self.console.send(text, around=around) and queued:
            self.dialogue.say("Queued. /steer says something to the turn that runs, /unsend takes it back.")

    def stop(self) -> None:
        """Stops what runs; a message that has not begun is given back."""
        if not self.console.stop():
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
                await self.console.conversation.settled()  # a line behind the word that a turn is done finds it so
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
        elif (command := self.commands.get(asked[0])) is None:
            near = [one.intent.name for one in self.commands.listed if one.intent.name.startswith(asked[0][:2])]
            self.dialogue.say(self.commands.missing(asked[0], near[0] if near else ""))
        else:
            self._command = asyncio.create_task(self._run(command, asked[1]))

    async def _run(self, command: Bound, rest: str) -> None:
        try:
            if (work := self.commands.do(command, rest)) is not None:
                await work()
        except Exception as error:
            log.exception("a command failed")
            self.dialogue.say(f"Error: unexpected {error!r}. /log has the details.")

    async def _settled(self) -> None:
        """Return when the command is done or asks something: a line typed ahead of that is meant for it."""
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
        elif self.console.conversation.busy:
            self.stop()
        elif self._may_leave:
            self.quit()
        else:
            self._may_leave = True
            self.dialogue.say("Press Ctrl+C again to leave.")

    def _changed(self) -> None:
        """Say once that a message waits for servers."""
        waits = self.console.readiness.awaited
        if self.console.conversation.on_its_way is not None and waits and not self._waits_for:
            self.dialogue.say(f"Waiting for {waits}. /go begins without.")
            self._waits_for = waits
