"""Words of JSON Schema that an endpoint doesn't take in the parameters of tools: found in its refusal, and left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

from console_app.providers.loose_json import arr, obj

# What can go without making the schema wrong: it only says less.
_SPARE_TEXT = """
$schema $id $comment $anchor additionalProperties additionalItems allOf anyOf const contains contentEncoding
contentMediaType default dependentRequired dependentSchemas deprecated else examples example exclusiveMaximum
exclusiveMinimum format if maxContains maxItems maxLength maxProperties maximum minContains minItems minLength
minProperties minimum multipleOf not nullable oneOf pattern patternProperties prefixItems propertyNames readOnly
then title unevaluatedItems unevaluatedProperties uniqueItems writeOnly
"""
_SPARE = frozenset(_SPARE_TEXT.split())
_QUOTED = re.compile(r"['\"`‘“\\]+(\$?[A-Za-z]+)['\"`’”\\]")
_NAMED = re.compile(r"(?:keyword|field|property|name)s?:? (\$?[A-Za-z]+)\b")
_NAMES = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")  # hold names, not words


def refused_in(words: str, body: Mapping[str, Any]) -> set[str]:
    """The keywords that a refusal names and the tools of `body` have."""
    named = {*_QUOTED.findall(words), *_NAMED.findall(words)} & _SPARE
    used: set[str] = set()
    for schema in _schemas(body):
        _collect(schema, used)
    return named & used


def leave_out(body: Mapping[str, Any], keywords: Set[str]) -> None:
    """Takes `keywords` out of the parameters of all tools; a `const` becomes an `enum` of one."""
    for tool in map(obj, arr(body.get("tools"))):
        for holder in (tool, obj(tool.get("function"))):
            for name in ("parameters", "input_schema"):
                if name in holder:
                    holder[name] = _without(holder[name], keywords)


def _schemas(body: Mapping[str, Any]) -> list[Any]:
    tools = [obj(tool) for tool in arr(body.get("tools"))]
    return [
        one
        for tool in tools
        for one in (tool.get("parameters"), tool.get("input_schema"), obj(tool.get("function")).get("parameters"))
    ]


def _collect(schema: Any, used: set[str], *, names: bool = False) -> None:
    if isinstance(schema, list):
        for one in arr(schema):
            _collect(one, used)
    for name, value in obj(schema).items():
        if not names:
            used.add(name)
        _collect(value, used, names=not names and name in _NAMES)


def _without(schema: Any, keywords: Set[str], *, names: bool = False) -> Any:
    if isinstance(schema, list):
        return [_without(one, keywords) for one in arr(schema)]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: _without(value, keywords, names=not names and name in _NAMES)
        for name, value in obj(schema).items()  # pyright: ignore[reportUnknownArgumentType]
        if names or name not in keywords
    }
    if not names and "const" in keywords and "const" in schema:
        kept.setdefault("enum", [schema["const"]])
    return kept
