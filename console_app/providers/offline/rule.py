"""Gives the rules of the offline model what they are made of: the tools that are on, and wordings for their calls.

A rule reads a prompt and says which calls, or which sentence, answer it. Tools are found by what they are called and
what they take, so that a rule works with any server that offers such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from console_app.domain import Message, ToolSpec, one_line
from console_app.domain import schema as json_schema
from console_app.records import dataclass

ENABLE = "enable_server"  # the tool that asks the user for a server


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to make: `arguments` is the JSON text of one object."""

    spec: ToolSpec
    arguments: str


@dataclass(frozen=True, slots=True)
class Match:
    """A tool that fits, with `keys`: the name it has for each parameter that the rule speaks of."""

    spec: ToolSpec
    keys: Mapping[str, str]

    def kind(self, parameter: str) -> str:
        """Return the JSON type that the tool's schema gives the parameter, or ""."""
        return kind_of(json_schema.properties(self.spec.input_schema).get(self.keys[parameter]))

    def call(self, **values: Any) -> PlannedCall:
        """Return the call with those of the values that the tool takes, each as the type that its schema asks for."""
        taken = {self.keys[name]: _fit(value, self.kind(name)) for name, value in values.items() if name in self.keys}
        return PlannedCall(self.spec, json.dumps(taken, ensure_ascii=False))


class OfflineTools:
    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self._enable = self.find((ENABLE,), server=("server",))
        schema = self._enable.spec.input_schema if self._enable else {}
        offered = json_schema.properties(schema).get(self._enable.keys["server"]) if self._enable else None
        choices = json_schema.choices(json_schema.as_schema(offered))
        self.off = tuple(map(str, choices))  # the servers that are off and can be asked for

    def switch_on(self, server: str) -> PlannedCall | None:
        """Return the call that asks for a server that is off; None where there is none such."""
        return self._enable.call(server=server) if self._enable and server in self.off else None

    def find(self, names: Iterable[str], **parameters: Iterable[str]) -> Match | None:
        """Return the first tool with one of these names that needs nothing beyond `parameters`.

        A parameter is given with its possible names; one spelled `maybe_X` is the optional parameter X.
        """
        for name in names:
            for spec in self.tools:
                if spec.tool.lower().replace("-", "_") != name:
                    continue
                has = json_schema.properties(spec.input_schema)
                keys = {
                    parameter.removeprefix("maybe_"): next((one for one in candidates if one in has), "")
                    for parameter, candidates in parameters.items()
                }
                taken = {parameter: key for parameter, key in keys.items() if key}
                needed = set(json_schema.required(spec.input_schema)) <= set(taken.values())
                if needed and all(one.startswith("maybe_") or taken.get(one) for one in parameters):
                    return Match(spec, taken)
        return None

    def lookup(self, name: str) -> ToolSpec | None:
        """Return the tool meant by `name`: `server.tool`, its wire name, or its own where only one has it."""
        exact = [spec for spec in self.tools if name in (spec.label, spec.name)][:1]
        own = exact or [spec for spec in self.tools if spec.tool == name]
        return own[0] if len(own) == 1 else None

    def label(self, wire_name: str) -> str:
        """Return `server.tool` for a name on the wire, or the name itself when the tool is not on any more."""
        return next((spec.label for spec in self.tools if spec.name == wire_name), wire_name)


def kind_of(schema: Any) -> str:
    """Return the JSON type of a schema; of several the first that isn't null; "" where it says none."""
    return next((kind for kind in json_schema.types(schema) if kind != "null"), "")


def _fit(value: Any, kind: str) -> Any:
    if kind == "string" and isinstance(value, int | float):
        return str(value)
    if kind == "integer" and not isinstance(value, int):
        try:
            return int(float(value))
        except (TypeError, ValueError, OverflowError):
            return value  # the tool will say what is wrong with it
    if kind == "array" and isinstance(value, str):
        return [value]
    return value


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """A prompt. Earlier rules left blanks in `text` for what they took; the messages `earlier` came before it."""

    text: str
    earlier: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """The part of a prompt at `span` that a rule recognised: calls to make, or a problem to tell in one sentence.

    `server` could do it, if it were on.
    """

    span: tuple[int, int]
    calls: tuple[PlannedCall, ...] = ()
    problem: str = ""
    server: str = ""


Reader = Callable[[AskedPrompt, OfflineTools], Iterable[RuleFinding]]
"""Recognises what a prompt asks for, with the tools that are on."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A wording for calls of one tool: `values` gives the arguments of each from a match, else its named groups do.

    The tool is one of these `names`, with the possible names of its `parameters`. Where none is on, `what` is told
    that can't be done without `tool` (`server.tool`); "" tells nothing.
    """

    pattern: str
    names: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]]
    values: Callable[[re.Match[str]], Iterable[Mapping[str, Any]]] | None = None
    what: str = ""
    tool: str = ""

    def find(self, tools: OfflineTools) -> Match | None:
        return tools.find(self.names, **self.parameters)

    def read(self, asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
        tool = self.find(tools)
        for found in re.finditer(self.pattern, asked.text, re.IGNORECASE):
            if self.values is not None:
                made = list(self.values(found))
            else:
                made = [{name: unquoted(text) for name, text in found.groupdict().items()}]
            if made and tool:
                yield RuleFinding(found.span(), tuple(tool.call(**one) for one in made))
            elif made and self.what:
                yield missing(found.span(), self.what.format(**made[0]), self.tool)


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """`can` says what the offline model can do, with a prompt to try, `able` whether its tools are on."""

    can: str
    able: Callable[[OfflineTools], bool]
    readers: tuple[Reader, ...]

    @classmethod
    def of(cls, can: str, *wordings: Wording) -> AnswerRule:
        """Make the rule of these wordings, whose first has the tool that counts."""
        readers = tuple(one.read for one in wordings)
        return cls(can, lambda tools: wordings[0].find(tools) is not None, readers)


def missing(span: tuple[int, int], what: str, tool: str) -> RuleFinding:
    """Report a request for `what`, which `tool` would do (`server.tool`) if it were on."""
    problem = f"I can't {what}: no tool like `{tool}` is on. Switch its server on (/mcp or mcp.json) and ask again."
    return RuleFinding(span, problem=problem, server=tool.partition(".")[0])


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
BRIEF = 200  # characters of a result in a line or a table cell
_COUNTS = {word: index for index, word in enumerate(NUMBERS) if index}
COUNT = r"(?:\d{1,2}|an?|" + "|".join(_COUNTS) + ")"
"""Pattern of a small count: digits, a word, or an article."""

QUOTED = r"(?:\"[^\"\n]{1,300}\"|(?<!\w)'[^\n]{1,300}?'(?!\w)|‘[^’\n]{1,300}’|“[^”\n]{1,300}”|`[^`\n]{1,300}`)"
"""Pattern of words in quotation marks, the marks included."""

AND = r"(?:\s*,\s*(?:and\s+)?(?:also\s+)?|\s+and\s+(?:also\s+)?|\s*&\s*)"
"""Pattern of the words or signs between two things of a list."""

_IS_QUOTED = re.compile(QUOTED)
_BETWEEN = re.compile(AND, re.IGNORECASE)


def count_of(text: str | None) -> int:
    """Return the number that `text` says, 1 for an article or nothing."""
    if not text:
        return 1
    return max(int(text), 1) if text.isdecimal() else _COUNTS.get(text.lower(), 1)


def unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].strip() if _IS_QUOTED.fullmatch(text) else text


def listed(text: str, *, split_and: bool = True) -> list[str]:
    """Return the things that `text` lists: the quoted ones if any are, else what commas (and `and`) part."""
    marked = [unquoted(one) for one in _IS_QUOTED.findall(text)]
    if marked:
        return [one for one in marked if one]
    parts = _BETWEEN.split(text) if split_and or "," in text else [text]
    return [part.strip(" \t\"'`.!?") for part in parts if part.strip(" \t\"'`.!?")]


def code(text: str, limit: int = BRIEF) -> str:
    """Return `text` on one line as a code span that nothing in it can end."""
    text = one_line(text, limit)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text[:1] == "`" or text[-1:] == "`" or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"
