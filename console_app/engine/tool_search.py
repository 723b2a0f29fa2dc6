"""Puts the tools of servers behind a search where they would take too much of each request. Found tools are read from
the history alone, so a resumed or forked conversation has them. They stand at the end of the list, so that an
endpoint's cache of those before stays."""

from __future__ import annotations

import asyncio
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from console_app.domain import (
    AssistantMessage,
    Message,
    Outcome,
    ToolMessage,
    ToolResult,
    ToolSpec,
    amounts,
    one_line,
    plural,
)
from console_app.domain import schema as json_schema
from console_app.domain.settings import ToolOffer
from console_app.domain.tools import OWN_SERVER, ToolAnnotations
from console_app.records import dataclass

WINDOW = 128_000  # tokens, where the model's own is not known
SHARE = 10  # tools may take one part in so many of the window
MOST_FOUND = 8
A_SLICE = 32  # tools read for a search between two looks at keys: about two milliseconds
FIND = "find_tools"
_NAME = re.compile(r'^\{"name": "([\w.-]+)", ', re.MULTILINE)  # of a definition, as `_definition` writes it
_NOT_RUN = "The call was not run:"
MOST_SERVERS = 50  # that the tool's description names
_FIND_NAME = f"{OWN_SERVER}_{FIND}"
_ASKED = frozenset({"search"})  # what mcp.json says of servers whose tools are behind the search, few as they may be
_BEHIND = frozenset({"search", "auto"})  # and where tools are too many


@dataclass(frozen=True, slots=True)
class Offer:
    """Tools by wire name: those in requests, and those behind the search. `searched` are these and the found ones.
    `native`: the endpoint searches itself, and is sent all."""

    shown: Mapping[str, ToolSpec]
    behind: Mapping[str, ToolSpec]
    searched: Sequence[ToolSpec] = ()
    native: bool = False

    @property
    def callable(self) -> Mapping[str, ToolSpec]:
        return {**self.behind, **self.shown} if self.native else self.shown

    @property
    def saving(self) -> str:
        if not self.behind:
            return ""
        all_of_them = [*self.behind.values(), *(spec for spec in self.shown.values() if not spec.builtin)]
        return (
            f"{plural(len(all_of_them), 'tool')}, {tokens(self.shown.values()):,} tokens in each request instead of "
            f"{tokens(all_of_them):,}: the model searches for {len(self.behind):,} of them."
        )


def tokens(specs: Iterable[ToolSpec]) -> int:
    return sum(spec.characters for spec in specs) // amounts.CHARACTERS_A_TOKEN


def searched(plan: ToolOffer, window: int | None, taken: int) -> bool:
    return plan == "search" or (plan == "auto" and taken > (window or WINDOW) // SHARE)


class ToolSearch:
    """Decides for one conversation which tools stand in its requests."""

    def __init__(self) -> None:
        self._counted: tuple[Sequence[ToolSpec], int] = ((), 0)
        self._was_said = False
        self._indexed: dict[str, tuple[ToolSpec, Counter[str]]] = {}  # by name: the words of a tool

    def offer(
        self,
        specs: Sequence[ToolSpec],
        plan: ToolOffer,
        window: int | None,
        history: Sequence[Message],
        *,
        native: bool = False,
    ) -> Offer:
        """Divide the servers' tools. `window` is what the model takes, in tokens; `native`: its endpoint searches."""
        most = plan == "search" or (plan == "auto" and self._too_large(specs, window))
        behind = {spec.name: spec for spec in specs if plan != "all" and spec.offer in (_BEHIND if most else _ASKED)}
        shown = {spec.name: spec for spec in specs if spec.name not in behind}
        if not behind or native:
            return Offer(shown, behind, native=native)
        searched = tuple(behind.values())
        find = find_spec(searched)
        shown[find.name] = find
        for name in loaded(history):
            if (spec := behind.pop(name, None)) is not None:
                shown[name] = spec
        return Offer(shown, behind, searched)

    def is_new(self, offer: Offer) -> bool:
        was_said, self._was_said = self._was_said, self._was_said or bool(offer.behind)
        return self._was_said and not was_said

    async def found(self, query: str, specs: Sequence[ToolSpec]) -> ToolResult:
        documents: list[Counter[str]] = []
        for place, spec in enumerate(specs):
            if (known := self._indexed.get(spec.name)) is None or known[0] is not spec:
                self._indexed[spec.name] = known = spec, Counter(_words_of(spec))
                if place % A_SLICE == 0:
                    await asyncio.sleep(0)
            documents.append(known[1])
        best = _ranked(query, specs, documents)[:MOST_FOUND]
        if not best:
            text = f"No tool has anything of “{one_line(query, 200)}”. Search with other words for what it should do."
            return ToolResult(outcome=Outcome.SUCCEEDED, content=text)
        lines = [f"{plural(len(best), 'tool')}, the best first. They can be called from your next answer on."]
        return ToolResult(outcome=Outcome.SUCCEEDED, content="\n".join([*lines, *map(_definition, best)]))

    def _too_large(self, specs: Sequence[ToolSpec], window: int | None) -> bool:
        if self._counted[0] is not specs:
            self._counted = (specs, tokens(specs))
        return searched("auto", window, self._counted[1])


def find_spec(searched: Iterable[ToolSpec]) -> ToolSpec:
    """Return the tool that searches for these. Its words hold while tools are found, as all must that stands before a
    cached part of a request."""
    counts = Counter(spec.server for spec in searched)
    named = ", ".join(f"{server} ({count})" for server, count in counts.most_common(MOST_SERVERS))
    more = f" and {plural(len(counts) - MOST_SERVERS, 'more server')}" if len(counts) > MOST_SERVERS else ""
    about = "English words for what the tool should do, or a tool's name."
    return ToolSpec(
        name=_FIND_NAME,
        server=OWN_SERVER,
        tool=FIND,
        description=f"Finds tools whose definitions are not listed here: {counts.total():,} of {named}{more}. "
        "Use it before you say that something can't be done. The tools that it returns can be called from your next "
        "answer on; several searches may stand in one answer.",
        input_schema=json_schema.object_of({"query": {"type": "string", "description": about}}, ["query"]),
        annotations=ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False),
        builtin=True,
    )


def loaded(history: Sequence[Message]) -> Iterator[str]:
    for message in history:
        if isinstance(message, AssistantMessage):
            yield from (call.name for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and (message.name == _FIND_NAME or message.content.startswith(_NOT_RUN)):
            yield from _NAME.findall(message.content)


def not_loaded(spec: ToolSpec) -> ToolResult:
    text = f"{_NOT_RUN} {spec.name} had not been searched for. It can be called now; this is its definition:"
    error = "the model had not read the tool's definition"
    return ToolResult(outcome=Outcome.INVALID, content=f"{text}\n{_definition(spec)}", error=error)


def _definition(spec: ToolSpec) -> str:
    fields = {"name": spec.name, "description": spec.description, "parameters": spec.input_schema}
    return json.dumps(fields, ensure_ascii=False)


_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")  # a character each where words have no blanks
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y")
_NAME_COUNTS = 3  # times as much as a word of the description
_K, _B = 1.2, 0.75  # the constants of BM25 that Robertson and Zaragoza (2009) suggest


def _ranked(query: str, specs: Sequence[ToolSpec], documents: Sequence[Counter[str]]) -> list[ToolSpec]:
    """Return the tools that share words with the query, the best first, by BM25 over names, descriptions and
    parameters. A tool that the query names stands before all others."""
    average = sum(document.total() for document in documents) / max(len(documents), 1)
    wanted = set(words(query))
    holding = {word: sum(word in document for document in documents) for word in wanted}

    def score(document: Counter[str]) -> float:
        length = _K * (1 - _B + _B * document.total() / max(average, 1))
        return sum(
            math.log1p((len(documents) - holding[word] + 0.5) / (holding[word] + 0.5))
            * document[word] * (_K + 1) / (document[word] + length)
            for word in wanted
            if document[word]
        )  # fmt: skip

    named = query.split()
    scored = [
        (spec.name in named or spec.label in named, score(document), -place, spec)
        for place, (spec, document) in enumerate(zip(specs, documents, strict=True))
    ]
    return [
        spec
        for is_named, points, _, spec in sorted(scored, key=lambda one: one[:3], reverse=True)
        if is_named or points > 0
    ]


def words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", text)).casefold()
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return [_stem(word) for word in _WORD.findall(unicodedata.normalize("NFC", plain))]


def _stem(word: str) -> str:
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
    return word[: len(word) - len(ending)]


def _words_of(spec: ToolSpec) -> Iterator[str]:
    name = [*words(spec.server), *words(spec.tool)]
    for _ in range(_NAME_COUNTS):
        yield from name
    yield from words(spec.annotations.title)
    yield from words(spec.description)
    yield from _words_of_schema(spec.input_schema)


def _words_of_schema(schema: Mapping[str, Any], depth: int = 3) -> Iterator[str]:
    for name, member in json_schema.properties(schema).items() if depth else ():
        yield from words(name)
        yield from words(str(json_schema.as_schema(member).get("description", "")))
        yield from _words_of_schema(json_schema.as_schema(member), depth - 1)
