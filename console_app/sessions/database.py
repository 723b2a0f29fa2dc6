"""Holds the session file: SQLite in WAL mode, one thread that writes and one that reads, so that a search never holds
up a token. With `synchronous = NORMAL` only a power cut can lose the newest commits, never damage the file
(https://www.sqlite.org/wal.html). A damaged file is set aside, never overwritten.

`events` is the truth, append-only, by `seq`. `drafts` hold what of the newest answer is not yet a message. `search` is
a full-text index (FTS5), and `said` finds a session's rows without reading it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

from console_app.config.files import disk
from console_app.domain import FanoutError

VERSION = 1  # of the tables
Result = TypeVar("Result")
BUSY = 0.5  # seconds that another program may hold the file before that is a problem
_NOT_WRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_LITTLE = 100_000  # bytes of disk with which SQLite can't even make its journal
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class StoreError(FanoutError):
    """The session file can't be read or written now. `reason` is that in a word or two, for the status bar."""

    title = "Sessions"

    def __init__(self, detail: str, hint: str = "", *, reason: str = "") -> None:
        super().__init__(detail, hint)
        self.reason = reason


class NewerSchema(StoreError):
    """The session file was written by a newer Fanout."""


class DamagedFile(StoreError):
    """The file holds something that can't be right."""


class SetAside(NamedTuple):
    path: Path
    lock: SessionLock


class Database:
    """An SQLite file, opened when first used. Everything inside a `write` or a `read` is one transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_aside: SetAside | None = None  # the damaged file that was here
        self._writer = _Lane(path, "sessions")
        self._reader = _Lane(path, "sessions-reader", only_reads=True)

    async def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work` on the writing thread. Raises StoreError when the disk will not have it."""
        return await self._writer.run(lambda: self._write(work))

    async def read(self, work: Callable[[sqlite3.Connection], Result], empty: Result) -> Result:
        """Run a reading `work` beside the writer; `empty` where there is no file yet."""

        def now() -> Result:
            try:
                if not _is_there(self.path):
                    return empty
                return self._reader.transaction(work, "BEGIN")
            except (sqlite3.Error, OSError) as error:
                self._reader.disconnect()
                raise _as_store_error(self.path, error) from error

        return await self._reader.run(now)

    async def put_aside(self) -> bool:
        def now() -> bool:
            before = self.set_aside
            try:
                self._put_aside(self._reader)
            except OSError as error:
                raise _as_store_error(self.path, error) from error
            return self.set_aside != before

        return await self._writer.run(now)

    def interrupted(self) -> SetAside | None:
        """Take on a damaged file that a dead console had not carried over whole; None where there is none."""
        for lock in sorted(self.path.parent.glob(f"{self.path.stem}.damaged-*{self.path.suffix}.lock")):
            found = SetAside(lock.with_suffix(""), SessionLock(lock.parent, lock.stem))
            if found.path.exists() and found.lock.take():
                return found
        return None

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()  # the last to close moves what is in the log into the file, which a reader can't

    def _write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            return self._writer.transaction(work, "BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if _code(error) in _DAMAGED:
                return self._again(work)
            self._writer.disconnect()  # after an error of the disk a connection may stay in a state of its own
            raise _as_store_error(self.path, error) from error
        except OSError as error:
            self._writer.disconnect()
            raise _as_store_error(self.path, error) from error

    def _again(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            self._put_aside(self._writer)
            return self._writer.transaction(work, "BEGIN IMMEDIATE")
        except (sqlite3.Error, OSError) as error:
            self._writer.disconnect()
            raise _as_store_error(self.path, error) from error

    def _put_aside(self, found_by: _Lane) -> None:
        """Move a damaged file, with its journal, out of the way; not one that another console put there meanwhile."""
        ours = found_by.is_current()
        self._writer.disconnect()
        if not ours:
            return
        stem = f"{self.path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        names = (f"{stem}{f'-{again}' if again > 1 else ''}{self.path.suffix}" for again in count(1))
        target = next(path for name in names if not (path := self.path.with_name(name)).exists())
        lock = SessionLock(target.parent, target.name)
        lock.take()
        for suffix in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                source.rename(target.with_name(target.name + suffix))
        self.set_aside = SetAside(target, lock)


class _Lane:
    def __init__(self, path: Path, name: str, *, only_reads: bool = False) -> None:
        self._path = path
        self._only_reads = only_reads
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._db: sqlite3.Connection | None = None
        self._file = 0  # the inode that the connection was opened on

    async def run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def close(self) -> None:
        await self.run(self.disconnect)
        self._thread.shutdown()

    def transaction(self, work: Callable[[sqlite3.Connection], Result], begin: str) -> Result:
        if self._db is not None and not self.is_current():
            self.disconnect()  # somebody moved or deleted the file: what is written now would go nowhere
        db = self._db or self._connect()
        db.execute(begin)
        try:
            result = work(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result

    def is_current(self) -> bool:
        try:
            return os.stat(self._path).st_ino == self._file
        except OSError:
            return False

    def disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            try:
                db.close()
            except sqlite3.Error:
                pass  # closing writes the journal back; on a bad disk that fails, and the journal stays

    def _connect(self) -> sqlite3.Connection:
        disk.private_folder(self._path.parent)
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, disk.PRIVATE_FILE))
        self._file = os.stat(self._path).st_ino
        db = sqlite3.connect(self._path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        db.text_factory = _text
        try:
            if (found := _version_of(db)) > VERSION:
                raise NewerSchema(
                    f"{self._path} was written by a newer Fanout (its version {found}, ours {VERSION}).",
                    "Update Fanout; until then the conversation is kept in memory only.",
                    reason="newer version",
                )
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            migrate(db)
        except BaseException as error:
            db.close()
            unwritten = self._only_reads and _code(error) in _NOT_WRITABLE | _NO_ROOM
            if not unwritten or (still := self._frozen()) is None:
                raise
            db = still
        self._db = db
        return db

    def _frozen(self) -> sqlite3.Connection | None:
        """Open the file on a full or read-only disk, where SQLite can't make the journal that reading wants."""
        wal = self._path.with_name(f"{self._path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            return None
        db = sqlite3.connect(f"{self._path.as_uri()}?immutable=1", uri=True, check_same_thread=False)
        db.text_factory = _text
        if _version_of(db) == VERSION:
            self._file = 0  # good for one read: it would not see what is written once the disk can be written again
            return db
        db.close()
        return None


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code; the rest says where it happened


def _as_store_error(path: Path, error: Exception) -> StoreError:
    reason, hint = _reason_and_hint(path, error)
    text = f"{path}: {error.strerror or error}" if isinstance(error, OSError) else f"{path}: {error}"
    damaged = isinstance(error, sqlite3.Error) and _code(error) in _DAMAGED
    return (DamagedFile if damaged else StoreError)(f"{text}.", hint, reason=reason)


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LITTLE
    except OSError:
        return False


def _reason_and_hint(path: Path, error: Exception) -> tuple[str, str]:
    text = str(error).lower()
    code = _code(error) if isinstance(error, sqlite3.Error) else 0
    if code == sqlite3.SQLITE_FULL or "no space" in text or (code in _NO_ROOM and _is_full(path.parent)):
        return "disk full", "Free some space; the conversation goes on in memory and is written when there is room."
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "file locked", "Another program holds the file; it is tried again."
    if code in (*_NOT_WRITABLE, sqlite3.SQLITE_PERM) or isinstance(error, OSError):
        return "can't write", "Check who may write there, or set FANOUT_HOME to another folder."
    if code in _DAMAGED:
        return (
            "file damaged",
            "It is set aside, and what can be read of it carried over, once the folder can be written.",
        )
    return "disk error", "The conversation goes on in memory and is written when the disk is back."


def _first(db: sqlite3.Connection) -> None:
    db.execute(
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL DEFAULT '',
            named INTEGER NOT NULL DEFAULT 0,
            model TEXT NOT NULL DEFAULT '',
            provider TEXT NOT NULL DEFAULT '',
            folder TEXT NOT NULL DEFAULT '',
            parent TEXT,
            created_at REAL NOT NULL,
            updated_at REAL NOT NULL,
            turns INTEGER NOT NULL DEFAULT 0,
            size INTEGER NOT NULL DEFAULT 0
        ) STRICT"""
    )
    db.execute("CREATE INDEX sessions_by_time ON sessions (updated_at DESC)")
    for table in ("events", "drafts"):
        db.execute(
            f"""CREATE TABLE {table} (
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                seq INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (session_id, seq)
            ) STRICT, WITHOUT ROWID"""
        )
    db.execute(
        """CREATE TABLE said (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            role TEXT NOT NULL
        ) STRICT"""
    )
    db.execute("CREATE INDEX said_in_session ON said (session_id)")
    db.execute("CREATE VIRTUAL TABLE search USING fts5 (text)")


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_first]


def _version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> None:
    if _version_of(db) >= VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another console may have done it while this one waited for the lock.
        for step in MIGRATIONS[_version_of(db) :]:
            step(db)
        db.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


class SessionLock:
    """The lock of one session, a file in `folder`. It can be taken and let go of any number of times."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self._path = folder / f"{session_id}.lock"
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock; False when another console holds it. On a read-only disk, where nothing can be written either,
        it counts as taken."""
        if self._descriptor is not None:
            return True
        try:
            disk.private_folder(self._path.parent)
            while True:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, disk.PRIVATE_FILE)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(descriptor)
                    return False
                if self._is_ours(descriptor):
                    self._descriptor = descriptor
                    return True
                os.close(descriptor)  # its holder removed the file between our opening and locking it
        except OSError:
            return True

    def is_free(self) -> bool:
        """Tell whether no console holds the lock now."""
        free = self.take()
        self.let_go()
        return free

    def let_go(self, *, keep: bool = False) -> None:
        """Let go of the lock and remove the file, unless the next one is to `keep` it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            if not keep:  # while it is held, so that nobody can lock a file that is about to go
                self._path.unlink(missing_ok=True)
        except OSError:
            pass  # an empty file stays behind; it locks nothing
        os.close(descriptor)

    def _is_ours(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(descriptor))
        except FileNotFoundError:
            return False
