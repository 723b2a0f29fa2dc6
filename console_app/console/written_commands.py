"""The commands that people wrote: read behind the first paint, and again where their files changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import TYPE_CHECKING

from console_app.config.trust.custom_commands import CustomCommand, told
from console_app.console.intents.intent import Intent
from console_app.console.intents.table import Bound
from console_app.console.talk.command_turns import turn_of
from console_app.domain.safe_text import one_line

if TYPE_CHECKING:
    from console_app.console.console import Console
    from console_app.console.services import Services
    from console_app.console.ui_port import UiPort

LONGEST_ABOUT = 200  # characters of a description


class WrittenCommands:
    """Of one console; `by_name` is empty until `read`. `taken` gives the names that the face keeps for itself."""

    def __init__(self, services: Services, ui: UiPort, taken: Callable[[], Container[str]]) -> None:
        self._services, self._ui, self._taken = services, ui, taken
        self.by_name: Mapping[str, Bound] = {}
        self.prompts: Mapping[str, CustomCommand] = {}  # what each says, for a face that makes its own message of it
        self.untrusted: frozenset[str] = frozenset()  # names of a project's commands that wait for trust

    async def read(self) -> str:
        """Reads the files; what is wrong with one is told. Gives what came of it, in one line."""
        found = await asyncio.to_thread(self._services.custom_commands)
        self.untrusted = found.untrusted
        names = self._taken()
        taken = [one for one in found.commands if one.name in names]
        for one in taken:
            path = one_line(str(one.path), 200)
            self._ui.tell("warning", f"{path}: /{one.name} is a command of Fanout. Rename the file.")
        for problem in found.problems:
            self._ui.tell("warning", problem)
        self.prompts = {one.name: one for one in found.commands if one not in taken}
        self.by_name = {name: self._bound(one) for name, one in self.prompts.items()}
        return told(found, [one.name for one in taken])

    def _bound(self, custom: CustomCommand) -> Bound:
        hint = one_line(custom.argument_hint, 60)
        intent = Intent(custom.name, one_line(custom.description, LONGEST_ABOUT), argument=hint or "[WORDS]")

        def run(console: Console, rest: str) -> None:
            console.send(custom.prompt(rest), around=partial(turn_of, custom, self._services.engine, console.models))

        return Bound(intent, run)
