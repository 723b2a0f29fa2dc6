"""Full and read-only disks, two consoles on one session, a clock that is set: one line says it, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console_app.domain import events as ev
from console_app.sessions import Store
from tests.faults.small_disk import SmallDisk, small_disk
from tests.patience import PATIENCE
from tests.program.process import Done, Fanout
from tests.program.terminal import Terminal

OFFLINE = ("--no-mcp", "-m", "offline/rehearsal")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def on(disk: SmallDisk, tmp_path: Path) -> Fanout:
    fanout = Fanout(tmp_path)
    fanout.home = disk.path / "home"
    return fanout


def said(fanout: Fanout, prompt: str) -> Done:
    return fanout.run("run", *OFFLINE, prompt)


def titles(fanout: Fanout) -> list[str]:
    done = fanout.run("sessions", "list", "--jsonl")
    assert (done.code, done.err) == (0, "")
    return sorted(one["title"] for one in done.events)


async def test_a_full_disk_is_told_and_all_is_written_once_there_is_room(disk: SmallDisk) -> None:
    store, told = Store(disk.path / "sessions.db", retry=0.02), asyncio.Event()
    await store.append([ev.Notice(session_id="s", seq=1, text="before")])
    with disk.full():
        await store.append([ev.Notice(session_id="s", seq=seq, text="x" * 9000) for seq in range(2, 60)])
        assert store.problem is not None
        assert store.problem.reason == "disk full"
        assert store.waiting > 0
        store.on_change = told.set
    await asyncio.wait_for(told.wait(), PATIENCE)
    assert store.problem is None
    assert [event.seq for event in await store.load("s")] == list(range(1, 60))
    await store.close()


def test_a_run_on_a_full_disk_answers_and_says_that_it_is_not_kept(disk: SmallDisk, tmp_path: Path) -> None:
    fanout = on(disk, tmp_path)
    assert said(fanout, "before").code == 0
    with disk.full():
        done = said(fanout, "meanwhile")
        assert done.code == 0
        assert "offline rehearsal model" in done.out
        assert [line.partition(":")[0] for line in done.err.splitlines()] == ["Sessions", "Sessions"]
        assert "Free some space" in done.err
        assert "this run is not kept" in done.err
        assert titles(fanout) == ["before"], "what is there can be read"
    assert said(fanout, "after").err == ""
    assert titles(fanout) == ["after", "before"]


def test_a_read_only_home_can_be_read_and_used(disk: SmallDisk, tmp_path: Path) -> None:
    fanout = on(disk, tmp_path)
    assert said(fanout, "before").code == 0
    disk.read_only(True)
    done = said(fanout, "meanwhile")
    assert done.code == 0
    assert "Check who may write there" in done.err
    assert "Traceback" not in done.err
    assert titles(fanout) == ["before"]
    disk.read_only(False)
    assert said(fanout, "after").err == ""
    assert titles(fanout) == ["after", "before"]


def test_the_console_on_a_read_only_home_says_not_saved_and_answers(disk: SmallDisk, tmp_path: Path) -> None:
    fanout = on(disk, tmp_path)
    assert said(fanout, "before").code == 0
    disk.read_only(True)
    env = fanout.environment({"TERM": "xterm-256color"})
    with Terminal(fanout.argv(*OFFLINE, "--", "hello"), env=env, cwd=fanout.cwd) as terminal:
        terminal.expect("offline rehearsal model")
        terminal.expect("not saved")
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
    disk.read_only(False)


def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    assert said(fanout, "before").code == 0
    size = (fanout.home / "data" / "sessions.db").stat().st_size

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

    done = fanout.run("run", *OFFLINE, "meanwhile", preexec_fn=limited)
    assert done.code == 0, done.err
    assert "this run is not kept" in done.err
    assert titles(fanout) == ["before"]


def test_two_consoles_on_one_session(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    assert said(fanout, "before").code == 0
    env = fanout.environment({"TERM": "xterm-256color"})
    with Terminal(fanout.argv(*OFFLINE, "-c", "in the first"), env=env, cwd=fanout.cwd) as first:
        first.expect("offline rehearsal model[^$]*offline rehearsal model")
        done = fanout.run("run", *OFFLINE, "-c", "in the second")
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert "open in another console" in done.err
        first.signal(signal.SIGKILL)
        first.wait_exit()
    done = fanout.run("run", *OFFLINE, "-c", "in the third")
    assert done.code == 0, "a killed console holds nothing"
    [session] = fanout.run("sessions", "list", "--jsonl").events
    assert session["turns"] == 3


JUMPING = """
import sys, time
real, jumps, calls = time.time, [0, -86_400 * 400, 86_400 * 400, -3_600, 3_600], [0]
def jumping():
    calls[0] += 1
    return real() + jumps[calls[0] % len(jumps)]
time.time = jumping
from console_app.cli import main
sys.argv[0] = 'fanout'
main()
"""


def test_a_clock_that_jumps_both_ways_moves_no_event(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    arguments = ["run", "-m", "offline/rehearsal", "--approval-mode", "yolo", "--output-format", "stream-json"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", JUMPING, *arguments, "compute 6*7 and 7*8"],
        cwd=fanout.cwd,
        env=fanout.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    times = [event["at"] for event in events]
    assert times == sorted(times)
    assert times[-1] - times[0] < PATIENCE
    assert [
        event for event in events if event["type"] == "call.finished" and event["duration_ms"] > 1000 * PATIENCE
    ] == []
    assert len(titles(fanout)) == 1
