"""Reads the body of a streaming response into a WireAnswer, and says how it ended.

What an endpoint sends with status 200 isn't always a stream: it may be a whole answer as JSON, an error as JSON, a web
page, or nothing. The first byte tells them apart; content types are too often wrong to be believed.

Server-sent events out of bytes, in whatever pieces they arrive.

The SDKs' own reading costs 45 to 200 µs a token and ends silently on bad input. This costs a few µs, and leaves what
an event means to its caller. Format: WHATWG HTML, "Server-sent events", with two leniencies. What is left unfinished
at the end of the stream can still be had from `flush`, since some servers leave out the last empty line. A data line
behind data that is a whole JSON object begins an event of its own, since some leave out all empty lines.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, Protocol

from console_app.domain import chunks as ch
from console_app.domain import errors
from console_app.providers.faults.error_bodies import ServerFault, read_error
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import HalfCharacters, obj, parse_mended

HOLD: Final = 1 / 60  # seconds between two looks at text that only grows
MOST_HELD: Final = 2**15  # bytes that are read ahead of who wants them


class ReadAhead:
    """The meeting of one who reads a stream and one who wants it, who is woken at once for what is new, a moment later
    for more of the same.

    At 300 tokens a second each would otherwise be a look of its own at everything between the wire and the screen,
    which shows 20 pictures a second.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._wanted = asyncio.Event()
        self._held = 0
        self._looked_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def took(self, size: int, urgent: bool) -> bool:
        """Count bytes that were read; True: wait for `room`. `urgent`: more came of them than text that grows."""
        self._held += size
        full = self._held >= MOST_HELD
        if urgent or full:
            self.tell()
        elif self._timer is None and not self._news.is_set():
            wait = self._looked_at + HOLD - self._loop.time()
            if wait <= 0:
                self.tell()
            else:
                self._timer = self._loop.call_later(wait, self.tell)
        return full

    def tell(self) -> None:
        """Wake who waits for news."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._news.set()

    async def news(self) -> None:
        """Return when there is something to look at; what was read before that has been looked at."""
        self._held = 0
        self._wanted.set()
        await self._news.wait()
        self._news.clear()
        self._looked_at = self._loop.time()

    async def room(self) -> None:
        """Return when what was read has been looked at."""
        self._wanted.clear()
        await self._wanted.wait()


AFTER_END = 0.05  # seconds for the last bytes of the body, so that its connection can be used again
AFTER_FINISH = 3.0  # seconds that usage and the end mark may take after the model finished, keep-alives or not
LARGEST_HELD = 32 * 2**20  # bytes of an answer that isn't streamed, or of what a stream holds beside what it gives on
ENVELOPE = 512  # bytes of an event that gives something on, and is too small to hold anything of note beside it
SHOWN = 2_000  # bytes of what is no answer
HALVES = "halves of characters"
_ALIVE = frozenset(("ping", "keepalive", "heartbeat"))  # events that only keep a connection open
_BLANK = b"\xef\xbb\xbf \t\r\n"


class Body(Protocol):
    """The part of an HTTP response that is read here."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Pieces of the body as they arrive."""
        ...


class StreamCut(Exception):
    """The stream ended, in good order or not, before the model said that it had finished."""


class OnlyKeepAlives(Exception):
    """The endpoint keeps the connection open and sends nothing of an answer."""


class NotAnAnswer(Exception):
    """The body holds no answer at all; `body` is its beginning, `kind` what its headers call it."""

    def __init__(self, body: str) -> None:
        super().__init__("not an answer")
        self.body, self.kind = body, ""


class BadEvent(Exception):
    """An event whose data is not JSON; `data` is its beginning."""

    def __init__(self, data: str) -> None:
        super().__init__("bad event")
        self.data = data


async def read_answer(body: Body, answer: WireAnswer, longest: float = math.inf) -> AsyncGenerator[None]:
    """Read all of `body`; yields whenever there may be chunks in `answer.chunks`.

    A task reads ahead of whoever asks for chunks, and wakes them when all that is there has been read: what an endpoint
    sends in pieces of a token each is handed on, folded and stored in as few as the console has looks at it.

    Ends when the answer is complete. Raises StreamCut, NotAnAnswer, BadEvent, ServerFault, OnlyKeepAlives where nothing
    else came for `longest` seconds, and what the HTTP library raises when a connection is lost before the model
    finished.
    """
    ahead = ReadAhead()
    reading = asyncio.create_task(_read_all(body, _Stream(answer), answer, longest, ahead), name="answer body")
    reading.add_done_callback(lambda _: ahead.tell())
    try:
        while not reading.done():
            await ahead.news()
            yield
        reading.result()
    finally:
        # A task that is only cancelled would still close its connection while that is closed here.
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    yield
    if not answer.finished:
        raise StreamCut


async def _read_all(body: Body, stream: _Stream, answer: WireAnswer, longest: float, ahead: ReadAhead) -> None:
    pieces = body.aiter_bytes()
    news, heard, until = 0, time.monotonic(), 0.0
    while not answer.over:
        try:
            if answer.finished:
                until = until or asyncio.get_running_loop().time() + AFTER_FINISH
                async with asyncio.timeout_at(until):
                    piece = await anext(pieces)
            else:
                piece = await anext(pieces)
        except StopAsyncIteration:
            break
        except Exception:
            if answer.finished:
                break  # all of the answer is here: how its connection ends is of no interest
            raise
        stream.take(piece)
        if ahead.took(len(piece), answer.finished or answer.chunks.urgent):
            await ahead.room()
        if stream.news != news:
            news, heard = stream.news, time.monotonic()
        elif time.monotonic() - heard > longest:
            raise OnlyKeepAlives
    if answer.over:
        try:
            async with asyncio.timeout(AFTER_END):
                async for piece in pieces:
                    stream.take(piece)
        except Exception:
            pass  # the answer is complete: at worst the next request opens a new connection
    stream.end()


class _Stream:
    """The events of one body, as they come; or the whole of it, when it is no stream."""

    def __init__(self, answer: WireAnswer) -> None:
        # Compiled JSON parsing, half the time of the standard library's.
        from pydantic_core import from_json

        self._parse = from_json
        self._answer = answer
        self._chunks = answer.chunks
        self._reader = SseReader()
        self._first: bytes | None = None  # first byte that isn't blank
        self._streamed = False  # such a byte came, and is none of a whole body's
        self._whole: list[bytes] = []
        self._held = 0  # bytes that came and were not given on
        self._events = 0
        self._begin = b""  # of what came before the first event
        self.news = 0  # grows with all that is more than a comment or a ping
        self._halves = HalfCharacters()
        self._noted: set[str] = set()

    def take(self, piece: bytes) -> None:
        if not self._events and len(self._begin) < SHOWN:
            self._begin += piece[:SHOWN]
        if not self._streamed and self._is_of_a_whole(piece):
            return
        try:
            events = self._reader.feed(piece)
        except EventTooLarge as error:
            raise BadEvent("an event of more than 64 MB, or of more than 10,000 lines") from error
        for name, data in events:
            self._event(name, data)

    def _is_of_a_whole(self, piece: bytes) -> bool:
        """Keep a piece of a body that is no stream; what comes before the first byte that isn't blank is of either."""
        if not self._first and (start := piece.lstrip(_BLANK)):
            self._first = start[:1]
            self._streamed = self._first not in (b"{", b"[", b"<")
        if self._streamed or not self._first:
            return False
        self.news += 1
        self._hold(len(piece))
        self._whole.append(piece)
        return True

    def _hold(self, size: int) -> None:
        """Count what nobody is given while it comes, and so nobody else can limit. Raises ProviderError."""
        self._held += size
        if self._held > LARGEST_HELD:
            what = f"the answer holds more than {LARGEST_HELD // 2**20} MB that is neither text nor arguments of a call"
            raise errors.ProviderError(what, "The rest of it is not read.")

    def end(self) -> None:
        self._rest()
        if self._halves.held or self._halves.replaced:
            self._note_replaced(HALVES)

    def _rest(self) -> None:
        if self._whole:
            self._take_whole(b"".join(self._whole))
            return
        if self._answer.over:
            return
        for name, data in self._reader.flush():
            try:
                self._event(name, data)
            except BadEvent:
                pass  # the connection was cut in the middle of it
        if not self._events and self._first != b":":
            raise NotAnAnswer(self._begin.decode("utf-8", "replace"))

    def _event(self, name: str, data: bytes) -> None:
        if name == NO_FIELD:
            self._answer.calls.stray(name)
            return
        self._events += 1
        if not name or name not in _ALIVE:
            self.news += 1
        if self._answer.over:
            self._behind(data)
            return
        if data[:1] != b"{":
            data = data.strip()
            if data == b"[DONE]":
                self._answer.done_marker()
                return
            if not data:
                return
        try:
            value: Any = self._parse(data)
            if self._halves.held:
                value = self._halves.mend(value)
                self._tell_of_halves()
        except ValueError:
            value = self._mended(data)
        if value.__class__ is dict:
            before = self._chunks.grown
            self._answer.event(name, value)
            if self._chunks.grown == before or len(data) > ENVELOPE:
                self._hold(len(data) - (self._chunks.grown - before))
        elif name == "error":
            raise ServerFault(value)
        else:
            self._answer.account(value, at="an event that is no object")

    def _behind(self, data: bytes) -> None:
        """Take what an answer cost, which may come behind its end mark."""
        try:
            value: Any = self._parse(data)
        except ValueError:
            return
        self._answer.take_usage(obj(value))
        self._answer.account(value, at="behind the end", objects=False)

    def _mended(self, data: bytes) -> Any:
        try:
            value = parse_mended(data, self._halves)
        except ValueError as error:
            raise BadEvent(data[:200].decode("utf-8", "replace")) from error
        if data.decode("utf-8", "replace").encode() != data:
            self._note_replaced("bytes that are not UTF-8")
        self._tell_of_halves()
        return value

    def _tell_of_halves(self) -> None:
        if self._halves.replaced:
            self._halves.replaced = False
            self._note_replaced(HALVES)

    def _note_replaced(self, what: str) -> None:
        """Some of the answer can't be shown, or sent to a tool, as it was meant; the calls of it are told, too."""
        self._answer.offered.replaced = True
        if what not in self._noted:
            self._noted.add(what)
            self._answer.chunks.append(
                ch.NoticeChunk(f"The endpoint sent {what}; they are shown as \ufffd.", "warning")
            )

    def _take_whole(self, data: bytes) -> None:
        start = data[:SHOWN].decode("utf-8", "replace")
        try:
            body: Any = parse_mended(data.removeprefix(b"\xef\xbb\xbf"), self._halves) if self._first != b"<" else None
        except ValueError as error:
            raise NotAnAnswer(start) from error
        if isinstance(body, list) and body:
            body = obj(body[0])  # Gemini's errors come in a list
        fields = obj(body)
        if (fields.get("error") or fields.get("object") == "error") and read_error(fields).message:
            raise ServerFault(fields)
        if not self._answer.whole(fields):
            raise NotAnAnswer(start)


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
            data = self._joined()
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
        return _events(self._joined())

    def _joined(self) -> bytes:
        rest = b"".join(self._rest)
        self._rest.clear()
        self._held = 0
        return rest

    def _hold(self, data: bytes) -> list[SseEvent]:
        self._rest.append(data)
        self._held += len(data)
        if self._held > LARGEST_EVENT:
            raise EventTooLarge
        return []

    def _strip_bom(self, data: bytes) -> bytes:
        data = self._joined() + data
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
    """Return many lines without the keep-alives among them. Raises EventTooLarge when it is many still."""
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
