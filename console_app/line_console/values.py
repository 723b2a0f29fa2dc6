"""Fills in the values that a form asks for, one question a value: forms of servers, arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from console_app.domain import displayed, one_line, plural
from console_app.domain import schema as json_schema
from console_app.domain.schema import forms
from console_app.line_console.wording import in_json

NOTHING = "-"  # typed alone, leaves a value out


class LineAsker(Protocol):
    """A face that says a text, and asks for a line; None where that was left."""

    def say(self, text: str) -> None: ...

    async def ask(self, question: str, /, *, secret: bool = False) -> str | None: ...


async def fill_in(dialogue: LineAsker, fields: Sequence[forms.Field], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask for the values, beginning with those of `now`; None where that was left. Values without a field stay."""
    values = {name: value for name, value in now.items() if name not in {field.name for field in fields}}
    if fields:
        dialogue.say(
            f"{plural(len(fields), 'value')}. An empty line keeps what is there, {NOTHING} alone leaves a value unset."
        )
    for place, field in enumerate(fields, 1):
        known = now.get(field.name, field.default)
        typed = await _value(dialogue, field, known, f"{place} of {len(fields)}")
        if typed is None:
            return None
        if typed[0] is not None:
            values[field.name] = typed[0]
    return values


async def _value(dialogue: LineAsker, field: forms.Field, known: Any, place: str) -> tuple[Any] | None:
    question = f"{place}: {_question(field, known)}"
    while (line := await dialogue.ask(question, secret=field.secret)) is not None:
        value: Any = None
        try:
            value = known if line == "" else None if line.strip() == NOTHING else _read(field, line)
        except ValueError as error:
            problem = str(error)
        else:
            problem = field.problem(value) if value is not None or field.required else ""
        if not problem:
            return (value,)
        question = f"{one_line(field.title or field.name, 60)} {problem}. Again:"
    return None


def _question(field: forms.Field, known: Any) -> str:
    words = [one_line(field.title or field.name, 80) + (", required" if field.required else ", optional")]
    if field.about:
        words.append(one_line(field.about, 300))
    match field.kind:
        case "switch":
            words.append("boolean: yes or no")
        case "choice" | "choices" if field.choices:
            named = ", ".join(f"{n} {one_line(label, 60)}" for n, label in enumerate(_labels(field), 1))
            words.append(f"{'one of' if field.kind == 'choice' else 'any of, with commas'}: {named}")
        case "number" | "integer":
            words.append("a number")
        case "text" | "lines":
            pass
        case _:
            words.append("as JSON")
    if field.secret:
        words.append("What you type is not shown")
    elif known is not None:
        return f"{'. '.join(words)}. Now:\n{displayed.as_text(displayed.named_lines('', in_json(known)))}"
    return ". ".join(words) + "."


def _read(field: forms.Field, line: str) -> Any:
    """Return the value that a line means. Raises ValueError, whose words say what it must be."""
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
        case "text" | "lines":
            return line
        case _:
            return _json(field, line)


def _labels(field: forms.Field) -> Sequence[str]:
    return field.labels or tuple(map(in_json, field.choices))


def _chosen(field: forms.Field, word: str) -> Any:
    if word.isdecimal() and 1 <= int(word) <= len(field.choices):
        return field.choices[int(word) - 1]
    for value, label in zip(field.choices, _labels(field), strict=True):
        if word.casefold() in (in_json(value).casefold(), label.casefold()):
            return value
    raise ValueError("must be one of the choices")


def _json(field: forms.Field, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        if field.kind == "json" and not {"object", "array"}.issuperset(json_schema.types(field.schema) or ("string",)):
            return line  # a text is one of the things that it may be
        raise ValueError(f"must be JSON ({error})") from None
