"""The first question: does the text of a call, literal or escaped, stand in what the model was given?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from console_app.textcalls.provenance.folding import letters
from console_app.textcalls.provenance.given import FoldedText, FoundPassage, GivenTexts, Named

_NAMED = re.compile(r"[_.\-]+")
_JOINED = r"(?:[^\w\s]|_){0,3}"
_NEAR = 400  # characters around a name among which short values stand
_SHORT = 4  # letters of a value that says little alone
_PIECE = 24  # letters of a value that are looked for together: of a line that a page breaks, some are found
_PIECES = 32  # of one value
_ENOUGH = 0.75  # of what is looked for: the model may add an argument of its own, or a page break the text
_A_PART = 0.25  # of it that names the tool, where other texts hold the rest
_TOLD = 2  # arguments that are enough, each of as many letters:
_TELLS = 12
_NO_ARGUMENTS = re.compile(
    r"\W{0,6}(?:(?:arguments|parameters|args|input|tool_input|actioninput)\W{0,5})?(?:\{\}|\(\)|<)"
)


class Quotation:
    """A call whose text is looked for: its arguments behind the name of its tool, on the wire or its own."""

    def __init__(self, name: str, tool: str, server: str, arguments: Mapping[str, Any], raw: str) -> None:
        self._raw = letters(raw).replace("\n", "")
        self._name = _named(name, tool, server)
        self._letters = {letters(name), letters(tool)}
        self._values = list(leaves("", arguments))
        self._saying = [(key, value) for key, value in self._values if value not in ("", None)]
        of: dict[str, list[str]] = {}
        for key, value in self._values:
            of.setdefault(key, []).extend(_pieces(value))
        self._pieces = [piece for pieces in of.values() for piece in pieces]
        telling = [pieces for pieces in of.values() if _size(pieces) >= _TELLS]
        self._telling = telling if len(of) > _TOLD and len(telling) >= _TOLD else []

    def find(self, given: GivenTexts) -> FoundPassage | None:
        long = [name for name in self._letters if len(name) > _TELLS]  # they may stand apart as a page breaks them
        for text in reversed(given.texts):
            if not any(map(text.holds, self._letters)):
                continue
            places = text.named(self._letters, self._name)
            if (places or any(map(text.holds, long))) and self._stands_in(text, places, given):
                return self._finding(text, places)
        if len(self._raw) >= _TELLS and given.holds(self._raw):
            return next(given.places(self._raw)).finding
        whole = _size(self._pieces)
        for name in long if whole else ():
            for around in given.around(name, 2 * whole + _NEAR):
                if _size([piece for piece in self._pieces if piece not in around]) <= whole * (1 - _ENOUGH):
                    return next(given.places(name)).finding
        return None

    def _stands_in(self, text: FoldedText, places: Sequence[Named], given: GivenTexts) -> bool:
        if not self._pieces:
            return any(self._near(_compact(place.behind.lower())) for place in places)
        whole = _size(self._pieces)
        left = [piece for piece in self._pieces if not text.holds(piece)]
        arguments = sum(all(map(text.holds, pieces)) for pieces in self._telling)
        if _size(left) <= whole * (1 - _ENOUGH) or arguments >= _TOLD:
            return True
        if _size(left) > whole * (1 - _A_PART):
            return False
        return _size([piece for piece in left if not given.holds_in_two(piece)]) <= whole * (1 - _ENOUGH)

    def _near(self, around: str) -> bool:
        """Tell whether a call without arguments, or each short value behind its name, stands there."""
        if not self._saying and _NO_ARGUMENTS.match(around):
            return True
        values = self._saying or self._values
        stand = sum(bool(re.search(_short(name, value), around)) for name, value in values)
        return 0 < len(values) <= 2 * stand

    def _finding(self, text: FoldedText, places: Sequence[Named]) -> FoundPassage:
        """Say at which of the lines that name the tool the call stands."""
        said = {place.line: "".join(text.folded(0)[place.line : place.line + 40])[:2000] for place in places}
        line = max(said, key=lambda line: sum(piece in said[line] for piece in self._pieces), default=0)
        passage = " ".join(" ".join(text.lines[line : line + 6]).split())[:300]
        return text.finding(line, passage)


@cache
def _named(name: str, tool: str, server: str) -> re.Pattern[str]:
    """A pattern of a tool's name: on the wire or its own, of several words; a word alone only as a call has it."""
    several = [_NAMED.split(one.lower()) for one in (name, tool)]
    ways = [_JOINED.join(map(re.escape, words)) for words in several if len(words) > 1]
    word, at = re.escape(tool.lower()), re.escape(server.lower())
    sign = r"[\s\"'“”*]{0,3}"
    ways.append(rf"(?:name|tool|functions?|action|invoke|recipient){sign}[:=.(\[{{]{{1,4}}{sign}{word}(?!\w)")
    ways.append(rf"(?:call[:<(\[{{\s]{sign}|[<=\]]){word}(?!\w)|(?<!\w){word}{sign}[(\[{{]")
    if server:
        ways.append(rf"{at}[\-.:/_]+{word}(?!\w)")
    return re.compile("|".join(ways))


def _compact(text: str) -> str:
    return re.sub(r"[\s\"'`“”‘’*\\]+", "", text)


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value that holds no others, with the name that it has, or the list that it is in."""
    if isinstance(value, dict):
        for key, one in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from leaves(str(key), one)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from leaves(name, one)
    else:
        yield name, value


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value).removesuffix(".0")


def _pieces(value: Any) -> list[str]:
    if value is None or isinstance(value, bool):
        return []
    lines = [letters(line).replace("\n", "") for line in as_text(value).split("\n")]
    raw = [line[at : at + _PIECE] for line in lines for at in range(0, len(line), _PIECE)]
    step = -(-len(raw) // _PIECES) or 1
    found = [piece for piece in raw[::step] if len(piece) >= _SHORT]
    whole = "" if found else "".join(raw)
    return found or [whole] * (len(whole) >= _SHORT)


def _size(pieces: Sequence[str]) -> int:
    return sum(map(len, pieces))


def _short(name: str, value: Any) -> str:
    match value:
        case bool():
            written = "(?:true|yes|on|1)" if value else "(?:false|no|off|0)"
        case None:
            written = "(?:null|none|nil)"
        case _:
            written = re.escape(_compact(as_text(value).lower()))
    return re.escape(_compact(name.lower())) + (rf"(?:\W|is|as|to|of){{0,8}}{written}" if written else r"[:=(<]")
