"""Whether a structured result is what its tool said it would be: both are a stranger's, so the judging is bounded.

The SDK judges with `jsonschema` alone, on the event loop: a pattern like `(a+)+$`, or references that double with each
level, would stop the console for good. Here the same judging counts its steps and tries only tame patterns; what
can't be judged within the bound is taken as it is, as a result without a schema would be.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from console_app.domain.safe_text import one_line
from console_app.domain.schema.tame_patterns import matches
from console_app.mcp_client.tools.schema_check import check_schema, measure
from console_app.mcp_client.transport import cut_of

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

MOST_STEPS: Final = 50_000  # words of a schema that are held against parts of a result: a third of a second
MOST_UNIQUE: Final = 200  # items that are compared with each other
_AT_ONCE: Final = 200  # parts of a result that are judged without leaving the event loop
_LEFT_OUT = ("unevaluatedProperties", "unevaluatedItems")  # these go through the schema in a way of their own

Check = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


class _TooMuch(Exception):
    """The judging takes more steps than it may."""


@dataclass(slots=True)
class _Bound:
    """What is left of the steps; an error takes as many as it is long to write down all that it is about."""

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
        """These are the tools now."""
        self._schemas = {tool.name: tool.output_schema for tool in tools if tool.output_schema is not None}

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """In place of the SDK's method of this name: a result that isn't what was said is a failure. The call has run,
        so what it gave is told with that, where the SDK drops it."""
        if (schema := self._schemas.get(name)) is None:
            return
        if result.structured_content is None:
            _refuse(result, f"Tool {name} has an output schema but did not return structured content.")
            return
        given = result.structured_content
        if cut_of(given):
            return  # its beginning, with words in place of the rest
        if measure(given).parts <= _AT_ONCE and measure(schema).parts <= _AT_ONCE:
            problem = judged(schema, given)
        else:
            problem = await asyncio.to_thread(judged, schema, given)
        if problem:
            _refuse(result, f"Invalid structured content returned by tool {name}: {problem}")


def _refuse(result: CallToolResult, problem: str) -> None:
    """Makes a failure of a result that came; all of it stands behind what speaks against it."""
    from mcp_types import TextContent

    given = list(result.content)
    if result.structured_content is not None and not any(block.type == "text" for block in given):
        given.append(TextContent(type="text", text=json.dumps(result.structured_content, ensure_ascii=False)))
    said = f"{problem}\nWhat it gave:" if given else problem
    result.content = [TextContent(type="text", text=said), *given]
    result.is_error = True


def judged(schema: Mapping[str, Any], value: Any) -> str:
    """What speaks against `value`, in one line, or "": nothing does, or it can't be told."""
    import jsonschema  # loaded with the first list of tools
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
    """A JSON value, at most DEEPEST levels of it, without what has that name."""
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        return {key: _without(part, name) for key, part in known.items() if key != name}
    return [_without(part, name) for part in cast("list[Any]", value)] if isinstance(value, list) else value


@cache
def _bounded(of: Any) -> Any:
    """A validator that counts its steps, and in which nothing takes long by itself."""
    from jsonschema import validators

    library: Any = validators
    checks: dict[str, Check] = {**of.VALIDATORS, "pattern": _pattern, "patternProperties": _pattern_properties}
    for word, few in (("uniqueItems", _few), ("additionalProperties", _no_patterns)):
        if word in of.VALIDATORS:
            checks[word] = _where(few, of.VALIDATORS[word])
    return library.extend(of, {word: _nothing if word in _LEFT_OUT else _counted(one) for word, one in checks.items()})


def _nothing(validator: Any, word: Any, value: Any, schema: Any) -> None:
    """Finds no fault."""


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


def _few(value: Any, schema: Any) -> bool:
    return isinstance(value, list) and len(cast("list[Any]", value)) <= MOST_UNIQUE


def _no_patterns(value: Any, schema: Any) -> bool:
    return "patternProperties" not in schema  # else it tries all of them as one pattern


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
