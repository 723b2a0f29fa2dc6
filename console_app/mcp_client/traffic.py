"""The messages between Fanout and one server, both ways, from the handshake on: the newest messages, within bounds.

A message is kept as the JSON it is on the wire, which nothing changes later. That is the line in the pipe, else what
the serialiser makes of the message once. Reading it as values, and what belongs to what, waits until somebody looks:
until then a message costs an append.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, Final, Literal, NamedTuple, cast

from pydantic import BaseModel
from pydantic_core import to_json

from console_app.domain import safe_text
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
# number, at, sent, kind, method, id, call_id, size, JSON: what is there when a message passes
_Row = tuple[int, float, bool, Kind, str, int | str | None, str, int, bytes]
_CLIENT: Final = "io.modelcontextprotocol/clientCapabilities"  # in `_meta`, from 2026-07-28 on
_SERVERS: Final = {
    "tools": "offers tools",
    "prompts": "offers prompts",
    "resources": "offers resources",
    "completions": "proposes values for arguments",
    "logging": "sends log lines of a level that is asked for",
}
_OURS: Final = {
    "roots": "names folders the server may work in (roots)",
    "sampling": "lets the server ask the model (sampling)",
    "elicitation": "lets the server ask you (elicitation)",
}
_MORE: Final = {"listChanged": "tells when they change", "subscribe": "one can be watched", "form": "forms"} | {
    "url": "pages",
    "tools": "with tools",
    "context": "with context",
}


class RawMessage(NamedTuple):
    """A JSON-RPC message. `number` counts from 1 a server; `at` is seconds since the epoch; `sent` is true for ours.

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
        return json.loads(self.raw)

    @property
    def text(self) -> str:
        return json.dumps(self.data, ensure_ascii=False, indent=2)


class Traffic:
    """The messages of one server. `revision` goes up with each; `dropped` were not kept, or not any more.

    To keep one is to append it. Which request an answer belongs to is found out when somebody looks, in order.
    """

    def __init__(self, clock: Callable[[], float] = steady_time) -> None:
        self._clock = clock
        # Plain tuples, since Python's collector looks at those once: named ones would cost every later call.
        self._rows: deque[_Row] = deque()  # nobody has looked at them yet
        self._messages: deque[RawMessage] = deque()  # older ones
        self._size = 0
        self._open: dict[tuple[bool, int | str], tuple[str, float]] = {}  # requests: (ours, id) to (method, begin)
        self._connected_at: deque[int] = deque()  # revisions from which on ids begin anew
        self._second, self._notices = -1.0, 0
        self._handshake: tuple[RawMessage, RawMessage] | None = None
        self._greeting: RawMessage | None = None
        self.revision = 0
        self.dropped = 0

    def connected(self) -> None:
        """Take note of a new connection: its ids begin anew."""
        self._connected_at.append(self.revision)

    def keep(
        self, raw: bytes, kind: Kind, method: str, id: int | str | None, sent: bool, call_id: str = "", size: int = 0
    ) -> None:
        """Keep a message; `size` is what its JSON had where `raw` is cut."""
        at = self._clock()
        self.revision += 1
        if kind == "notification":
            if at - self._second >= 1:
                self._second, self._notices = at, 0
            self._notices += 1
            if self._notices > MOST_NOTICES:
                self.dropped += 1
                return
        self._rows.append((self.revision, at, sent, kind, method, id, call_id, size, raw))
        self._size += len(raw) + _OVERHEAD
        while len(self) > MOST_MESSAGES or (self._size > BUDGET and len(self) > 1):
            if not self._messages:
                self._look(1)
            self._size -= len(self._messages.popleft().raw) + _OVERHEAD
            self.dropped += 1

    def _look(self, most: int = MOST_MESSAGES) -> None:
        """Find out what the oldest rows that nobody looked at were, at most so many."""
        for _ in range(min(most, len(self._rows))):
            number, at, sent, kind, method, id, call_id, size, raw = self._rows.popleft()
            while self._connected_at and self._connected_at[0] < number:
                self._connected_at.popleft()
                self._begin_anew()
            seconds = None
            if kind == "request" and id is not None:
                self._open[sent, id] = (method, at)
                if len(self._open) > MOST_MESSAGES:
                    del self._open[next(iter(self._open))]  # never answered
            elif kind != "notification" and id is not None and (asked := self._open.pop((not sent, id), None)):
                method, seconds = asked[0], at - asked[1]
            message = RawMessage(number, at, sent, kind, method, id, seconds, size or len(raw), raw, call_id)
            self._messages.append(message)
            # The last greeting is kept: a server may answer the first with nothing, and shake hands in the older way.
            if method in _HANDSHAKES and message.kind == "request":
                self._greeting = message
            elif method in _HANDSHAKES and self._greeting is not None and message.kind == "result":
                self._handshake = (self._greeting, message)

    def _begin_anew(self) -> None:
        self._open.clear()
        self._handshake = self._greeting = None

    @property
    def handshake(self) -> tuple[RawMessage, RawMessage] | None:
        """The request that opened the connection and its answer, kept for as long as it holds."""
        self._look()
        if self._connected_at:
            self._connected_at.clear()
            self._begin_anew()
        return self._handshake

    @property
    def capabilities(self) -> tuple[list[str], list[str]]:
        """Lines that say what the server can do, and what Fanout offered it; none before they shook hands.

        A capability that neither table knows is told by its name alone, which is the server's: hostile.
        """
        if self.handshake is None:
            return [], []

        def under(value: Any, *names: str) -> dict[str, Any]:
            for name in names:
                value = safe_text.as_object(value).get(name)
            return safe_text.as_object(value)

        request, answer = self.handshake
        ours = under(request.data, "params", "capabilities") or under(request.data, "params", "_meta", _CLIENT)
        return _lines(under(answer.data, "result", "capabilities"), _SERVERS), _lines(ours, _OURS)

    def __len__(self) -> int:
        return len(self._rows) + len(self._messages)

    @property
    def first(self) -> int:
        if self._messages:
            return self._messages[0].number
        return self._rows[0][0] if self._rows else self.revision + 1

    def after(self, number: int) -> Iterator[RawMessage]:
        self._look()
        if number < self.first:
            yield from tuple(self._messages)
            return
        yield from reversed(list(takewhile(lambda message: message.number > number, reversed(self._messages))))

    def clear(self) -> None:
        """Forget them; what is still open is answered as it would be."""
        self._look()
        self._messages.clear()
        self._size = self.dropped = 0
        self.revision += 1


def json_of(message: BaseModel) -> bytes:
    """Return a JSON-RPC message as it goes over a wire.

    It is what the SDK's own serialiser makes of it, in a third of its time, as the fields are plain values. Raises
    ValueError or RecursionError where the message can't be carried.
    """
    fields = message.__dict__
    given = message.__pydantic_fields_set__
    if isinstance(fields.get("error"), BaseModel):
        return message.__pydantic_serializer__.to_json(message, by_alias=True, exclude_unset=True)
    if len(given) < len(fields):
        fields = {name: fields[name] for name in fields if name in given}
    return to_json(fields, inf_nan_mode="null")


def to_keep(message: BaseModel, raw: bytes) -> tuple[bytes, int]:
    """Return the JSON of a message to keep, given its own (or b""), and the size it had where it is cut."""
    size = 0
    try:
        raw = raw or json_of(message)
    except (ValueError, RecursionError):  # nested too deeply for the serialiser, or text that UTF-8 can't carry
        pass
    else:
        size = len(raw)
        if size <= LARGEST:
            return raw, 0
    return _cut(message), size


def _cut(message: BaseModel) -> bytes:
    fields = {
        name: dict(value) if isinstance(value, BaseModel) else value for name, value in message if value is not None
    }
    return json.dumps(_Cutting().cut(fields), ensure_ascii=False, default=str).encode("utf-8", "replace")


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


def _lines(capabilities: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name, value in capabilities.items():
        if value is None or value is False:
            continue
        more = [
            _MORE.get(key, key)
            for key, on in safe_text.as_object(value).items()
            if name in known and on not in (None, False)
        ]
        inside = list(safe_text.as_object(value)) if name not in known else []
        words = ", ".join((*more, *inside))
        lines.append(known.get(name, name) + (f": {words}" if words else ""))
    return lines
