"""Slash commands as the prompt has them: found by what is typed, run, and completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console_app.console.commands import Commands
from console_app.console.completion import Completion, Token
from console_app.console.console import Console
from console_app.console.intents.table import Bound
from console_app.console.slash_commands import parse
from console_app.mcp_client import command_of
from console_app.tui.commands.registry import CommandRegistry
from console_app.tui.prompt.prompt_box import choices
from console_app.tui.ui import Ui


class CommandLine:
    """Of one console. `is_prompt` says whether a name can only be that of a server's prompt."""

    def __init__(
        self, console: Console, own: Commands, ui: Ui, commands: CommandRegistry, is_prompt: Callable[[str], bool]
    ) -> None:
        self._own = own
        self._console = console
        self._ui = ui
        self._commands = commands
        self._is_prompt = is_prompt

    def read(self, text: str) -> tuple[str, str] | None:
        """(name, rest) of a prompt that is a command; None for one that only looks like it."""
        asked = command_of(text)
        return asked if asked is not None and self._is_prompt(asked[0]) else parse(text)

    def find(self, name: str) -> Bound | None:
        """The command of that name; None, and said, where there is none."""
        if (command := self._commands.get(name)) is None:
            self._ui.toast(self._commands.missing(name))
        return command

    def run(self, command: Bound, rest: str = "") -> None:
        """Runs a command with the text behind its name. One that may ask takes the place of another that asks; no
        command ends another's work."""
        if (work := self._own.do(command, rest)) is not None:
            (self._ui.open if command.intent.asks else self._ui.open_beside)(work)

    def completions(self, token: Token) -> Sequence[Completion]:
        """What can stand in place of `token`, best first."""
        if token.kind == "command":
            return [
                Completion(f"/{one.intent.name}", f"/{one.intent.name} ", one.intent.about, runs=True)
                for one in self._commands.match(token.query)
            ]
        command = self._commands.get(token.command)
        return choices(token.query, command.choices(self._console)) if command else ()
