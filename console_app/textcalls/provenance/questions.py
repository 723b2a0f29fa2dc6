"""Asks both questions of each call; every text is folded once, whatever the number of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console_app.textcalls.provenance.dictation import Dictation
from console_app.textcalls.provenance.given import MOST, FoldedText, FoundPassage, GivenText, GivenTexts
from console_app.textcalls.provenance.quotation import Quotation


class Provenance:
    def __init__(self) -> None:
        self._given: Sequence[GivenText] = ()
        self._ready: Sequence[GivenText] | None = None
        self._folded: dict[GivenText, FoldedText] = {}
        self._all = self._others = GivenTexts(())

    def give(self, given: Sequence[GivenText]) -> int:
        """Take all that was given by now, oldest first; how many characters that is. `prepare` comes next."""
        self._given = given
        return sum(len(one.text) for one in given)

    def prepare(self) -> None:
        """Fold what is new; for a thread where that is much, since a megabyte takes 0.1 s."""
        if self._given is self._ready:
            return
        self._ready = self._given
        left, kept = MOST, dict[GivenText, FoldedText]()
        for one in reversed(self._given):
            left -= len(one.text)
            if left < 0:
                break
            kept[one] = self._folded.get(one) or FoldedText(one)
        self._folded = kept
        texts = list(kept.values())[::-1]
        self._all = GivenTexts(texts)
        self._others = GivenTexts([one for one in texts if not one.given.own])

    def quoted(self, name: str, tool: str, server: str, arguments: Mapping[str, Any], raw: str) -> FoundPassage | None:
        """Return where a call that was read from the text `raw` stands in what was given. `name` is its tool's on the
        wire, `tool` the one at its server."""
        return Quotation(name, tool, server, arguments, raw).find(self._all)

    def dictated(
        self, name: str, tool: str, arguments: Mapping[str, Any], needed: Sequence[str], *, reads: bool = False
    ) -> FoundPassage | None:
        """Return where others told the model to make a call, of which the tool needs some arguments; `reads`: it
        changes nothing, so that only what an address carries away counts."""
        return Dictation(name, tool, arguments, needed, reads=reads).find(self._others)
