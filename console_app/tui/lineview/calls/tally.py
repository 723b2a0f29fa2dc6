"""Count the calls of one answer by their state, and know what tells them apart.

Only a call that changed is counted anew, so that one of thousands costs no more than one of ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from console_app.domain import call_description
from console_app.domain.transcript import CallView
from console_app.tui.lineview.wording import COUNTED, state_of

OPEN = ("running", "preparing", "queued", *call_description.NEEDS)
_NONE = object()  # in place of an argument that a call lacks


class TellingApart:
    """The arguments that tell the calls of each tool apart."""

    def __init__(self, calls: Iterable[CallView] = ()) -> None:
        self._tools: dict[str, tuple[dict[str, Any], dict[str, bool]]] = {}  # a call's, and which of all differ
        for call in calls:
            self.add(call)

    def add(self, call: CallView) -> None:
        if (arguments := call.arguments) is None:
            return
        first, differs = self._tools.setdefault(call.name, (arguments, dict.fromkeys(arguments, False)))
        for name, known in differs.items():
            if not known and first.get(name, _NONE) != arguments.get(name, _NONE):
                differs[name] = True
        differs.update({name: True for name in arguments if name not in differs})

    def of(self, tool: str) -> tuple[str, ...]:
        known = self._tools.get(tool)
        return () if known is None else tuple(name for name, differs in known[1].items() if differs)


class Tally:
    """The calls of one answer by the word that each is counted under, in the order in which they came to it."""

    def __init__(self, calls: Iterable[CallView] = ()) -> None:
        self.telling = TellingApart()
        self._calls: dict[str, dict[int, CallView]] = {}  # by word and by identity
        self._known: dict[int, tuple[str, dict[str, Any] | None]] = {}  # the word and the arguments of each
        self._servers: dict[str, set[str]] = {}  # by tool
        for call in calls:
            self.count(call)

    def __len__(self) -> int:
        return len(self._known)

    def count(self, call: CallView) -> None:
        word, (before, arguments) = state_of(call)[1], self._known.get(id(call), ("", None))
        self._known[id(call)] = word, call.arguments
        if word != before:
            self._calls.get(before, {}).pop(id(call), None)
            self._calls.setdefault(word, {})[id(call)] = call
        if not before and call.server:
            self._servers.setdefault(call.tool, set()).add(call.server)
        if arguments is None:
            self.telling.add(call)
        elif call.arguments is not arguments:  # it was edited
            self.telling = TellingApart(one for found in self._calls.values() for one in found.values())

    def word(self, call: CallView) -> str:
        return self._known[id(call)][0]

    def of(self, *words: str) -> Iterator[CallView]:
        return (call for word in words for call in self._calls.get(word, {}).values())

    def number(self, *words: str) -> int:
        return sum(len(self._calls.get(word, ())) for word in words)

    @property
    def counts(self) -> Counter[str]:
        """The number of calls for each word, in the order of `COUNTED`."""
        return Counter({word: len(found) for word in COUNTED if (found := self._calls.get(word))})

    @property
    def is_open(self) -> bool:
        return any(self._calls.get(word) for word in OPEN)

    def has_namesake(self, call: CallView) -> bool:
        return len(self._servers.get(call.tool, ())) > 1
