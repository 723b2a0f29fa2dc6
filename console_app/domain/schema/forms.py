"""Forms made of a schema. A tool's form (`form_of`) has nested objects, arrays, enums, nullable types, local $ref, a
single allOf, and anyOf of one type and null; all else is a field of raw JSON, so that no tool is out of reach. The form
of an elicitation (`fields_asked`) is the restricted schema of MCP 2025-11-25 (SEP-1034 defaults, SEP-1330 choices): an
unknown kind is a line of text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from console_app.domain import safe_text
from console_app.domain.schema.reading import (
    Schema,
    as_schema,
    choices,
    item,
    listed,
    number,
    properties,
    required,
    resolved,
    text,
)
from console_app.domain.schema.tame_patterns import matches
from console_app.records import dataclass, field

Kind = Literal["text", "lines", "number", "integer", "switch", "choice", "choices", "object", "list", "json"]

DEEPEST = 6  # levels of objects and lists; what lies deeper is raw JSON
MOST_FIELDS = 200  # of one object
MOST_TOGETHER = 1_000  # of a form, about: references may double with each level
_LONG_NAMES = ("content", "text", "body", "markdown", "code", "sql", "script", "prompt", "template", "diff", "patch")
_LONG_WORDS = ("multi-line", "multiline", "markdown", "paragraph", "source code")
_SIMPLE: Mapping[str, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "switch"}
_WORDS: Mapping[Kind, str] = {
    "lines": "text",
    "integer": "whole number",
    "switch": "boolean",
    "choices": "any of these",
    "json": "JSON",
}
# Narrow, since what is typed into such a field is hidden from then on, in results too: `key` alone may be an issue's.
_SECRET = re.compile(
    r"passw|passphrase|passcode|secret|token|credential|(?:api|access|private)[ _-]?key|(?<![a-z])(?:pin|otp)(?![a-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Field:
    """A value to fill in. `fields` are those of an object, `item` is what a list holds."""

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
    schema: Schema = field(default_factory=dict[str, Any])  # as the server wrote it

    @property
    def secret(self) -> bool:
        """Tell whether what is typed here is to be shown to nobody: its name, title or format says so."""
        words = (self.name, self.title)
        return self.kind == "text" and (text(self.schema, "format") == "password" or any(map(_SECRET.search, words)))

    @property
    def type_words(self) -> str:
        least, most = number(self.schema, "minimum"), number(self.schema, "maximum")
        found: list[str] = []
        if least is not None and most is not None:
            found.append(f"{least:g} to {most:g}")
        elif least is not None:
            found.append(f"from {least:g}")
        elif most is not None:
            found.append(f"to {most:g}")
        fewest, most_items = number(self.schema, "minItems"), number(self.schema, "maxItems")
        if fewest is not None:
            found.append(f"at least {fewest:g}")
        if most_items is not None:
            found.append(f"at most {most_items:g}")
        words = [_WORDS.get(self.kind, self.kind), *[*found, *filter(None, [text(self.schema, "format")])]]
        return ", ".join([*words, *(["or null"] if self.nullable else [])])

    def problem(self, value: Any) -> str:
        """Return why a value can't be sent, or "". None and, where the field may be left out, "" mean left out. Objects
        and lists' entries are judged by their own fields."""
        if value is None and self.nullable:
            return ""
        is_text = self.kind in ("text", "lines") or value in self.choices
        if value is None or (value == "" and not (self.required and is_text)):
            return "required" if self.required else ""
        match self.kind:
            case "switch":
                return "" if isinstance(value, bool) else "must be true or false"
            case "choice":
                return "" if value in self.choices else "is none of the choices"
            case "choices" | "list":
                if not isinstance(value, list | tuple):
                    return "must be a list"
                chosen = cast("Sequence[Any]", value)
                if self.kind == "choices" and any(one not in self.choices for one in chosen):
                    return "has something that is none of the choices"
                least, most = number(self.schema, "minItems"), number(self.schema, "maxItems")
                if least is not None and len(chosen) < least:
                    return f"needs at least {least:g}"
                return f"takes at most {most:g}" if most is not None and len(chosen) > most else ""
            case "number" | "integer":
                return self._number_problem(value)
            case "text" | "lines":
                return self._text_problem(value)
            case "object" | "json":
                return ""

    def _number_problem(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return "must be a number"
        if self.kind == "integer" and value != int(value):
            return "must be a whole number"
        if problem := self._bounds_problem(value, "minimum", "maximum"):
            return problem
        above, below = number(self.schema, "exclusiveMinimum"), number(self.schema, "exclusiveMaximum")
        if above is not None and value <= above:
            return f"must be more than {above:g}"
        return f"must be less than {below:g}" if below is not None and value >= below else ""

    def _text_problem(self, value: Any) -> str:
        if not isinstance(value, str):
            return "must be a text"
        if problem := self._bounds_problem(len(value), "minLength", "maxLength", " characters"):
            return problem
        if problem := _format_problem(text(self.schema, "format"), value):
            return problem
        pattern = text(self.schema, "pattern")
        return f"must match {pattern}" if pattern and matches(pattern, value) is False else ""

    def _bounds_problem(self, size: float, lower: str, upper: str, unit: str = "") -> str:
        least, most = number(self.schema, lower), number(self.schema, upper)
        if least is not None and size < least:
            return f"must be at least {least:g}{unit}"
        return f"must be at most {most:g}{unit}" if most is not None and size > most else ""


def form_of(schema: Schema) -> Field:
    """Return a tool's arguments as one field of kind object; without readable properties, of kind json."""
    root = _field("", schema, _Reading(schema, MOST_TOGETHER), needed=True, depth=0)
    return root if root.kind == "object" else Field("", "json", required=True, schema=schema)


def fields_asked(schema: Schema) -> tuple[Field, ...]:
    needed = required(schema)
    return tuple(_asked(name, as_schema(one), name in needed) for name, one in properties(schema).items())


def problems(schema: Schema, content: Mapping[str, Any]) -> dict[str, str]:
    found = {asked.name: asked.problem(content.get(asked.name)) for asked in fields_asked(schema)}
    return {name: problem for name, problem in found.items() if problem}


def cleaned(schema: Schema, content: Mapping[str, Any]) -> dict[str, Any]:
    known = {asked.name: asked for asked in fields_asked(schema)}
    return {
        name: int(value) if known[name].kind == "integer" and isinstance(value, float) else value
        for name, value in content.items()
        if name in known and value is not None and (value != "" or known[name].required)
    }


def secrets_in(schema: Schema, content: Mapping[str, Any]) -> list[str]:
    values = [content.get(asked.name) for asked in fields_asked(schema) if asked.secret]
    return [value for value in values if isinstance(value, str)]


def parse_scalar(of: Field, typed: str) -> tuple[Any, str]:
    match of.kind:
        case "integer" | "number":
            try:
                value: Any = json.loads(typed.strip().lstrip("+"), parse_constant=safe_text.no_constant)
            except ValueError:
                value = None
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None, "must be a whole number" if of.kind == "integer" else "must be a number"
            if of.kind == "integer" and value == int(value):
                value = int(value)
            return value, of.problem(value)
        case "json":
            try:
                return json.loads(typed, parse_constant=safe_text.no_constant), ""
            except RecursionError:
                return None, "is nested too deeply"
            except json.JSONDecodeError as error:
                return None, f"is no JSON: {error.msg} in line {error.lineno}, column {error.colno}"
            except ValueError as error:
                return None, f"is no JSON: {error}"
        case _:
            return typed, of.problem(typed)


@dataclass(slots=True)
class _Reading:
    """The schema that is being read, and how many fields may still be made of it."""

    root: Schema
    left: int


def _field(name: str, schema: Any, reading: _Reading, *, needed: bool, depth: int, seen: tuple[str, ...] = ()) -> Field:
    found, nullable, seen = resolved(schema, reading.root, seen)
    kind = _kind(name, found)
    reading.left -= 1
    if kind in ("object", "list") and (depth >= DEEPEST or reading.left <= 0):
        kind = "json"
    fields: tuple[Field, ...] = ()
    entry: Field | None = None
    if kind == "object":
        names = required(found)
        fields = tuple(
            _field(key, value, reading, needed=key in names, depth=depth + 1, seen=seen)
            for key, value in list(properties(found).items())[:MOST_FIELDS]
        )
    elif kind == "list":
        entry = _field("", item(found), reading, needed=True, depth=depth + 1, seen=seen)
    return Field(
        name,
        kind,
        title=text(found, "title"),
        about=text(found, "description"),
        required=needed,
        nullable=nullable,
        default=found.get("default"),
        choices=tuple(choices(found)) if kind == "choice" else (),
        fields=fields,
        item=entry,
        schema=found,
    )


def _kind(name: str, schema: Schema) -> Kind:
    if choices(schema):
        return "choice"
    declared: Any = schema.get("type")
    if declared == "string":
        return "lines" if _is_long(name, schema) else "text"
    if isinstance(declared, str) and declared in _SIMPLE:
        return _SIMPLE[declared]
    members: Any = schema.get("properties")
    if declared in ("object", None) and isinstance(members, Mapping) and (members or declared == "object"):
        return "object"
    if declared == "array" and isinstance(item(schema), Mapping):
        return "list"
    return "json"


def _is_long(name: str, schema: Schema) -> bool:
    if schema.get("format") or schema.get("pattern"):
        return False
    words = text(schema, "description").casefold()
    return (
        name.casefold().split("_")[-1] in _LONG_NAMES
        or name.casefold().split("_")[0] == "markdown"
        or any(word in words for word in _LONG_WORDS)
        or "\n" in str(schema.get("default") or "")
    )


def _asked(name: str, schema: Schema, needed: bool) -> Field:
    declared: Any = schema.get("type")
    is_list = declared == "array"
    named = _named(as_schema(item(schema)) if is_list else schema)
    simple = _SIMPLE.get(declared, "text") if isinstance(declared, str) else "text"
    kind: Kind = "choices" if is_list else "choice" if named and simple == "text" else simple
    if kind not in ("choice", "choices"):
        named = ()
    return Field(
        name,
        kind,
        title=text(schema, "title") or name,
        about=text(schema, "description"),
        required=needed,
        default=schema.get("default"),
        choices=tuple(value for value, _ in named),
        labels=tuple(label for _, label in named),
        schema=schema,
    )


def _named(schema: Schema) -> tuple[tuple[str, str], ...]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        options = [as_schema(one) for one in cast("list[Any]", titled) if "const" in as_schema(one)]
        return tuple((str(one["const"]), str(one.get("title") or one["const"])) for one in options)
    labels = listed(schema, "enumNames")
    return tuple(
        (str(value), str(labels[place]) if place < len(labels) else str(value))
        for place, value in enumerate(listed(schema, "enum"))
    )


def _format_problem(name: str, value: str) -> str:
    match name:
        case "email":
            return "" if re.fullmatch(r"[^@\s]+@[^@\s]+", value) else "must be an e-mail address"
        case "uri":
            return "" if urlsplit(value).scheme else "must be a URI"
        case "date":
            return _date_problem(date.fromisoformat, value, "a date, as 2025-12-31")
        case "date-time":
            return _date_problem(datetime.fromisoformat, value, "a time, as 2025-12-31T23:59:00Z")
        case _:
            return ""


def _date_problem(read: Callable[[str], object], value: str, wanted: str) -> str:
    try:
        read(value)
    except ValueError:
        return f"must be {wanted}"
    return ""
