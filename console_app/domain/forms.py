"""The forms that MCP servers ask for: their restricted JSON Schema (flat, primitives and choices) as fields.

Source: MCP 2025-11-25, elicitation, requestedSchema (with SEP-1034 defaults and SEP-1330 choices). What a schema says
beyond that is ignored; a field of an unknown kind is a line of text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from console_app.domain.tame_patterns import matches

# Narrow, since what is typed into such a field is hidden from then on, in results too: `key` alone may be an issue's.
_SECRET = re.compile(
    r"passw|passphrase|passcode|secret|token|credential|(?:api|access|private)[ _-]?key|(?<![a-z])(?:pin|otp)(?![a-z])",
    re.IGNORECASE,
)

Kind = Literal["text", "number", "integer", "switch", "choice", "choices"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One value to fill in. `choices` are (value, label); `least` and `most` bound the length, value or count."""

    name: str
    kind: Kind
    title: str
    description: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[tuple[str, str], ...] = ()
    format: str = ""  # of a text: email, uri, date, date-time, or ""
    pattern: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def is_secret(self) -> bool:
        """Whether what is typed here is to be shown to nobody: its name, title or format says so."""
        words = (self.name, self.title)
        return self.kind == "text" and (self.format == "password" or any(map(_SECRET.search, words)))

    def problem(self, value: Any) -> str:
        """Why `value` can't be sent, in a few words, or "". None and, for an optional field, "" mean left out."""
        if value is None or (value == "" and (not self.required or self.kind != "text")):
            return "required" if self.required else ""
        match self.kind:
            case "switch":
                return "" if isinstance(value, bool) else "must be true or false"
            case "choice":
                return "" if any(value == known for known, _ in self.choices) else "is none of the choices"
            case "choices":
                return self._choices_problem(value)
            case "number" | "integer":
                return self._number_problem(value)
            case "text":
                return self._text_problem(value)

    def _choices_problem(self, value: Any) -> str:
        if not isinstance(value, list | tuple):
            return "must be a list"
        chosen = cast("Sequence[Any]", value)
        if not {str(one) for one in chosen} <= {known for known, _ in self.choices}:
            return "has something that is none of the choices"
        return self._bounds_problem(len(chosen), "choices")

    def _number_problem(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return "must be a number"
        if self.kind == "integer" and value != int(value):
            return "must be a whole number"
        return self._bounds_problem(value, "")

    def _text_problem(self, value: Any) -> str:
        if not isinstance(value, str):
            return "must be a text"
        if problem := self._bounds_problem(len(value), "characters"):
            return problem
        if self.format and (problem := _format_problem(self.format, value)):
            return problem
        if self.pattern and matches(self.pattern, value) is False:
            return f"must match {self.pattern}"
        return ""

    def _bounds_problem(self, size: float, unit: str) -> str:
        if self.least is not None and size < self.least:
            return f"must be at least {self.least:g} {unit}".rstrip()
        if self.most is not None and size > self.most:
            return f"must be at most {self.most:g} {unit}".rstrip()
        return ""


def fields_of(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """The fields of a requestedSchema, in its order."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return ()
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    items = cast("Mapping[str, Any]", properties).items()
    return tuple(
        _field(name, cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}, name in needed)
        for name, part in items
    )


def problems(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with `content`: field name to a few words. Empty when it can be sent."""
    found = {field.name: field.problem(content.get(field.name)) for field in fields_of(schema)}
    return {name: problem for name, problem in found.items() if problem}


def cleaned(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """`content` as it is sent: only fields of the schema, without those left out."""
    known = {field.name: field for field in fields_of(schema)}
    return {
        name: int(value) if known[name].kind == "integer" and isinstance(value, float) else value
        for name, value in content.items()
        if name in known and value is not None and (value != "" or known[name].required)
    }


def secrets_in(schema: Mapping[str, Any], content: Mapping[str, Any]) -> list[str]:
    """The texts of `content` that stand in secret fields."""
    values = [content.get(field.name) for field in fields_of(schema) if field.is_secret]
    return [value for value in values if isinstance(value, str)]


def _field(name: str, part: Mapping[str, Any], required: bool) -> FormField:
    kind, choices = _kind(part)
    least, most = {
        "text": ("minLength", "maxLength"),
        "choices": ("minItems", "maxItems"),
    }.get(kind, ("minimum", "maximum"))
    return FormField(
        name=name,
        kind=kind,
        title=_text(part, "title") or name,
        description=_text(part, "description"),
        required=required,
        default=part.get("default"),
        choices=choices,
        format=_text(part, "format"),
        pattern=_text(part, "pattern"),
        least=_number(part, least),
        most=_number(part, most),
    )


def _kind(part: Mapping[str, Any]) -> tuple[Kind, tuple[tuple[str, str], ...]]:
    match part.get("type"):
        case "boolean":
            return "switch", ()
        case "number":
            return "number", ()
        case "integer":
            return "integer", ()
        case "array":
            items = part.get("items")
            return "choices", _choices(cast("Mapping[str, Any]", items) if isinstance(items, Mapping) else {})
        case _:
            choices = _choices(part)
            return ("choice", choices) if choices else ("text", ())


def _choices(part: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    titled: Any = part.get("oneOf") or part.get("anyOf")
    if isinstance(titled, list):
        options = [cast("Mapping[str, Any]", one) for one in cast("list[Any]", titled) if isinstance(one, Mapping)]
        return tuple((str(one["const"]), str(one.get("title") or one["const"])) for one in options if "const" in one)
    values: Any = part.get("enum")
    if not isinstance(values, list):
        return ()
    names: Any = part.get("enumNames")
    labels = cast("list[Any]", names) if isinstance(names, list) else []
    pairs = enumerate(cast("list[Any]", values))
    return tuple((str(value), str(labels[place]) if place < len(labels) else str(value)) for place, value in pairs)


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


def _date_problem(read: Any, value: str, what: str) -> str:
    try:
        read(value)
    except ValueError:
        return f"must be {what}"
    return ""


def _text(part: Mapping[str, Any], key: str) -> str:
    value = part.get(key)
    return value if isinstance(value, str) else ""


def _number(part: Mapping[str, Any], key: str) -> float | None:
    value = part.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
