"""Find the piece before the cursor that can be completed. It is pure text work.

It is a slash command, its argument, a value for a server's prompt, or a file or resource behind `@`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from console_app.records import dataclass

Kind = Literal["command", "argument", "value", "file"]

_COMMAND = re.compile(r"/([\w.-]*|[^\s:/]+:\S*)$", re.IGNORECASE)
_ARGUMENT = re.compile(r"/([a-z-]+) +(\S*)$", re.IGNORECASE)
_VALUE = re.compile(r"/([^\s:/]+:\S+) +(.*)$")
_WORD = re.compile(r'(?:[^\s="]+=)?(?:"(?:[^"\\]|\\.)*"?|\S*)')
_BLANK = re.compile(r"\s*")
_FILE = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]{0,200})|(?!")(\S{0,200}))$')


@dataclass(frozen=True, slots=True)
class Token:
    """The piece before the cursor can be completed: `query` is its text so far, from column `start` on."""

    kind: Kind
    query: str
    start: int
    command: str = ""  # of an argument or value
    words: str = ""  # before a value


@dataclass(frozen=True, slots=True)
class Completion:
    """Something to choose: `insert` takes the token's place; `runs` says that Enter may send it right away."""

    label: str
    insert: str
    about: str = ""
    runs: bool = False


@dataclass(frozen=True, slots=True)
class Completions:
    """Holds completions, and a title that says what is asked for. With `more`, a server is being asked for the rest."""

    completions: Sequence[Completion] = ()
    title: str = ""
    more: bool = False


def token_before(line: str, column: int, first_line: bool) -> Token | None:
    """Return the token that ends at `column` of `line`; commands are only read at the start of a prompt."""
    before = line[:column]
    if first_line and before.startswith("/"):
        if match := _COMMAND.fullmatch(before):
            return Token("command", match[1].lower(), 0)
        if match := _ARGUMENT.fullmatch(before):
            return Token("argument", match[2], match.start(2), match[1].lower())
        if match := _VALUE.fullmatch(before):
            start = _last_word(match[2])
            return Token("value", match[2][start:], match.start(2) + start, match[1], match[2][:start])
    if match := _FILE.search(before):
        return Token("file", match[1] or match[2] or "", match.start())
    return None


def _last_word(text: str) -> int:
    """Return where the last word begins, which may be a value in quotes; the end of a text that ends with a blank."""
    at = start = 0
    while at < len(text):
        blank = _BLANK.match(text, at)
        start = blank.end() if blank is not None else at
        word = _WORD.match(text, start)
        at = max(word.end() if word is not None else 0, start + 1)
    return start
