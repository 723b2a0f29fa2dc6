"""From rows to items: templates filled in, what each item asks for checked, and items multiplied, before any runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from console_app.batch import answer_schema
from console_app.batch.rows import InputRow, told
from console_app.batch.template import Template
from console_app.domain.batch import GivenCall, WorkItem
from console_app.domain.errors import UsageError

_MEANT = frozenset({"model", "system", "attachments", "allowed_tools", "schema"})  # fields that need no template


@dataclass(frozen=True, slots=True)
class ItemPlan:
    """What is done with each row. `each` are values of a field, each of which makes an item of its own."""

    prompt: Template | None = None  # None: the item's own `prompt`, or the line
    system: Template | None = None
    schema: dict[str, Any] | None = None
    each: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    repeat: int = 1
    folder: Path = Path()  # where relative paths of attachments begin


def make_items(rows: Sequence[InputRow], plan: ItemPlan) -> list[WorkItem]:
    """The items of all rows, in order. Raises UsageError that names the lines which can't be used."""
    _check_each(rows, plan)
    problems: list[str] = []
    items: list[WorkItem] = []
    for row in rows:
        for suffix, fields in _multiplied(row, plan):
            try:
                items.append(_item(row, f"{row.id}{suffix}", fields, plan))
            except ValueError as error:
                problems.append(f"{row.source}: {error}")
                break
    problems += _twice(items)
    if problems:
        raise UsageError(told(problems))
    return items


def given_calls(rows: Sequence[InputRow]) -> list[WorkItem]:
    """Items that are calls: `{"tool": "SERVER.TOOL", "arguments": {...}}`, or `{"calls": [...]}` with several that run
    at once. Raises UsageError."""
    problems: list[str] = []
    items: list[WorkItem] = []
    for row in rows:
        try:
            several: Any = row.fields.get("calls")
            entries = cast("list[Any]", several) if isinstance(several, list) else [row.fields]
            calls = tuple(map(_call, entries))
            if not calls:
                raise ValueError("calls: there are none")
            items.append(WorkItem(id=row.id, calls=calls, prompt=_words(calls), source=row.source))
        except ValueError as error:
            problems.append(f"{row.source}: {error}")
    problems += _twice(items)
    if problems:
        raise UsageError(told(problems))
    return items


def read_each(texts: Sequence[str]) -> dict[str, list[str]]:
    """`FIELD=a,b,c` (or `FIELD=["a, b", "c"]`) as field and values. Raises UsageError."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        listed = _texts(values, "a list") if values.lstrip().startswith("[") else [v.strip() for v in values.split(",")]
        if not mark or not name.strip() or not all(listed) or len(set(listed)) < len(listed):
            raise UsageError(f"--each {text}: no FIELD=VALUE,VALUE,... with values that differ")
        if name.strip() in found:
            raise UsageError(f"--each {name.strip()} is there twice", "Write all its values in one: a,b,c.")
        found[name.strip()] = list(listed)
    return found


def _item(row: InputRow, item_id: str, fields: Mapping[str, Any], plan: ItemPlan) -> WorkItem:
    """Raises ValueError, without saying where."""
    system = fields.get("system")
    schema = _schema(fields.get("schema")) or plan.schema
    attachments = tuple(_texts(fields.get("attachments"), "attachments"))
    for path in attachments:
        if not (plan.folder / Path(path).expanduser()).exists():
            raise ValueError(f"attachments: there is no file {path}")
    return WorkItem(
        id=item_id,
        prompt=_prompt(fields, plan),
        model=_text(fields.get("model"), "model") or "",
        system=_text(system, "system") if plan.system is None or system is not None else _filled(plan.system, fields),
        attachments=attachments,
        allowed_tools=None
        if (allowed := fields.get("allowed_tools")) in (None, "")
        else tuple(_texts(allowed, "allowed_tools", split=True)),
        answer_schema=schema,
        source=row.source,
    )


def _prompt(fields: Mapping[str, Any], plan: ItemPlan) -> str:
    if plan.prompt is not None:
        return _filled(plan.prompt, fields)
    prompt = _text(fields.get("prompt", fields.get("text")), "prompt")
    if not prompt or not prompt.strip():
        raise ValueError("no field “prompt”, and no --prompt")
    return prompt


def _filled(template: Template, fields: Mapping[str, Any]) -> str:
    if missing := template.missing(fields):
        raise ValueError(f"no field {', '.join(f'“{name}”' for name in missing)}, which the template names")
    return template.filled(fields)


def _multiplied(row: InputRow, plan: ItemPlan) -> Iterator[tuple[str, Mapping[str, Any]]]:
    names = list(plan.each)
    for values in itertools.product(*plan.each.values()):
        changes = dict(zip(names, values, strict=True))
        suffix = "".join(f"#{name}={value}" for name, value in changes.items())
        for number in range(1, plan.repeat + 1):
            yield suffix + (f"#{number}" if plan.repeat > 1 else ""), {**row.fields, **changes}


def _check_each(rows: Sequence[InputRow], plan: ItemPlan) -> None:
    named = {name.partition(".")[0] for one in (plan.prompt, plan.system) if one is not None for name in one.fields}
    told_apart = _MEANT if plan.prompt is not None else _MEANT | {"prompt", "text"}
    for name in plan.each:
        if name not in told_apart | named:
            raise UsageError(
                f"--each {name}: no template names the field {name}", "It would make items that are alike."
            )


def _twice(items: Sequence[WorkItem]) -> list[str]:
    first: dict[str, str] = {}
    problems: list[str] = []
    for item in items:
        if item.id in first:
            problems.append(f"{item.source}: the id “{item.id}” is that of {first[item.id]}")
        first.setdefault(item.id, item.source)
    return problems


def _call(entry: Any) -> GivenCall:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    tool, arguments = fields.get("tool"), fields.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _json(arguments, "arguments")
    if not isinstance(tool, str) or "." not in tool:
        raise ValueError('no field “tool” that is SERVER.TOOL, as {"tool": "calculator.evaluate", "arguments": {...}}')
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {tool} have to be a JSON object")
    return GivenCall(tool=tool, arguments=cast("dict[str, Any]", arguments))


def _words(calls: Sequence[GivenCall]) -> str:
    return " ".join(f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False)}" for call in calls)


def _schema(value: Any) -> dict[str, Any] | None:
    if value in (None, ""):
        return None
    schema = _json(value, "schema") if isinstance(value, str) else value
    if problem := answer_schema.problem_of(schema):
        raise ValueError(f"schema: {problem}")
    return schema


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: not JSON: {error}") from None


def _text(value: Any, name: str) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name}: not a text")
    return value


def _texts(value: Any, name: str, *, split: bool = False) -> list[str]:
    """A list of texts; in CSV it may be one text, or JSON."""
    if value in (None, ""):
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _json(value, name)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()] if split else [value]
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in cast("list[Any]", value)):
        raise ValueError(f"{name}: not a list of texts")
    return cast("list[str]", value)
