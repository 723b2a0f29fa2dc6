"""Turn files into items: rows are read, templates filled in, what each asks for is checked, and items are
multiplied."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, cast

from console_app.batch import answer_schema
from console_app.domain import UsageError, batch, one_line, safe_text
from console_app.records import dataclass

_PART = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}|[{}]")
_MISSING = object()
Form = Literal["jsonl", "csv", "lines"]
_STDIN_DESCRIPTOR = 0
_ENDINGS: dict[str, Form] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}
_LARGEST_CELL = 2**27  # characters
_SHOWN = 3  # problems of a file that are told
_MEANT = frozenset({"model", "system", "attachments", "allowed_tools", "schema"})  # fields that need no template


class Template:
    """`name` is what people call it, as `--prompt`. Raises UsageError for a brace that stands alone."""

    def __init__(self, text: str, name: str) -> None:
        self._parts: list[tuple[str, str | None]] = []  # text, and the field behind it
        begin = 0
        plain = ""
        for match in _PART.finditer(text):
            plain += text[begin : match.start()]
            begin = match.end()
            field, found = match[1], match[0]
            if field is not None:
                self._parts.append((plain, field.strip()))
                plain = ""
            elif len(found) == 2:
                plain += found[0]
            else:
                raise UsageError(
                    f"{name}: the {found} at character {match.start() + 1} names no field",
                    "Write {field}, or {{ and }} for braces.",
                )
        self._parts.append((plain + text[begin:], None))

    @property
    def fields(self) -> list[str]:
        return list(dict.fromkeys(field for _, field in self._parts if field is not None))

    def missing(self, fields: Mapping[str, Any]) -> list[str]:
        return [name for name in self.fields if _look_up(fields, name) is _MISSING]

    def filled(self, fields: Mapping[str, Any]) -> str:
        return "".join(
            text if name is None else text + safe_text.as_text(_look_up(fields, name)) for text, name in self._parts
        )


def _look_up(fields: Mapping[str, Any], name: str) -> Any:
    if name in fields:
        return fields[name]
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = cast("Mapping[str, Any]", value)[part]
    return value


@dataclass(frozen=True, slots=True)
class InputRow:
    fields: dict[str, Any]
    source: str
    id: str


def read_rows(paths: Sequence[str], form: Form | None = None, *, as_written: bool = False) -> list[InputRow]:
    """Read all rows of the files; `-` is standard input. With `as_written` a row of JSON that would have to be changed
    is refused. Raises UsageError with file and line."""
    rows: list[InputRow] = []
    for path in paths:
        name = "standard input" if path == "-" else path
        prefix = f"{Path(path).stem}:" if len(paths) > 1 else ""
        try:
            named = _STDIN_DESCRIPTOR if path == "-" else path
            with open(named, encoding="utf-8-sig", newline="", closefd=path != "-") as file:
                rows += _rows(file, name, prefix, form or _ENDINGS.get(Path(path).suffix.lower(), "lines"), as_written)
        except OSError as error:
            raise UsageError(f"can't read {name}: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{name}: byte {error.start} is not UTF-8", "Save the file as UTF-8.") from None
    if not rows:
        raise UsageError(f"{', '.join(paths)}: there is no item in it")
    return rows


def told(problems: Sequence[str]) -> str:
    """Return the first of some problems, and how many more there are."""
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


def _rows(file: IO[str], name: str, prefix: str, form: Form, as_written: bool) -> list[InputRow]:
    problems: list[str] = []
    match form:
        case "jsonl":
            found = list(_json_rows(file, name, problems, as_written))
        case "csv":
            found = list(_csv_rows(file, name, problems))
        case "lines":
            texts = ((number, line.rstrip("\r\n")) for number, line in enumerate(file, 1))
            found = [(number, {"text": text}) for number, text in texts if text.strip()]
    if problems:
        raise UsageError(told(problems))
    ids = (f"{prefix}{number}" if fields.get("id") in (None, "") else str(fields["id"]) for number, fields in found)
    return [InputRow(fields, f"{name}:{number}", own) for (number, fields), own in zip(found, ids, strict=True)]


def _json_rows(file: IO[str], name: str, problems: list[str], as_written: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = safe_text.AS_WRITTEN if as_written else safe_text.ONCE
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            value: Any = decoder.decode(line.rstrip())
        except (ValueError, RecursionError) as error:
            where = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            problems.append(f"{name}:{number}{where}: not JSON: {what}")
            continue
        if "\\ud" in line.lower():  # an escape may stand for half a character, which nothing could send
            written = json.dumps(value, ensure_ascii=False)
            if (sent := safe_text.encodable(written)) != written and as_written:
                problems.append(f"{name}:{number}: half a character is in it, which no text can hold")
                continue
            value = json.loads(sent)
        if isinstance(value, str):
            value = {"prompt": value, "text": value}
        if not isinstance(value, dict):
            problems.append(f"{name}:{number}: neither a JSON object nor a text")
        elif isinstance(cast("dict[str, Any]", value).get("id"), bool | list | dict):
            problems.append(f"{name}:{number}: id: neither a text nor a number")
        else:
            yield number, cast("dict[str, Any]", value)


def _csv_rows(file: IO[str], name: str, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(_LARGEST_CELL)
    head = file.readline()
    delimiter = max(",;\t", key=head.count)
    names = next(csv.reader([head], delimiter=delimiter, strict=True), list[str]())
    if len(set(names)) < len(names):
        problems.append(f"{name}:1: a column's name is there twice")
        return
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    number = 2
    try:
        for cells in reader:
            if len(cells) == len(names):
                yield number, dict(zip(names, cells, strict=True))
            elif cells:
                problems.append(f"{name}:{number}: {len(cells)} cells, where the header has {len(names)}")
            number = reader.line_num + 2
    except csv.Error as error:
        problems.append(f"{name}:{number}: {error}")


class ItemPlan:
    """The plan for each row, as the options of the command have it. Raises UsageError."""

    def __init__(
        self,
        prompt: str | None = None,  # None: the item's own `prompt`, or the line
        system: str | None = None,
        schema: str | None = None,  # a file
        each: Sequence[str] = (),  # fields with values, each of which makes an item of its own
        repeat: int = 1,
        folder: Path = Path(),  # where relative paths of attachments begin
    ) -> None:
        self.prompt = None if prompt is None else Template(prompt, "--prompt")
        self.system = None if system is None else Template(system, "--system")
        self.schema = None if schema is None else _read_schema(schema)
        self.each = self.read_each(each)
        self.repeat = repeat
        self.folder = folder

    @staticmethod
    def read_each(texts: Sequence[str]) -> dict[str, list[str]]:
        """Read `FIELD=a,b,c` (or `FIELD=["a, b", "c"]`) as field and values. Raises UsageError."""
        found: dict[str, list[str]] = {}
        for text in texts:
            name, mark, values = text.partition("=")
            listed = (
                _texts(values, "a list") if values.lstrip().startswith("[") else [v.strip() for v in values.split(",")]
            )
            if not mark or not name.strip() or not all(listed) or len(set(listed)) < len(listed):
                raise UsageError(f"--each {text}: write it as FIELD=VALUE,VALUE,... with values that differ")
            if name.strip() in found:
                raise UsageError(f"--each {name.strip()} is there twice", "Write all its values in one: a,b,c.")
            found[name.strip()] = list(listed)
        return found

    def items(self, paths: Sequence[str], form: Form | None = None) -> list[batch.WorkItem]:
        return make_items(read_rows(paths, form), self)

    @staticmethod
    def given_calls(path: str) -> list[batch.WorkItem]:
        """Read items that are calls: `{"tool": "SERVER.TOOL", "arguments": {...}}`, or `{"calls": [...]}` at once.
        Raises UsageError."""
        problems: list[str] = []
        items: list[batch.WorkItem] = []
        for row in read_rows([path], "jsonl", as_written=True):
            try:
                several: Any = row.fields.get("calls")
                entries = cast("list[Any]", several) if isinstance(several, list) else [row.fields]
                calls = tuple(map(_call, entries))
                if not calls:
                    raise ValueError("calls: there are none")
                words = " ".join(f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False)}" for call in calls)
                items.append(batch.WorkItem(id=row.id, calls=calls, prompt=words, source=row.source))
            except ValueError as error:
                problems.append(f"{row.source}: {error}")
        return _told_apart(items, problems)


def _read_schema(path: str) -> dict[str, Any]:
    try:
        schema: Any = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--schema {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--schema {path} is no JSON: {one_line(str(error), 200)}") from None
    if problem := answer_schema.schema_problem(schema):
        raise UsageError(f"--schema {path}: {problem}")
    return schema


def make_items(rows: Sequence[InputRow], plan: ItemPlan) -> list[batch.WorkItem]:
    """Return the items of all rows, in order. Raises UsageError that names the lines which can't be used."""
    named = {name.partition(".")[0] for one in (plan.prompt, plan.system) if one is not None for name in one.fields}
    told_apart = _MEANT if plan.prompt is not None else _MEANT | {"prompt", "text"}
    for name in plan.each:
        if name not in told_apart | named:
            raise UsageError(
                f"--each {name}: no template names the field {name}", "It would make items that are alike."
            )
    problems: list[str] = []
    items: list[batch.WorkItem] = []
    for row in rows:
        for suffix, fields in _multiplied(row, plan):
            try:
                items.append(_item(row, f"{row.id}{suffix}", fields, plan))
            except ValueError as error:
                problems.append(f"{row.source}: {error}")
                break
    return _told_apart(items, problems)


def _item(row: InputRow, item_id: str, fields: Mapping[str, Any], plan: ItemPlan) -> batch.WorkItem:
    """Raise ValueError, without saying where."""
    system = fields.get("system")
    schema = _schema(fields.get("schema")) or plan.schema
    attachments = tuple(_texts(fields.get("attachments"), "attachments"))
    for path in attachments:
        if not (plan.folder / Path(path).expanduser()).exists():
            raise ValueError(f"attachments: there is no file {path}")
    return batch.WorkItem(
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


def _told_apart(items: list[batch.WorkItem], problems: list[str]) -> list[batch.WorkItem]:
    first: dict[str, str] = {}
    for item in items:
        if item.id in first:
            problems.append(f"{item.source}: the id “{item.id}” is that of {first[item.id]}")
        first.setdefault(item.id, item.source)
    if problems:
        raise UsageError(told(problems))
    return items


def _call(entry: Any) -> batch.GivenCall:
    fields = safe_text.as_object(entry)
    tool, arguments = fields.get("tool"), fields.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _json(arguments, "arguments")
    if not isinstance(tool, str) or "." not in tool:
        raise ValueError('no field “tool” that is SERVER.TOOL, as {"tool": "calculator.evaluate", "arguments": {...}}')
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {tool} have to be a JSON object")
    return batch.GivenCall(tool=tool, arguments=cast("dict[str, Any]", arguments))


def _schema(value: Any) -> dict[str, Any] | None:
    if value in (None, ""):
        return None
    schema = _json(value, "schema") if isinstance(value, str) else value
    if problem := answer_schema.schema_problem(schema):
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
    """Return a list of texts; in CSV it may be one text, or JSON."""
    if value in (None, ""):
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _json(value, name)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()] if split else [value]
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in cast("list[Any]", value)):
        raise ValueError(f"{name}: not a list of texts")
    return cast("list[str]", value)
