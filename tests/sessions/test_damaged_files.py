"""A session file that was cut, zeroed or flipped gives back every event whose pages are whole."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from console_app.domain import events as ev
from console_app.sessions import Store
from console_app.sessions.database import Database
from console_app.sessions.salvage import Wreck
from tests.sessions.damages import SESSIONS, Damage, damages, outcome, standing_on, used

ALL = os.environ.get("FAULTS") == "all"  # `make faults`; else one damage in 23
ENOUGH = 0.95  # of all events on whole pages, by kind of damage
ENOUGH_OF_ONE = 0.95  # of each single damage


async def test_what_stands_on_whole_pages_comes_back(tmp_path: Path) -> None:
    await used(file := tmp_path / "used.db")
    every = list(damages(file.stat().st_size))
    assert len(every) >= 200
    chosen = every if ALL else every[::23]
    seen = []
    for number, damage in enumerate(chosen):
        (folder := tmp_path / str(number)).mkdir()
        seen.append(await outcome(file, damage, folder))
    worst = min(seen, key=lambda one: one.share)
    for kind in ("cut", "zeroed", "flipped"):
        ones = [one for one in seen if one.damage.kind == kind]
        back, whole = sum(one.back for one in ones), sum(one.whole for one in ones)
        print(f"{kind}: {back} of {whole} events on whole pages came back, in {len(ones)} damages")
        assert back >= ENOUGH * whole
    print(f"at worst {worst.share:.1%}: {worst.damage.name}")
    assert worst.share >= ENOUGH_OF_ONE, worst


async def test_events_that_a_damaged_page_leads_past_are_missed(tmp_path: Path) -> None:
    """SQLite says nothing of it: a key that sorts elsewhere hides what stands below it."""
    await used(file := tmp_path / "used.db")
    misled = 0
    for damage in damages(file.stat().st_size):
        if damage.kind != "flipped":
            continue
        shutil.copy(file, path := tmp_path / "sessions.db")
        damage.do(path)
        store = Store(path)
        for number in range(SESSIONS):
            await store.load(f"session{number}")
        if store.set_aside is not None and not _noticed(store.set_aside):
            misled += 1
        await store.close()
        for left in tmp_path.glob("sessions*"):
            left.unlink()
    assert misled, "no damage of these misleads SQLite: choose others"


def _noticed(path: Path) -> bool:
    """Tell whether SQLite itself stops at the damage."""
    db = sqlite3.connect(path)
    db.text_factory = lambda stored: stored.decode("utf-8", "replace")
    try:
        for number in range(SESSIONS):
            db.execute("SELECT body FROM events WHERE session_id = ?", (f"session{number}",)).fetchall()
    except sqlite3.Error:
        return True
    finally:
        db.close()
    return False


async def test_what_a_killed_console_had_not_carried_over_the_next_one_does(tmp_path: Path) -> None:
    await used(path := tmp_path / "sessions.db")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 4096)
    first = Database(path)
    await first.write(lambda db: None)  # it is set aside, and the console ends before anything else
    assert first.set_aside is not None
    first.set_aside.lock.let_go(keep=True)
    await first.close()
    for _ in range(2):
        store = Store(path)
        await store.check()
        assert {info.id for info in await store.sessions()} == {f"session{number}" for number in range(SESSIONS)}
        await store.close()
    assert not list(tmp_path.glob("*.lock")), "and no other looks at it again"


async def test_one_that_is_carried_over_elsewhere_is_left_alone(tmp_path: Path) -> None:
    await used(path := tmp_path / "sessions.db")
    path.write_bytes(path.read_bytes()[:-4096])
    first, second = Database(path), Database(path)
    await first.write(lambda db: None)
    assert second.interrupted() is None
    await first.close()
    await second.close()


async def test_two_damaged_files_of_one_second_are_both_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda _: "20260101-000000")  # a clock that was set back
    path, kept = tmp_path / "sessions.db", []
    for text in (b"the first", b"the second"):
        path.write_bytes(text * 1000)
        store = Store(path)
        await store.check()
        kept.append(store.set_aside)
        await store.close()
    assert [found.read_bytes()[:10] for found in kept if found] == [b"the firstt", b"the second"]


async def test_a_damage_that_is_found_while_reading_is_mended_then(tmp_path: Path) -> None:
    await used(path := tmp_path / "sessions.db")
    there = standing_on(path)
    with sqlite3.connect(path) as db:
        query = "SELECT max(pageno) FROM dbstat WHERE name = 'events' AND pagetype = 'leaf'"
        [[leaf]] = db.execute(query)
    db.close()
    lost = {key for key, (_, pages) in there.items() if leaf in pages}
    assert lost
    Damage("", "zeroed", leaf).do(path)
    store = Store(path)
    await store.check()
    assert store.set_aside is None, "what is written does not touch it"
    back = {(name, event.seq) for name in {name for name, _ in there} for event in await store.load(name)}
    assert store.set_aside is not None
    assert back == set(there) - lost
    await store.close()


async def test_what_the_journal_holds_comes_back_too(tmp_path: Path) -> None:
    path, copy = tmp_path / "sessions.db", tmp_path / "killed" / "sessions.db"
    copy.parent.mkdir()
    store = Store(path)
    await store.append([ev.Notice(session_id="s", seq=seq, text="x" * 3000) for seq in range(1, 40)])
    for suffix in ("", "-wal"):  # as kill -9 leaves them
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    await store.close()
    assert copy.with_name("sessions.db-wal").stat().st_size > 39 * 3000
    with Wreck(copy) as wreck:
        assert [event.seq for event in wreck.session("s").events] == list(range(1, 40))


async def test_the_pages_tell_what_sqlite_tells(tmp_path: Path) -> None:
    await used(file := tmp_path / "used.db")
    with sqlite3.connect(file) as db:
        rows = db.execute("SELECT session_id, seq FROM events UNION SELECT session_id, seq FROM drafts").fetchall()
        on_pages = db.execute("SELECT count(*) FROM dbstat WHERE name = 'events' AND pagetype = 'overflow'").fetchone()
    db.close()
    assert set(standing_on(file)) == set(rows), "and nothing of the session that was deleted"
    assert on_pages[0] > 20, "long results go on over several pages"
    with Wreck(file) as wreck:
        assert len(wreck.session_ids()) == SESSIONS
        assert [known[0] for name in ("session1",) if (known := wreck.session(name).known)] == ["Mine"]


async def test_what_is_deleted_is_gone_from_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
    db.close()
    store = Store(path)
    await store.append([ev.TurnStarted(session_id="s", seq=1, turn=1, prompt="a prompt to forget")])
    await store.append([ev.Notice(session_id="s", seq=seq, text="to be forgotten " * 500) for seq in range(2, 20)])
    await store.delete("s")
    await store.close()
    assert b"forg" not in path.read_bytes()
