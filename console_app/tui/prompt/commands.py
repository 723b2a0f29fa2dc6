"""The slash commands of the screen by name: its own, those that people wrote, and those that servers offer now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from console_app.console import Console
from console_app.console.intents import Bound, Commands, parse
from console_app.mcp_client.offering import typed_names
from console_app.tui.prompt.completion import Completion, Token
from console_app.tui.ui import Ui
from console_app.tui.widgets.pick_list import best


class CommandLine:
    """Runs the slash commands typed in one console. `is_prompt` tells whether a name can only be a prompt's."""

    def __init__(
        self, console: Console, own: Commands, ui: Ui, commands: CommandRegistry, is_prompt: Callable[[str], bool]
    ) -> None:
        self._own = own
        self._console = console
        self._ui = ui
        self._commands = commands
        self._is_prompt = is_prompt

    def read(self, text: str) -> tuple[str, str] | None:
        """Return (name, rest) of a prompt that is a command; None for one that only looks like it."""
        asked = typed_names.command_of(text)
        return asked if asked is not None and self._is_prompt(asked[0]) else parse(text)

    def find(self, name: str) -> Bound | None:
        """Return the command of that name. Where there is none, say so and return None."""
        if (command := self._commands.get(name)) is None:
            self._ui.toast(self._commands.missing(name))
        return command

    def run(self, command: Bound, rest: str = "") -> None:
        """Run a command with the text behind its name. One that may ask takes the place of another that asks."""
        if (work := self._own.do(command, rest)) is not None:
            (self._ui.open if command.intent.asks else self._ui.open_beside)(work)

    def completions(self, token: Token) -> Sequence[Completion]:
        """Return everything that can replace `token`, best first."""
        if token.kind == "command":
            return [
                Completion(f"/{one.intent.name}", f"/{one.intent.name} ", one.intent.about, runs=True)
                for one in self._commands.match(token.query)
            ]
        command = self._commands.get(token.command)
        if command is None:
            return ()
        names = best(token.query, command.choices(self._console), 12)
        return [Completion(name, name, runs=True) for name in names]


MOST_MATCHES = 50  # of a list that scrolls


class CommandRegistry:
    """Knows the commands of one console by name."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._offered: dict[str, Bound] = {}

    def __iter__(self) -> Iterator[Bound]:
        return iter((*self.own, *self._offered.values()))

    @property
    def own(self) -> Sequence[Bound]:
        return self._commands.listed

    def offer(self, commands: Iterable[Bound]) -> None:
        """Take the commands that servers offer, in place of those they offered before; their names hold a colon."""
        self._offered = {command.intent.name: command for command in commands}

    def get(self, name: str) -> Bound | None:
        return self._commands.get(name.lower()) or self._offered.get(name)

    def match(self, query: str, limit: int = MOST_MATCHES) -> list[Bound]:
        """Return the commands whose name fits `query`, best first."""
        table = self._offered if ":" in query else {one.intent.name: one for one in self}
        return [table[name] for name in best(query, table, limit)]

    def missing(self, name: str) -> str:
        """Say in a line that no command has this name."""
        return self._commands.missing(name.lower(), self._offered)
