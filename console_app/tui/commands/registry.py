"""The registry of slash commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from console_app.tui.widgets.fuzzy import best

# The order in which help and the palette list them; what is not named here comes last.
_ORDER = """
    help keys connect model theme policy protocol mcp tools reload trust call retry timeline new sessions resume rename
    fork rewind undo export find clear copy plan permissions config todo editor context request cost compact log doctor
    quit
""".split()  # noqa: SIM905  a list of words is easier read and changed
MOST_MATCHES = 50  # of a list that scrolls


def _no_choices() -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `run` gets the text behind the name; `choices` completes that text."""

    name: str
    about: str
    run: Callable[[str], None]
    argument: str = ""  # what may follow the name, as help shows it
    choices: Callable[[], Sequence[str]] = _no_choices


def _place(command: Command) -> int:
    return _ORDER.index(command.name) if command.name in _ORDER else len(_ORDER)


class CommandRegistry:
    """Commands by name: those of the console in their order, those that people wrote, then what servers offer now."""

    def __init__(self, commands: Sequence[Command] = ()) -> None:
        self._commands = {command.name: command for command in commands}
        self._custom: dict[str, Command] = {}
        self._offered: dict[str, Command] = {}
        self.untrusted: frozenset[str] = frozenset()  # names of a project's commands that wait for trust

    def add(self, commands: Iterable[Command]) -> None:
        """More commands of the console, in the order in which they are listed."""
        known = sorted((*self._commands.values(), *commands), key=_place)
        self._commands = {command.name: command for command in known}

    def __iter__(self) -> Iterator[Command]:
        return iter((*self._commands.values(), *self._custom.values(), *self._offered.values()))

    @property
    def own(self) -> Sequence[Command]:
        """The console's commands, and those that people wrote."""
        return [*self._commands.values(), *self._custom.values()]

    def customise(self, commands: Iterable[Command]) -> Sequence[str]:
        """The commands that people wrote, in place of those before; gives the names that the console keeps."""
        given = {command.name: command for command in commands}
        self._custom = {name: command for name, command in given.items() if name not in self._commands}
        return [name for name in given if name in self._commands]

    def offer(self, commands: Iterable[Command]) -> None:
        """The commands that servers offer, in place of those they offered before; their names hold a colon."""
        self._offered = {command.name: command for command in commands}

    def get(self, name: str) -> Command | None:
        """The command of that very name."""
        return self._commands.get(name.lower()) or self._custom.get(name.lower()) or self._offered.get(name)

    def match(self, query: str, limit: int = MOST_MATCHES) -> list[Command]:
        """Commands whose name fits `query`, best first."""
        table = self._offered if ":" in query else {**self._commands, **self._custom, **self._offered}
        return [table[name] for name in best(query, table, limit)]

    def nearest(self, name: str) -> str:
        """A name that `name` may have been meant for, or ""."""
        hits = best(name.lower(), [*self._commands, *self._custom, *self._offered], 1)
        return hits[0] if hits else ""
