"""Slash commands as the main screen uses them: run by name, and completed while they are typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console_app.console.completion import Completion, Token
from console_app.console.slash_commands import parse
from console_app.mcp_client.typed_names import command_of
from console_app.tui.commands.registry import Command, CommandRegistry
from console_app.tui.prompt.prompt_box import choices


class CommandLine:
    """The commands of one console. `is_prompt` says whether a name can only be that of a server's prompt."""

    def __init__(
        self, commands: CommandRegistry, is_prompt: Callable[[str], bool], toast: Callable[[str], None]
    ) -> None:
        self._commands = commands
        self._is_prompt = is_prompt
        self._toast = toast

    def read(self, text: str) -> tuple[str, str] | None:
        """(name, rest) of a prompt that is a command; None for one that only looks like it."""
        asked = command_of(text)
        return asked if asked is not None and self._is_prompt(asked[0]) else parse(text)

    def find(self, name: str) -> Command | None:
        """The command of that name; None, and said, where there is none."""
        command = self._commands.get(name)
        if command is None and name.lower() in self._commands.untrusted:
            self._toast(f"/{name} is a command of this project that waits for your trust: /trust shows it, and asks.")
        elif command is None:
            nearest = self._commands.nearest(name)
            meant = f"Did you mean /{nearest}? " if nearest else ""
            self._toast(f"There is no command /{name}. {meant}/help lists them.")
        return command

    def run(self, command: Command, rest: str = "") -> None:
        """Runs a command with the text behind its name."""
        command.run(rest)

    def completions(self, token: Token) -> Sequence[Completion]:
        """What can stand in place of `token`, best first."""
        if token.kind == "command":
            return [
                Completion(f"/{command.name}", f"/{command.name} ", command.about, runs=True)
                for command in self._commands.match(token.query)
            ]
        command = self._commands.get(token.command)
        return choices(token.query, command.choices()) if command else ()
