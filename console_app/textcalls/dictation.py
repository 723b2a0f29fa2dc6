"""Whether a text tells a model to call a tool with a value, in words near to the tool's name: a value that is too short
to be known alone, or one that the model put into another, as a command into a shell's or a name into a path.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from console_app.textcalls.folding import signless, words
from console_app.textcalls.model import ParsedCall

_BEFORE = 100  # characters before a tool's name that are looked at,
_BEHIND = 240  # and behind it
_FEWEST = 2  # letters of a value that may be all there is
_LONG = 8  # letters of a word that may be dictated alone
_LONGEST = 2_000  # characters of a value that are looked at
_MOST = 64  # words of it
_COMMANDS = re.compile(r"&&|\|\|?|;")
_STEPS = re.compile(r"[/?&#.]")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/]+/.")
_RUNS_ANOTHER = frozenset(
    "bash c cmd command env eval exec exe lc nohup powershell pwsh sh sudo timeout zsh".split()  # noqa: SIM905
)
"""Words of a command that only runs another one."""


@dataclass(frozen=True, slots=True)
class Near:
    """The words near to a tool's name, wherever a text has it, each with a blank at either end."""

    text: str
    words: frozenset[str]


def told(text: str, name: re.Pattern[str]) -> Near:
    """What a text says near to a tool's name."""
    low = text.lower()
    if not (places := list(_near(name, low))):  # it may be written in escapes or in other letters
        low = " ".join(words(text))
        places = list(_near(name, low))
    said = (" ".join(words(low[start:end], marks=marks)) for start, end in places for marks in (False, True))
    text = "".join(f" {part} |" for part in dict.fromkeys(said))
    return Near(text, frozenset(text.split()))


def _near(name: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """From where to where a text is near to a name; places that meet are one."""
    start = end = -1
    for found in name.finditer(text):
        first = max(0, found.start() - _BEFORE)
        if first > end >= 0:
            yield start, end
        if first > end:
            start = first
        end = found.end() + _BEHIND
    if end >= 0:
        yield start, end


class Dictated:
    """What of a call may be dictated: of what its tool needs, or takes where it needs nothing, the texts; where there
    are none, the numbers.
    """

    def __init__(self, call: ParsedCall, needed: Collection[str]) -> None:
        self.name = call.name
        said = {name: value for name, value in call.arguments.items() if _text(value).strip()}
        main = {name: value for name, value in said.items() if name in needed} or said
        texts = [value for value in main.values() if not isinstance(value, int | float)] or main.values()
        values = [list(_parts(text)) for text in map(_text, texts)]
        self._values = [(_size(" ".join(parts[0])), parts) for parts in values]
        self._whole = sum(size for size, _ in self._values)
        self._words = {one for _, parts in self._values for part in parts for word in part for one in _ways(word)}
        self.compared = 0
        """Characters that were gone through."""

    def stands_in(self, near: Near) -> bool:
        """Whether words near to the tool's name say half of it."""
        if self._whole < _FEWEST or near.words.isdisjoint(self._words):
            return False
        held = sum(size for size, parts in self._values if any(self._is_told(part, near) for part in parts))
        return 2 * held >= self._whole

    def _is_told(self, part: Sequence[str], near: Near) -> bool:
        own = [word for word in part if word not in _RUNS_ANOTHER]
        if any(_size(" ".join(one)) >= _FEWEST and self._holds(one, near) for one in (part, own)):
            return True
        cites = len(part) == _MOST  # as a text does that is the model's own
        return (not cites and any(self._is_address(word, near) for word in own)) or self._most_of(own, near)

    def _holds(self, part: Sequence[str], near: Near) -> bool:
        self.compared += len(near.text)
        return bool(part) and f" {' '.join(part)} " in near.text

    def _is_address(self, word: str, near: Near) -> bool:
        """Whether a word is a path that ends, or an address that begins, as the text says."""
        return any(one in near.words for one in _ways(word) if one != word or _ADDRESS.match(one))

    def _most_of(self, part: Sequence[str], near: Near) -> bool:
        """Whether the text says half of it in one."""
        whole, at = _size("".join(part)), 0
        while at < len(part):
            end = at
            while end < len(part) and self._holds(part[at : end + 1], near):
                end += 1
            size = _size("".join(part[at:end]))
            if 2 * size >= whole and size >= (_FEWEST if end - at > 1 else _LONG):
                return True
            at = max(end, at + 1)
        return False


def _ways(word: str) -> Iterator[str]:
    """A word, and what of it may be dictated: a path's end, an address's beginning."""
    yield word
    steps = [step.start() for step in _STEPS.finditer(word)][-_MOST:]
    for at in steps:
        if "://" in word:
            if _ADDRESS.match(begun := word[:at].rstrip("/?&#.")):
                yield begun
        elif word[at] == "/" and "/" in (end := word[at + 1 :]) and _size(end) >= _LONG:
            yield end


def _text(value: Any) -> str:
    """What an argument says; of a list or an object each value behind the other."""
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list):
        return " ".join(map(_text, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return "" if value is None or isinstance(value, bool) else str(value).removesuffix(".0")


def _parts(text: str) -> Iterator[list[str]]:
    """The words of a value, and of each command in it."""
    line = text[:_LONGEST].strip()
    yield words(line)[:_MOST]
    if "\n" not in line and len(commands := _COMMANDS.split(line)) > 1:
        yield from (part for one in commands if len(part := words(one)[:_MOST]) > 1)


def _size(text: str) -> int:
    return len(signless(text))
