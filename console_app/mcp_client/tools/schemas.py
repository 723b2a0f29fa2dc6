"""Judges the schemas of a server's tools and the results that should fit them, within bounds.

A model's API refuses every tool over one schema that is not valid. Small ones are checked against JSON Schema itself,
at 50 µs a part; large ones only for what endpoints stumble over. The SDK judges results on the event loop: a pattern
like `(a+)+$`, or references that double with each level, would stop the console for good. Here that counts its steps.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from console_app.domain import one_line
from console_app.domain import schema as json_schema
from console_app.domain.schema.tame_patterns import matches
from console_app.mcp_client.transport import cut_of
from console_app.records import dataclass

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool


# Levels of JSON, two for each level of properties: fifty of those fit. What reads and writes JSON on the way to a model
# gives up at 200.
MARK: Final = "fanout/mark"  # in the `_meta` of a result: what is wrong with it
DEEPEST: Final = 120
LARGEST: Final = 1_000_000  # characters of a schema; it goes along with every request
_MOST_CHECKED: Final = 2_000  # parts of a schema that are checked against JSON Schema,
_LONGEST_CHECKED: Final = 100_000  # and characters
MOST_STEPS: Final = 50_000  # words of a schema that are held against parts of a result: a third of a second
MOST_UNIQUE: Final = 200  # items that are compared with each other
_AT_ONCE: Final = 200  # parts of a result that are judged without leaving the event loop
# Versions in which the words of a plain schema mean the same.
_ALIKE: Final = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
_LEFT_OUT = ("unevaluatedProperties", "unevaluatedItems")  # these go through the schema in a way of their own
Check = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


class Size(NamedTuple):
    """The size of a JSON value; `depth` and `characters` go little beyond what is too much."""

    parts: int
    depth: int
    characters: int  # of texts and names

    @property
    def problem(self) -> str:
        """The reason why a schema of this size can't be offered, or ""."""
        if self.depth > DEEPEST:
            return f"nested more than {DEEPEST} levels deep"
        return f"larger than {LARGEST:,} characters" if self.characters > LARGEST else ""


def measure(value: Any) -> Size:
    """Return the size of a JSON value. Never recurses, and looks no further than at what is too much."""
    parts = depth = characters = 0
    level = [value]
    while level and depth <= DEEPEST and characters <= LARGEST:
        depth += 1
        parts += len(level)
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                characters += sum(map(len, cast("dict[str, Any]", item)))
                below += cast("dict[str, Any]", item).values()
            elif isinstance(item, list):
                below += cast("list[Any]", item)
            elif isinstance(item, str):
                characters += len(item)
            elif isinstance(item, int):
                characters += item.bit_length() // 3
        level = below
    return Size(parts, depth, characters)


def check_schema(schema: dict[str, Any]) -> str:
    """Say why `schema` is not valid JSON Schema, in a few words, or ""."""
    size = measure(schema)
    if size.parts > _MOST_CHECKED or size.characters > _LONGEST_CHECKED:
        return next((_invalid(where, wrong) for where, wrong in json_schema.faults(schema)), "")
    if size.depth <= DEEPEST and _is_plain(schema) and not any(json_schema.faults(schema)):
        return ""
    # jsonschema takes 0.1 s to import and 4 MB; most servers have only plain schemas.
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        return _invalid(".".join(map(str, error.absolute_path)), error.message[:120])
    except Exception as error:  # a schema can make the checker itself fail (a bad regular expression)
        return f"its inputSchema can't be checked ({type(error).__name__})"
    return ""


def _is_plain(schema: Any) -> bool:
    """Return whether a schema has only words that are judged here and as `faults`, as those of most tools."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    return all(_fits(word, value) for word, value in cast("dict[str, Any]", schema).items())


def _fits(word: str, value: Any) -> bool:
    match word, value:
        case (("default" | "const"), _) | (("enum" | "examples"), [*_]) | ("uniqueItems", bool()):
            return True
        case (("title" | "description" | "type" | "format" | "$ref"), str()):
            return True
        case "$schema", _:
            return value in _ALIKE
        case _, bool() if word not in ("items", "additionalProperties"):  # a number as well, to Python
            return False
        case (("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"), int() | float()):
            return True
        case (("minLength" | "maxLength" | "minItems" | "maxItems"), int()):
            return value >= 0
        case (("required" | "type"), [*names]):
            return all(isinstance(name, str) for name in names) and len({*names}) == len(names)
        case (("properties" | "$defs"), {**inner}):
            return all(map(_is_plain, inner.values()))
        case (("anyOf" | "oneOf" | "allOf"), [_, *_]):
            return all(map(_is_plain, value))
        case (("items" | "additionalProperties"), _):
            return _is_plain(value)
        case _:
            return False


def _invalid(where: str, what: str) -> str:
    return f"its inputSchema is not valid JSON Schema ({f'{where}: ' if where else ''}{what})"


class _TooMuch(Exception):
    """The judging takes more steps than it may."""


@dataclass(slots=True)
class _Bound:
    """The steps that are left; an error takes as many as it is long to write down all that it is about."""

    steps: int
    of_an_error: int

    def take(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise _TooMuch


_bound: ContextVar[_Bound] = ContextVar("bound")


class OutputSchemas:
    """The output schemas of one server's tools, as it listed them last."""

    def __init__(self) -> None:
        self._schemas: dict[str, dict[str, Any]] = {}

    def listed(self, tools: Sequence[Tool]) -> None:
        self._schemas = {tool.name: tool.output_schema for tool in tools if tool.output_schema is not None}

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Mark a result that isn't what its tool said, in place of the SDK's own method, which drops it."""
        (result.meta or {}).pop(MARK, None)
        if (schema := self._schemas.get(name)) is None:
            return
        if result.structured_content is None:
            _mark(result, "its tool promises structured content and gave none")
            return
        given = result.structured_content
        if cut_of(given):
            return  # its beginning, with words in place of the rest
        loaded = "jsonschema" in sys.modules
        if loaded and measure(given).parts <= _AT_ONCE and measure(schema).parts <= _AT_ONCE:
            problem = judged(schema, given)
        else:
            problem = await asyncio.to_thread(judged, schema, given)
        if problem:
            _mark(result, f"its structured content breaks the tool's own schema: {problem}")


def _mark(result: CallToolResult, problem: str) -> None:
    """Mark a result: what a server says is worth more than its schema, so the call has succeeded all the same."""
    result.meta = {**(result.meta or {}), MARK: problem}


def judged(schema: Mapping[str, Any], value: Any) -> str:
    """Say what speaks against `value`, in one line, or "": nothing does, or it can't be told."""
    import jsonschema
    import referencing
    from referencing.exceptions import Unresolvable

    library: Any = jsonschema
    references: Any = referencing
    size = measure(value)
    if size.problem or measure(schema).problem or check_schema(dict(schema)):
        return ""
    # Nothing is fetched: the registry is empty. And no part may name another format, whose own words would judge it.
    validator: Any = _bounded(library.validators.validator_for(schema))(
        _without(schema, "$schema"), registry=references.Registry()
    )
    marker = _bound.set(_Bound(MOST_STEPS, 1 + (size.parts + size.characters) // 100))
    try:
        error: Any = library.exceptions.best_match(validator.iter_errors(value))
    except (_TooMuch, RecursionError, Unresolvable):
        return ""
    finally:
        _bound.reset(marker)
    return "" if error is None else one_line(str(error.message), 400)


def _without(value: Any, name: str) -> Any:
    """Return a JSON value, at most DEEPEST levels of it, without what has that name."""
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        return {key: _without(part, name) for key, part in known.items() if key != name}
    return [_without(part, name) for part in cast("list[Any]", value)] if isinstance(value, list) else value


@cache
def _bounded(of: Any) -> Any:
    """Return a validator that counts its steps, and in which nothing takes long by itself."""
    from jsonschema import validators

    library: Any = validators
    checks: dict[str, Check] = {**of.VALIDATORS, "pattern": _pattern, "patternProperties": _pattern_properties}
    tame: dict[str, Callable[[Any, Any], bool]] = {
        "uniqueItems": lambda value, schema: isinstance(value, list) and len(cast("Any", value)) <= MOST_UNIQUE,
        # With patterns it tries all of them as one.
        "additionalProperties": lambda value, schema: "patternProperties" not in schema,
    }
    checks |= {word: _where(fits, of.VALIDATORS[word]) for word, fits in tame.items() if word in of.VALIDATORS}
    return library.extend(of, {word: _nothing if word in _LEFT_OUT else _counted(one) for word, one in checks.items()})


def _nothing(validator: Any, word: Any, value: Any, schema: Any) -> None:
    """Find no fault."""


def _counted(check: Check) -> Check:
    def counted(validator: Any, word: Any, value: Any, schema: Any) -> Generator[Any]:
        bound = _bound.get()
        bound.take(1 + len(cast("Any", word)) if isinstance(word, list | dict) else 1)
        for error in check(validator, word, value, schema) or ():
            bound.take(bound.of_an_error)
            yield error

    return counted


def _where(fits: Callable[[Any, Any], bool], check: Check) -> Check:
    def judge(validator: Any, word: Any, value: Any, schema: Any) -> Iterable[Any] | None:
        return check(validator, word, value, schema) if fits(value, schema) else None

    return judge


def _pattern(validator: Any, pattern: Any, value: Any, schema: Any) -> Generator[Any]:
    from jsonschema import ValidationError

    if isinstance(value, str) and isinstance(pattern, str) and matches(pattern, value) is False:
        yield ValidationError(f"{value[:100]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, value: Any, schema: Any) -> Generator[Any]:
    if not isinstance(value, dict):
        return
    bound = _bound.get()
    for pattern, below in cast("dict[str, Any]", patterns).items():
        for name, part in cast("dict[str, Any]", value).items():
            bound.take(1)
            if matches(pattern, name):
                yield from validator.descend(part, below, path=name, schema_path=pattern)
