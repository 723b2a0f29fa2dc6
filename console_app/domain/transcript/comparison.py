"""Compares two runs of calls, and two texts: a line says where they differ, for batches and conversations alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console_app.domain.safe_text import one_line

_SHOWN = 60  # characters of a text from where it differs


@dataclass(frozen=True, slots=True)
class ComparedCall:
    """A call as far as it is compared; `outcome` is the word for how it ended. Times are no difference."""

    tool: str
    outcome: str
    arguments: Mapping[str, Any] | None
    content: str


def call_differences(calls: Sequence[ComparedCall], others: Sequence[ComparedCall]) -> Iterator[str]:
    for number, (call, again) in enumerate(zip(calls, others, strict=False), 1):
        where = f"call {number}, {call.tool}"
        if call.tool != again.tool:
            yield f"{where}: it is {again.tool} now"
            continue
        if call.outcome != again.outcome:
            yield f"{where}, outcome: {call.outcome} → {again.outcome}"
        yield from text_difference(f"{where}, arguments", as_json(call.arguments), as_json(again.arguments))
        yield from text_difference(f"{where}, result", call.content, again.content)
    if len(calls) != len(others):
        yield f"calls: {len(calls)} → {len(others)}"


def text_difference(what: str, one: str, other: str) -> Iterator[str]:
    """Yield a line with both texts from a little before where they differ; nothing where they are the same."""
    if one == other:
        return
    same = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    begin = max((min(len(one), len(other)) if same is None else same) - _SHOWN // 3, 0)
    lead = "…" if begin else ""
    yield f"{what}: “{lead}{one_line(one[begin:], _SHOWN)}” → “{lead}{one_line(other[begin:], _SHOWN)}”"


def as_json(value: object) -> str:
    """Write a value so that equal ones are the same text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
