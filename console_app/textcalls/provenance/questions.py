"""Asks both questions of each call. Does its text, literal or escaped, stand in what the model was given? Do its values
stand there in words of others that tell to make it?

For the second, beside prose counts a command that reaches out or destroys, a long text, or an address that it goes
to; near to the tool's own name count a few letters. A path, an id or a query of a listing stands in no such sentence.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Any

from console_app.textcalls.dialects.coats import CLOSE, OPEN
from console_app.textcalls.patterns import lazily
from console_app.textcalls.provenance.given import (
    MOST,
    FoldedText,
    FoundPassage,
    GivenText,
    GivenTexts,
    Named,
    ValuePlace,
    bare,
    letters,
    unescaped,
)

_LONG = 40  # letters of a text that is told beside any prose
_TOGETHER = 8  # letters of a text that stands in one place with all others
_LONGEST = 4_000  # characters of a value that are looked at
_PARTS = 12  # of one value
_PARTS_WRITTEN = 4  # of them that are looked for in other writings
_COMMAND = 400  # characters of a value that may be a command
_PART = 8  # letters of a value, on either side of where it is split over two texts
_ALONE = 0.6  # of the letters of what a tool needs: a value that says nearly all
_STANDS = 2 / 3  # of the letters of what the tool needs: the rest may be the model's own
_BESIDE = 160  # characters beside a value among which prose counts
_COMMANDS = lazily(r"&&|\|\||;|\n")
_QUOTED = lazily(r"\"([^\"\n]{6,})\"|'([^'\n]{6,})'")
_RUNS_ANOTHER = lazily(
    r"^(?:(?:sudo|bash|sh|zsh|dash|cmd|cmd\.exe|powershell|pwsh|env|nohup|timeout|exec|eval)\s+(?:(?:-\w+|/c|\d+)\s+)*)+"
)
_ELSEWHERE = lazily(
    r"\b[a-z][a-z0-9+.-]*://(?!(?:localhost|127\.|0\.0\.0\.0|\[::1\]))[^\s\"'`<>|]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])(?!127\.|0\.0\.)(?:\d{1,3}\.){3}\d{1,3}(?![\w.])",
    re.IGNORECASE,
)
_REACHES = lazily(
    r"\|\s*\w|\s>>?\s*[\w~/.$]|`|\$[({A-Z]|~/|(?:^|[\s=:])/(?:(?:etc|home|root|usr|var|tmp|dev|bin|opt)\b|:)|\.ssh\b|%\w+%|--force\b"
    r"|\s-\w*r\w*f\b|\b(?:drop|truncate|alter|grant|revoke|delete|destroy)\s+\w|\binsert\s+into\b|\bupdate\s+\w+\s+set\b"
    r"|\b(?:rm|rmdir|del|erase|rd|dd|mkfs\S*|shred|wipe|sudo|su|doas|chmod|chown|curl|wget|nc|ncat|netcat|telnet|ssh|scp"
    r"|sftp|rsync|ftp|eval|exec|iex|invoke-\w+|base64|crontab|kill|pkill|killall|shutdown|reboot|systemctl|iptables"
    r"|useradd|passwd|publish|purge|uninstall|(?<!--)(?:set|remove)-\w+|__import__|os\.\w+|subprocess\S*)(?!\w)"
    r"|(?<=\s)deploy(?![\w./])|\b(?:install\s+(?!-[er]\b)(?:-\S+\s+)*|npx\s+|uvx\s+)[\w@]|\s-enc\w*\s",
    re.IGNORECASE,
)
"""Signs and words of a command that reaches out of its folder, destroys or gives away."""
_FETCHES = lazily(
    r"\b(?:curl|wget|nc|ncat|netcat|telnet|ssh|scp|sftp|rsync|ftp|git\s+(?:clone|fetch|pull|push|remote)|eval|exec|iex"
    r"|install(?=[^\n]*://)|iwr|irm|invoke-\w+)(?!\w)",
    re.IGNORECASE,
)
_HOST = lazily(lambda: rf"{_ELSEWHERE.pattern}|(?<![\w./@-])[\w-]+(?:\.[a-z][\w-]*)+(?:[:/][^\s\"'`<>|]*)?", re.I)
"""A word of a fetching command that may be an address."""
_ID = lazily(r"(?=(?:\D*\d){8})[\w ./-]{12,60}\Z")
_FIELD = lazily(r"[\"|][\s\\]*[,:}\]]|[,:{\[][\s\\]*\"|\s\|\s|\t|,(?=[^\W\d_])")
"""A pattern of what parts the values of a record, whose words say nothing of one another."""
_HOME = lazily(r"(?<![\w/])(?:/home/[\w.-]+|/root|/Users/[\w.-]+|\$HOME|\$\{HOME\})/")
_ASCII = lazily(r"[a-z0-9]+")
_PATH = lazily(r"\S*/\S*")
_MOVES = lazily(r"mv(?:\s+-\S+)*(?:\s+[~/$]\S+){2,}")  # to and from places outside of the folder
_FEW = 2  # words that tell of an address
_SCHEME = lazily(r"^\w+://")
_SCHEME_BEFORE = lazily(r"\w+://\Z")
_SIGNS = " \t$#>-*/!<`\"'\\&"
_BETWEEN = lazily(r"[\s、。，！？：；「」『』《》（）।]+")
_AROUND = ".,;:!?…'\"`«»“”„‘’()-*{}[]\\"
_NO_WORD = lazily(r"[\d_/\\@=<>{}()\[\]|$%&#*+~^]|\w[.:]\w")
_MOST_WORDS = 64
_BEHIND = 240  # characters behind a tool's name that are looked at
_FEWEST = 2  # letters of a value that may be all there is
_LONG_WORD = 8  # letters of a word that may be dictated alone
_APART = str.maketrans(dict.fromkeys("\"'`“”‘’„«»「」\\*>|+()[]{}<,;=", " "))
_AT_ENDS = ".:!?-_/~#$@%&"
_STEPS = lazily(r"[/?&#.]")
_ADDRESS = lazily(r"[a-z][a-z0-9+.-]*://[^/]+/.")


class Dictation:
    """A call that may be dictated: the values that its tool needs, or takes where it needs nothing. `name` and `tool`
    are the tool's on the wire and at its server. `reads`: it changes nothing, so that only an address counts."""

    def __init__(
        self, name: str, tool: str, arguments: Mapping[str, Any], needed: Collection[str], *, reads: bool = False
    ) -> None:
        said = {key: value for key, value in arguments.items() if _said(value).strip()}
        main = {key: value for key, value in said.items() if key in needed} or said
        texts = [value for value in main.values() if not isinstance(value, int | float)] or list(main.values())
        self._values = [_said(value)[:_LONGEST].strip() for value in texts]
        self._several, self._with_more = len(main) > 1, len(said) > 1
        self._counts = any(isinstance(value, int | float) for value in said.values())
        self._names, self._named_so = _named(name, tool), {_letters(name), _letters(tool)}
        self._reads = reads

    def find(self, given: GivenTexts, own: GivenTexts) -> FoundPassage | None:
        for one in (one for value in self._values for one in _ELSEWHERE.findall(value)):
            if found := _carries(one, given):
                return found
        if self._reads or not self._values:
            return None
        found = self._named(given) or self._told(given) or self._together(given)
        return found or self._addressed(given, own) or self._encoded(given)

    def _addressed(self, given: GivenTexts, own: GivenTexts) -> FoundPassage | None:
        """Return where others told in words of an address, a mailbox or an account that the call goes to: it is a value
        of its own, or part of a command that reaches out. What the user wrote as well is told by nobody else."""
        for value in self._values:
            words_of_it, account = value.split(), _ID.match(value)
            goes = self._several or (self._counts if account else self._with_more and "://" not in value)
            if account:
                words_of_it = [value]
            if not goes or not all(account or _ELSEWHERE.search(one) for one in words_of_it):
                lines = value.split("\n") if len(value) <= _COMMAND else ()
                words_of_it = [one for line in lines if _FETCHES.search(line) for one in _HOST.findall(line)]
            for plain in (_SCHEME.sub("", one) for one in words_of_it):
                wanted, (host, _, path) = _letters(plain), map(_letters, plain.partition("/"))
                if own.holds(wanted) or len(wanted) < _PART:
                    continue
                for where, rest in ((wanted, ""), (host, path)):  # the host told apart, in any order
                    for place in given.places(where) if len(where) >= _PART and not own.holds(where) else ():
                        if rest in _letters(f"{place.above} {place.before} {place.after}") and _leads(place):
                            return place.finding
                apart = not given.holds(wanted) and ("@" in plain or not given.holds(host))
                parts = {*_ASCII.findall(plain.lower())} if apart else set[str]()  # spelled, or a name and a host
                if found := _assembled(wanted, given) or _apart(parts, given):
                    return found
        return None

    def _encoded(self, given: GivenTexts) -> FoundPassage | None:
        """Return where what reaches out stands in another writing, which nobody uses but to hide it."""
        parts = (part for value in self._values for part in [*_parts(value)][:_PARTS_WRITTEN])
        reaching = (part for part in parts if _REACHES.search(part) or _ELSEWHERE.search(part))
        for wanted in (_letters(way) for part in reaching if len(_letters(part)) >= _PART for way in _writings(part)):
            if given.holds(wanted):
                return next(given.places(wanted)).finding
        return None

    def _told(self, given: GivenTexts) -> FoundPassage | None:
        whole = sum(len(_letters(value)) for value in self._values)
        for value in self._values:
            wanted = _letters(value)
            if self._several and any(wanted == text.readings[0] for text in given.texts):
                continue  # a copy of a whole result
            alone = len(wanted) >= _ALONE * whole
            for part in _parts(value):
                if found := self._part(part, given, alone=alone, whole=part is value):
                    return found
        return None

    def _part(self, part: str, given: GivenTexts, *, alone: bool, whole: bool) -> FoundPassage | None:
        """Return where a value or a part of it is told; `alone`: the tool needs hardly anything else."""
        wanted, several = _letters(part), _words_in(part) >= 2
        reaches = several and bool(_REACHES.search(part) or _ELSEWHERE.search(part))
        if not (reaches or (several and whole)):
            return None
        enough = len(wanted) >= (_PART if reaches else _LONG)
        told = reaches and _FETCHES.search(part) and _ELSEWHERE.search(part)  # whatever stands beside it
        for place in given.places(wanted) if enough else ():
            if told or _is_told(place, reaches=reaches):
                sizes = [(len(one), given.holds(one)) for one in map(_letters, self._values)]
                stand = sum(size for size, stands in sizes if stands) >= _STANDS * sum(size for size, _ in sizes)
                return place.finding if (reaches and alone) or stand else None
        found = _assembled(wanted, given) if alone and enough else None
        return found or (_begun(part, given) if alone and reaches and len(part) <= _COMMAND else None)

    def _together(self, given: GivenTexts) -> FoundPassage | None:
        """Return where all values stand in one line of prose, of which one is of several words."""
        all_of = [_letters(value) for value in self._values]
        texts = (wanted for wanted, value in zip(all_of, self._values, strict=True) if _words_in(value) >= 2)
        longest = max(texts, key=len, default="")
        if len(all_of) < 2 or len(longest) < _TOGETHER or not all(all_of):
            return None
        for place in given.places(longest):
            around = _letters(f"{place.above}\n{place.before}\n{place.after}")
            others = all(wanted in around for wanted in all_of if wanted != longest)
            if others and _prose(place.before, place.after, names=True) >= 2:
                return place.finding
        return None

    def _named(self, given: GivenTexts) -> FoundPassage | None:
        """Return where words near to the tool's name say half of what it needs, however short."""
        parts_of = [[words(part)[:_MOST_WORDS] for part in _parts(value)] for value in self._values]
        values = list(zip([len(_letters(value)) for value in self._values], parts_of, strict=True))
        whole = sum(size for size, _ in values)
        ways = {way for _, parts in values for part in parts for word in part for way in _ways(word)}
        if whole < _FEWEST:
            return None
        for text in reversed(given.texts):
            for place in text.named(self._named_so, self._names) if any(map(text.holds, self._named_so)) else ():
                around = f"{place.before}{place.name}{place.behind[:_BEHIND]}"
                near = words(around)
                if ways.isdisjoint(near):
                    continue
                known = frozenset(near)
                held = sum(size for size, parts in values if any(_holds(near, known, part) for part in parts))
                if 2 * held >= whole:
                    return text.finding(place.line, " ".join(around.split()))
        return None


def _leads(place: ValuePlace) -> bool:
    """Tell whether words beside an address, or right above it, lead to it: those of its own field of a record."""
    led = "" if place.before.lstrip()[:1].isupper() else place.led
    before, after = _FIELD.split(f"{led} {place.before}")[-1], _FIELD.split(place.after)[0]
    above = 0 if _letters(_SCHEME_BEFORE.sub("", bare(place.before))) else _prose(place.above, "")
    return _prose(before, after) >= _FEW or above > _FEW


def _is_told(place: ValuePlace, *, reaches: bool) -> bool:
    """Tell whether words beside a value, or right above it, tell to do something with it."""
    before, after = f"{place.led} {place.before}", place.after
    above = 0 if bare(place.before).strip(_SIGNS) else _prose(place.above, "")
    leads = above if place.above.rstrip("*_ ").endswith((":", "：", "-", "—")) else 0
    leads = 0 if place.above.rstrip("*_: ").endswith(")") else leads  # as a loop in Python
    if reaches:
        named = _prose(before, after, names=True)
        is_key = place.before.rstrip(" \"'`").endswith(":")  # as of a setting, which tells nothing alone
        return named >= (2 if is_key else 1) or above >= 3 or leads >= 1 or place.before.rstrip().endswith("$")
    return _prose(place.before, place.after) >= 3 or leads >= 2


def _assembled(wanted: str, given: GivenTexts) -> FoundPassage | None:
    """Return where the first part of a value stands of which all parts stand apart, in any order, each beside words."""
    first, rest = None, wanted
    while len(rest) >= _PART // 2:
        at = given.longest(rest)
        short = at < min(_PART, len(rest))  # whole words say as much, where all of the rest stands in one piece
        if at == len(wanted) or (
            short and (first or at < _FEWEST or not given.holds(rest[at:]) or len(rest) < at + _PART)
        ):
            return None
        told = (p for p in given.places(rest[:at]) if _prose(p.before, p.after) >= 2 or _prose(p.above, "") >= 3)
        place = next((p for p in told if not (short and (p.before[-1:].isalnum() or p.after[:1].isalnum()))), None)
        if place is None:
            return None
        first, rest = first or place.finding, rest[at:]
    return first


def _begun(command: str, given: GivenTexts) -> FoundPassage | None:
    """Return where a command is told that goes on otherwise here, or all that it reaches, in words of another order."""
    at, begun = given.longest(_letters(command)), command
    while len(_letters(begun)) > at:
        begun = begun.rpartition(" ")[0]
    if len(_letters(begun)) >= _PART and " " in begun and _REACHES.search(begun):
        for place in given.places(_letters(begun)):
            if _is_told(place, reaches=True):
                return place.finding
    plain, moves = _PATH.sub("", command), _MOVES.fullmatch(command)
    if moves or (_REACHES.search(plain) and {*plain}.isdisjoint("|<>") and not _FETCHES.search(plain)):
        reached = {one.strip(_AROUND) for one in command.lower().split()[1:] if one[0] != "-"} - {""}
        return _apart(reached, given, 1 if moves else 3)
    return None


def _apart(parts: Collection[str], given: GivenTexts, least: int = 0) -> FoundPassage | None:
    """Return where words stand near to one another in any order, beside at `least` so many others."""
    longest = max(parts, key=len, default="")
    for place in given.places(_letters(longest)) if len(_letters(longest)) >= _FEWEST else ():
        if place.before[-1:].isalnum() or place.after[:1].isalnum():
            continue  # in the middle of a word
        near = f"{place.above} {place.led} {place.before} {longest} {place.after}".lower()
        known = {*_ASCII.findall(near), *(one.strip(_AROUND) for one in _BETWEEN.split(near))}
        if known.issuperset(parts) and _prose(place.before, place.after) >= least:
            return place.finding
    return None


def _writings(text: str) -> Iterator[str]:
    """The other writings of a text that say the same, wherever it begins in a longer one."""
    data = text.encode(errors="replace")
    for before in range(3):
        first, end = -(-8 * before // 6), 8 * (before + len(data)) // 6
        yield base64.b64encode(bytes(before) + data).decode()[first:end]
    yield base64.b32encode(data).decode()[: 8 * len(data) // 5]
    yield data.hex()
    yield text[::-1]
    yield codecs.encode(text, "rot13")
    for form in ("{}", "{:03o}"):
        yield "".join(form.format(code) for code in data)


def _carries(address: str, given: GivenTexts) -> FoundPassage | None:
    """Return where others told an address with a place for what the model is to send in it."""
    at = max(address.find("?"), address.find("="))
    if at < 0 or len(_letters(address[at:])) < _LONG_WORD or given.holds(_letters(address)):
        return None
    for end in (address.rfind("=") + 1, address.find("=") + 1, address.find("?") + 1):
        if end and len(_letters(address[end:])) >= _LONG_WORD:
            for place in given.places(_letters(address[:end])):
                if place.after[:1] not in "&/" and _prose(place.before, place.after) >= 2:
                    return place.finding
    return None


def _prose(before: str, after: str, *, names: bool = False) -> int:
    """How many words stand there that are of no number, path or code, nor, without `names`, begin with a capital."""
    said = [*_BETWEEN.split(before[-_BESIDE:]), *_BETWEEN.split(after[:_BESIDE])]
    own = [word for one in said if (word := one.strip(_AROUND)) and not _NO_WORD.search(word)]
    return sum(1 + _wide(word) // 2 for word in own if names or word == word.lower())


def _wide(text: str) -> int:
    return sum("\u0e00" <= char <= "\u0e7f" or "\u3040" <= char <= "\u9fff" for char in text)


def _parts(value: str) -> Iterator[str]:
    """A value, what is quoted in it, and each command of it."""
    yield value
    quoted = [one or other for one, other in _QUOTED.findall(value)]
    quoted = [*quoted, *([_HOME.sub("~/", value)] if _HOME.search(value) else ())]
    parts = [part.strip() for one in (value, *quoted) for part in (one, *_COMMANDS.split(one))]
    own = [_RUNS_ANOTHER.sub("", part).strip("\"' ") for part in parts]
    yield from [part for part in dict.fromkeys((*parts, *own)) if part and part != value][:_PARTS]


def _words_in(text: str) -> int:
    """How many words a value has; letters of a script without blanks count for half of one."""
    return len(text.split()) + _wide(text[:200]) // 2


def _letters(text: str) -> str:
    return letters(text).replace("\n", "")


def _said(value: Any) -> str:
    return " ".join(as_text(one) for _, one in leaves("", value) if one is not None and not isinstance(one, bool))


def words(text: str) -> list[str]:
    """The words of `text`, unescaped and small, without the signs that they begin and end with."""
    return [word for one in unescaped(text).lower().translate(_APART).split() if (word := one.strip(_AT_ENDS))]


def _holds(near: Sequence[str], known: frozenset[str], part: Sequence[str]) -> bool:
    """Tell whether the words near to a tool's name say a part of a value: all, an address of it, or half in one."""
    cites = len(part) == _MOST_WORDS  # as a text does that is the model's own
    if not cites and any(way in known for word in part for way in _ways(word) if way != word or _ADDRESS.match(way)):
        return True
    run = SequenceMatcher(None, part, near, autojunk=False).find_longest_match()
    whole, size = (len(_letters("".join(words))) for words in (part, part[run.a : run.a + run.size]))
    enough = _FEWEST if run.size > 1 or run.size == len(part) else _LONG_WORD
    return 2 * size >= whole and size >= enough


def _ways(word: str) -> Iterator[str]:
    """A word, and what of it may be dictated: a path's end, an address's beginning."""
    yield word
    for at in [step.start() for step in _STEPS.finditer(word)][-_MOST_WORDS:]:
        if "://" in word:
            if _ADDRESS.match(begun := word[:at].rstrip("/?&#.")):
                yield begun
        elif word[at] == "/" and len(_letters(end := word[at + 1 :])) >= _LONG_WORD:
            yield end


_MARKS = lazily(rf"{OPEN}|{CLOSE}")
_NAMED = lazily(r"[_.\-]+")
_JOINED = r"(?:[^\w\s]|_){0,3}"
_NEAR = 400  # characters around a name among which short values stand
_SHORT = 4  # letters of a value that says little alone
_PIECE = 24  # letters of a value that are looked for together: of a line that a page breaks, some are found
_PIECES = 32  # of one value
_ENOUGH = 0.75  # of what is looked for: the model may add an argument of its own, or a page break the text
_A_PART = 0.25  # of it that names the tool, where other texts hold the rest
_TOLD = 2  # arguments that are enough, each of as many letters:
_TELLS = 12
_NO_ARGUMENTS = lazily(r"\W{0,6}(?:(?:arguments|parameters|args|input|tool_input|actioninput)\W{0,5})?(?:\{\}|\(\)|<)")


class Quotation:
    """A call whose text is looked for: its arguments behind the name of its tool, on the wire or its own."""

    def __init__(self, name: str, tool: str, server: str, arguments: Mapping[str, Any], raw: str) -> None:
        self._raw = _letters(_MARKS.sub("", raw))
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
                said = {place.line: "".join(text.folded[0][place.line : place.line + 40])[:2000] for place in places}
                line = max(said, key=lambda one: sum(piece in said[one] for piece in self._pieces), default=0)
                return text.finding(line, " ".join(" ".join(text.lines[line : line + 6]).split())[:300])
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
        left = [piece for piece in left if not given.holds(piece)]  # nor in two parts
        left = [one for one in left if not (at := given.longest(one)) or not given.holds(one[at:])]
        return _size(left) <= whole * (1 - _ENOUGH)

    def _near(self, around: str) -> bool:
        """Tell whether a call without arguments, or each short value behind its name, stands there."""
        if not self._saying and _NO_ARGUMENTS.match(around):
            return True
        values = self._saying or self._values
        stand = sum(bool(re.search(_short(name, value), around)) for name, value in values)
        return 0 < len(values) <= 2 * stand


@cache
def _named(name: str, tool: str, server: str = "") -> re.Pattern[str]:
    """A pattern of a tool's name: on the wire or its own, of several words; a word alone only as a call has it."""
    several = [_NAMED.split(one.lower()) for one in (name, tool)]
    ways = [rf"(?<![^\W_]){_JOINED.join(map(re.escape, one))}(?![^\W_])" for one in several if len(one) > 1]
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
    lines = map(_letters, as_text(value).split("\n"))
    raw = [line[at : at + _PIECE] for line in lines for at in range(0, len(line), _PIECE)]
    step = -(-len(raw) // _PIECES) or 1
    found = [piece for piece in raw[::step] if len(piece) >= _SHORT]
    whole = "" if found else "".join(raw)
    return found or [whole] * (len(whole) >= _SHORT)


def _size(pieces: Sequence[str]) -> int:
    return sum(map(len, pieces))


def _short(name: str, value: Any) -> str:
    words = {True: "(?:true|yes|on|1)", False: "(?:false|no|off|0)", None: "(?:null|none|nil)"}
    written = words[value] if value is None or isinstance(value, bool) else re.escape(_compact(as_text(value).lower()))
    return re.escape(_compact(name.lower())) + (rf"(?:\W|is|as|to|of){{0,8}}{written}" if written else r"[:=(<]")


class Provenance:
    def __init__(self) -> None:
        self._given: Sequence[GivenText] = ()
        self._ready: Sequence[GivenText] | None = None
        self._folded: dict[GivenText, FoldedText] = {}
        self._all = self._others = self._own = GivenTexts(())

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
            if left < 0 and kept:
                break
            kept[one] = self._folded.get(one) or FoldedText(one)
        self._folded = kept
        texts = list(kept.values())[::-1]
        self._all = GivenTexts(texts)
        self._others = GivenTexts([one for one in texts if not one.given.own])
        self._own = GivenTexts([one for one in texts if one.given.own])

    def quoted(self, name: str, tool: str, server: str, arguments: Mapping[str, Any], raw: str) -> FoundPassage | None:
        """Return where a call that was read from the text `raw` stands in what was given. `name` is on the wire."""
        return Quotation(name, tool, server, arguments, raw).find(self._all)

    def dictated(
        self, name: str, tool: str, arguments: Mapping[str, Any], needed: Sequence[str], *, reads: bool = False
    ) -> FoundPassage | None:
        """Return where others told to make a call, by what the tool needs; of one that `reads` only addresses count."""
        return Dictation(name, tool, arguments, needed, reads=reads).find(self._others, self._own)
