"""The registry of slash commands; what `/name rest` in the prompt means is decided here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console_app.tui.completion import best

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen

_LINE = re.compile(r"/([a-z][a-z-]*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


def _no_choices(_screen: ChatScreen) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `run` gets the chat screen and the text behind the name; `choices` completes that text."""

    name: str
    about: str
    run: Callable[[ChatScreen, str], None]
    argument: str = ""  # what may follow the name, as help shows it
    choices: Callable[[ChatScreen], Sequence[str]] = _no_choices


class CommandRegistry:
    """Commands by name, in the order they were added."""

    def __init__(self, commands: Sequence[Command] = ()) -> None:
        self._commands = {command.name: command for command in commands}

    def __iter__(self):
        return iter(self._commands.values())

    def get(self, name: str) -> Command | None:
        """The command of that very name."""
        return self._commands.get(name.lower())

    def match(self, query: str, limit: int = 12) -> list[Command]:
        """Commands whose name fits `query`, best first."""
        return [self._commands[name] for name in best(query, self._commands, limit)]

    def nearest(self, name: str) -> str:
        """A name that `name` may have been meant for, or ""."""
        hits = best(name.lower(), self._commands, 1)
        return hits[0] if hits else ""


def parse(text: str) -> tuple[str, str] | None:
    """(name, rest) of a prompt that is a command; None for a prompt that only starts with a slash, as a path does."""
    match = _LINE.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None
