"""Runs as processes of their own: killed at any instant, interrupted, looked at and stopped from another terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.batch.conftest import results
from tests.batch.models import calculating
from tests.patience import PATIENCE, until_there
from tests.program.process import Fanout
from tests.wire_bytes import Answer, Text
from tests.wire_server import Gate, Reply, Request, WireServer

COUNT = 30


class Gated:
    """Answers until `most` items have had theirs; the rest waits at a gate until it is opened."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.gate = Gate()
        self.answered: Counter[str] = Counter()
        self.waiting = 0

    def __call__(self, prompt: str, request: Request) -> Answer | Reply | None:
        if sum(self.answered.values()) >= self.most:
            self.waiting += 1
            return Reply([self.gate])
        self.answered[prompt] += 1
        return Answer(Text(f"answer to {prompt}"))


def arguments(server: WireServer, *more: str) -> tuple[str, ...]:
    model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"), "--no-mcp")
    return ("batch", "items.txt", "-o", "r.jsonl", "--jobs", "4", *model, *more)


def write_items(program: Fanout) -> Path:
    program.write("items.txt", "".join(f"p{n}\n" for n in range(COUNT)))
    return program.cwd / "r.jsonl"


def wait_until_held(path: Path, gated: Gated) -> None:
    """Waits until all that may be answered is written and each of the four jobs waits at the gate.

    A request that the server reads only after its process was killed would count as answered.
    """
    wait_for_lines(path, gated.most)
    until_there(lambda: gated.waiting == 4, "four requests at the gate")


def wait_for_lines(path: Path, count: int) -> None:
    """Waits until the file has that many lines."""
    until_there(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"{count} lines in {path.name}")


def wait_for_status(program: Fanout, fact: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
    """Return the status of the run once it is so."""
    told: dict[str, Any] = {}

    def there() -> bool:
        told.update(json.loads(program.run("batch", "status", "r", "--jsonl").out or "{}"))
        return fact(told)

    until_there(there, what)
    return told


def end(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said.decode()


def test_kill_minus_9_loses_what_was_in_flight_and_runs_nothing_twice(program: Fanout) -> None:
    path = write_items(program)
    gated = Gated(11)
    with WireServer(calculating(gated)) as server:
        process = program.start(*arguments(server))
        wait_until_held(path, gated)
        process.send_signal(signal.SIGKILL)
        end(process)
        done = set(results(path))
        with path.open("ab") as file:
            file.write(b'{"version":1,"id":"12","item":"ab')  # a write that was cut short
        gated.most = COUNT * 2
        gated.gate.open()
        again = program.run(*arguments(server))
    assert again.code == 0
    there = results(path)
    assert {one["answer"] for one in there.values()} == {f"answer to p{n}" for n in range(COUNT)}
    assert len(done) == 11
    assert path.read_bytes().count(b"\n") == COUNT
    assert set(gated.answered.values()) == {1}
    assert "30 of 30 items done (11 from before): 19 completed." in again.err


def test_an_interrupt_keeps_what_is_done_and_leaves_the_rest_for_the_next_time(program: Fanout) -> None:
    path = write_items(program)
    gated = Gated(5)
    with WireServer(calculating(gated)) as server:
        process = program.start(*arguments(server))
        wait_until_held(path, gated)
        process.send_signal(signal.SIGINT)
        code, said = end(process)
        assert code == 130
        assert "5 of 30 items done: 5 completed." in said
        assert "Stopped: interrupted." in said
        assert "Traceback" not in said
        assert len(results(path)) == 5
        gated.most = COUNT * 2
        gated.gate.open()
        assert program.run(*arguments(server)).code == 0
    assert set(gated.answered.values()) == {1}
    assert len(results(path)) == COUNT


def test_an_interrupt_while_items_are_read_is_heard(program: Fanout) -> None:
    items = program.cwd / "items.txt"
    os.mkfifo(items)
    process = program.start("batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", "--no-mcp")
    with items.open("w"):  # which waits for its reader
        process.send_signal(signal.SIGINT)
        code, said = end(process)
    assert (code, said) == (130, "fanout: Interrupted.\n")


def test_a_run_is_seen_and_stopped_from_another_terminal(program: Fanout) -> None:
    path = write_items(program)
    with WireServer(calculating(Gated(3))) as server:
        process = program.start(*arguments(server))
        wait_for_lines(path, 3)
        server.wait_requests(3 + 4)
        told = wait_for_status(
            program, lambda told: told["counts"] == {"completed": 3} and len(told["running"]) == 4, "4 that run"
        )
        assert (told["state"], told["pid"]) == ("running", process.pid)
        shown = program.run("batch", "show", "r").out
        assert "3/30 done" in shown
        assert "openai/test-model" not in shown.splitlines()[0]
        assert program.run("batch", "stop", "r").out == "r: asked to stop.\n"
        code, said = end(process)
    assert code == 130
    assert "Stopped: asked to, from another terminal." in said
    assert json.loads(program.run("batch", "status", "r", "--jsonl").out)["state"] == "ended"
    assert program.run("batch", "stop", "r").code == 2


def test_a_run_that_was_killed_is_told_as_ended(program: Fanout) -> None:
    path = write_items(program)
    with WireServer(calculating(Gated(1))) as server:
        process = program.start(*arguments(server))
        wait_for_lines(path, 1)
        process.send_signal(signal.SIGKILL)
        end(process)
    shown = program.run("batch", "show", "r")
    assert "its process was ended from outside" in shown.out


def test_two_runs_on_one_file_are_told_apart(program: Fanout) -> None:
    path = write_items(program)
    with WireServer(calculating(Gated(1))) as server:
        process = program.start(*arguments(server))
        wait_for_lines(path, 1)
        other = program.run(*arguments(server))
        process.send_signal(signal.SIGTERM)
        code, _ = end(process)
    assert (other.code, code) == (1, 130)
    assert "another run writes to" in other.err


def test_a_pipe_gets_a_line_for_what_changes(program: Fanout) -> None:
    path = write_items(program)
    gated = Gated(COUNT)
    with WireServer(calculating(gated)) as server:
        process = program.start(*arguments(server))
        code, said = end(process)
    assert code == 0
    assert len(results(path)) == COUNT
    lines = said.splitlines()
    assert lines[0].startswith("0/30 done")
    assert os.linesep.join(lines).isprintable() or all(line.isprintable() for line in lines)


def test_an_endpoint_that_wants_a_rest_is_told_of(program: Fanout) -> None:
    write_items(program)

    def odd(prompt: str, request: Request) -> Reply:
        return Reply.json({"error": {"message": "slow down"}}, 429, {"retry-after": "50"})

    with WireServer(calculating(odd)) as server:
        process = program.start(*arguments(server))
        told = wait_for_status(program, lambda told: bool(told.get("paused")), "a rest")
        process.send_signal(signal.SIGINT)
        _, said = end(process)
    assert 1 < told["paused"] <= 50
    assert " · asked to wait " in said
