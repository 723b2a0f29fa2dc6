"""A full disk and a damaged file: said, survived, and nothing is lost once the disk is back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from console_app.domain import events as ev
from console_app.sessions.store import Store

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
