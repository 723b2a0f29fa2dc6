"""The raw JSON-RPC messages of calls, kept for whoever inspects one: the newest calls, within a budget of memory.

Long texts are cut before they are kept, so that a result of 100 MB costs no more than one of 10 kB.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from console_app.domain.steady_time import steady_time

LONGEST_TEXT: Final = 10_000  # characters of one string
MOST_ITEMS: Final = 500  # of one list or object
MOST_MESSAGES: Final = 100  # of one call: the first half and the newest; of progress the first
BUDGET: Final = 16 * 2**20  # characters, roughly, of all calls together


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message of a call. `sent` is true for ours; `at` is seconds since the epoch; `data` has long texts cut."""

    at: float
    sent: bool
    data: Any
    size: int = 0  # characters, roughly

    @property
    def text(self) -> str:
        """Indented JSON."""
        return json.dumps(self.data, ensure_ascii=False, indent=2)


@dataclass(slots=True)
class _CallMessages:
    messages: list[RawMessage] = field(default_factory=list[RawMessage])
    size: int = 0
    left_out: int = 0


class Exchanges:
    """What was said for each call id."""

    def __init__(self, clock: Callable[[], float] = steady_time) -> None:
        self._clock = clock
        self._calls: OrderedDict[str, _CallMessages] = OrderedDict()
        self._size = 0

    def keep(self, call_id: str, data: Mapping[str, Any], *, sent: bool) -> None:
        """Keeps one message of a call."""
        if not call_id:
            return
        call = self._calls.setdefault(call_id, _CallMessages())
        full = len(call.messages) >= MOST_MESSAGES
        if full and not sent and data.get("method") == "notifications/progress":
            call.left_out += 1  # a flood of it must cost next to nothing
            return
        cut, size = bounded(data)
        if full:
            missed = call.messages.pop(MOST_MESSAGES // 2)  # nobody misses the middle
            call.left_out += 1
            call.size -= missed.size
            self._size -= missed.size
        call.messages.append(RawMessage(self._clock(), sent, cut, size))
        call.size += size
        self._size += size
        while self._size > BUDGET and len(self._calls) > 1:
            _, oldest = self._calls.popitem(last=False)
            self._size -= oldest.size

    def of(self, call_id: str) -> tuple[RawMessage, ...]:
        """The messages of a call in their order; none for a call that is unknown or long ago."""
        call = self._calls.get(call_id)
        return tuple(call.messages) if call else ()

    def left_out(self, call_id: str) -> int:
        """How many messages of its middle were not kept."""
        call = self._calls.get(call_id)
        return call.left_out if call else 0


def bounded(value: Any, depth: int = 0) -> tuple[Any, int]:
    """A copy of a JSON value with long texts and lists cut, and its size in characters, roughly."""
    if isinstance(value, str):
        if len(value) <= LONGEST_TEXT:
            return value, len(value) + 2
        return f"{value[:LONGEST_TEXT]}… ({len(value)} characters)", LONGEST_TEXT
    if depth > 50:
        return "…", 1
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        copy: dict[str, Any] = {}
        size = 2
        for key in list(fields)[:MOST_ITEMS]:
            copy[key], more = bounded(fields[key], depth + 1)
            size += more + len(key)
        if len(fields) > MOST_ITEMS:
            copy["…"] = f"{len(fields) - MOST_ITEMS} more"
        return copy, size
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        parts = [bounded(item, depth + 1) for item in items[:MOST_ITEMS]]
        listed = [part for part, _ in parts]
        if len(items) > MOST_ITEMS:
            listed.append(f"… {len(items) - MOST_ITEMS} more")
        return listed, sum(more for _, more in parts) + 2
    return value, 8
