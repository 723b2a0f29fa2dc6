"""Reads what is left of a damaged session file that was set aside. Its pages are walked one by one, whatever SQLite
makes of it: an event comes back when the pages it stands on are whole. Free pages, which hold what was deleted, are
left out. Source: https://www.sqlite.org/fileformat2.html."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from console_app.domain import events as ev
from console_app.records import dataclass, field
from console_app.sessions import tables

Value = int | float | str | bytes | None
USUAL_SIZE = 4096  # bytes of a page, where the file doesn't say
_MAGIC = b"SQLite format 3\0"
_INDEX_INSIDE, _INDEX_LEAF, _TABLE_LEAF = 2, 10, 13  # the kinds of pages with records on them
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24
_MOST_COLUMNS = 64  # more than any table of ours has
_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a value, by its serial type


class Layout(NamedTuple):
    """The size of a page, and the bytes at its end that are not SQLite's."""

    size: int = USUAL_SIZE
    reserved: int = 0


class RecordPlace(NamedTuple):
    """The place where a record begins: the number of its page, from 1, and the byte of its cell."""

    page: int
    at: int


class Damaged(ValueError):
    """The bytes at a place can't be a record."""


class Pages:
    """An SQLite file, only read; close it when done. Raises OSError where it can't be opened."""

    def __init__(self, path: Path, layout: Layout | None = None) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._wal: int | None = None
        self.layout = layout or stated_layout(os.pread(self._file, 100, 0))
        self._usable = self.layout.size - self.layout.reserved
        self._in_wal: dict[int, int] = {}  # where in the journal a page stands
        try:
            self._wal = os.open(path.with_name(f"{path.name}-wal"), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            pass
        else:
            self._in_wal = _committed(self._wal, self.layout.size)
        in_file = -(-os.fstat(self._file).st_size // self.layout.size)
        self.count = max(in_file, *self._in_wal) if self._in_wal else in_file

    def close(self) -> None:
        os.close(self._file)
        if self._wal is not None:
            os.close(self._wal)

    def page(self, number: int) -> bytes:
        size, at = self.layout.size, self._in_wal.get(number)
        if at is not None and self._wal is not None:
            return os.pread(self._wal, size, at).ljust(size, b"\0")
        return os.pread(self._file, size, (number - 1) * size).ljust(size, b"\0")

    def records(self) -> Iterator[tuple[RecordPlace, list[Value]]]:
        free = self._free()
        for number in range(1, self.count + 1):
            if number in free:
                continue
            page = self.page(number)
            for at in self._cells(page, 100 if number == 1 else 0):
                try:
                    yield RecordPlace(number, at), self._decoded(page, at, beyond=False)
                except (Damaged, IndexError, struct.error):
                    continue  # this one; the next may be whole

    def record(self, place: RecordPlace, read: list[int] | None = None) -> list[Value]:
        try:
            values = self._decoded(self.page(place.page), place.at, beyond=True, read=read)
        except (IndexError, struct.error) as error:
            raise Damaged(str(error)) from error
        if read is not None:
            read.append(place.page)
        return values

    def _cells(self, page: bytes, start: int) -> Iterator[int]:
        kind = page[start]
        if kind not in (_INDEX_INSIDE, _INDEX_LEAF, _TABLE_LEAF):
            return
        first = start + (12 if kind == _INDEX_INSIDE else 8)
        count = int.from_bytes(page[start + 3 : start + 5])
        for at in range(first, min(first + 2 * count, self._usable - 1), 2):
            cell = int.from_bytes(page[at : at + 2])
            if first <= cell < self._usable:
                yield cell

    def _decoded(self, page: bytes, at: int, *, beyond: bool, read: list[int] | None = None) -> list[Value]:
        kind = page[100 if page.startswith(_MAGIC) else 0]
        at += 4 if kind == _INDEX_INSIDE else 0
        length, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            _, at = _varint(page, at)  # the row's number
        local = self._local(length, is_table=kind == _TABLE_LEAF)
        if length < 2 or length > self.count * self._usable or at + local > self._usable:
            raise Damaged("a record of an impossible length")
        payload = page[at : at + local]
        if beyond and local < length:
            payload += self._overflow(int.from_bytes(page[at + local : at + local + 4]), length - local, read)
        return _columns(payload, length)

    def _local(self, length: int, *, is_table: bool) -> int:
        """Return how many bytes of a record stand on the page itself, as SQLite's file format has it."""
        usable = self._usable
        most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
        if length <= most:
            return length
        least = (usable - 12) * 32 // 255 - 23
        some = least + (length - least) % (usable - 4)
        return some if some <= most else least

    def _overflow(self, number: int, missing: int, read: list[int] | None) -> bytes:
        parts: list[bytes] = []
        while missing > 0:
            if not 2 <= number <= self.count:
                raise Damaged("a record whose rest is not there")
            if read is not None:
                read.append(number)
            page = self.page(number)
            parts.append(page[4 : min(self._usable, 4 + missing)])
            missing -= len(parts[-1])
            number = int.from_bytes(page[:4])
        return b"".join(parts)

    def _free(self) -> set[int]:
        head = self.page(1)
        trunk, total = struct.unpack_from(">II", head, 32) if head.startswith(_MAGIC) else (0, 0)
        found: set[int] = set()
        while 2 <= trunk <= self.count and trunk not in found:
            found.add(trunk)
            page = self.page(trunk)
            trunk, leaves = struct.unpack_from(">II", page)
            if leaves > self._usable // 4 - 2:
                return set()
            found.update(struct.unpack_from(f">{leaves}I", page, 8))
        return found if len(found) == total and trunk == 0 else set()


def stated_layout(head: bytes) -> Layout:
    """Return what the first 100 bytes of a file say of its pages; the usual layout where they can't be right."""
    size = int.from_bytes(head[16:18])
    size = 65536 if size == 1 else size
    if not head.startswith(_MAGIC) or size < 512 or size & (size - 1) or head[20] > 32:
        return Layout()
    return Layout(size, head[20])


def _committed(wal: int, size: int) -> dict[int, int]:
    head = os.pread(wal, _WAL_HEADER, 0)
    if len(head) < _WAL_HEADER or int.from_bytes(head[:4]) not in _WAL_MAGIC or int.from_bytes(head[8:12]) != size:
        return {}
    done: dict[int, int] = {}
    pending: dict[int, int] = {}
    at = _WAL_HEADER
    while len(frame := os.pread(wal, _FRAME_HEADER, at)) == _FRAME_HEADER and frame[8:16] == head[16:24]:
        number, committed = struct.unpack_from(">II", frame)
        pending[number] = at + _FRAME_HEADER
        if committed:
            done.update(pending)
            pending.clear()
        at += _FRAME_HEADER + size
    return done


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, at + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _columns(payload: bytes, length: int) -> list[Value]:
    head, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < head:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    widths = [(kind - 12) // 2 if kind >= 12 else _WIDTHS[kind] for kind in kinds]
    if at != head or len(kinds) > _MOST_COLUMNS or head + sum(widths) != length:
        raise Damaged("columns that don't add up to the record")
    values: list[Value] = []
    for kind, width in zip(kinds, widths, strict=True):
        values.append(_value(kind, payload[at : at + width]) if at + width <= len(payload) else None)
        at += width
    return values


def _value(kind: int, data: bytes) -> Value:
    match kind:
        case 0:
            return None
        case 7:
            return struct.unpack(">d", data)[0]
        case 8 | 9:
            return kind - 8
        case _ if kind < 7:
            return int.from_bytes(data, signed=True)
        case _ if kind % 2:
            return data.decode("utf-8", "replace")
        case _:
            return data


_MOST_PLACES = 4  # of one event: it may stand on a free page too, where the list of those was lost


@dataclass(frozen=True, slots=True)
class Salvaged:
    session_id: str
    events: list[ev.Event]
    known: tuple[Any, ...] | None  # title, named, folder, parent, created_at


@dataclass(slots=True)
class _Found:
    events: dict[int, list[RecordPlace]] = field(default_factory=dict[int, list[RecordPlace]])  # by `seq`
    known: tuple[Any, ...] | None = None
    updated_at: float = 0.0


class Wreck:
    """A damaged file that was set aside. Use as a context manager, one call at a time. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self.pages = Pages(path)
        self._found = _look(self.pages)
        if self.pages.layout != Layout():  # or the damage is in the very bytes that say so
            usual = Pages(path, Layout())
            found = _look(usual)
            better = _count(found) > _count(self._found)
            (self.pages if better else usual).close()
            if better:
                self.pages, self._found = usual, found

    def __enter__(self) -> Wreck:
        return self

    def __exit__(self, *_: object) -> None:
        self.pages.close()

    def session_ids(self) -> list[str]:
        return [session_id for session_id, found in self._found.items() if found.events]

    def session(self, session_id: str) -> Salvaged:
        found = self._found[session_id]
        read = (self._event(session_id, seq, found.events[seq]) for seq in sorted(found.events))
        return Salvaged(session_id, [event for event in read if event is not None], found.known)

    def places(self, session_id: str) -> dict[int, list[RecordPlace]]:
        return self._found[session_id].events

    def _event(self, session_id: str, seq: int, places: list[RecordPlace]) -> ev.Event | None:
        for place in places:
            try:
                body = self.pages.record(place)[-1]
            except Damaged:
                continue
            event = tables.parsed(body) if isinstance(body, str) else None
            if event is not None and event.session_id == session_id and event.seq == seq:
                return event
        return None


def _look(pages: Pages) -> dict[str, _Found]:
    sessions: dict[str, _Found] = {}
    for place, values in pages.records():
        match values:
            case [str(session_id), int(seq), str() | None] if session_id:  # `events` and `drafts`
                places = sessions.setdefault(session_id, _Found()).events.setdefault(seq, [])
                if len(places) < _MOST_PLACES:
                    places.append(place)
            case [str(session_id), str(), int(), str(), str(), str(), str() | None, *times, int(), int()] if session_id:
                found = sessions.setdefault(session_id, _Found())
                match times:
                    case [int() | float() as created_at, int() | float() as updated_at]:
                        if found.known is None or updated_at > found.updated_at:
                            found.known = (values[1], values[2], values[5], values[6], created_at)
                            found.updated_at = updated_at
                    case _:
                        pass
            case _:
                pass
    return sessions


def _count(sessions: dict[str, _Found]) -> int:
    return sum(len(found.events) for found in sessions.values())


def carry_over(db: sqlite3.Connection, salvaged: Salvaged) -> None:
    tables.append(db, salvaged.events, "", whole=True)
    if salvaged.known is not None:
        db.execute(
            "UPDATE sessions SET title = ?, named = ?, folder = ?, parent = ?, created_at = ? WHERE id = ?",
            (*salvaged.known, salvaged.session_id),
        )
