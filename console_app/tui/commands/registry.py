"""The slash commands of the screen by name: its own, those that people wrote, and those that servers offer now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from console_app.console.commands import Commands
from console_app.console.intents.table import Bound
from console_app.tui.widgets.fuzzy import best

MOST_MATCHES = 50  # of a list that scrolls


class CommandRegistry:
    """Of one console."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._offered: dict[str, Bound] = {}

    def __iter__(self) -> Iterator[Bound]:
        return iter((*self.own, *self._offered.values()))

    @property
    def own(self) -> Sequence[Bound]:
        """The console's commands, and those that people wrote."""
        return self._commands.listed

    def offer(self, commands: Iterable[Bound]) -> None:
        """Takes the commands that servers offer, in place of those they offered before; their names hold a colon."""
        self._offered = {command.intent.name: command for command in commands}

    def get(self, name: str) -> Bound | None:
        """The command of that very name."""
        return self._commands.get(name.lower()) or self._offered.get(name)

    def match(self, query: str, limit: int = MOST_MATCHES) -> list[Bound]:
        """Commands whose name fits `query`, best first."""
        table = self._offered if ":" in query else {one.intent.name: one for one in self}
        return [table[name] for name in best(query, table, limit)]

    def missing(self, name: str) -> str:
        """One line about a name that no command has."""
        hits = best(name.lower(), [one.intent.name for one in self], 1)
        return self._commands.missing(name.lower(), hits[0] if hits else "")
