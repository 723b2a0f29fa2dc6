"""What passed between Fanout and one server, both ways, from the handshake on: the newest messages, within bounds.

A message is kept as the JSON it is on the wire, made once by the SDK's own serialiser: that is a snapshot which nothing
changes later, its exact size, and the cheapest form to keep. Reading it as values waits until somebody looks.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, cast

from pydantic import BaseModel
from pydantic_core import to_json

from console_app.domain.steady_time import steady_time

MOST_MESSAGES: Final = 10_000
BUDGET: Final = 20 * 2**20  # bytes of JSON
LARGEST: Final = 2**20  # bytes of one message; a larger one is kept with its long texts and lists cut
LONGEST_TEXT: Final = 10_000  # characters of one string of such a message
MOST_ITEMS: Final = 500  # of one list or object of it
MOST_NOTICES: Final = 500  # notifications a second that are kept; in a flood the rest is only counted
_HANDSHAKES: Final = frozenset({"initialize", "server/discover"})
_OVERHEAD: Final = 400  # bytes, roughly, that keeping a message takes beside its JSON

Kind = Literal["request", "result", "error", "notification"]


class RawMessage(NamedTuple):
    """One JSON-RPC message. `number` counts from 1 a server; `at` is seconds since the epoch; `sent` is true for ours.

    `method` of an answer is that of its request ("" where there was none); `seconds` is what the answer took. `raw` is
    the JSON, cut where it was over LARGEST; `size` is what it had, in bytes.
    """

    number: int
    at: float
    sent: bool
    kind: Kind
    method: str
    id: int | str | None
    seconds: float | None
    size: int
    raw: bytes
    call_id: str = ""  # of the call it belongs to, where that is known

    @property
    def data(self) -> Any:
        """The message as values."""
        return json.loads(self.raw)

    @property
    def text(self) -> str:
        """Indented JSON."""
        return json.dumps(self.data, ensure_ascii=False, indent=2)


_made = RawMessage._make  # an eighth of the time of calling the class
_Row = tuple[int, float, bool, Kind, str, int | str | None, float | None, int, bytes, str]  # its fields
_RAW: Final = 8


class Traffic:
    """The messages of one server. `revision` goes up with each; `dropped` were not kept, or not any more.

    `handshake` are the request that opened the connection and its answer, kept for as long as it holds.
    """

    def __init__(
        self, clock: Callable[[], float] = steady_time, ticks: Callable[[], float] = time.perf_counter
    ) -> None:
        self._clock = clock
        self._ticks = ticks
        # Plain tuples, since Python's collector looks at those once: named ones would cost every later call.
        self._messages: deque[_Row] = deque()
        self._size = 0
        self._open: dict[tuple[bool, int | str], tuple[str, float]] = {}  # requests: (ours, id) to (method, begin)
        self._second, self._notices = -1.0, 0
        self.revision = 0
        self.dropped = 0
        self.handshake: tuple[RawMessage, RawMessage] | None = None
        self._greeting: RawMessage | None = None

    def connected(self) -> None:
        """A new connection: its ids begin anew."""
        self._open.clear()
        self.handshake = self._greeting = None

    def keep(
        self, message: BaseModel, kind: Kind, method: str, id: int | str | None, *, sent: bool, call_id: str = ""
    ) -> RawMessage | None:
        """Keeps a message; None for a notification that is one too many."""
        now, seconds = self._ticks(), None
        self.revision += 1
        if kind == "notification":
            if now - self._second >= 1:
                self._second, self._notices = now, 0
            self._notices += 1
            if self._notices > MOST_NOTICES:
                self.dropped += 1
                return None
        elif kind == "request":
            if id is not None:
                self._open[sent, id] = (method, now)
                if len(self._open) > MOST_MESSAGES:
                    del self._open[next(iter(self._open))]  # never answered
        elif id is not None and (asked := self._open.pop((not sent, id), None)) is not None:
            method, seconds = asked[0], now - asked[1]
        raw, size = _json(message)
        row = (self.revision, self._clock(), sent, kind, method, id, seconds, size, raw, call_id)
        self._messages.append(row)
        self._size += len(raw) + _OVERHEAD
        while len(self._messages) > MOST_MESSAGES or (self._size > BUDGET and len(self._messages) > 1):
            self._size -= len(self._messages.popleft()[_RAW]) + _OVERHEAD
            self.dropped += 1
        kept = _made(row)
        if method in _HANDSHAKES:
            self._greet(kept)
        return kept

    def _greet(self, message: RawMessage) -> None:
        if message.kind == "request":
            self._greeting = message
        elif self._greeting is not None and message.kind == "result" and self.handshake is None:
            self.handshake = (self._greeting, message)

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def first(self) -> int:
        """The number of the oldest message that is kept."""
        return self._messages[0][0] if self._messages else self.revision + 1

    def after(self, number: int) -> Iterator[RawMessage]:
        """The messages behind that number, in order."""
        if number < self.first:
            yield from map(_made, self._messages)
            return
        newer = list(islice(_until(reversed(self._messages), number), MOST_MESSAGES))
        yield from map(_made, reversed(newer))

    def clear(self) -> None:
        """Forgets them; what is still open is answered as it would be."""
        self._messages.clear()
        self._size = self.dropped = 0
        self.revision += 1


def _until(messages: Iterator[_Row], number: int) -> Iterator[_Row]:
    for message in messages:
        if message[0] <= number:
            return
        yield message


def _json(message: BaseModel) -> tuple[bytes, int]:
    """The JSON to keep, and the size it had."""
    try:
        raw = _as_bytes(message)
    except (ValueError, RecursionError):  # nested too deeply for the serialiser, or text that UTF-8 can't carry
        raw, size = b"", 0
    else:
        size = len(raw)
        if size <= LARGEST:
            return raw, size
    fields = {
        name: dict(value) if isinstance(value, BaseModel) else value for name, value in message if value is not None
    }
    cut = json.dumps(_Cutting().cut(fields), ensure_ascii=False, default=str).encode("utf-8", "replace")
    return cut, size or len(cut)


def _as_bytes(message: BaseModel) -> bytes:
    """Done for every message, so at once to bytes and past the model, whose fields are plain values: a third of the
    time of `model_dump_json`. Of an error, which holds another model, as that does it."""
    fields = message.__dict__
    if any(isinstance(value, BaseModel) for value in fields.values()):
        return message.__pydantic_serializer__.to_json(message, by_alias=True, exclude_unset=True)
    given = message.__pydantic_fields_set__
    return to_json(fields if len(given) == len(fields) else {name: fields[name] for name in fields if name in given})


class _Cutting:
    """Copies a JSON value with long texts and lists cut, and nothing more once LARGEST characters are used up."""

    def __init__(self) -> None:
        self._room = LARGEST

    def cut(self, value: Any, depth: int = 0) -> Any:
        self._room -= 8
        if isinstance(value, str):
            self._room -= min(len(value), LONGEST_TEXT)
            if len(value) <= LONGEST_TEXT:
                return value
            return f"{value[:LONGEST_TEXT]}… ({len(value):,} characters)"
        if depth > 200 or self._room < 0:
            return "…" if isinstance(value, dict | list) else value
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            copy = {key: self.cut(item, depth + 1) for key, item in self._first(fields.items())}
            return copy | {"…": f"{len(fields) - len(copy):,} more"} if len(copy) < len(fields) else copy
        if isinstance(value, list):
            items = cast("list[Any]", value)
            listed = [self.cut(item, depth + 1) for item in self._first(items)]
            return [*listed, f"… {len(items) - len(listed):,} more"] if len(listed) < len(items) else listed
        return value

    def _first(self, items: Any) -> Iterator[Any]:
        for item in islice(items, MOST_ITEMS):
            if self._room < 0:
                return
            yield item
