"""Fills in values that a JSON Schema asks for, one question a value: forms of servers, arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from console_app.domain.amounts import plural
from console_app.domain.forms import FormField, fields_of
from console_app.domain.safe_text import one_line
from console_app.line_console.dialogue import Dialogue

NOTHING = "-"  # typed alone, leaves a value out


async def fill_in(dialogue: Dialogue, schema: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values, beginning with those of `now`; None where it was left. What the schema doesn't name stays."""
    fields = fields_of(schema)
    values = {name: value for name, value in now.items() if name not in {field.name for field in fields}}
    if fields:
        dialogue.say(
            f"{plural(len(fields), 'value')}. An empty line keeps what is there, {NOTHING} alone leaves a value unset."
        )
    for place, field in enumerate(fields, 1):
        known = now.get(field.name, field.default)
        typed = await _value(dialogue, field, _part(schema, field.name), known, f"{place} of {len(fields)}")
        if typed is None:
            return None
        if typed[0] is not None:
            values[field.name] = typed[0]
    return values


async def _value(
    dialogue: Dialogue, field: FormField, part: Mapping[str, Any], known: Any, place: str
) -> tuple[Any] | None:
    question = f"{place}: {_question(field, part, known)}"
    while (line := await dialogue.ask(question, secret=field.is_secret)) is not None:
        value: Any = None
        try:
            value = known if line == "" else None if line.strip() == NOTHING else _read(field, part, line)
        except ValueError as error:
            problem = str(error)
        else:
            structured = type(value) in (dict, list) and not field.choices
            problem = "" if structured else field.problem(value)
        if not problem:
            return (value,)
        question = f"{one_line(field.title, 60)} {problem}. Again:"
    return None


def _question(field: FormField, part: Mapping[str, Any], known: Any) -> str:
    words = [one_line(field.title, 80) + (", required" if field.required else ", optional")]
    if field.description:
        words.append(one_line(field.description, 300))
    match field.kind:
        case "switch":
            words.append("boolean: yes or no")
        case "choice" | "choices" if field.choices:
            named = ", ".join(f"{n} {one_line(label, 60)}" for n, (_, label) in enumerate(field.choices, 1))
            words.append(f"{'one of' if field.kind == 'choice' else 'any of, with commas'}: {named}")
        case "number" | "integer":
            words.append("a number")
        case _:
            words += ["as JSON"] if _is_json(part) else []
    if field.is_secret:
        words.append("What you type is not shown")
    elif known is not None:
        words.append(
            f"now: {one_line(known if isinstance(known, str) else json.dumps(known, ensure_ascii=False), 2000)}"
        )
    return ". ".join(words) + "."


def _read(field: FormField, part: Mapping[str, Any], line: str) -> Any:
    """The value that a line means. Raises ValueError, whose words say what it must be."""
    word = line.strip()
    match field.kind:
        case "switch":
            if word.casefold() not in ("y", "yes", "true", "n", "no", "false"):
                raise ValueError("must be yes or no")
            return word.casefold() in ("y", "yes", "true")
        case "choice":
            return _chosen(field, word)
        case "choices" if field.choices:
            return [_chosen(field, one.strip()) for one in word.split(",") if one.strip()]
        case "number" | "integer":
            try:
                return int(word) if word.lstrip("+-").isdecimal() else float(word)
            except ValueError:
                raise ValueError("must be a number") from None
        case "text" | "choices":
            return _json(line, part) if _is_json(part) else line


def _chosen(field: FormField, word: str) -> str:
    if word.isdecimal() and 1 <= int(word) <= len(field.choices):
        return field.choices[int(word) - 1][0]
    for value, label in field.choices:
        if word.casefold() in (value.casefold(), label.casefold()):
            return value
    raise ValueError("must be one of the choices")


def _json(line: str, part: Mapping[str, Any]) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        if part.get("type") not in ("object", "array"):
            return line  # a text is one of the things that it may be
        raise ValueError(f"must be JSON ({error})") from None


def _is_json(part: Mapping[str, Any]) -> bool:
    """Whether a value is no single text: an object, a list, or anything at all."""
    return part.get("type") != "string" and "enum" not in part


def _part(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    properties = cast("Mapping[str, Any]", schema.get("properties", {}))
    part = properties.get(name)
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}
