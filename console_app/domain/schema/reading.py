"""The words of JSON Schema. Schemas come from servers: an odd word reads as if it weren't there, and nothing raises."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

Schema: TypeAlias = Mapping[str, Any]

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
BRANCHES = ("allOf", "anyOf", "oneOf")
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})  # name -> schema
_LISTS = frozenset({*BRANCHES, "prefixItems"})
_SCHEMAS = frozenset(
    {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
_MORE_PROPERTIES = frozenset({"patternProperties", *BRANCHES, "$ref", "if"})  # more may be declared there
_MOST_HOPS = 20  # of references that lead to references


def as_schema(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def text(schema: Schema, word: str) -> str:
    """Return the text under a word, or ""."""
    value = schema.get(word)
    return value if isinstance(value, str) else ""


def number(schema: Schema, word: str) -> float | None:
    value = schema.get(word)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def listed(schema: Schema, word: str) -> list[Any]:
    value = schema.get(word)
    return cast("list[Any]", value) if isinstance(value, list) else []


def properties(schema: Schema) -> Schema:
    return as_schema(schema.get("properties"))


def declares_members(schema: Schema) -> bool:
    return schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping)


def required(schema: Schema) -> tuple[str, ...]:
    return tuple(name for name in listed(schema, "required") if isinstance(name, str))


def others(schema: Schema) -> Any:
    """The schema of members that aren't declared: False for none, None where nothing is said."""
    return schema.get("additionalProperties")


def is_closed(schema: Schema) -> bool:
    """Tell whether an object may have the declared members alone, and all of those are declared right here."""
    return others(schema) is False and _MORE_PROPERTIES.isdisjoint(schema)


def item(schema: Schema) -> Any:
    return schema.get("items")


def choices(schema: Schema) -> list[Any]:
    return listed(schema, "enum") or ([schema["const"]] if "const" in schema else [])


def types(schema: Any, root: Schema | None = None) -> tuple[str, ...]:
    found = (kind for one in alternatives(schema, root or {}) for kind in own_types(one))
    return tuple(dict.fromkeys(found))


def own_types(schema: Schema) -> tuple[str, ...]:
    named = schema.get("type")
    if named is None:
        return tuple(map(type_of, choices(schema)))
    return tuple(kind for kind in (listed(schema, "type") or [named]) if isinstance(kind, str))


def type_of(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "object"


def is_of(value: Any, kinds: Sequence[str] | frozenset[str]) -> bool:
    """Tell whether a value has one of these types; where there are none, every value does."""
    kind = type_of(value)
    if not kinds or kind in kinds:
        return True
    return (kind == "integer" and "number" in kinds) or (
        isinstance(value, float) and "integer" in kinds and value.is_integer()
    )


def pointed(root: Schema, reference: str) -> Any:
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    for name in reference.split("/")[1:]:
        found = as_schema(found).get(name.replace("~1", "/").replace("~0", "~"))
    return found


def followed(schema: Schema, root: Schema) -> Schema:
    for _ in range(_MOST_HOPS):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not isinstance(found := pointed(root, reference), Mapping):
            return schema
        schema = _merged(cast("Schema", found), schema, "$ref")
    return schema


def _merged(inner: Schema, outer: Schema, without: str) -> Schema:
    return {**inner, **{word: value for word, value in outer.items() if word != without}}


def resolved(schema: Any, root: Schema, seen: tuple[str, ...] = ()) -> tuple[Schema, bool, tuple[str, ...]]:
    """Follow $ref, one allOf and anyOf with null; return the schema, whether null is allowed, and the references taken.
    One of `seen` isn't taken again."""
    found = as_schema(schema)
    nullable = False
    for _ in range(_MOST_HOPS):
        reference: str = text(found, "$ref")
        if reference:
            if reference in seen:
                return {"description": text(found, "description")}, nullable, seen
            seen = (*seen, reference)
            found = _merged(as_schema(pointed(root, reference)), found, "$ref")
            continue
        word = next((word for word in BRANCHES if isinstance(found.get(word), list)), None)
        options = listed(found, word) if word is not None else []
        real = [one for one in options if as_schema(one).get("type") != "null"]
        if word is None or len(real) != 1:
            break
        nullable = nullable or len(real) < len(options)
        found = _merged(as_schema(real[0]), found, word)
    if isinstance(found.get("type"), list):
        kinds = [one for one in listed(found, "type") if one != "null"]
        nullable = nullable or len(kinds) < len(listed(found, "type"))
        found = {**found, "type": kinds[0] if len(kinds) == 1 else None}
    return found, nullable, seen


def alternatives(schema: Any, root: Schema) -> Iterator[dict[str, Any]]:
    waiting, met = deque([schema]), set[int]()
    while waiting:
        one = waiting.popleft()
        if not isinstance(one, dict) or id(cast("object", one)) in met:
            continue
        found = cast("dict[str, Any]", one)
        met.add(id(found))
        yield found
        if isinstance(reference := found.get("$ref"), str):
            waiting.append(pointed(root, reference))
        waiting.extend(branch for word in BRANCHES for branch in listed(found, word))
        waiting.extend(found.get(word) for word in ("then", "else"))


def parts(schema: Schema) -> Iterator[tuple[str, str, Any]]:
    """The schemas that stand in a schema: (word, name or number there, schema); a word with one schema gives ""."""
    for word, value in schema.items():
        if word in _MAPS:
            yield from ((word, name, one) for name, one in as_schema(value).items())
        elif word in _LISTS or (word == "items" and isinstance(value, list)):
            yield from ((word, str(place), one) for place, one in enumerate(listed(schema, word)))
        elif word in _SCHEMAS:
            yield word, "", value


def words_in(schema: Any) -> set[str]:
    found, waiting = set[str](), [schema]
    while waiting:
        one = as_schema(waiting.pop())
        found.update(one)
        waiting += [inner for _, _, inner in parts(one)]
    return found


def mapped(schema: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    return change({word: _mapped_below(word, value, change) for word, value in as_schema(schema).items()})


def _mapped_below(word: str, value: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    if word in _MAPS and isinstance(value, Mapping):
        return {name: mapped(one, change) for name, one in as_schema(value).items()}
    if (word in _LISTS or word == "items") and isinstance(value, list):
        return [mapped(one, change) for one in cast("list[Any]", value)]
    return mapped(value, change) if word in _SCHEMAS else value


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [one for inner in cast("list[Any]", value) for one in references(inner)]
    found = as_schema(value)
    own = [text(found, "$ref")] if "$ref" in found else []
    return [*filter(None, own), *(one for inner in found.values() for one in references(inner))]


def object_of(members: Schema, needed: Sequence[str] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": dict(members), **({"required": list(needed)} if needed else {})}


def rename_members(schema: dict[str, Any], renamed: Callable[[str], str]) -> None:
    if known := properties(schema):
        schema["properties"] = {renamed(name): one for name, one in known.items()}
    if isinstance(schema.get("required"), list):
        schema["required"] = [renamed(name) for name in required(schema)]


def without_members(schema: Schema, names: frozenset[str]) -> dict[str, Any]:
    left: dict[str, Any] = {"properties": {name: one for name, one in properties(schema).items() if name not in names}}
    if isinstance(schema.get("required"), list):
        left["required"] = [name for name in required(schema) if name not in names]
    return {**schema, **left}


def arguments_problem(schema: Schema, arguments: Mapping[str, Any]) -> str:
    """Return why `arguments` can't be sent, else "". A light check for people who edit: the server validates
    completely."""
    known = properties(schema)
    for name in required(schema):
        if name not in arguments:
            return f"“{name}” is required"
    for name, value in arguments.items():
        if name not in known and others(schema) is False:
            return f"“{name}” is not an argument of this tool"
        rule = as_schema(known.get(name))
        wanted = own_types(rule) if "type" in rule else ()
        if TYPES.issuperset(wanted) and not is_of(value, wanted):
            return f"“{name}” must be {' or '.join(wanted)}, not {type_of(value)}"
        if isinstance(rule.get("enum"), list) and value not in (enum := listed(rule, "enum")):
            return f"“{name}” must be one of {', '.join(json.dumps(one, ensure_ascii=False) for one in enum)}"
    return ""


def faults(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the faults that endpoints would stumble over: where (names with dots between), and what is wrong there."""
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        where, found = waiting.pop()
        if isinstance(found, bool):
            continue
        if not isinstance(found, dict):
            yield where, "neither an object nor true or false"
            continue
        one = cast("dict[str, Any]", found)
        places = {word: f"{where}.{word}" if where else word for word in one}
        yield from ((places[word], wrong) for word, value in one.items() if (wrong := _fault(word, value)))
        waiting += [(f"{places[word]}.{name}" if name else places[word], inner) for word, name, inner in parts(one)]


def _fault(word: str, value: Any) -> str:
    if word == "type":
        kinds = cast("list[Any]", value) if isinstance(value, list) else [value]
        wrong = next((kind for kind in kinds if not isinstance(kind, str) or kind not in TYPES), None)
        return f"{wrong!r:.40} is no type" if wrong is not None or not kinds else ""
    if word in _MAPS:
        return "" if isinstance(value, dict) else "not an object"
    if word in _LISTS or word == "enum":
        return "" if isinstance(value, list) else "not a list"
    if word == "required":
        fits = isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))
        return "" if fits else "not a list of names"
    return ""
