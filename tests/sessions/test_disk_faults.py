"""A full disk and a damaged file: said, survived, and nothing is lost once the disk is back."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.messages import UserMessage
from console_app.domain.transcript import Transcript
from console_app.engine.context import normalise
from console_app.sessions import Store
from console_app.sessions.database import StoreError
from console_app.sessions.export import exported
from console_app.sessions.repair import closing_events
from console_app.sessions.salvage import Wreck
from tests.engine.strict_history import check_messages
from tests.examples import EXPLORING
from tests.patience import PATIENCE
from tests.sessions.test_store import TURN, numbered

NOBODY = 65534
FULL = """
import asyncio, json, resource, signal, sys
from pathlib import Path
from console_app.domain import events as ev
from console_app.sessions.store import Store

async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit is an error then, as on a full disk
    store = Store(Path(sys.argv[1]), retry=0.02)
    told = []
    store.on_change = lambda: told.append(store.problem.reason if store.problem else "fine")
    await store.append([ev.Notice(session_id="s", seq=1, text="before")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    for seq in range(2, 40):
        await store.append([ev.Notice(session_id="s", seq=seq, text="x" * 5000)])
    waiting = store.waiting
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    back = asyncio.Event()
    store.on_change = lambda: (told.append("fine"), back.set())
    if store.problem:
        await back.wait()
    seqs = [event.seq for event in await store.load("s")]
    await store.close()
    print(json.dumps({"told": told, "waiting": waiting, "seqs": seqs}))

asyncio.run(main())
"""


def test_a_full_disk_is_told_and_what_waited_is_written_when_there_is_room(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "sessions.db")], capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    assert seen["told"][0] in ("disk full", "disk error")
    assert seen["told"][-1] == "fine"
    assert seen["waiting"] > 0
    assert seen["seqs"] == list(range(1, 40))


async def test_what_waits_is_still_there_after_a_try_to_write_it_was_cancelled(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.write_text("no folder: nothing can be written")
    store = Store(folder / "sessions.db")
    await store.append([ev.Notice(session_id="s", seq=1, text="said meanwhile")])
    trying = asyncio.create_task(store.flush())
    await asyncio.sleep(0)  # it runs up to the disk
    trying.cancel()
    await asyncio.gather(trying, return_exceptions=True)
    assert store.waiting == 1
    folder.unlink()
    await store.close()
    assert store.waiting == 0
    again = Store(folder / "sessions.db")
    assert [event.seq for event in await again.load("s")] == [1]
    await again.close()


async def test_what_is_said_while_a_write_is_under_way_is_stored_behind_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    await asyncio.gather(*(store.append([ev.Notice(session_id="s", seq=seq, text="x")]) for seq in range(1, 20)))
    assert store.waiting == 0
    assert [event.seq for event in await store.load("s")] == list(range(1, 20))
    await store.close()


async def test_a_file_with_damaged_pages_is_set_aside_and_the_conversation_is_kept_in_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = Store(path)
    await store.append([ev.Notice(session_id="s", seq=seq, text="x" * 500) for seq in range(1, 200)])
    await store.close()
    damage = b"\xff" * 4096
    with path.open("r+b") as file:  # its first page stays: the file opens, and fails when it is written to
        for page in range(1, os.stat(path).st_size // 4096):
            file.seek(page * 4096)
            file.write(damage)
    store = Store(path)
    told: list[Path | None] = []
    store.on_change = lambda: told.append(store.set_aside)
    await store.append([ev.Notice(session_id="s", seq=200, text="after")])
    assert store.problem is None
    assert told == [store.set_aside]
    assert store.set_aside is not None
    assert damage in store.set_aside.read_bytes()
    assert [event.seq for event in await store.load("s")] == [200]
    await store.close()


async def filled(path: Path) -> dict[str, list[ev.Event]]:
    """A session file with six sessions of eight turns; what is in it."""
    store = Store(path, folder="/somewhere")
    for number in range(6):
        turns = [
            event.model_copy(update={"session_id": f"session{number}", "turn": turn, "seq": turn * 20 + event.seq})
            for turn in range(8)
            for event in numbered(*TURN)
        ]
        await store.append(turns)
    await store.rename("session1", "Mine")
    there = {f"session{number}": await store.load(f"session{number}") for number in range(6)}
    await store.close()
    assert [path.name for path in path.parent.iterdir() if path.name.endswith("-wal")] == [], "the file is whole alone"
    return there


def break_pages(path: Path, pages: list[int]) -> None:
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * 4096 + 8)  # what kind of page it is still looks right
            file.write(b"\xa5" * 4000)


async def test_what_is_beside_broken_pages_can_be_read(tmp_path: Path) -> None:
    before = await filled(tmp_path / "sessions.db")
    for broken in (0.02, 0.1, 0.3):
        shares = [_share(tmp_path, before, broken, seed) for seed in range(20 if EXPLORING else 6)]
        assert statistics.median(shares) > 1 - 3 * broken, broken


def _share(folder: Path, before: dict[str, list[ev.Event]], broken: float, seed: int) -> float:
    """How much of a file can be read in which a share of the pages is broken."""
    pages = os.stat(folder / "sessions.db").st_size // 4096
    path = folder / f"{broken}-{seed}.db"
    path.write_bytes((folder / "sessions.db").read_bytes())
    break_pages(path, random.Random(seed).sample(range(1, pages), max(int(pages * broken), 1)))
    read = 0
    with Wreck(path) as wreck:
        for session_id in wreck.session_ids():
            events = wreck.session(session_id).events
            assert [event for event in events if event not in before[session_id]] == []
            assert [event.seq for event in events] == sorted({event.seq for event in events})
            read += len(events)
    return read / sum(map(len, before.values()))


async def test_sessions_of_a_damaged_file_that_can_be_read_are_in_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    before = await filled(path)
    with sqlite3.connect(path) as db:
        [[root]] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sessions'")
    db.close()
    break_pages(path, [root - 1])
    store, done = Store(path, folder="/elsewhere"), asyncio.Event()
    store.on_change = lambda: done.set() if store.salvaged is not None else None
    # In one of them the conversation goes on, and a part of an answer is there that no message holds yet.
    more = [
        ev.TurnStarted(session_id="session3", turn=9, seq=1000, prompt="and now"),
        ev.StepStarted(session_id="session3", turn=9, step=1, seq=1001),
        ev.TextDelta(session_id="session3", turn=9, step=1, seq=1002, text="Hello"),
    ]
    await store.append(more)
    assert store.problem is None
    assert store.set_aside is not None
    await asyncio.wait_for(done.wait(), PATIENCE)
    assert store.salvaged == 6
    before["session3"] += more
    assert {name: await store.load(name) for name in before} == before
    assert {info.turns for info in await store.sessions() if info.id != "session3"} == {8}
    assert len(await store.search("oslo")) > 6
    await store.close()


async def test_a_file_that_was_taken_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = Store(path)
    await store.append([ev.Notice(session_id="s", seq=1, text="before")])
    for file in tmp_path.iterdir():
        file.unlink()
    await store.append([ev.Notice(session_id="s", seq=2, text="after")])
    assert [event.seq for event in await store.load("s")] == [2]
    await store.close()


READ_ONLY = """
import asyncio, json, os, sys
from pathlib import Path
from console_app.domain import events as ev
from console_app.sessions.store import Store

async def main():
    folder = Path(sys.argv[1])
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    store = Store(folder / "sessions.db")
    await store.append([ev.TurnStarted(session_id="s", seq=1, turn=1, prompt="before")])
    await store.close()
    os.chmod(folder / "sessions.db", 0o400)
    os.chmod(folder, 0o500)
    store = Store(folder / "sessions.db", retry=0.02)
    titles = [info.title for info in await store.sessions()]
    back = asyncio.Event()
    await store.append([ev.Notice(session_id="s", seq=2, text="meanwhile")])
    reason = store.problem.reason
    store.on_change = back.set
    os.chmod(folder, 0o700)
    os.chmod(folder / "sessions.db", 0o600)
    await back.wait()
    print(json.dumps({"titles": titles, "reason": reason, "seqs": [event.seq for event in await store.load("s")]}))
    await store.close()

asyncio.run(main())
"""


def test_a_read_only_folder_can_be_read_and_is_written_once_it_may_be(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    if os.getuid() == 0:  # nothing is read-only to root: the script becomes nobody, who has to reach the folder
        os.chown(folder, NOBODY, NOBODY)
        for parent in (tmp_path, *tmp_path.parents):
            if parent == Path(tempfile.gettempdir()):
                break
            parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run([sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"titles": ["before"], "reason": "can't write", "seqs": [1, 2]}


async def test_a_folder_that_can_not_be_looked_into_is_said_and_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder is meant to be")
    store = Store(tmp_path / "home" / "data" / "sessions.db")
    with pytest.raises(StoreError, match="Not a directory"):
        await store.sessions(10)
    await store.close()


@given(st.lists(st.booleans(), min_size=60, max_size=60))
def test_a_session_with_holes_can_be_gone_on_with(kept: list[bool]) -> None:
    turns = [event.model_copy(update={"turn": turn}) for turn in (1, 2) for event in numbered(*TURN)]
    events = [event for event, there in zip(turns, kept, strict=False) if there]
    transcript = Transcript()
    for event in [*events, *closing_events(events)]:
        transcript.apply(event)
    assert transcript.turn is None or transcript.turn.outcome is not None or not events
    check_messages(normalise([*transcript.history, UserMessage(content="go on")]))
    for form in ("md", "html", "jsonl"):
        exported([*events, *closing_events(events)], form, "x")
