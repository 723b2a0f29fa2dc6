"""Server-sent events out of bytes, in whatever pieces they arrive.

The SDKs' own reading costs 45 to 200 µs a token and ends silently on bad input. This costs a few µs, and leaves what
an event means to its caller. Format: WHATWG HTML, "Server-sent events", with two leniencies. What is left unfinished
at the end of the stream can still be had from `flush`, since some servers leave out the last empty line. A data line
behind data that is a whole JSON object begins an event of its own, since some leave out all empty lines.
"""

from __future__ import annotations

import json

LARGEST_EVENT = 64 * 2**20  # bytes; beyond it the stream is refused rather than kept in memory
MOST_LINES = 10_000  # of one event, comments left out; likewise
_PRINTED = 64 * 2**10  # bytes of an object on several lines that is looked at for its end with each more of them
_BOM = b"\xef\xbb\xbf"


NO_FIELD = "a line that is no field of an event"  # and may be a damaged one: it is given as an event of this name
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b"error:", b":")
SseEvent = tuple[str, bytes]  # its name, "" where the server named none, and the bytes of its data lines


class EventTooLarge(ValueError):
    """An event grew beyond LARGEST_EVENT or MOST_LINES."""


class SseReader:
    """Feed it bytes, get events. Comments (keep-alives), ids and retry times are passed over."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._held = 0
        self._at_start = True
        self._skip_newline = False
        self._head, self._named = b"data: ", ""  # how the newest event that came alone began, and its name

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that `data` completes. Raises EventTooLarge."""
        head = self._head  # most pieces are an event, and its lines begin as those of the one before
        alone = data.startswith(head) and data.find(b"\n", len(head)) == len(data) - 2 and data.endswith(b"\n")
        if alone and not (self._rest or self._skip_newline or b"\r" in data):
            self._at_start = False
            return [(self._named, data[len(head) : -2])]
        events = self._fed(data)
        if len(events) == 1 and not self._rest:
            self._learn(data)
        return events

    def _learn(self, data: bytes) -> None:
        """Learn how the next event may begin, where it is named like this one."""
        first, _, second = data.partition(b"\n")
        if first.startswith(b"event: ") and second.startswith(b"data: ") and b"\r" not in first:
            self._head = data[: len(first) + len(b"\ndata: ")]
            self._named = first[len(b"event: ") :].decode("utf-8", "replace")
        elif first.startswith(b"data: "):
            self._head, self._named = b"data: ", ""

    def _fed(self, data: bytes) -> list[SseEvent]:
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
        events = _events(complete) if found else []
        if b"\ndata:" in rest:
            lines = rest.split(b"\n")
            more, begun = _read(lines if lines[-1].startswith(b"data:") else lines[:-1])
            events += more
            rest = b"\n".join(lines[begun:])
        if rest:
            self._hold(_without_comments(rest) if rest.count(b"\n") > MOST_LINES else rest)
        return events

    def flush(self) -> list[SseEvent]:
        """Return what the stream left without its closing empty line."""
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
            events.append(("", block[6:]))
            continue
        if block.startswith(b"event: ") and block.count(b"\n") == 1:  # that of the formats that name their events
            first, second = block.split(b"\n")
            if second.startswith(b"data: "):
                events.append((first[7:].decode("utf-8", "replace"), second[6:]))
                continue
        if block.count(b"\n") > MOST_LINES:
            block = _without_comments(block)
        lines = block.split(b"\n")
        before, begun = _read(lines)
        events += before
        errors = _values(lines[begun:], b"error")  # llama.cpp writes its error into a field of its own
        if data := [*errors, *_values(lines[begun:], b"data")]:
            events.append(("error" if errors else _name(lines[begun:]), b"\n".join(data)))
    return events


def _without_comments(block: bytes) -> bytes:
    """Return what is left of many lines without the keep-alives among them. Raises EventTooLarge when it is many
    still."""
    *lines, last = block.split(b"\n")
    kept = [line for line in lines if not line.startswith(b":")]
    if len(kept) > MOST_LINES:
        raise EventTooLarge
    return b"\n".join([*kept, last])


def _values(lines: list[bytes], field: bytes) -> list[bytes]:
    parts = (line.partition(b":") for line in lines)
    return [value.removeprefix(b" ") for name, _, value in parts if name == field]


def _name(lines: list[bytes]) -> str:
    names = _values(lines, b"event")
    return names[-1].decode("utf-8", "replace") if names else ""


def _read(lines: list[bytes]) -> tuple[list[SseEvent], int]:
    """Return the events that a later data line shows to have ended, and the line where the one after them begins."""
    events: list[SseEvent] = []
    name = ""
    data: list[bytes] = []
    begun = end = size = 0
    for number, line in enumerate(lines):
        field, _, value = line.partition(b":")
        if field == b"event" and not data:
            name = _name([line])
        elif field == b"data":
            if data and (len(data) == 1 or size <= _PRINTED) and _is_whole(b"\n".join(data)):
                events.append((name, b"\n".join(data)))
                data, begun, name, size = [], end, _name(lines[end:number]), 0
            data.append(value.removeprefix(b" "))
            size += len(value)
            end = number + 1
        elif b"{" in line and not line.startswith(_FIELDS):
            events.append((NO_FIELD, line))
    return events, begun


def _is_whole(data: bytes) -> bool:
    """Tell whether data is an object, or the mark of the end: then no line that follows is more of it."""
    data = data.strip()
    if not data.startswith(b"{") or not data.endswith(b"}"):
        return data == b"[DONE]"
    try:
        json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True
