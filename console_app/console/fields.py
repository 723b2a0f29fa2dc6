"""A tool's JSON Schema as a tree of fields: what a form can ask for, and what speaks against a value.

Covers what servers really send: nested objects, arrays, enums, nullable types, local $ref, a single allOf, and anyOf of
one type and null. Whatever is beyond that is a field of raw JSON, so that no tool is out of reach.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from console_app.domain.forms import FormField

Kind = Literal["text", "lines", "number", "integer", "switch", "choice", "choices", "object", "list", "json"]

DEEPEST = 6  # levels of objects and lists; what lies deeper is raw JSON
MOST_FIELDS = 200  # of one object
MOST_TOGETHER = 1_000  # of a form, about: references may double with each level
_LONG_NAMES = ("content", "text", "body", "markdown", "code", "sql", "script", "prompt", "template", "diff", "patch")
_LONG_WORDS = ("multi-line", "multiline", "markdown", "paragraph", "source code")
_SIMPLE: Mapping[str, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "switch"}


@dataclass(frozen=True, slots=True)
class Field:
    """One value to fill in. `fields` are those of an object, `item` is what a list holds."""

    name: str
    kind: Kind
    title: str = ""
    about: str = ""
    required: bool = False
    nullable: bool = False
    default: Any = None
    choices: tuple[Any, ...] = ()
    labels: tuple[str, ...] = ()  # of the choices, where they have names for people
    fields: tuple[Field, ...] = ()
    item: Field | None = None
    secret: bool = False  # what is typed is not shown
    schema: Mapping[str, Any] | None = None  # as the server wrote it

    @property
    def type_words(self) -> str:
        """What kind of value it takes, for people."""
        words = {
            "text": "text",
            "lines": "text",
            "number": "number",
            "integer": "whole number",
            "switch": "boolean",
            "choice": "choice",
            "choices": "any of these",
            "object": "object",
            "list": "list",
            "json": "JSON",
        }[self.kind]
        limits = _limits(self.schema or {})
        return ", ".join([words, *limits, *(["or null"] if self.nullable else [])])

    def problem(self, value: Any) -> str:
        """What speaks against a value, in a few words, or "". Objects and lists are judged by their parts."""
        if value is None and self.nullable:
            return ""
        schema = self.schema or {}
        match self.kind:
            case "choice":
                return "" if value in self.choices else "is none of the choices"
            case "text" | "lines" | "number" | "integer" | "switch":
                kind = "text" if self.kind == "lines" else self.kind
                least, most = ("minLength", "maxLength") if kind == "text" else ("minimum", "maximum")
                rule = FormField(
                    self.name,
                    kind,
                    self.name,
                    required=False,
                    format=str(schema.get("format") or ""),
                    pattern=str(schema.get("pattern") or ""),
                    least=_number(schema.get(least)),
                    most=_number(schema.get(most)),
                )
                return rule.problem(value) or _beyond(schema, value)
            case "list" | "choices":
                count = len(cast("list[Any]", value)) if isinstance(value, list) else 0
                least, most = _number(schema.get("minItems")), _number(schema.get("maxItems"))
                if least is not None and count < least:
                    return f"needs at least {least:g}"
                return f"takes at most {most:g}" if most is not None and count > most else ""
            case "object" | "json":
                return ""


def form_of(schema: Mapping[str, Any]) -> Field:
    """The arguments of a tool as one field of kind object; without readable properties, of kind json."""
    root = _field("", schema, _Reading(schema, MOST_TOGETHER), required=True, depth=0)
    return root if root.kind == "object" else Field("", "json", required=True, schema=schema)


def parse_scalar(field: Field, text: str) -> tuple[Any, str]:
    """(value, problem) of what was typed into a line; the value is None where there is a problem."""
    match field.kind:
        case "integer" | "number":
            try:
                value: Any = json.loads(text.strip().lstrip("+"), parse_constant=_refuse)
            except ValueError:
                value = None
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None, "must be a whole number" if field.kind == "integer" else "must be a number"
            if field.kind == "integer" and value == int(value):
                value = int(value)
            return value, field.problem(value)
        case "json":
            try:
                return json.loads(text, parse_constant=_refuse), ""
            except RecursionError:
                return None, "is nested too deeply"
            except json.JSONDecodeError as error:
                return None, f"is no JSON: {error.msg} in line {error.lineno}, column {error.colno}"
            except ValueError as error:
                return None, f"is no JSON: {error}"
        case _:
            return text, field.problem(text)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


@dataclass(slots=True)
class _Reading:
    """The schema that is being read, and how many fields may still be made of it."""

    root: Mapping[str, Any]
    left: int


def _field(
    name: str, schema: Any, reading: _Reading, *, required: bool, depth: int, seen: tuple[str, ...] = ()
) -> Field:
    part, nullable, seen = _resolved(schema, reading.root, seen)
    kind = _kind(name, part)
    reading.left -= 1
    if kind in ("object", "list") and (depth >= DEEPEST or reading.left <= 0):
        kind = "json"
    fields: tuple[Field, ...] = ()
    item: Field | None = None
    if kind == "object":
        needed: Any = part.get("required")
        needed_names = cast("list[Any]", needed) if isinstance(needed, list) else []
        properties = cast("dict[str, Any]", part["properties"])
        fields = tuple(
            _field(key, value, reading, required=key in needed_names, depth=depth + 1, seen=seen)
            for key, value in list(properties.items())[:MOST_FIELDS]
        )
    elif kind == "list":
        item = _field("", part.get("items"), reading, required=True, depth=depth + 1, seen=seen)
    choices = tuple(cast("list[Any]", part["enum"])) if kind == "choice" and "enum" in part else ()
    if kind == "choice" and not choices:
        choices = (part["const"],)
    return Field(
        name,
        kind,
        title=_text(part, "title"),
        about=_text(part, "description"),
        required=required,
        nullable=nullable,
        default=part.get("default"),
        choices=choices,
        fields=fields,
        item=item,
        schema=part,
    )


def _resolved(
    schema: Any, root: Mapping[str, Any], seen: tuple[str, ...]
) -> tuple[Mapping[str, Any], bool, tuple[str, ...]]:
    """A schema without detours: ($ref, one allOf, anyOf with null), whether null is allowed, the references taken."""
    part = _mapping(schema)
    nullable = False
    for _ in range(20):
        ref: Any = part.get("$ref")
        if isinstance(ref, str):
            if ref in seen:
                return {"description": _text(part, "description")}, nullable, seen  # it contains itself: raw JSON
            seen = (*seen, ref)
            part = _merged(_pointed(root, ref), part, "$ref")
            continue
        one_of = next((key for key in ("allOf", "anyOf", "oneOf") if isinstance(part.get(key), list)), None)
        if one_of is None:
            break
        options = cast("list[Any]", part[one_of])
        real = [one for one in options if _mapping(one).get("type") != "null"]
        if len(real) != 1:
            break
        nullable = nullable or len(real) < len(options)
        part = _merged(_mapping(real[0]), part, one_of)
    declared: Any = part.get("type")
    if isinstance(declared, list):
        types = [one for one in cast("list[Any]", declared) if one != "null"]
        nullable = nullable or len(types) < len(cast("list[Any]", declared))
        part = {**part, "type": types[0] if len(types) == 1 else None}
    return part, nullable, seen


def _merged(inner: Mapping[str, Any], outer: Mapping[str, Any], without: str) -> Mapping[str, Any]:
    return {**inner, **{key: value for key, value in outer.items() if key != without}}


def _pointed(root: Mapping[str, Any], ref: str) -> Mapping[str, Any]:
    """What a local reference (`#/$defs/Name`) points to; nothing for any other."""
    found: Any = root
    for key in ref.removeprefix("#/").split("/") if ref.startswith("#/") else [None]:
        name = key.replace("~1", "/").replace("~0", "~") if key is not None else ""
        found = _mapping(found).get(name)
    return _mapping(found)


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _kind(name: str, part: Mapping[str, Any]) -> Kind:
    enum: Any = part.get("enum")
    if (isinstance(enum, list) and enum) or "const" in part:
        return "choice"
    declared: Any = part.get("type")
    if declared == "string":
        return "lines" if _is_long(name, part) else "text"
    if isinstance(declared, str) and declared in _SIMPLE:
        return _SIMPLE[declared]
    properties: Any = part.get("properties")
    if declared in ("object", None) and isinstance(properties, Mapping) and (properties or declared == "object"):
        return "object"
    if declared == "array" and isinstance(part.get("items"), Mapping):
        return "list"
    return "json"


def _is_long(name: str, part: Mapping[str, Any]) -> bool:
    if part.get("format") or part.get("pattern"):
        return False
    words = _text(part, "description").casefold()
    return (
        part.get("format") == "textarea"
        or name.casefold().split("_")[-1] in _LONG_NAMES
        or name.casefold().split("_")[0] == "markdown"
        or any(word in words for word in _LONG_WORDS)
        or "\n" in str(part.get("default") or "")
    )


def _limits(schema: Mapping[str, Any]) -> Sequence[str]:
    least, most = _number(schema.get("minimum")), _number(schema.get("maximum"))
    found: list[str] = []
    if least is not None and most is not None:
        found.append(f"{least:g} to {most:g}")
    elif least is not None:
        found.append(f"from {least:g}")
    elif most is not None:
        found.append(f"to {most:g}")
    fewest, most_items = _number(schema.get("minItems")), _number(schema.get("maxItems"))
    if fewest is not None:
        found.append(f"at least {fewest:g}")
    if most_items is not None:
        found.append(f"at most {most_items:g}")
    if isinstance(schema.get("format"), str):
        found.append(str(schema["format"]))
    return found


def _beyond(schema: Mapping[str, Any], value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    above, below = _number(schema.get("exclusiveMinimum")), _number(schema.get("exclusiveMaximum"))
    if above is not None and value <= above:
        return f"must be more than {above:g}"
    return f"must be less than {below:g}" if below is not None and value >= below else ""


def _text(part: Mapping[str, Any], key: str) -> str:
    value = part.get(key)
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
