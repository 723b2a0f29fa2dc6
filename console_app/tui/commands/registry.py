"""The slash commands of the screen by name: its own, those that people wrote, and those that servers offer now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from console_app.console.console import Console
from console_app.console.intents.table import Bound
from console_app.tui.widgets.fuzzy import best

MOST_MATCHES = 50  # of a list that scrolls


class CommandRegistry:
    """Of one console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._written = console.written
        self._offered: dict[str, Bound] = {}

    def __iter__(self) -> Iterator[Bound]:
        return iter((*self.own, *self._offered.values()))

    @property
    def own(self) -> Sequence[Bound]:
        """The console's commands, and those that people wrote."""
        return [*self._console.commands.values(), *self._written.by_name.values()]

    def offer(self, commands: Iterable[Bound]) -> None:
        """Takes the commands that servers offer, in place of those they offered before; their names hold a colon."""
        self._offered = {command.intent.name: command for command in commands}

    def get(self, name: str) -> Bound | None:
        """The command of that very name."""
        return {**self._written.by_name, **self._console.commands}.get(name.lower()) or self._offered.get(name)

    def match(self, query: str, limit: int = MOST_MATCHES) -> list[Bound]:
        """Commands whose name fits `query`, best first."""
        table = self._offered if ":" in query else {**self._console.commands, **self._written.by_name, **self._offered}
        return [table[name] for name in best(query, table, limit)]

    def missing(self, name: str) -> str:
        """One line about a name that no command has: where it waits for trust, or which name is near."""
        if name.lower() in self._written.untrusted:
            return f"/{name} is a command of this project that waits for your trust: /trust shows it, and asks."
        hits = best(name.lower(), [*self._console.commands, *self._written.by_name, *self._offered], 1)
        return f"There is no command /{name}. {f'Did you mean /{hits[0]}? ' if hits else ''}/help lists them."
