"""Fits the tools' schemas to what an endpoint takes of them.

Words of JSON Schema and whole tools are left out as a refusal names them; lists that don't say of what get an `items`
that takes anything. One server whose tool has a parameter `$filter` or `StartTime<` would have every request refused by
Claude, which takes letters, digits, `_`, `.` and `-`. Such a name goes out in plain letters, the same always, and what
the model writes under it comes back under its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Set
from typing import Any, Final

from console_app.domain import schema as json_schema
from console_app.providers.stream.loose_json import arr, obj, text

_LONGEST: Final = 64
_ODD: Final = re.compile(r"[^a-zA-Z0-9_.-]")


def plain(name: str) -> str:
    """Return `name` as every endpoint takes it: an odd character as its number, a long name cut, with a hash."""
    written = _ODD.sub(lambda odd: f"_{ord(odd[0]):X}", name) or "_"
    if len(written) <= _LONGEST:
        return written
    return f"{written[: _LONGEST - 9]}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def odd_in(body: Mapping[str, Any]) -> bool:
    """Tell whether a tool of `body` has a parameter with a name that is not plain."""
    return any(plain(name) != name for holder in _schemas(body) for name in json_schema.properties(holder))


def make_plain(body: Mapping[str, Any]) -> None:
    """Give the parameters of all tools plain names, in the arguments of older calls too; in place."""
    for schema in _schemas(body):
        json_schema.rename_members(schema, plain)
    for message in map(obj, arr(body.get("messages"))):
        for block in map(obj, arr(message.get("content"))):
            if block.get("type") == "tool_use":
                block["input"] = {plain(name): value for name, value in obj(block.get("input")).items()}


def own(arguments: str, schema: Mapping[str, Any]) -> str:
    """Return the text of an object of arguments, with the names that `schema` has for its parameters."""
    known = json_schema.properties(schema)
    names = {plain(name): name for name in known if plain(name) != name}
    if not names or not arguments.strip():
        return arguments
    given = obj(json.loads(arguments))
    if names.keys().isdisjoint(given):
        return arguments
    plainly = {name if name in known else names.get(name, name): value for name, value in given.items()}
    return json.dumps(plainly, ensure_ascii=False)


def _schemas(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    tools = [obj(tool) for tool in arr(body.get("tools"))]
    found = (
        obj(holder.get(name))
        for tool in tools
        for holder, name in ((tool, "input_schema"), (tool, "parameters"), (obj(tool.get("function")), "parameters"))
    )
    return [schema for schema in found if schema]


# Words that can be left out without making the schema wrong: it only says less.
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
_OF_A_SCHEMA = re.compile(r"schema|function_declarations|parameters|propert(y|ies)", re.IGNORECASE)
_NUMBER = re.compile(r"\btools\W{1,4}(\d{1,4})\b")
_DECLARATION = re.compile(r"function_?declarations\W{1,4}(\d{1,4})\b", re.IGNORECASE)


def refused_in(words: str, body: Mapping[str, Any]) -> set[str]:
    """Return the keywords that a refusal names and the tools of `body` have."""
    named = {*_QUOTED.findall(words), *_NAMED.findall(words)} & _SPARE
    return named & set[str]().union(*map(json_schema.words_in, _schemas(body)))


def leave_out(body: Mapping[str, Any], keywords: Set[str]) -> None:
    """Take `keywords` out of the parameters of all tools; a `const` becomes an `enum` of one."""

    def said_less(schema: dict[str, Any]) -> dict[str, Any]:
        kept = {word: value for word, value in schema.items() if word not in keywords}
        if "const" in keywords and "const" in schema:
            kept.setdefault("enum", [schema["const"]])
        return kept

    _change(body, said_less)


def _change(body: Mapping[str, Any], changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    for tool in map(obj, arr(body.get("tools"))):
        for holder in (tool, obj(tool.get("function"))):
            for name in ("parameters", "input_schema"):
                if name in holder:
                    holder[name] = json_schema.mapped(holder[name], changed)


def bare_lists(body: Mapping[str, Any]) -> bool:
    """Tell whether a schema has a list without one schema of its items."""
    return any(schema != json_schema.mapped(schema, _with_items) for schema in _schemas(body))


def say_items(body: Mapping[str, Any]) -> None:
    """Give every list of the tools' parameters a schema of its items."""
    _change(body, _with_items)


def longest_said(body: Mapping[str, Any]) -> int:
    """Return the length of the longest description of a tool."""
    return max((len(text(holder.get("description"))) for holder in _described(body)), default=0)


def shorten(body: Mapping[str, Any], most: int) -> None:
    """Cut the tools' descriptions to `most` characters."""
    for holder in _described(body):
        if len(said := text(holder.get("description"))) > most:
            holder["description"] = said[: most - 1] + "…"


def _described(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [holder for tool in map(obj, arr(body.get("tools"))) for holder in (tool, obj(tool.get("function")))]


def tool_in(words: str, body: Mapping[str, Any]) -> str:
    """Return the function of `body` that a refusal names or numbers; "" where it is none, or the only one."""
    names = [_name(tool) for tool in arr(body.get("tools"))]
    if not _OF_A_SCHEMA.search(words) or len(set(names) - {""}) < 2:
        return ""
    for name in sorted(filter(None, names), key=len, reverse=True):
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words):
            return name
    found = _DECLARATION.search(words) or _NUMBER.search(words)
    return names[int(found[1])] if found is not None and int(found[1]) < len(names) else ""


def without_tools(body: dict[str, Any], names: Set[str]) -> None:
    """Take the functions `names` out of `body`, as long as one is left."""
    kept = [tool for tool in arr(body.get("tools")) if _name(tool) not in names]
    if any(map(_name, kept)):
        body["tools"] = kept


def _name(tool: Any) -> str:
    """Return the name of a function; "" for what the provider runs itself."""
    holder = obj(tool)
    if "input_schema" not in holder and holder.get("type") != "function":
        return ""
    return text(holder.get("name")) or text(obj(holder.get("function")).get("name"))


def _with_items(schema: dict[str, Any]) -> dict[str, Any]:
    if "array" not in json_schema.own_types(schema):
        return schema
    return {**schema, "items": dict(json_schema.as_schema(json_schema.item(schema)))}
