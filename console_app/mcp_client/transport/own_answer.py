"""Of what comes back for one request over HTTP, what may answer it: the SDK takes any answer there for its own.

Batches are taken apart (2025-03-26 has them). What is no message, or answers something else, is left out while the
answer may still come; where none comes, the first of it is the answer, and fails the request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from enum import Enum, auto
from typing import Any, Final, cast

from mcp_types import INTERNAL_ERROR

from console_app.mcp_client.transport.lines import find_id, members
from console_app.mcp_client.transport.shallow import LARGE

_LINES: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ENDS: Final = 4096  # bytes at each end of a message, where its id is looked for


class _Kind(Enum):
    ANSWER = auto()  # to this request
    OTHER_ANSWER = auto()
    NO_ANSWER = auto()  # the server's own request, or a notification
    UNREADABLE = auto()


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def request_id(body: bytes) -> int | None:
    """The id of the request with this body; None of what is no request."""
    return find_id(body[:_ENDS], body[-_ENDS:])


async def own_answer(body: bytes, own: int) -> bytes:
    """The one message of a JSON body that answers the request `own`; where there is none, its failure."""
    return _own_answer(body, own) if len(body) < LARGE else await asyncio.to_thread(_own_answer, body, own)


def _own_answer(body: bytes, own: int) -> bytes:
    listed = members(body)
    for message in listed or [body]:
        match _kind(message, own):
            case _Kind.ANSWER:
                return _with_id(message, own)
            case _Kind.OTHER_ANSWER if not listed:
                return _failure(message, own)
            case _:
                pass
    return _failure(listed[0], own) if listed else body


def _kind(message: bytes, own: int) -> _Kind:
    if find_id(message[:_ENDS], message[-_ENDS:]) == own:
        return _Kind.ANSWER  # also one that is broken: it is told as that
    try:
        read: Any = json.loads(message)
    except (ValueError, RecursionError):
        return _Kind.UNREADABLE
    fields = _fields(read)
    if "method" in fields:
        return _Kind.NO_ANSWER
    if "error" not in fields and not isinstance(fields.get("result"), dict):
        return _Kind.UNREADABLE
    id = fields.get("id")
    # A request that was refused unread is answered with null for its id, or with a word ("server-error").
    unread = "error" in fields and not isinstance(id, int)
    return _Kind.ANSWER if unread or str(id) == str(own) else _Kind.OTHER_ANSWER


def _with_id(message: bytes, own: int) -> bytes:
    if b'"error"' not in message or find_id(message[:_ENDS], message[-_ENDS:]) == own:
        return message
    read: Any = json.loads(message)
    return json.dumps(read | {"id": own}).encode() if "error" in read else message


def _failure(message: bytes, own: int) -> bytes:
    id = json.dumps(json.loads(message).get("id"))[:40]
    why = f"The server answered another request (id {id}) in place of this one (id {own})."
    return json.dumps({"jsonrpc": "2.0", "id": own, "error": {"code": INTERNAL_ERROR, "message": why}}).encode()


class OwnEvents:
    """The events of the stream that a request was answered with."""

    def __init__(self, own: int) -> None:
        self._own = own
        self._answered = False
        self._resumable = False
        self._left_out = b""  # the first event that was, as it is to be told

    async def of(self, blocks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
        """What of `blocks`, of whole lines, may be read; events of more than `most` bytes as they are."""
        held, passing = bytearray(), False
        async for block in blocks:
            for line in _LINES.findall(block):
                if line.startswith(b":") and not passing:
                    continue  # a comment
                held += line
                if not line.rstrip(b"\r\n"):
                    event, held = bytes(held), bytearray()
                    yield event if passing else await _aside(self._readable, event)
                    passing = False
            if passing or len(held) > most:
                yield bytes(held)
                held, passing = bytearray(), True
        if held:
            yield bytes(held)
        if self._left_out and not (self._answered or self._resumable):
            yield self._left_out

    def _readable(self, event: bytes) -> bytes:
        """`event`, or several; b"" where it is left out."""
        fields = [line.rstrip(b"\r\n") for line in _LINES.findall(event)]
        name = b"".join(field[6:].strip() for field in fields if field.startswith(b"event:"))
        data = b"\n".join(field[5:].removeprefix(b" ") for field in fields if field.startswith(b"data:"))
        self._resumable = self._resumable or any(field.startswith(b"id:") for field in fields)
        if not data or name not in (b"", b"message"):
            return event
        if listed := members(data):
            # The answer last: nothing is read behind it.
            listed.sort(key=lambda message: _kind(message, self._own) is _Kind.ANSWER)
            rest = b"".join(field + b"\n" for field in fields if field and not field.startswith(b"data:"))
            return rest + b"".join(self._readable(b"data: " + message + b"\n\n") for message in listed)
        match _kind(data, self._own):
            case _Kind.ANSWER:
                self._answered = True
                return event
            case _Kind.NO_ANSWER:
                return event
            case _Kind.OTHER_ANSWER:
                self._left_out = self._left_out or b"data: " + _failure(data, self._own) + b"\n\n"
            case _Kind.UNREADABLE:
                self._left_out = self._left_out or event
        return b""


async def _aside(read: Callable[[bytes], bytes], event: bytes) -> bytes:
    return read(event) if len(event) < LARGE else await asyncio.to_thread(read, event)
