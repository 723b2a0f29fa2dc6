"""Reads the files of a batch: JSONL, CSV or lines of text, each row with the line that it stands in."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from console_app.domain.errors import UsageError
from console_app.domain.safe_text import encodable

Form = Literal["jsonl", "csv", "lines"]
STDIN = "-"
_STDIN_DESCRIPTOR = 0
_ENDINGS: dict[str, Form] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}
_LARGEST_CELL = 2**27  # characters
_SHOWN = 3  # problems of a file that are told


@dataclass(frozen=True, slots=True)
class InputRow:
    """The fields of one item as they were written. `id` is its own, or else its line."""

    fields: dict[str, Any]
    source: str
    id: str


def read_rows(paths: Sequence[str], form: Form | None = None) -> list[InputRow]:
    """All rows of the files; `-` is standard input. Blank lines are left out. Raises UsageError with file and line."""
    rows: list[InputRow] = []
    for path in paths:
        name = "standard input" if path == STDIN else path
        prefix = f"{Path(path).stem}:" if len(paths) > 1 else ""
        try:
            with _opened(path) as file:
                rows += _rows(file, name, prefix, form or _ENDINGS.get(Path(path).suffix.lower(), "lines"))
        except OSError as error:
            raise UsageError(f"can't read {name}: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{name}: byte {error.start} is not UTF-8", "Save the file as UTF-8.") from None
    if not rows:
        raise UsageError(f"{', '.join(paths)}: there is no item in it")
    return rows


def told(problems: Sequence[str]) -> str:
    """The first of some problems, and how many more there are."""
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


def _opened(path: str) -> IO[str]:
    if path == STDIN:
        return open(_STDIN_DESCRIPTOR, encoding="utf-8-sig", newline="", closefd=False)
    return open(path, encoding="utf-8-sig", newline="")


def _rows(file: IO[str], name: str, prefix: str, form: Form) -> list[InputRow]:
    problems: list[str] = []
    match form:
        case "jsonl":
            found = list(_json_rows(file, name, problems))
        case "csv":
            found = list(_csv_rows(file, name, problems))
        case "lines":
            texts = ((number, line.rstrip("\r\n")) for number, line in enumerate(file, 1))
            found = [(number, {"text": text}) for number, text in texts if text.strip()]
    if problems:
        raise UsageError(told(problems))
    return [InputRow(fields, f"{name}:{number}", _id(fields, f"{prefix}{number}")) for number, fields in found]


def _id(fields: dict[str, Any], line: str) -> str:
    own = fields.get("id")
    return line if own is None or own == "" else str(own)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError where a key is in it twice: nobody could say which is meant."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the key “{key}” is there twice")
        fields[key] = value
    return fields


def _json_rows(file: IO[str], name: str, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line.rstrip(), object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            where = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            problems.append(f"{name}:{number}{where}: not JSON: {what}")
            continue
        if "\\ud" in line.lower():  # an escape may stand for half a character, which nothing could send
            value = json.loads(encodable(json.dumps(value, ensure_ascii=False)))
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
