"""The commands that people wrote, as slash commands: read behind the first paint, and again where files changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

from console_app.config.custom_commands import CustomCommand, CustomCommands, told
from console_app.console.models import Models
from console_app.console.talk.command_turns import turn_of
from console_app.domain.safe_text import one_line
from console_app.engine.engine import Engine
from console_app.tui.commands.registry import Command, CommandRegistry
from console_app.tui.ui import Ui

LONGEST_ABOUT = 200  # characters of a description


class Send(Protocol):
    """Sends a prompt whose turn runs within `around`."""

    def __call__(self, text: str, *, around: Callable[[], AbstractAsyncContextManager[None]]) -> None: ...


class CustomCommandList:
    """Of one console."""

    def __init__(
        self, find: Callable[[], CustomCommands], registry: CommandRegistry, ui: Ui, engine: Engine, models: Models
    ) -> None:
        self._find = find
        self._registry = registry
        self._ui = ui
        self._engine = engine
        self._models = models
        self.send: Send | None = None

    async def read(self) -> str:
        """Reads the files; what is wrong with one is a line. Gives what came of it, in one line."""
        found = await asyncio.to_thread(self._find)
        self._registry.untrusted = found.untrusted
        taken = self._registry.customise([self._command(one) for one in found.commands])
        for name in taken:
            path = next(one.path for one in found.commands if one.name == name)
            self._ui.tell("warning", f"{one_line(str(path), 200)}: /{name} is a command of Fanout. Rename the file.")
        for problem in found.problems:
            self._ui.tell("warning", problem)
        return told(found, taken)

    def _command(self, custom: CustomCommand) -> Command:
        about = one_line(custom.description, LONGEST_ABOUT)
        return Command(custom.name, about, partial(self._run, custom), one_line(custom.argument_hint, 60))

    def _run(self, custom: CustomCommand, rest: str) -> None:
        if self.send is not None:
            self.send(custom.prompt(rest), around=partial(turn_of, custom, self._engine, self._models))
