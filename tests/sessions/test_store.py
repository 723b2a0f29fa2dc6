"""Sessions on disk: what was stored comes back, disks fail without loss, and a dead turn is closed truthfully."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.events import DecidedBy, Decision
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.tools import Outcome, ToolCall
from console_app.domain.transcript import Transcript
from console_app.sessions import Recent, Store, tables
from console_app.sessions import database as schema
from console_app.sessions.database import StoreError
from console_app.sessions.recorder import to_store
from console_app.sessions.repair import closing_events
from tests.each import each


def numbered(*events: ev.Event, session: str = "s1") -> list[ev.Event]:
    return [
        event.model_copy(update={"session_id": session, "seq": n, "turn": 1, "step": 1, "at": 100.0 + n})
        for n, event in enumerate(events, 1)
    ]


def message(kind: UserMessage | AssistantMessage | ToolMessage) -> ev.MessageAdded:
    return ev.MessageAdded(**ev.MessageAdded.fields_of(kind))


CALLS = (ToolCall(id="a", name="calc_eval", arguments='{"x":1}'), ToolCall(id="b", name="calc_eval"))
TURN = [
    ev.SessionStarted(model="m", provider="p", protocol="native", strategy="agentic", policy="parallel"),
    ev.TurnStarted(prompt="Compare the weather in Oslo"),
    message(UserMessage(content="Compare the weather in Oslo")),
    ev.StepStarted(),
    ev.TextDelta(text="I'll look "),
    ev.TextDelta(text="that up."),
    ev.CallAnnounced(call_id="a", index=0, name="calc_eval", server="calc", tool="eval"),
    ev.CallReady(call_id="a", arguments={"x": 1}),
    ev.CallStarted(call_id="a"),
    ev.CallAnnounced(call_id="b", index=1, name="calc_eval", server="calc", tool="eval"),
    ev.CallReady(call_id="b", arguments={}),
    ev.CallStarted(call_id="b"),
    ev.CallFinished(call_id="b", outcome=Outcome.SUCCEEDED, content="minus four degrees"),
    message(AssistantMessage(content="I'll look that up.", tool_calls=CALLS)),
    ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="fine"),
    message(ToolMessage(tool_call_id="a", content="fine", name="calc_eval")),
    message(ToolMessage(tool_call_id="b", content="minus four degrees", name="calc_eval")),
    ev.TurnFinished(outcome="completed"),
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "data" / "sessions.db")


async def test_what_was_stored_comes_back_in_order(store: Store) -> None:
    events = numbered(*TURN)
    await store.append(to_store(events))
    assert await store.load("s1") == [event for event in events if not event.shown_only]
    info = await store.find("s1")
    assert (info.title, info.model, info.turns) == ("Compare the weather in Oslo", "m", 1)
    await store.close()


def turn_at(session: str, at: float) -> list[ev.Event]:
    return [event.model_copy(update={"at": at}) for event in to_store(numbered(*TURN, session=session))]


async def test_a_session_of_a_clock_that_was_wrong_is_not_the_newest_until_that_day(
    store: Store, tmp_path: Path
) -> None:
    now = time.time()
    await store.append(turn_at("ahead", now + 10 * 365 * 86400))
    await store.append(turn_at("a-little-ahead", now + 60))  # set back since, by a little
    await store.append(turn_at("today", now))
    assert [one.id for one in await store.sessions(9)] == ["a-little-ahead", "today", "ahead"]
    with closing(sqlite3.connect(tmp_path / "data" / "sessions.db")) as db:
        assert [short for short, _ in Recent(db, 9).sessions()] == ["a-little", "today", "ahead"]
    again = [event.model_copy(update={"seq": event.seq + 100}) for event in turn_at("ahead", now + 120)]
    await store.append(again)  # and goes on
    assert [one.id for one in await store.sessions(9)] == ["ahead", "a-little-ahead", "today"]
    await store.close()


async def test_files_are_for_their_owner_alone(store: Store, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        await store.append(numbered(*TURN))
    finally:
        os.umask(old)
    for path in (tmp_path / "data").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    await store.close()


async def test_search_finds_what_was_said_and_what_was_returned(store: Store) -> None:
    await store.append(numbered(*TURN))
    await store.append(numbered(ev.TurnStarted(prompt="other"), message(UserMessage(content="other")), session="s2"))
    assert {hit.session_id for hit in await store.search("weath osl")} == {"s1"}
    assert [hit.role for hit in await store.search("minus degrees")] == ["tool"]
    assert await store.search('"; drop table') == []
    assert await store.search("") == []
    await store.delete("s1")
    assert await store.search("weather") == []
    await store.close()


async def test_a_fork_has_its_own_life(store: Store) -> None:
    await store.append(numbered(*TURN))
    fork = await store.fork("s1")
    await store.append([ev.TurnStarted(session_id=fork, seq=99, turn=2, prompt="more")])
    assert len(await store.load(fork)) == len(await store.load("s1")) + 1
    assert (await store.find(fork)).parent == "s1"
    await store.rename(fork, "Mine")
    assert (await store.find(fork)).title == "Mine"
    start = await store.fork("s1", up_to=1)
    assert [event.type for event in await store.load(start)] == ["session.started"]
    await store.close()


@each("cut", range(3, len(TURN)))
def test_a_turn_cut_anywhere_is_closed_truthfully(cut: int) -> None:
    events = numbered(*TURN[:cut])
    kept = to_store(events)
    closing = closing_events(kept)
    whole = Transcript()
    for event in [*kept, *closing]:
        whole.apply(event)
    assert whole.turn is not None
    assert whole.turn.outcome == "cancelled"
    assert all(call.outcome is not None for call in whole.calls.values())
    results = [m.tool_call_id for m in whole.history if isinstance(m, ToolMessage)]
    asked = [c.id for m in whole.history if isinstance(m, AssistantMessage) for c in m.tool_calls]
    assert results == asked
    if cut >= 5:
        assert any(isinstance(m, AssistantMessage) and m.content.startswith("I'll look") for m in whole.history)
    assert closing_events([*kept, *closing]) == []


def test_a_call_that_was_cut_off_joins_as_its_model_wrote_it() -> None:
    edit = ev.ApprovalResolved(call_id="a", decision=Decision.ALLOW, by=DecidedBy.USER, arguments={"x": 2})
    events = numbered(*TURN[:8], edit, ev.CallStarted(call_id="a"))
    whole = Transcript.of([*events, *closing_events(events)])
    (call,) = [call for m in whole.history if isinstance(m, AssistantMessage) for call in m.tool_calls]
    assert (call.arguments, call.model, call.whole) == ('{"x": 1}', "p/m", True)
    assert whole.calls["a"].arguments == {"x": 2}


def test_a_turn_that_ended_needs_nothing() -> None:
    assert closing_events(numbered(*TURN)) == []
    assert closing_events([]) == []


async def test_a_damaged_file_is_set_aside_and_never_overwritten(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database, but it is yours" * 100)
    await store.append(numbered(*TURN))
    assert store.problem is None
    assert store.set_aside is not None
    assert store.set_aside.read_bytes().startswith(b"this is no database")
    assert len(await store.load("s1")) > 5
    await store.close()


async def test_a_newer_file_is_left_alone_and_the_conversation_goes_on(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    before = path.read_bytes()
    await store.append(numbered(*TURN))
    assert store.problem is not None
    assert "newer Fanout" in store.problem.line
    assert path.read_bytes() == before
    await store.close()


async def test_what_could_not_be_written_is_written_when_the_disk_is_back(tmp_path: Path) -> None:
    blocked = tmp_path / "home"
    blocked.write_text("a file where a folder is wanted")
    store = Store(blocked / "sessions.db")
    events = numbered(*TURN)
    await store.append(events[:4])
    assert store.problem is not None
    blocked.unlink()
    await store.append(events[4:])
    assert await store.flush()
    assert store.problem is None
    assert len(await store.load("s1")) == sum(not event.shown_only for event in events)
    await store.close()


async def test_a_locked_file_keeps_events_until_it_is_free(store: Store, tmp_path: Path) -> None:
    events = numbered(*TURN)
    await store.append(events[:4])
    other = sqlite3.connect(tmp_path / "data" / "sessions.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    await store.append(events[4:8])
    assert store.problem is not None
    other.execute("ROLLBACK")
    other.close()
    await store.append(events[8:])
    assert await store.flush()
    assert store.problem is None
    assert [event.seq for event in await store.load("s1")] == [event.seq for event in events if not event.shown_only]
    await store.close()


KILLED = """
import asyncio, sys
from pathlib import Path
from console_app.domain import events as ev
from console_app.sessions.store import Store

async def main():
    store = Store(Path(sys.argv[1]))
    for seq in range(1, 100000):
        await store.append([ev.Notice(session_id="s", seq=seq, text="shown")])
        print(seq, flush=True)

asyncio.run(main())
"""


def killed_after(path: Path, lines: int) -> int:
    """Kills a process that appends once it has shown so many events; how many it had shown by then."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        return lines + len(process.stdout.read().split())


@each("lines", [1, 7, 40])
async def test_kill_9_loses_nothing_that_was_shown(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "sessions.db"
    shown = killed_after(path, lines)
    store = Store(path)
    assert [event.seq for event in await store.load("s")][:shown] == list(range(1, shown + 1))
    await store.close()


async def test_an_unknown_session_says_where_to_look(store: Store) -> None:
    with pytest.raises(StoreError, match="fanout sessions list"):
        await store.find("nothing")
    await store.close()


deltas = st.one_of(
    st.builds(ev.TextDelta, text=st.text(max_size=5)),
    st.builds(ev.ReasoningDelta, text=st.text(max_size=5)),
    st.builds(ev.CallArguments, call_id=st.sampled_from("ab"), delta=st.text(max_size=5)),
    st.builds(ev.Notice, text=st.text(max_size=3)),
    st.builds(ev.CallProgress, call_id=st.sampled_from("ab"), progress=st.floats(0, 1)),
)


@given(st.lists(deltas, max_size=30))
def test_joining_deltas_changes_no_text(events: list[ev.Event]) -> None:
    def told(some: list[ev.Event]) -> list[tuple[str, str]]:
        return [
            (event.type + getattr(event, "call_id", ""), getattr(event, "text", "") or getattr(event, "delta", ""))
            for event in some
            if not isinstance(event, ev.CallProgress)
        ]

    def folded(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        out: list[tuple[str, str]] = []
        for kind, text in pairs:
            if out and out[-1][0] == kind and kind != "notice":
                out[-1] = (kind, out[-1][1] + text)
            else:
                out.append((kind, text))
        return out

    # Progress between two deltas does not keep them apart: it is dropped.
    assert folded(told(to_store(events))) == folded(told(events))


def test_what_a_message_leaves_of_its_drafts_is_found_by_looking_at_each_event_once() -> None:
    """An answer of many large calls was looked through once for each of its calls."""
    looked = 0

    def json_extract(text: str, path: str) -> object:
        nonlocal looked
        looked += 1
        return json.loads(text).get(path.removeprefix("$."))

    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db)
    db.create_function("json_extract", 2, json_extract, deterministic=True)
    calls = [f"call_{n}" for n in range(200)]
    shown = [
        event
        for id in calls
        for event in (ev.CallArguments(call_id=id, delta="{}"), ev.CallReady(call_id=id, arguments={}))
    ]
    broken = ev.CallArguments(call_id="broken off", delta='{"x"')
    asked = tuple(ToolCall(id=id, name="calc_eval") for id in calls)
    events = numbered(*shown, broken, message(AssistantMessage(content="", tool_calls=asked)))
    tables.append(db, events, "")
    assert [event for event in tables.events_of(db, "s1") if event.type == "call.arguments"] == [events[-2]]
    assert db.execute("SELECT count(*) FROM drafts").fetchone() == (0,)
    assert looked < 10 * len(calls)
    db.close()


def test_of_long_arguments_only_the_beginning_is_searched() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db)
    text = json.dumps({"text": "first " + "between " * 10_000 + "last"})
    asked = (ToolCall(id="a", name="calc_eval", arguments=text),)
    tables.append(db, numbered(message(AssistantMessage(content="", tool_calls=asked))), "")
    assert len(tables.search(db, "first", 9)) == 1
    assert tables.search(db, "last", 9) == []
    db.close()
