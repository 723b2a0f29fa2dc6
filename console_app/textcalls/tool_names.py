"""How a text may name a tool, and where it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from console_app.textcalls.folding import fold, signless
from console_app.textcalls.patterns import any_of
from console_app.textcalls.readings import turned

_PLACES = 100  # of one tool's name in one text
NO_ARGUMENTS = re.compile(r"\W{0,4}(?:(?:arguments|parameters|args|input|tool_input|actioninput)\W{0,3})?(?:{}|\(\)|<)")
"""What a call without arguments has behind its name."""
_LEADS_TO_NAME = re.compile(
    r"(?:name|tool|functions?|action|invoke|recipient)[:=.(\[{]{1,4}\Z|call[:<(\[{]?\Z|[<=\]]\Z"
)
_WORDS = re.compile(r"[_.-]+")


@dataclass(frozen=True, slots=True)
class Named:
    """What a name in a text may mean: a tool's name on the wire, or its own, which without its server's may be a word
    like any other."""

    tool: str
    server: str = ""
    is_word: bool = False


class Names:
    """How tools may be named in a text, and which is meant; the patterns are made once for all texts."""

    def __init__(self, tools: Sequence[tuple[str, str, str]] = ()) -> None:
        self._tools = tools

    @cached_property
    def meant(self) -> dict[str, list[Named]]:
        """What each name may mean."""
        meant: dict[str, list[Named]] = {}
        for name, tool, server in self._tools:
            whole = fold(name)
            for own in {whole, signless(whole)}:  # as it is, and as JavaScript has names
                meant.setdefault(own, []).append(Named(name))
            words = _WORDS.split(fold(tool))
            for sign in ("_", "-", ".", "") if len(words) > 1 else ("",):
                if (own := sign.join(words)) and own not in (whole, signless(whole)):
                    meant.setdefault(own, []).append(Named(name, fold(server), is_word=not sign))
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
def spelt(wire: str, tool: str) -> re.Pattern[str]:
    """How a text names a tool where it means no other word: as on the wire, or by its own name of several words; one
    of a single word is followed by a bracket."""
    parts = [re.split(r"[_.-]+", name.lower()) for name in (wire, tool)]
    ways = [r"[-_.:/]{0,3}".join(map(re.escape, part)) for part in parts if len(part) > 1]
    alone = [re.escape(name.lower()) + r"(?=[(\[{])" for name in (wire, tool)]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(ways + alone)})(?![^\W_])")


def places_of(folded: str, names: Names) -> dict[str, list[int]]:
    """Where folded text names a tool, by the tool's name: the ends of what names it."""
    places: dict[str, list[int]] = {}
    for found in names.plain.finditer(folded):
        for named in names.meant[found.group()]:
            known = places.get(named.tool, [])
            if (len(known) < _PLACES or NO_ARGUMENTS.match(folded, found.end())) and (
                not named.is_word or _is_called(folded, found.start(), found.end(), named)
            ):
                places.setdefault(named.tool, known).append(found.end())
    return places


def _is_called(text: str, start: int, end: int, named: Named) -> bool:
    """Whether a word stands where the name of a tool does in a call."""
    before = text[max(0, start - 40) : start]
    server = before.rstrip("-.:/_")
    return (
        text[end : end + 1] in ("(", "[", "{")
        or (server != before and bool(named.server) and server.endswith(named.server))
        or _LEADS_TO_NAME.search(before) is not None
    )
