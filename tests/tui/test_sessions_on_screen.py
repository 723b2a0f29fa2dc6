"""Sessions in the console: they come back as they were, are found, forked, undone, exported; faulty disks are told."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from console_app.domain import call_description
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate
from console_app.sessions import Library, Replay, Store
from console_app.tui.lineview import CallBlock
from console_app.tui.main_screen import console_ui
from console_app.tui.main_screen.screen import ChatScreen
from tests.each import each
from tests.sessions.test_told_alike import TEXT, session
from tests.tui.parts import (
    NOW,
    Tools,
    WrittenModel,
    app,
    calls,
    chat,
    decide,
    echo,
    enter,
    say,
    see,
    see_open,
    seen,
    until,
)
from tests.tui.stored import library

pytestmark = pytest.mark.usefixtures("closed_libraries")

TOOLS = Tools({("lab", "echo"): echo})


def console(
    folder: Path, model: WrittenModel | None = None, kept: Library | None = None, tools: Tools = TOOLS, **more: Any
):
    """A console that keeps its sessions under `folder`, as a process of its own would."""
    kept = kept or library(folder)
    return app(folder, model, tools, store=kept, library=kept, close=kept.close, **more)


def conversation(pilot: Any) -> str:
    """Everything in the conversation, whatever is on screen of it."""
    view = chat(pilot.app).view
    return "\n".join(
        "".join(segment.text for segment in line).rstrip()
        for block in view.blocks
        for line in block.render(90, view.palette, NOW)
    )


async def talk(folder: Path, *prompts: str, model: WrittenModel | None = None, tools: Tools = TOOLS) -> tuple[str, str]:
    """A whole console: says `prompts`, leaves, and gives the session's id and what was on screen."""
    kept = library(folder)
    running = console(folder, model, kept, tools)
    async with running.run_test(size=(100, 40)) as pilot:
        for number, prompt in enumerate(prompts, 1):
            await enter(pilot, prompt)
            await until(
                pilot, lambda n=number: sum(t.outcome is not None for t in chat(running).ui.shown.transcript.turns) == n
            )
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        shown, session = conversation(pilot), kept.session_id
    await kept.close()
    return session, shown


async def test_a_session_comes_back_as_it_was_and_the_model_knows_it(tmp_path: Path) -> None:
    two = calls(("lab_echo", '{"n": 1}'), ("lab_echo", '{"n": 2}'), text="I look.")
    first = WrittenModel(two, say("**Two** came."))
    session, shown = await talk(tmp_path, "look", model=first)
    model = WrittenModel(say("Yes, both."), model="another-model")
    async with console(tmp_path, model, resume=session).run_test(size=(100, 40)) as pilot:
        await see(pilot, "Two came.")
        hint = "ctrl+t shows how they ran."  # said once a console, and part of no session
        assert conversation(pilot) == shown.removesuffix(f"\n\n · {hint}")
        await pilot.press(*"sure", "enter")
        await see(pilot, "Yes, both.")
        roles = [message.role for message in model.requests[0].messages]
        assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
    kept = library(tmp_path)
    events = await kept.store.load(session)
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    assert [event.turn for event in events if event.type == "turn.started"] == [1, 2]
    assert (await kept.store.find(session)).model == "another-model"
    await kept.close()


async def test_sessions_are_listed_found_by_what_was_said_and_opened(tmp_path: Path) -> None:
    await talk(tmp_path, "alpha", model=WrittenModel(say("The capital of Norway is Oslo.")))
    await talk(tmp_path, "beta", model=WrittenModel(say("Water boils at 100 degrees.")))
    async with console(tmp_path).run_test(size=(100, 30)) as pilot:
        await enter(pilot, "/sessions")
        await see(pilot, "2 sessions")
        assert "alpha" in seen(pilot.app)
        await pilot.press(*"norw")
        await see(pilot, "1 found")
        assert "The capital of Norway is Oslo." in seen(pilot.app)
        await until(pilot, lambda: "beta" not in seen(pilot.app), "the preview of what was found")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))
        await see(pilot, "The capital of Norway is Oslo.")


async def test_rename_and_delete_in_the_list(tmp_path: Path) -> None:
    await talk(tmp_path, "alpha")
    async with console(tmp_path).run_test(size=(100, 30)) as pilot:
        await enter(pilot, "/sessions")
        await see(pilot, "1 session")
        await pilot.press("f2")
        await see(pilot, "Rename")
        await pilot.press(*"gamma", "enter")
        await see(pilot, "gamma")
        await pilot.press("f8")
        await see(pilot, "Delete “gamma”?")
        await pilot.press("enter")
        await see(pilot, "gamma")
        await pilot.press("f8")
        await see(pilot, "Delete “gamma”?")
        await pilot.press("down", "enter")
        await see(pilot, "no saved sessions yet")


async def test_undo_takes_the_turn_from_screen_and_history_but_not_from_disk(tmp_path: Path) -> None:
    model = WrittenModel(say("One."), say("Two."), say("Three."))
    kept = library(tmp_path)
    running = console(tmp_path, model, kept)
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "One.")
        await pilot.press(*"second", "enter")
        await see(pilot, "Two.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        await enter(pilot, "/undo")
        await until(pilot, lambda: "Two." not in seen(running))
        await until(pilot, lambda: chat(running).prompt.text == "second")
        await pilot.press(*" again", "enter")
        await see(pilot, "Three.")
        said = [message.content for message in model.requests[2].messages]
        assert said == ["first", "One.", "second again"]
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        session = kept.session_id
    await kept.close()
    kept = library(tmp_path)
    assert any(getattr(event, "content", "") == "Two." for event in await kept.store.load(session))
    async with console(tmp_path, kept=kept, resume=session).run_test(size=(100, 40)) as pilot:
        await see_open(pilot, "Three.")
        assert "Two." not in conversation(pilot)
        assert [m.content for m in pilot.app.screen.services.engine.history] == [*said, "Three."]


async def test_a_fork_goes_on_from_a_message_and_leaves_the_other_alone(tmp_path: Path) -> None:
    kept = library(tmp_path)
    running = console(tmp_path, WrittenModel(say("One."), say("Two."), say("Three.")), kept)
    async with running.run_test(size=(100, 40), notifications=True) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "One.")
        await pilot.press(*"second", "enter")
        await see(pilot, "Two.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        session = kept.session_id
        await enter(pilot, "/fork")
        await see(pilot, "before: second")
        await pilot.press(*"second", "enter")
        await until(pilot, lambda: chat(running).prompt.text == "second")
        await see(pilot, "A copy goes on here. /sessions has the session it was made of.")
        assert "Two." not in conversation(pilot)
        assert kept.session_id != session
        await pilot.press("enter")
        await see(pilot, "Three.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        assert (await kept.store.find(kept.session_id)).parent == session
        assert any(getattr(event, "content", "") == "Two." for event in await kept.store.load(session))


async def test_export_writes_a_file_that_was_not_there(tmp_path: Path) -> None:
    running = console(tmp_path, WrittenModel(say("One.")))
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "One.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        for form in ("md", "html", "jsonl"):
            for name in ("out", "out-2"):
                await enter(pilot, f"/export {form} out.{form}")
                await until(pilot, (tmp_path / f"{name}.{form}").exists)
            assert "One." in (tmp_path / f"out.{form}").read_text(), form
            assert (tmp_path / f"out.{form}").stat().st_mode & 0o777 == 0o600, form


async def test_a_command_right_behind_an_export_does_not_end_it(tmp_path: Path) -> None:
    disk = asyncio.Event()

    class SlowDisk(Store):
        async def load(self, session_id: str) -> Any:
            await disk.wait()
            return await super().load(session_id)

    store = SlowDisk(tmp_path / "data" / "sessions.db", folder=str(tmp_path), retry=0.02)
    running = console(tmp_path, WrittenModel(say("One.")), Library(store, tmp_path / "data" / "locks"))
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "One.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        await enter(pilot, "/export md a.md")
        await enter(pilot, "/export html b.html")
        disk.set()
        await until(pilot, lambda: (tmp_path / "a.md").exists() and (tmp_path / "b.html").exists())


async def test_new_begins_a_session_of_its_own(tmp_path: Path) -> None:
    kept = library(tmp_path)
    running = console(tmp_path, WrittenModel(say("One."), say("Two.")), kept)
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "One.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        await pilot.press(*"/new", "enter", *"second", "enter")
        await see(pilot, "Two.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        assert [info.title for info in await kept.store.sessions()] == ["second", "first"]


def copy_as_killed(folder: Path, kept: Library) -> str:
    """Copies to `killed` what is on disk now, which is what kill -9 would leave. Gives the id of the session."""
    source = sqlite3.connect(folder / "data" / "sessions.db")
    (folder / "killed" / "data").mkdir(parents=True)
    target = sqlite3.connect(folder / "killed" / "data" / "sessions.db")
    source.backup(target)
    source.close()
    target.close()
    return kept.session_id


async def test_a_cut_answer_comes_back_marked_and_nothing_runs_again(tmp_path: Path) -> None:
    kept = library(tmp_path)
    model = WrittenModel([TextChunk("Half an ans"), asyncio.Event(), FinishChunk("stop")])
    running = console(tmp_path, model, kept)
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"tell", "enter")
        await see(pilot, "Half an ans")
        session = copy_as_killed(tmp_path, kept)
    model = WrittenModel(say("The whole answer."))
    async with console(tmp_path / "killed", model, resume=session).run_test(size=(100, 40)) as pilot:
        await see(pilot, "cut off here")
        await see(pilot, "The console ended before this turn did.")
        assert not model.requests
        await pilot.press(*"go on", "enter")
        await see(pilot, "The whole answer.")
        assert [m.content for m in model.requests[0].messages] == ["tell", "Half an ans", "go on"]


async def test_one_key_runs_all_that_was_cut_off_again_and_each_asks(tmp_path: Path) -> None:
    kept, ran = library(tmp_path), list[str]()
    gate = asyncio.Event()

    async def work(invocation: Invocation, _reporter: CallReporter) -> str:
        ran.append(str(invocation.arguments["n"]))
        if invocation.arguments["n"] != "done":
            await gate.wait()
        return f"did {invocation.arguments['n']}"

    tools = Tools({("lab", "work"): work})
    three = calls(*(("lab_work", json.dumps({"n": n})) for n in ("done", "one", "two")))
    running = console(tmp_path, WrittenModel(three), kept, tools=tools)
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(ran) == 3 and "did done" in seen(running), "one is done, and two run")
        session = copy_as_killed(tmp_path, kept)
    ran.clear()
    gate.set()
    again = console(tmp_path / "killed", WrittenModel(), resume=session, tools=tools)
    async with again.run_test(size=(100, 40), notifications=True) as pilot:
        await see(pilot, "2 calls were cut off: /retry runs them again.")
        await see_open(pilot, "The console ended before this turn did.")
        assert seen(again).count("The console ended before this turn did") == 1  # said once, under the turn
        assert "cut off here" not in seen(again)  # the answer itself had come whole
        for key in ("alt+1", "alt+3"):  # one that was done, and one that was cut off
            await pilot.press(key)
            cursor = chat(again).view.cursor
            assert isinstance(cursor, CallBlock)
            assert cursor.allows("retry_all")
        await decide(pilot, "R")
        await see(pilot, "2 need you")
        assert not ran
        board = chat(again).boards.approvals
        board.focus()
        await until(pilot, lambda: board.has_focus)
        await decide(pilot, "Y")
        await until(pilot, lambda: not chat(again).console.conversation.busy and len(ran) == 2, "both ran")
        assert sorted(ran) == ["one", "two"]
        await see(pilot, "did two")
        await pilot.press("escape", *"/retry", "enter")
        await see(pilot, "No call of the last turn was cut off.")
        notes = [m.content for m in chat(again).console.conversation.engine.history if m.role == "user"]
        assert notes[-1].count("I ran lab.work again") == 2


async def test_a_session_that_is_open_elsewhere_is_read_or_forked(tmp_path: Path) -> None:
    session, _ = await talk(tmp_path, "alpha", model=WrittenModel(say("One.")))
    other = library(tmp_path)
    await other.open(session)
    kept = library(tmp_path)
    model = WrittenModel(say("Two."))
    running = console(tmp_path, model, kept, resume=session, prompt="early")
    async with running.run_test(size=(100, 40), notifications=True) as pilot:
        await see(pilot, "is open in another console")
        await pilot.press("down", "enter")
        await see(pilot, "One.")
        assert "read only" in seen(running)
        await until(pilot, lambda: chat(running).prompt.text == "early")
        assert not model.requests
        await pilot.press("ctrl+c", *"hello", "enter")
        await see(pilot, "This session is open to read only.")
        assert chat(running).prompt.text == "hello"
        await pilot.press("ctrl+c", *f"/resume {session[:6]}", "enter")
        await see(pilot, "is open in another console")
        await pilot.press("enter")
        await until(pilot, lambda: kept.session_id not in ("", session))
        await until(pilot, lambda: "read only" not in seen(running))
        await pilot.press(*"on", "enter")
        await see(pilot, "Two.")
        assert await other.is_free(kept.session_id) is False
    await other.close()


async def test_a_locked_file_is_told_at_once_and_written_when_it_is_free(tmp_path: Path) -> None:
    kept = library(tmp_path)
    await kept.store.check()
    holder = sqlite3.connect(tmp_path / "data" / "sessions.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    running = console(tmp_path, WrittenModel(say("One."), say("Two.")), kept)
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "! not saved: file locked")
        await see(pilot, "One.")
        holder.execute("ROLLBACK")
        holder.close()
        await until(pilot, lambda: "not saved" not in seen(running))
        await see(pilot, "Sessions are written again")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        events = await kept.store.load(kept.session_id)
        assert [event.type for event in events][-1] == "turn.finished"


async def test_a_newer_file_is_told_and_the_conversation_goes_on(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with sqlite3.connect(tmp_path / "data" / "sessions.db") as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    async with console(tmp_path, WrittenModel(say("One."))).run_test(size=(120, 40)) as pilot:
        await pilot.press(*"first", "enter")
        await see(pilot, "! not saved: newer version")
        await see(pilot, "One.")


async def test_a_damaged_file_is_told_and_what_can_be_read_of_it_can_be_opened(tmp_path: Path) -> None:
    session, _ = await talk(tmp_path, "look", model=WrittenModel(say("Well kept.")))
    path = tmp_path / "data" / "sessions.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [[root]] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sessions'")
    db.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096 + 8)
        file.write(b"\xa5" * 4000)
    kept = library(tmp_path)
    async with console(tmp_path, WrittenModel(say("Here.")), kept).run_test(size=(120, 40)) as pilot:
        await pilot.press(*"hello", "enter")
        await see(pilot, "The session file was damaged. It was kept as")
        await see(pilot, "1 session of the damaged file could be read")
        await see(pilot, "Here.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await enter(pilot, f"/resume {session[:8]}")
        await see(pilot, "Well kept.")
    await kept.close()


async def test_a_replay_plays_what_happened_and_takes_no_prompt(tmp_path: Path) -> None:
    session, shown = await talk(tmp_path, "look", model=WrittenModel(calls(("lab_echo", "{}")), say("Done so.")))
    kept = library(tmp_path)
    events = await kept.store.load(session)
    await kept.close()
    replay = Replay(events, speed=10)
    async with app(tmp_path, replay=replay).run_test(size=(100, 40)) as pilot:
        await see(pilot, "Done so.")
        assert conversation(pilot) == shown
        bar = seen(pilot.app).splitlines()[0]
        assert "replay" in bar
        assert not {"ask", "auto"} & set(bar.split()), "nothing runs here, so no mode is told"
        assert all(call.outcome is Outcome.SUCCEEDED for call in chat(pilot.app).ui.shown.transcript.calls.values())
        await pilot.press(*"hello", "enter")
        assert not chat(pilot.app).console.conversation.busy


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("it was approved", "y allow once"),
        ("it was denied", "n deny"),
        ("it was changed", "e change and run"),
        ("it ran again", "e change and run"),
        ("it went to the background", "b to the background"),
    ],
)
async def test_a_replay_shows_the_key_that_was_pressed(
    tmp_path: Path, state: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_ui, "SHOWN_PRESSED", 600.0)
    events = session(state)
    acts = [at for at, event in enumerate(events) if call_description.act_behind(event) is not None]
    much_later = [event.model_copy(update={"at": event.at + 10_000}) for event in events[acts[-1] + 1 :]]
    replay = Replay([*events[: acts[-1] + 1], *much_later])
    async with app(tmp_path, replay=replay).run_test(size=(100, 30)) as pilot:
        await see(pilot, f"pressed then  {said} · lab · peek")
        assert seen(pilot.app).index(TEXT) < seen(pilot.app).index("peek")


@each(("name", "last"), [("lab_echo", "approval.requested"), ("fanout_ask_followup_question", "question.asked")])
async def test_what_waited_is_no_question_to_you_in_a_replay(tmp_path: Path, name: str, last: str) -> None:
    kept, asked = library(tmp_path), json.dumps({"question": "Which of them?", "options": ["this one", "that one"]})
    model = WrittenModel(calls((name, asked)), say("Done so."))
    running = console(tmp_path, model, kept, gate=ApprovalGate(ApprovalMode.ASK))
    engine = running._services.engine  # pyright: ignore[reportPrivateUsage]
    engine.settings = replace(engine.settings, builtin_tools=frozenset({"ask_followup_question"}))
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"look", "enter")
        boards = chat(running).boards
        await until(pilot, lambda: boards.approvals.is_asking or boards.questions.is_asking)
        chat(running).console.conversation.stop()
        await until(pilot, lambda: not chat(running).console.conversation.busy)
    events = await kept.store.load(kept.session_id)
    await kept.close()
    until_then = events[: next(n for n, event in enumerate(events, 1) if event.type == last)]
    async with app(tmp_path, replay=Replay(until_then, speed=10)).run_test(size=(100, 40)) as pilot:
        await see(pilot, "This is a replay")
        for nothing_of in ("allow once", "to review", "declares nothing", "always asks", "no answer", "to answer"):
            assert nothing_of not in seen(pilot.app)
        assert "Which of them?" in seen(pilot.app)
        await pilot.press("tab", "y", "1")
        board = chat(pilot.app).boards.approvals
        assert chat(pilot.app).focused is chat(pilot.app).prompt
        assert board.is_asking is (last == "approval.requested")


async def test_the_keys_reach_the_calls_of_a_session_that_came_back_and_of_its_copy(tmp_path: Path) -> None:
    two = calls(("lab_echo", '{"n": 1}'), ("lab_echo", '{"n": 2}'))
    session, _ = await talk(tmp_path, "look", "and", model=WrittenModel(two, say("Two came."), two, say("Two more.")))
    async with console(tmp_path, resume=session).run_test(size=(100, 40)) as pilot:
        screen = chat(pilot.app)
        await see_open(pilot, "Two more.")
        for forked in (False, True):
            if forked:
                before = screen.ui.shown.transcript
                await enter(pilot, "/fork")
                await until(pilot, lambda: pilot.app.screen is not screen)
                await pilot.press("enter")
                await until(pilot, partial(_opened, screen, before), "the copy open")
                await see(pilot, "Two more.")
            await pilot.press("alt+2")
            block = screen.view.cursor
            assert isinstance(block, CallBlock)
            assert block.selected
            assert block.call is list(screen.ui.shown.transcript.calls.values())[3]
            await decide(pilot, "r")
            await see(pilot, "a call of an earlier turn · r again")
            await decide(pilot, "r")
            await see(pilot, "[try 2]")
            await until(pilot, lambda: not screen.console.conversation.busy)
            await pilot.press("escape")
            assert screen.focused is screen.prompt


def _opened(screen: ChatScreen, before: Transcript) -> bool:
    return screen.ui.shown.transcript is not before and not screen.console.conversation.changing.locked()


async def test_a_title_takes_the_width_that_is_there_and_ends_in_an_ellipsis_where_it_is_cut(tmp_path: Path) -> None:
    words = [f"word{number:03}" for number in range(120)]
    model = WrittenModel(say("Done."))
    async with console(tmp_path, model).run_test(size=(200, 50)) as pilot:
        chat(pilot.app).console.conversation.send(" ".join(words))
        await see(pilot, "Done.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await enter(pilot, "/sessions")
        await see(pilot, "word000 word001")
        row = next(line for line in seen(pilot.app).splitlines() if "just now" in line)
        assert re.search(r"word009 word010 .*…  just now", row), row
    store = library(tmp_path).store
    title = (await store.browse("", 5))[0][0].info.title
    assert len(title) == 300
    assert title.endswith("…")
