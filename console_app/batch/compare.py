"""Compares the results of two runs, item by item and call by call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from console_app.domain import UsageError, batch
from console_app.domain.transcript import comparison


def compare_results(first: Path, second: Path) -> dict[str, list[str]]:
    """Return what differs of each item, in the order of the first file; times, tokens and prices don't. Raises
    UsageError."""
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
    yield from comparison.text_difference("error", one.error or "", other.error or "")
    yield from comparison.text_difference("answer", one.answer, other.answer)
    yield from comparison.text_difference(
        "structured", comparison.as_json(one.structured), comparison.as_json(other.structured)
    )
    yield from comparison.call_differences(_calls(one), _calls(other))


def _calls(result: batch.ItemResult) -> list[comparison.ComparedCall]:
    return [
        comparison.ComparedCall(f"{call.server}.{call.tool}", call.outcome, call.arguments, call.content)
        for call in result.calls
    ]
