"""Whether a call that was read from text also stands in something the model was given, and where.

Whoever writes a page, a file or a tool's result may write calls into it, in any layout and notation. So texts are
compared without white space, quotation marks, escapes and entities. A call names its tool: each text is searched once
for the names of tools, and only texts that name the tool are looked at when a call comes.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from console_app.dialects import ParsedCall
from console_app.dialects.patterns import any_of

MOST = 2_000_000
"""Characters that are compared, the newest; where more was given every call asks. Folding them takes 40 ms."""
TOO_MUCH = "the model was given more text than calls can be compared with"
_PLACES = 100  # of one tool's name in one text
_SHORT = 4  # characters of a value that says little alone
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrtbf])")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_NOISE = {ord(char): None for char in " \t\r\n\v\f\"'`“”‘’„«»「」\\*>|\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"}
_NO_ARGUMENTS = re.compile(
    r"\W{0,4}(?:(?:arguments|parameters|args|input|tool_input|actioninput)\W{0,3})?(?:{}|\(\)|<)"
)
_ATTACHMENT = re.compile(r"<attachment[^>\n]*?\b(?:path|uri)=\"([^\"\n]*)\"[^>\n]*>")


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text that the model was given; `source` says what it is, in words."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class _Folded:
    """`text` is what is compared, `places` where the names of tools stand in it."""

    text: str
    places: dict[str, list[int]]


class Provenance:
    """What was given in a conversation, kept from request to request so that each text is folded once."""

    def __init__(self) -> None:
        self._given: Sequence[GivenText] = ()
        self._names: tuple[str, ...] = ()
        self._folded: dict[str, _Folded] = {}
        self._naming: dict[str, list[tuple[GivenText, _Folded]]] | None = None

    def give(self, given: Sequence[GivenText], names: Sequence[str]) -> None:
        """The texts of the request that is going out, oldest first, and the names of the tools."""
        self._given, self._naming = given, None
        if self._names != tuple(names):
            self._names, self._folded = tuple(names), {}
        current = {one.text for one in given}
        self._folded = {text: folded for text, folded in self._folded.items() if text in current}

    def new(self) -> int:
        """How many characters of what was given were not compared with anything yet."""
        return sum(len(one.text) for one in self._given if one.text not in self._folded)

    def prepare(self) -> None:
        """Fold what is new; for a thread where that is much, since markup takes 0.1 µs a character."""
        self._naming = self._naming if self._naming is not None else self._index()

    def where(self, call: ParsedCall) -> str:
        """Where a call stands in what was given, in words; "" where it doesn't."""
        self.prepare()
        for one, folded in (self._naming or {}).get(fold(call.name), ()):
            if _stands_in(folded, call):
                return f"it stands in {_place(one, call.name)}"
        return TOO_MUCH if sum(len(one.text) for one in self._given) > MOST else ""

    def _index(self) -> dict[str, list[tuple[GivenText, _Folded]]]:
        """The texts that name a tool, by its name, the newest first."""
        naming: dict[str, list[tuple[GivenText, _Folded]]] = {}
        left = MOST
        for one in reversed(self._given):
            left -= len(one.text)
            if left < 0:
                break
            folded = self._folded.get(one.text)
            if folded is None:
                folded = self._folded[one.text] = _indexed(one.text, self._names)
            for name in folded.places:
                naming.setdefault(name, []).append((one, folded))
        return naming


def _indexed(text: str, names: Sequence[str]) -> _Folded:
    folded = fold(text)
    places: dict[str, list[int]] = {}
    if names:
        for found in re.finditer(any_of(sorted(map(fold, names))), folded):
            known = places.setdefault(found.group(), [])
            if len(known) < _PLACES:
                known.append(found.end())
    return _Folded(folded, places)


def _stands_in(given: _Folded, call: ParsedCall) -> bool:
    places = given.places.get(fold(call.name))
    if not places:
        return False
    if not call.arguments:
        return any(_NO_ARGUMENTS.match(given.text, place) for place in places)
    return all(_has(given.text, fold(name), value) for name, value in call.arguments.items())


def _has(text: str, name: str, value: object) -> bool:
    written = fold(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if len(written) >= _SHORT:
        return written in text
    return re.search(rf"{re.escape(name)}\W{{0,8}}{re.escape(written)}", text) is not None


def fold(text: str) -> str:
    """Without what changes when a text is laid out, quoted, or written in JSON, in HTML or in an address."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for _ in range(2):  # what is quoted twice is escaped twice
        if "&" in text:
            text = html.unescape(text)
    if "\\" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)) if found[1] or found[2] else "", text)
    if "%" in text and _PERCENT.search(text):
        text = unquote(text)
    return text.translate(_NOISE).lower()


def _place(given: GivenText, name: str) -> str:
    at = given.text.lower().find(name.lower())
    if at < 0:
        return given.source
    attached = [found[1] for found in _ATTACHMENT.finditer(given.text, 0, at)]
    source = f"the attachment {attached[-1]}" if attached else given.source
    return f"{source} (line {given.text.count(chr(10), 0, at) + 1})"
