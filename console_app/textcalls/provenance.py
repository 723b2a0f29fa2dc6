"""Tell whether a call that was read from text also stands in something the model was given, and where.

Whoever writes a page, a file or a tool's result may write calls into it, in any layout and notation: texts are compared
as `fold` makes them. A call names its tool: each text is searched once for the names of tools, and only texts that
name the tool are looked at when a call comes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any, Protocol

from console_app.domain import schema as json_schema
from console_app.textcalls.model import ParsedCall, Schema
from console_app.textcalls.patterns import any_of
from console_app.textcalls.readings import fold, readings, signless, turned, words

_BEFORE = 100  # characters before a tool's name that are looked at,
_BEHIND = 240  # and behind it
_FEWEST = 2  # letters of a value that may be all there is
_LONG_WORD = 8  # letters of a word that may be dictated alone
_LONGEST = 2_000  # characters of a value that are looked at
_MOST_WORDS = 64  # words of it
_COMMANDS = re.compile(r"&&|\|\|?|;")
_STEPS = re.compile(r"[/?&#.]")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/]+/.")
_RUNS_ANOTHER = frozenset(
    "bash c cmd command env eval exec exe lc nohup powershell pwsh sh sudo timeout zsh".split()  # noqa: SIM905
)
"""Words of a command that only runs another one."""
_PLACES = 100  # of one tool's name in one text
_NO_ARGUMENTS = re.compile(
    r"\W{0,4}(?:(?:arguments|parameters|args|input|tool_input|actioninput)\W{0,3})?(?:{}|\(\)|<)"
)
"""A pattern of the text behind the name of a call without arguments."""
_LEADS_TO_NAME = re.compile(
    r"(?:name|tool|functions?|action|invoke|recipient)[:=.(\[{]{1,4}\Z|call[:<(\[{]?\Z|[<=\]]\Z"
)
_WORDS = re.compile(r"[_.-]+")
MOST = 2_000_000
"""Characters that are compared, the newest; where more was given every call asks. To go through them takes 0.2 s."""
MOST_COMPARED = 500_000_000
"""Characters that are gone through for the calls of one answer, in about 0.2 s; calls beyond them ask."""
TOO_MUCH = "the model was given more text than calls can be compared with"
_NAME_TAKES = 400  # characters that are gone through while the patterns take in a tool's names: half a millisecond
_LOOKED_AT = 20  # of these, to say which line it is
_NEAR = 2_000  # characters behind a name among which its arguments mostly stand
_SHORT = 4  # characters of a value that says little alone
_PIECE = 24  # characters of a value that are looked for together: of a line that a page breaks, some are found
_PIECES = 32  # of one value
_ENOUGH = 0.75  # of what is looked for: the model may add an argument of its own, or a page break the text
_A_PART = 0.25  # of it that names the tool, where other texts hold the rest
_TOLD = 2  # arguments that are enough, each of as many characters:
_TELLS = 12
_ATTACHMENT = re.compile(r"<attachment[^>\n]*?\b(?:path|uri)=\"([^\"\n]*)\"[^>\n]*>")
_ATTACHMENT_END = "</attachment>"


@dataclass(frozen=True, slots=True)
class _Near:
    """The words near to a tool's name, wherever a text has it, each with a blank at either end."""

    text: str
    words: frozenset[str]


def _told(text: str, name: re.Pattern[str]) -> _Near:
    """Return the words of a text near to a tool's name."""
    low = text.lower()
    if not (places := list(_near(name, low))):  # it may be written in escapes or in other letters
        low = " ".join(words(text))
        places = list(_near(name, low))
    said = (" ".join(words(low[start:end], marks=marks)) for start, end in places for marks in (False, True))
    text = "".join(f" {part} |" for part in dict.fromkeys(said))
    return _Near(text, frozenset(text.split()))


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


class _Dictated:
    """Holds the arguments of a call that may be dictated: of what its tool needs, or takes where it needs nothing, the
    texts; where there are none, the numbers.
    """

    def __init__(self, call: ParsedCall, needed: Collection[str]) -> None:
        self.name = call.name
        said = {name: value for name, value in call.arguments.items() if _text(value).strip()}
        main = {name: value for name, value in said.items() if name in needed} or said
        texts = [value for value in main.values() if not isinstance(value, int | float)] or main.values()
        values = [list(_parts(text)) for text in map(_text, texts)]
        self._values = [(_letters(" ".join(parts[0])), parts) for parts in values]
        self._whole = sum(size for size, _ in self._values)
        self._words = {one for _, parts in self._values for part in parts for word in part for one in _ways(word)}
        self.compared = 0
        """Characters that were gone through."""

    def stands_in(self, near: _Near) -> bool:
        """Tell whether words near to the tool's name say half of it."""
        if self._whole < _FEWEST or near.words.isdisjoint(self._words):
            return False
        held = sum(size for size, parts in self._values if any(self._is_told(part, near) for part in parts))
        return 2 * held >= self._whole

    def _is_told(self, part: Sequence[str], near: _Near) -> bool:
        own = [word for word in part if word not in _RUNS_ANOTHER]
        if any(_letters(" ".join(one)) >= _FEWEST and self._holds(one, near) for one in (part, own)):
            return True
        cites = len(part) == _MOST_WORDS  # as a text does that is the model's own
        return (not cites and any(self._is_address(word, near) for word in own)) or self._most_of(own, near)

    def _holds(self, part: Sequence[str], near: _Near) -> bool:
        self.compared += len(near.text)
        return bool(part) and f" {' '.join(part)} " in near.text

    def _is_address(self, word: str, near: _Near) -> bool:
        """Tell whether a word is a path that ends, or an address that begins, as the text says."""
        return any(one in near.words for one in _ways(word) if one != word or _ADDRESS.match(one))

    def _most_of(self, part: Sequence[str], near: _Near) -> bool:
        """Tell whether the text says half of it in one."""
        whole, at = _letters("".join(part)), 0
        while at < len(part):
            end = at
            while end < len(part) and self._holds(part[at : end + 1], near):
                end += 1
            size = _letters("".join(part[at:end]))
            if 2 * size >= whole and size >= (_FEWEST if end - at > 1 else _LONG_WORD):
                return True
            at = max(end, at + 1)
        return False


def _ways(word: str) -> Iterator[str]:
    """A word, and what of it may be dictated: a path's end, an address's beginning."""
    yield word
    steps = [step.start() for step in _STEPS.finditer(word)][-_MOST_WORDS:]
    for at in steps:
        if "://" in word:
            if _ADDRESS.match(begun := word[:at].rstrip("/?&#.")):
                yield begun
        elif word[at] == "/" and "/" in (end := word[at + 1 :]) and _letters(end) >= _LONG_WORD:
            yield end


def _text(value: Any) -> str:
    """Return the text of an argument; of a list or an object each value behind the other."""
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list):
        return " ".join(map(_text, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return "" if value is None or isinstance(value, bool) else str(value).removesuffix(".0")


def _parts(text: str) -> Iterator[list[str]]:
    """The words of a value, and of each command in it."""
    line = text[:_LONGEST].strip()
    yield words(line)[:_MOST_WORDS]
    if "\n" not in line and len(commands := _COMMANDS.split(line)) > 1:
        yield from (part for one in commands if len(part := words(one)[:_MOST_WORDS]) > 1)


def _letters(text: str) -> int:
    return len(signless(text))


@dataclass(frozen=True, slots=True)
class _Named:
    """The meanings of a name in a text: a tool's name on the wire, or its own, which without its server's may be a word
    like any other."""

    tool: str
    server: str = ""
    is_word: bool = False


class _Names:
    """The names that tools may have in a text; the patterns are made once for all texts."""

    def __init__(self, tools: Sequence[tuple[str, str, str]] = ()) -> None:
        self._tools = tools

    @cached_property
    def meant(self) -> dict[str, list[_Named]]:
        """The meanings of each name."""
        meant: dict[str, list[_Named]] = {}
        for name, tool, server in self._tools:
            whole = fold(name)
            for own in {whole, signless(whole)}:  # as it is, and as JavaScript has names
                meant.setdefault(own, []).append(_Named(name))
            words = _WORDS.split(fold(tool))
            for sign in ("_", "-", ".", "") if len(words) > 1 else ("",):
                if (own := sign.join(words)) and own not in (whole, signless(whole)):
                    meant.setdefault(own, []).append(_Named(name, fold(server), is_word=not sign))
        return meant

    @cached_property
    def turned(self) -> frozenset[str]:
        """The names as they stand in a text that is turned."""
        return frozenset(other for name in self.meant for other in turned(name)) - self.meant.keys()

    @cached_property
    def plain(self) -> re.Pattern[str]:
        """A name."""
        return re.compile(any_of(sorted(self.meant)))

    @cached_property
    def any_or_turned(self) -> re.Pattern[str]:
        """A name, turned or not."""
        return re.compile(any_of(sorted({*self.meant, *self.turned})))


@cache
def _spelt(wire: str, tool: str) -> re.Pattern[str]:
    """Return a pattern that finds a tool named where no other word is meant: as on the wire, or by its own name of
    several words; one of a single word is followed by a bracket."""
    parts = [re.split(r"[_.-]+", name.lower()) for name in (wire, tool)]
    ways = [r"[-_.:/]{0,3}".join(map(re.escape, part)) for part in parts if len(part) > 1]
    alone = [re.escape(name.lower()) + r"(?=[(\[{])" for name in (wire, tool)]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(ways + alone)})(?![^\W_])")


def _places_of(folded: str, names: _Names) -> dict[str, list[int]]:
    """Return the places where folded text names a tool, by the tool's name: the ends of what names it."""
    places: dict[str, list[int]] = {}
    for found in names.plain.finditer(folded):
        for named in names.meant[found.group()]:
            known = places.get(named.tool, [])
            if (len(known) < _PLACES or _NO_ARGUMENTS.match(folded, found.end())) and (
                not named.is_word or _is_called(folded, found.start(), found.end(), named)
            ):
                places.setdefault(named.tool, known).append(found.end())
    return places


def _is_called(text: str, start: int, end: int, named: _Named) -> bool:
    """Tell whether a word stands where the name of a tool does in a call."""
    before = text[max(0, start - 40) : start]
    server = before.rstrip("-.:/_")
    return (
        text[end : end + 1] in ("(", "[", "{")
        or (server != before and bool(named.server) and server.endswith(named.server))
        or _LEADS_TO_NAME.search(before) is not None
    )


class NamedTool(Protocol):
    """A tool whose calls are compared: `name` is the one that models use, `tool` its own at its `server`."""

    @property
    def name(self) -> str: ...

    @property
    def tool(self) -> str: ...

    @property
    def server(self) -> str: ...

    @property
    def input_schema(self) -> Schema: ...


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text that the model was given; `source` says what it is, in words; `again`: others hold all of it; `framed`: it
    may have attachments, where any other text may only say so; `own`: how much of its beginning is the user's words or
    the model's, which dictate nothing: they are compared only as they stand."""

    source: str
    text: str
    again: bool = False
    framed: bool = False
    own: int = 0

    @property
    def size(self) -> int:
        """Characters that it adds to what is compared."""
        return 0 if self.again else len(self.text)


class _Folded:
    """`text` is what is compared, `places` where the names of tools end in it; `raw` is what it was made of."""

    def __init__(self, text: str, places: dict[str, list[int]], raw: str = "") -> None:
        self.text = text
        self.places = places
        self.raw = raw
        self._near: dict[str, _Near] = {}

    def near(self, wire: str, tool: str, given: GivenText) -> _Near:
        """The words near to where others than the user and the model name a tool in what was given."""
        if wire not in self._near:
            others = self.raw[given.own if self.raw is given.text else 0 :] if given.own < len(given.text) else ""
            self._near[wire] = _told(others, _spelt(wire, tool))
        return self._near[wire]

    @cached_property
    def letters(self) -> str:
        return signless(self.text)


class Provenance:
    """The texts that were given in a conversation, kept from request to request so that each is folded once."""

    def __init__(self) -> None:
        self._given: Sequence[GivenText] = ()
        self._earlier: dict[str, GivenText] = {}
        self._names = _Names()
        self._tools: tuple[tuple[str, str, str], ...] = ()
        self._needed: dict[str, frozenset[str]] = {}
        self._folded: dict[str, Sequence[_Folded]] = {}  # a text as it is, and its other readings that name a tool
        self._plain: Sequence[_Folded] = ()  # each text as it is
        self._naming: dict[str, list[tuple[GivenText, _Folded]]] | None = None
        self._compared = 0

    def give(self, given: Sequence[GivenText], tools: Sequence[NamedTool]) -> None:
        """The texts of the request that is going out, oldest first, and the tools it offers. What requests before it
        gave is known further on, as far as there is room: the model may have repeated it.
        """
        current = {one.text for one in given}
        gone = {one.text: one for one in self._given if one.text not in current}
        self._earlier = {text: one for text, one in {**self._earlier, **gone}.items() if text not in current}
        self._given, self._naming, self._compared = given, None, 0
        named = tuple((spec.name, spec.tool, spec.server) for spec in tools)
        self._needed = {spec.name: _needed(spec) for spec in tools}
        if self._tools != named:
            self._tools, self._names, self._folded = named, _Names(named), {}

    def add(self, given: GivenText) -> None:
        """A text that the model was given while it answers."""
        self._earlier[given.text] = given
        self._naming = None

    def forget(self) -> None:
        """A new conversation begins."""
        self._given, self._earlier = (), {}

    def new(self) -> int:
        """How many characters of what was given were not compared with anything yet, and what the names of tools that
        nothing was compared with take as well.
        """
        names = 0 if self._folded else len(self._tools) * _NAME_TAKES
        return names + sum(len(one.text) for one in self._given if one.text not in self._folded)

    def prepare(self) -> None:
        """Fold what is new; for a thread where that is much, since markup takes 0.1 µs a character."""
        self._naming = self._naming if self._naming is not None else self._index()

    def where(self, call: ParsedCall) -> str:
        """Return where a call stands in what was given, in words; "" where it doesn't."""
        self.prepare()
        naming = (self._naming or {}).get(call.name, ())
        wanted = _Wanted(call) if naming else None
        dictated = _Dictated(call, self._needed.get(call.name, ())) if naming else None
        parts = ""  # the text that names the tool and holds a part of what others have the rest of
        for one, folded in sorted(naming, key=lambda one: one[0].again):
            if wanted is None or dictated is None or self._compared > MOST_COMPARED:
                break
            if self._stands_in(folded, wanted):
                return f"it stands in {self._place(one, wanted)}"
            if not parts and (self._begins_in(folded, wanted) or self._dictates(one, folded, dictated)):
                parts = f"it stands in {self._place(one, wanted)}"
        if parts:
            return parts
        return TOO_MUCH if sum(one.size for one in self._given) > MOST or self._compared > MOST_COMPARED else ""

    def _stands_in(self, given: _Folded, wanted: _Wanted) -> bool:
        """Tell whether a text says by itself what is wanted."""
        if not wanted.pieces:
            return wanted.stands_near(given)
        most = _size(wanted.pieces) * (1 - _ENOUGH)
        left = self._missing(wanted.pieces, given, 2 * most)
        if most < _size(left) <= 2 * most:
            left = [piece for piece in left if not self._holds_halves(given.letters, piece)]
        return _size(left) <= most or self._holds_arguments(given, wanted)

    def _holds_halves(self, letters: str, piece: str) -> bool:
        """Tell whether a text holds a piece in two parts: words may stand between them, as where a result has two
        blocks."""
        there, too_long = 0, len(piece)
        while too_long - there > 1:
            half = (there + too_long) // 2
            self._compared += len(letters)
            there, too_long = (half, too_long) if piece[:half] in letters else (there, half)
        return piece[there:] in letters

    def _begins_in(self, given: _Folded, wanted: _Wanted) -> bool:
        """Tell whether a text says a part of it, and others the rest."""
        whole = _size(wanted.pieces)
        left = self._missing(wanted.pieces, given, whole * (1 - _A_PART))
        if not whole or _size(left) > whole * (1 - _A_PART):
            return False
        for other in self._plain:
            if _size(left) <= whole * (1 - _ENOUGH):
                return True
            left = self._missing(left, other, whole)
        return _size(left) <= whole * (1 - _ENOUGH)

    def _dictates(self, given: GivenText, folded: _Folded, dictated: _Dictated) -> bool:
        """Tell whether words of others near to the tool's name say what the call says."""
        tool = next((tool for wire, tool, _ in self._tools if wire == dictated.name), "")
        held = not given.again and dictated.stands_in(folded.near(dictated.name, tool, given))
        self._compared += dictated.compared
        dictated.compared = 0
        return held

    def _holds_arguments(self, given: _Folded, wanted: _Wanted) -> bool:
        """Tell whether a text holds two whole arguments, whatever others the model writes beside them."""
        held = 0
        for pieces in wanted.telling:
            held += not self._missing(pieces, given, 0)
            if held == _TOLD:
                return True
        return False

    def _missing(self, pieces: Sequence[str], given: _Folded, most: float) -> Sequence[str]:
        """The pieces that a text doesn't hold; not all of them where they are more characters than `most`."""
        left: list[str] = []
        size = 0
        for piece in pieces:
            self._compared += len(given.letters)
            if self._compared > MOST_COMPARED:
                return pieces
            if piece not in given.letters:
                left.append(piece)
                size += len(piece)
                if size > most:
                    break
        return left

    def _place(self, given: GivenText, wanted: _Wanted) -> str:
        """Return where a text names the tool, the first time near to what the call says, if any."""
        names = next(([name, tool] for name, tool, _ in self._tools if name == wanted.name), [wanted.name])
        low = given.text.lower()
        places = [at for name in names for at in _found(name.lower(), low)]
        if not places:
            return given.source
        near = (at for at in places if wanted.stands_in(given.text[max(0, at - _NEAR // 2) : at + _NEAR]))
        at = next(near, places[0])
        source, begins = given.source, 0
        # An attachment can hold what looks like the beginning of one, but no end.
        ended = max(given.text.rfind(_ATTACHMENT_END, 0, at), 0)
        if given.framed and (found := _ATTACHMENT.search(given.text, ended, at)):
            source, begins = f"the attachment {found[1]}", found.end() + 1
        return f"{source} (line {given.text.count(chr(10), begins, at) + 1})"

    def _index(self) -> dict[str, list[tuple[GivenText, _Folded]]]:
        """The texts that name a tool, by its name, the newest first."""
        naming: dict[str, list[tuple[GivenText, _Folded]]] = {}
        left = MOST
        kept: dict[str, Sequence[_Folded]] = {}
        for one in chain(reversed(self._given), reversed(self._earlier.values())):
            left -= one.size
            if left < 0:
                break
            kept[one.text] = self._folded.get(one.text) or list(_indexed(one.text, self._names))
            for folded in kept[one.text]:
                for name in folded.places:
                    naming.setdefault(name, []).append((one, folded))
        self._folded = kept
        self._plain = [readings[0] for readings in kept.values()]
        self._earlier = {text: one for text, one in self._earlier.items() if text in kept}
        return naming


def _found(name: str, text: str) -> Iterator[int]:
    """Return the places where a text holds a name, up to a number of times."""
    at = -1
    for _ in range(_LOOKED_AT):
        if (at := text.find(name, at + 1)) < 0:
            return
        yield at


def _needed(spec: NamedTool) -> frozenset[str]:
    """The arguments that a tool needs; where it says of none, those that it takes."""
    return frozenset(json_schema.required(spec.input_schema) or json_schema.properties(spec.input_schema))


def _size(pieces: Sequence[str]) -> int:
    return sum(map(len, pieces))


class _Wanted:
    """The parts of a call that are looked for: `pieces` of its values, without signs; where they are all too short to
    say anything alone, its values by their names.
    """

    def __init__(self, call: ParsedCall) -> None:
        self.name = call.name
        self._values = list(_leaves("", call.arguments))
        self._saying = [(name, value) for name, value in self._values if value not in ("", None)]
        of: dict[str, list[str]] = {}
        for name, value in self._values:
            of.setdefault(name, []).extend(_pieces(value))
        self.pieces = [piece for pieces in of.values() for piece in pieces]
        telling = [pieces for pieces in of.values() if _size(pieces) >= _TELLS]
        self.telling = telling if len(of) > _TOLD and len(telling) >= _TOLD else []

    def stands_near(self, given: _Folded) -> bool:
        """Tell whether a call without arguments, or each short value behind its name, stands in a text."""
        bare = not self._saying and any(_NO_ARGUMENTS.match(given.text, at) for at in given.places[self.name])
        return bare or self._short_in(given.text)

    def stands_in(self, part: str) -> bool:
        """Tell whether a part of a text holds something of what is looked for."""
        folded = fold(part)
        letters = signless(folded)
        return any(piece in letters for piece in self.pieces) or (not self.pieces and self._short_in(folded))

    def _short_in(self, folded: str) -> bool:
        """Tell whether half of the short values, or more, stand behind their names."""
        values = self._saying or self._values
        stand = sum(bool(re.search(_short(name, value), folded)) for name, value in values)
        return 0 < len(values) <= 2 * stand


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value that holds no others, with the name that it has, or the list that it is in."""
    if isinstance(value, dict):
        for key, one in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(str(key), one)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(name, one)
    else:
        yield name, value


def _pieces(value: Any) -> list[str]:
    if value is None or isinstance(value, bool):
        return []
    text = value if isinstance(value, str) else repr(value).removesuffix(".0")
    raw = [line[at : at + _PIECE] for line in text.split("\n") for at in range(0, len(line), _PIECE)]
    step = -(-len(raw) // _PIECES) or 1
    found = [piece for one in raw[::step] if len(piece := signless(fold(one))) >= _SHORT]
    whole = "" if found else signless(fold(text[: _PIECE * _PIECES]))
    return found or [whole] * (len(whole) >= _SHORT)


def _short(name: str, value: Any) -> str:
    """A pattern of a short value behind its name."""
    match value:
        case bool():
            written = "(?:true|yes|on|1)" if value else "(?:false|no|off|0)"
        case None:
            written = "(?:null|none|nil)"
        case str():
            written = re.escape(fold(value))
        case _:
            written = re.escape(fold(repr(value).removesuffix(".0")))
    return re.escape(fold(name)) + (rf"(?:\W|is|as|to|of){{0,8}}{written}" if written else r"[:=(<]")


def _indexed(text: str, names: _Names) -> Iterator[_Folded]:
    """A text as it is, and its other readings that name a tool."""
    folded = fold(text)
    found = set(names.any_or_turned.findall(folded)) if names.meant else set[str]()
    yield _Folded(folded, _places_of(folded, names) if found else {}, text)
    for one in turned(folded) if not found.isdisjoint(names.turned) else ():
        if places := _places_of(one, names):
            yield _Folded(one, places)
    for raw, one in readings(text, folded) if names.meant else ():
        if places := _places_of(one, names):
            yield _Folded(one, places, raw)
