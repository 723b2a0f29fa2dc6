"""A call that may have changed something never runs twice by itself, however the run was ended."""

from __future__ import annotations

import signal

from tests.batch.journal import Journal
from tests.patience import PATIENCE, until_there
from tests.program.process import Fanout


def test_after_kill_minus_9_what_had_begun_to_change_something_is_not_run_again(program: Fanout) -> None:
    journal = Journal(program)
    journal.write(("change", "quick"), ("change", "wait-c"), ("look", "wait-l"))
    process = program.start(*journal.arguments())
    journal.wait("wait-c", "wait-l")
    until_there(lambda: "quick" in journal.statuses(), "the result of quick")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    journal.go()
    again = program.run(*journal.arguments())
    assert again.code == 1, again.err
    assert "wait-c: cut short after it began a call that may change something" in again.err
    assert journal.begun()["wait-c"] == 1
    assert journal.begun()["wait-l"] == 2
    assert journal.statuses()["wait-c"] == "interrupted"
    assert journal.statuses()["wait-l"] == "completed"
    assert journal.begun()["quick"] == 1
    assert not journal.notes.exists()
    assert program.run(*journal.arguments("--retry", "failed")).code == 1
    assert journal.begun()["wait-c"] == 1
    asked = program.run(*journal.arguments("--rerun-changes"))
    assert asked.code == 0, asked.err
    assert journal.begun()["wait-c"] == 2
    assert journal.statuses()["wait-c"] == "completed"
    assert not journal.notes.exists()


def test_an_interrupt_tells_apart_what_may_have_changed_something(program: Fanout) -> None:
    journal = Journal(program)
    journal.write(("change", "wait-c"), ("look", "wait-l"))
    process = program.start(*journal.arguments())
    journal.wait("wait-c", "wait-l")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert journal.statuses() == {"wait-c": "interrupted"}
    assert not journal.notes.exists()


def test_a_change_that_cannot_be_noted_does_not_start(program: Fanout) -> None:
    journal = Journal(program)
    journal.write(("change", "a"), ("look", "b"))
    journal.notes.symlink_to(program.cwd / "nowhere" / "notes")
    done = program.run(*journal.arguments())
    assert done.code == 1
    assert journal.begun() == {"b": 1}
    assert journal.statuses() == {"a": "failed", "b": "completed"}
