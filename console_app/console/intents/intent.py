"""A thing that a user can do, as every face has it: its name, its words, when it may be done and what it does."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from console_app.domain import one_line

if TYPE_CHECKING:
    from console_app.console.calls import Calls
    from console_app.console.console import Console
    from console_app.mcp_client import ServerPrompt

LONGEST_ABOUT = 200  # characters of a description

_LINE = re.compile(r"/([a-z][a-z0-9_-]*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)

Run = Callable[["Console", str], Awaitable[None] | None]
"""Does it, with the text that stands behind the name. Raises FanoutError, which every face shows as one line."""
Choices = Callable[["Console"], Sequence[str]]


class Moment(Enum):
    """The states in which an intent may be done. In any other the user is told why it may not."""

    ALWAYS = "always"
    SETTLED = "settled"  # once nothing is left of an activity that has told its end
    IDLE = "idle"  # settled, nothing runs, and the session is not open to read only


def no_choices(_console: Console) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Intent:
    """An entry of the table. Without `run` and `act`, each face does it in a way of its own. `act` is for one call, by
    its id."""

    name: str
    about: str
    run: Run | None = None
    argument: str = ""  # what may follow the name, as help shows it; without one nothing may
    choices: Choices = no_choices
    moment: Moment = Moment.ALWAYS
    asks: bool = False  # it may open a dialog, which takes the place of another
    same_as: str = ""  # the intent that this is another name of
    act: Callable[[Calls, str], None] | None = None

    @property
    def does(self) -> Run | None:
        """Return the way of every face that says nothing else; an act is for the call that the text names."""
        if (act := self.act) is None:
            return self.run
        return lambda console, rest: act(console.calls, console.ui.call(rest).id)


@dataclass(frozen=True, slots=True)
class Slash:
    """A face has the intent as a slash command; `run` and `choices` are the face's own, in place of the entry's."""

    run: Run | None = None
    choices: Choices | None = None


@dataclass(frozen=True, slots=True)
class Key:
    binding: str


@dataclass(frozen=True, slots=True)
class Cannot:
    why: str


Way = Slash | Key | Cannot
Ways = Mapping[str, Way]


def intent_of(typed: str, prompt: ServerPrompt) -> Intent:
    parts = dict.fromkeys(part for part in (prompt.title, prompt.description) if part)
    about = one_line(": ".join(parts), LONGEST_ABOUT) or "a prompt of the server"
    words = ((one_line(one.name, 30), one.required) for one in prompt.arguments)
    return Intent(typed, about, argument=" ".join(word if needed else f"[{word}]" for word, needed in words))


def parse(text: str) -> tuple[str, str] | None:
    """Return (name, rest) of a prompt that is a command; None where it only starts with a slash, as a path does."""
    match = _LINE.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None
