"""The commands that people wrote, as commands of the line console: read at the start, and again where files changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from console_app.config.custom_commands import told
from console_app.console.talk.command_turns import turn_of
from console_app.domain.safe_text import one_line
from console_app.line_console.line_command import LineCommand

if TYPE_CHECKING:
    from console_app.config.custom_commands import CustomCommand
    from console_app.console.services import Services
    from console_app.line_console.line_ui import LineUi

LONGEST_ABOUT = 200  # characters of a description


class LineCustomCommands:
    """Of one console; `by_name` is empty until `read`."""

    def __init__(self, services: Services, ui: LineUi, send: Callable[..., None]) -> None:
        self._services, self._ui, self._send = services, ui, send
        self.by_name: Mapping[str, LineCommand] = {}
        self.untrusted: frozenset[str] = frozenset()  # names of a project's commands that wait for trust

    async def read(self, taken: Iterable[str]) -> str:
        """Reads the files; what is wrong with one is a line. `taken` are the names that the console keeps. Gives what
        came of it, in one line."""
        found = await asyncio.to_thread(self._services.custom_commands)
        kept = set(taken)
        self.untrusted = found.untrusted
        for one in found.commands:
            if one.name in kept:
                path = one_line(str(one.path), 200)
                self._ui.tell("warning", f"{path}: /{one.name} is a command of Fanout. Rename the file.")
        for problem in found.problems:
            self._ui.tell("warning", problem)
        self.by_name = {one.name: self._command(one) for one in found.commands if one.name not in kept}
        return told(found, kept)

    def _command(self, custom: CustomCommand) -> LineCommand:
        about = one_line(custom.description, LONGEST_ABOUT)
        return LineCommand(custom.name, about, partial(self._run, custom), one_line(custom.argument_hint, 60))

    async def _run(self, custom: CustomCommand, rest: str) -> None:
        around = partial(turn_of, custom, self._services.engine, self._services.models)
        self._send(custom.prompt(rest), around=around)
