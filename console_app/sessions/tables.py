"""Reads and writes the tables of the session file, inside the transaction of a caller (`database`)."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Annotated

from pydantic import Field, TypeAdapter

from console_app.domain import events as ev
from console_app.records import dataclass
from console_app.sessions.recent import NEWEST_FIRST, SHORT_ID

TITLE_LENGTH = 300  # characters; lists cut it to their room
# Only what people look for is indexed, and of a long result or argument only its beginning.
INDEXED_CHARACTERS = 20_000
_TOGETHER = 200  # events read in one go: much more would keep the keys waiting for the interpreter's lock

StoredEvents = list[ev.Event]
Sampled = (
    ev.CallProgress | ev.CallLog | ev.CallOutput
)  # news of a running call: some are stored, for good, and the rest only shown
_COLUMNS = "id, title, model, provider, folder, parent, created_at, updated_at, turns, size"


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in a list. Times are seconds since the epoch, `size` is the bytes of its events."""

    id: str
    title: str
    model: str
    provider: str
    folder: str
    parent: str | None
    created_at: float
    updated_at: float
    turns: int
    size: int

    @property
    def short_id(self) -> str:
        return self.id[:SHORT_ID]


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that a search found; `snippet` marks the words with U+0001 and U+0002 around them."""

    session_id: str
    title: str
    seq: int
    role: str
    snippet: str
    updated_at: float

    @property
    def short_id(self) -> str:
        return self.session_id[:SHORT_ID]


def newest(db: sqlite3.Connection, limit: int, folder: str | None = None, words: str = "") -> list[SessionInfo]:
    """Return the newest sessions, of a folder or with all words in their titles."""
    wanted = words.split()
    where = "turns > 0" + " AND instr(lower(title), lower(?))" * len(wanted) + " AND folder = ?" * (folder is not None)
    query = f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY {NEWEST_FIRST}, rowid DESC LIMIT ?"
    values = (*wanted, *([] if folder is None else [folder]), limit)
    return [SessionInfo(*row) for row in db.execute(query, values)]


def count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sessions WHERE turns > 0").fetchone()[0])


def with_prefix(db: sqlite3.Connection, prefix: str) -> list[SessionInfo]:
    query = f"SELECT {_COLUMNS} FROM sessions WHERE substr(id, 1, ?) = ?"
    return [SessionInfo(*row) for row in db.execute(query, (len(prefix), prefix))]


def relatives(db: sqlite3.Connection, session_id: str) -> list[SessionInfo]:
    query = (
        f"SELECT {_COLUMNS} FROM sessions WHERE id = (SELECT parent FROM sessions WHERE id = ?1) OR parent = ?1 "
        f"ORDER BY parent IS ?1, {NEWEST_FIRST}, rowid DESC"
    )
    return [SessionInfo(*row) for row in db.execute(query, (session_id,))]


def search(db: sqlite3.Connection, words: str, limit: int) -> list[Hit]:
    query = " ".join(f'"{word.replace(chr(34), chr(34) * 2)}"*' for word in words.replace("\0", " ").split())
    if not query:
        return []
    sql = (
        "SELECT s.id, s.title, f.seq, f.role, snippet(search, 0, char(1), char(2), '…', 16), s.updated_at "
        "FROM search JOIN said f ON f.id = search.rowid JOIN sessions s ON s.id = f.session_id "
        "WHERE search MATCH ? ORDER BY rank LIMIT ?"
    )
    return [Hit(*row) for row in db.execute(sql, (query, limit))]


def counts_of(db: sqlite3.Connection, session_id: str) -> tuple[int, float | None]:
    """Return the number of ended calls and the cost in US dollars, None where no price is known."""
    calls, cost = db.execute(
        "SELECT sum(json_extract(body, '$.type') = 'call.finished'), sum(json_extract(body, '$.cost')) FROM events "
        "WHERE session_id = ? AND (instr(body, '\"call.finished\"') OR instr(body, '\"usage.reported\"'))",
        (session_id,),
    ).fetchone()
    return calls or 0, cost


def glance(db: sqlite3.Connection, session_id: str, limit: int) -> list[ev.MessageAdded]:
    """Return a session's first and newest messages, at most `limit` each, without those that Fanout wrote."""
    query = (
        "SELECT body FROM (SELECT e.seq, e.body FROM said s JOIN events e ON e.session_id = s.session_id "
        "AND e.seq = s.seq WHERE s.session_id = ?1 ORDER BY e.seq {order} LIMIT ?2) ORDER BY seq"
    )
    bodies: dict[str, None] = {}
    for order in ("ASC", "DESC"):
        bodies |= dict.fromkeys(body for (body,) in db.execute(query.format(order=order), (session_id, limit)))
    found = [event for body in bodies if isinstance(event := parsed(body), ev.MessageAdded)]
    return [event for event in found if event.role != "user" or event.origin == "user"]


class MissingEventsError(sqlite3.DatabaseError):
    """A session has fewer events than were stored: its file is damaged in a way that SQLite reads past."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def events_of(db: sqlite3.Connection, session_id: str, *, partly: bool = False) -> StoredEvents:
    """Read all events in order, drafts in their places, without a newer Fanout's. Raises MissingEventsError unless
    `partly`: a damaged key can hide events without an error, so their size is held to the list's."""
    query = (
        "SELECT seq, body, 1 FROM events WHERE session_id = ?1 "
        "UNION ALL SELECT seq, body, 0 FROM drafts WHERE session_id = ?1 ORDER BY seq"
    )
    found = db.execute(query, (session_id,)).fetchall()
    rows = [
        (body if isinstance(body, str) else "", counts) for _, body, counts in found
    ]  # a damaged page holds anything
    events: StoredEvents = []
    size = 0
    for at in range(0, len(rows), _TOGETHER):
        some = rows[at : at + _TOGETHER]
        for (body, counts), event in zip(some, _all_parsed([body for body, _ in some]), strict=True):
            if event is not None:
                events.append(event)
            if counts and (event is None or not event.shown_only):
                size += len(body)
    [[stored]] = db.execute("SELECT sum(size) FROM sessions WHERE id = ?", (session_id,))
    if not partly and size < (stored or 0) and db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        raise MissingEventsError("events are missing")
    return events


def append(db: sqlite3.Connection, events: Iterable[ev.Event], folder: str, *, whole: bool = False) -> None:
    """Store events, and their meaning for the list, drafts and index. Twice is as once. `whole`: they are all of a
    session that is over."""
    known: set[str] = set()
    size: dict[str, int] = {}
    for event in events:
        session_id, body = event.session_id, event.model_dump_json()
        if session_id not in known:
            known.add(session_id)
            db.execute(
                "INSERT OR IGNORE INTO sessions (id, folder, created_at, updated_at) VALUES (?, ?, ?, ?)",
                (session_id, folder, event.at, event.at),
            )
        table = "drafts" if event.shown_only and not whole and not isinstance(event, Sampled) else "events"
        added = db.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)", (session_id, event.seq, body)).rowcount
        if added > 0:
            if not event.shown_only:
                size[session_id] = size.get(session_id, 0) + len(body)
            _follow(db, event, whole)
    for session_id, more in size.items():
        db.execute("UPDATE sessions SET size = size + ? WHERE id = ?", (more, session_id))


def keep_drafts(db: sqlite3.Connection, session_id: str) -> None:
    db.execute(
        "INSERT OR IGNORE INTO events SELECT session_id, seq, body FROM drafts WHERE session_id = ?", (session_id,)
    )
    db.execute("DELETE FROM drafts WHERE session_id = ?", (session_id,))


def rename(db: sqlite3.Connection, session_id: str, title: str) -> None:
    db.execute("UPDATE sessions SET title = ?, named = 1 WHERE id = ?", (title, session_id))


def descend(db: sqlite3.Connection, session_id: str, parent: str, title: str, at: float) -> None:
    db.execute(
        "UPDATE sessions SET parent = ?, title = ?, updated_at = ? WHERE id = ?", (parent, title, at, session_id)
    )


def delete(db: sqlite3.Connection, session_id: str) -> None:
    [[usual]] = db.execute("PRAGMA secure_delete")
    db.execute("PRAGMA secure_delete = ON")  # for this alone: what is written often needs no second writing
    db.execute("DELETE FROM search WHERE rowid IN (SELECT id FROM said WHERE session_id = ?)", (session_id,))
    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
    db.execute(f"PRAGMA secure_delete = {int(usual)}")


@cache
def _several() -> TypeAdapter[StoredEvents]:
    return TypeAdapter(list[Annotated[ev.Event, Field(discriminator="type")]])  # 13 ms, when a session is first read


def _all_parsed(bodies: list[str]) -> Sequence[ev.Event | None]:
    try:
        return _several().validate_json(f"[{','.join(bodies)}]")
    except ValueError:
        return [parsed(body) for body in bodies]


def parsed(body: str) -> ev.Event | None:
    try:
        return ev.EVENT.validate_json(body)
    except ValueError:
        return None  # an event of a newer version: the rest of the session can still be read


def _follow(db: sqlite3.Connection, event: ev.Event, whole: bool) -> None:
    ends_draft = isinstance(event, ev.TurnFinished) or (
        isinstance(event, ev.MessageAdded) and event.role == "assistant"
    )
    if ends_draft and not whole:
        _settle_drafts(db, event.session_id, event.agent)
    if event.agent:
        return  # the list and the index are of the user's conversation
    match event:
        case ev.SessionStarted():
            db.execute(
                "UPDATE sessions SET model = ?, provider = ? WHERE id = ?",
                (event.model, event.provider, event.session_id),
            )
        case ev.TurnStarted():
            title = " ".join(event.prompt.split())
            title = title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…"
            db.execute("UPDATE sessions SET turns = turns + 1 WHERE id = ?", (event.session_id,))
            _updated(db, event, whole)
            db.execute("UPDATE sessions SET title = ? WHERE id = ? AND title = ''", (title, event.session_id))
        case ev.MessageAdded():
            written = (event.content, *(call.arguments for call in event.tool_calls or ()))
            texts = [text[:INDEXED_CHARACTERS] for text in written if text]
            row = db.execute(
                "INSERT INTO said (session_id, seq, role) VALUES (?, ?, ?)", (event.session_id, event.seq, event.role)
            ).lastrowid
            db.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (row, "\n".join(texts)))
        case ev.TurnFinished():
            _updated(db, event, whole)
        case _:
            pass


def _updated(db: sqlite3.Connection, event: ev.Event, whole: bool) -> None:
    """Note the newest time; while a session is written, none that is more than a day ahead: that clock was wrong."""
    ahead = math.inf if whole else 86400
    db.execute(
        "UPDATE sessions SET updated_at = CASE WHEN updated_at > ?1 + ?2 THEN ?1 ELSE max(updated_at, ?1) END "
        "WHERE id = ?3",
        (event.at, ahead, event.session_id),
    )


def _settle_drafts(db: sqlite3.Connection, session_id: str, agent: str) -> None:
    """Keep of the drafts of an answer (the user's or an `agent`'s), whose message is stored, only what no message
    holds: reasoning as it was seen, and arguments of broken calls. Which these are is asked once, as a draft may have
    megabytes."""
    db.execute(
        """WITH own AS MATERIALIZED (
            SELECT seq, json_extract(body, '$.type') AS type, json_extract(body, '$.call_id') AS call FROM drafts
            WHERE session_id = ?1 AND ifnull(json_extract(body, '$.agent'), '') = ?2
        )
        INSERT OR IGNORE INTO events
        SELECT session_id, seq, body FROM drafts WHERE session_id = ?1 AND seq IN (
            SELECT seq FROM own WHERE type = 'reasoning.delta' OR type = 'call.arguments' AND call NOT IN (
                SELECT json_extract(body, '$.call_id') FROM events
                WHERE session_id = ?1 AND seq >= (SELECT min(seq) FROM own)
                AND json_extract(body, '$.type') = 'call.ready'
            )
        )""",
        (session_id, agent),
    )
    db.execute(
        "DELETE FROM drafts WHERE session_id = ? AND ifnull(json_extract(body, '$.agent'), '') = ?", (session_id, agent)
    )
