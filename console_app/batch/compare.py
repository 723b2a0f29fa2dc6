"""Compares the results of two runs, item by item and call by call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from console_app.domain import UsageError, batch, one_line

_SHOWN = 60  # characters of a text from where it differs


def compare_results(first: Path, second: Path) -> dict[str, list[str]]:
    """Return what differs of each item in either file, in the order of the first; nothing where an item is the same.

    Times, tokens and prices are no difference. Raises UsageError for what is no file of results.
    """
    one, other = _read(first), _read(second)
    return {name: list(_differences(one.get(name), other.get(name), first, second)) for name in (one | other)}


def _read(path: Path) -> dict[str, batch.ItemResult]:
    found: dict[str, batch.ItemResult] = {}
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    result = batch.ItemResult.model_validate_json(line)
                except ValidationError:
                    raise UsageError(f"{path}:{number} is no result of a batch") from None
                found[result.id] = result
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror or error}") from None
    return found


def _differences(
    one: batch.ItemResult | None, other: batch.ItemResult | None, first: Path, second: Path
) -> Iterator[str]:
    if one is None or other is None:
        yield f"only in {second if one is None else first}"
        return
    if one.item != other.item:
        yield "the item is another: its prompt, model or tools changed"
    if one.status != other.status:
        yield f"status: {one.status} → {other.status}"
    yield from _text("error", one.error or "", other.error or "")
    yield from _text("answer", one.answer, other.answer)
    yield from _text("structured", _json(one.structured), _json(other.structured))
    for number, (call, again) in enumerate(zip(one.calls, other.calls, strict=False), 1):
        where = f"call {number}, {call.server}.{call.tool}"
        if (call.server, call.tool) != (again.server, again.tool):
            yield f"{where}: it is {again.server}.{again.tool} now"
            continue
        if call.outcome is not again.outcome:
            yield f"{where}, outcome: {call.outcome} → {again.outcome}"
        yield from _text(f"{where}, arguments", _json(call.arguments), _json(again.arguments))
        yield from _text(f"{where}, result", call.content, again.content)
    if len(one.calls) != len(other.calls):
        yield f"calls: {len(one.calls)} → {len(other.calls)}"


def _text(what: str, one: str, other: str) -> Iterator[str]:
    if one == other:
        return
    same = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    begin = max((min(len(one), len(other)) if same is None else same) - _SHOWN // 3, 0)
    lead = "…" if begin else ""
    yield f"{what}: “{lead}{one_line(one[begin:], _SHOWN)}” → “{lead}{one_line(other[begin:], _SHOWN)}”"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
