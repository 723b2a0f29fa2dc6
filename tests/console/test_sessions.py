"""The session a conversation is kept in: another one opened, undone, forked, renamed, exported. Without a screen."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from console_app import page
from console_app.console.talk.conversation import Conversation
from console_app.console.talk.sessions import BUSY, CHANGING, NOT_SAVED, READ_ONLY, Sessions
from console_app.domain import events as ev
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.errors import FanoutError
from console_app.domain.transcript import Transcript
from console_app.sessions import Library, SessionInUse, Store
from tests.console.peers import Screen, consistent
from tests.each import each
from tests.engine.peers import Line, Model, engine_of


@dataclass
class Console:
    """A conversation that is kept, and its front end."""

    screen: Screen
    conversation: Conversation
    sessions: Sessions
    library: Library
    model: Model

    @property
    def id(self) -> str:
        return self.library.session_id

    async def say(self, *texts: str) -> None:
        for text in texts:
            self.conversation.send(text)
        await self.conversation.ended()

    @property
    def prompts(self) -> list[str]:
        """The prompts of the turns that the conversation holds now."""
        return [turn.prompt for turn in self.conversation.engine.transcript.turns]

    async def stored(self, session_id: str = "") -> list[str]:
        """Return the prompts of the turns that a session holds on the disk."""
        return [turn.prompt for turn in Transcript.of(await self.library.store.load(session_id or self.id)).turns]


@asynccontextmanager
async def console(folder: Path, *answers: list[Line]) -> AsyncIterator[Console]:
    screen, model = Screen(), Model(*answers)
    library = Library(Store(folder / "sessions.db", folder=str(folder)), folder / "locks")
    engine = engine_of(model)
    engine.begin()
    made: list[Sessions] = []

    async def ready() -> None:
        await made[0].settled()

    conversation = Conversation(engine, library, screen, ready=ready)
    made.append(Sessions(conversation, library, screen, folder, page.of_conversation))
    try:
        yield Console(screen, conversation, made[0], library, model)
    finally:
        await conversation.close()
        await library.close()


async def test_a_session_is_left_and_gone_on_with(tmp_path: Path) -> None:
    async with console(tmp_path) as here:
        await here.say("one", "two")
        first = here.id
        assert here.sessions.begin()
        assert here.screen.cleared == 1
        assert here.prompts == []
        assert here.id == ""
        await here.say("other")
        assert here.id != first
        await here.sessions.resume(first[:10])
        assert here.id == first
        assert here.prompts == ["one", "two"]
        assert Transcript.of(here.screen.stored).history == here.conversation.engine.history
        await here.say("three")
        assert await here.stored() == ["one", "two", "three"]
        numbers = [event.seq for event in await here.library.store.load(first)]
        assert numbers == sorted(set(numbers))


async def test_what_cannot_be_found_is_told(tmp_path: Path) -> None:
    async with console(tmp_path) as here:
        await here.say("one")
        await here.sessions.resume("nothing")
        assert here.screen.told[0][0] == "error"
        assert here.prompts == ["one"]


async def test_no_other_session_while_a_turn_runs(tmp_path: Path) -> None:
    async with console(tmp_path, [asyncio.Event()]) as here:
        here.conversation.send("one")
        await here.screen.sees(ev.StepStarted)
        assert not here.sessions.begin()
        await here.sessions.undo()
        await here.sessions.fork()
        await here.sessions.resume(here.id)
        assert here.screen.toasts == [BUSY] * 4
        assert here.prompts == ["one"]


async def test_a_prompt_sent_while_a_session_opens_joins_it(tmp_path: Path) -> None:
    async with console(tmp_path) as here:
        await here.say("one")
        first = here.id
        here.sessions.begin()
        opening = asyncio.create_task(here.sessions.open(first))
        await asyncio.sleep(0)
        assert not here.sessions.begin()
        assert here.screen.toasts == [CHANGING]
        await here.say("two")
        await opening
        assert await here.stored(first) == ["one", "two"]


@each("ticks", range(0, 24, 2))
async def test_a_session_opened_at_any_moment_of_a_prompts_way_is_open_or_refused(tmp_path: Path, ticks: int) -> None:
    async with console(tmp_path) as here:
        await here.say("one")
        first = here.id
        here.sessions.begin()
        here.conversation.send("two")
        for _ in range(ticks):
            await asyncio.sleep(0)
        await here.sessions.open(first)
        await here.conversation.ended()
        refused = BUSY in here.screen.toasts
        assert here.conversation.engine.session_id == here.id
        assert await here.stored() == here.prompts
        assert here.screen.endings == ["completed", "completed"]
        if not refused:
            assert here.id == first
            assert set(here.prompts) <= {"one", "two"}


@each("how", ["fork", "read", None])
async def test_a_session_that_another_console_has(tmp_path: Path, how: str | None) -> None:
    async with console(tmp_path) as other, console(tmp_path) as here:
        await other.say("one")
        chosen: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        here.screen.answers.append(chosen)
        opening = asyncio.create_task(here.sessions.open(other.id))
        await here.screen.until(lambda: here.screen.questions)
        here.conversation.send("two")  # waits for the session that was asked for
        here.conversation.send("three")
        chosen.set_result(how)
        await opening
        await here.conversation.ended()
        match how:
            case "fork":
                assert here.prompts == ["one", "two", "three"]
                assert here.id != other.id
            case "read":
                assert here.prompts == ["one"]
                assert here.sessions.read_only
                assert READ_ONLY in here.screen.toasts
                assert here.screen.field == "two\n\nthree"
                await here.sessions.undo()
                assert here.prompts == ["one"]
            case _:
                assert here.prompts == []
                assert here.screen.prompts == []
                assert here.screen.field == "two\n\nthree"
        assert await other.stored() == ["one"]


async def test_prompts_that_cannot_go_back_are_told(tmp_path: Path) -> None:
    async with console(tmp_path) as other, console(tmp_path) as here:
        await other.say("one")
        here.screen.field = "being written"
        here.screen.answers.append(None)
        opening = asyncio.create_task(here.sessions.open(other.id))
        await asyncio.sleep(0)
        here.conversation.send("two")
        await opening
        await here.conversation.ended()
        assert ("warning", "Not sent: two") in here.screen.told


async def test_the_newest_turn_is_undone_and_its_prompt_comes_back(tmp_path: Path) -> None:
    async with console(tmp_path) as here:
        await here.sessions.undo()
        await here.say("one", "two", "three", "four")
        await here.sessions.undo()
        assert here.screen.field == "four"
        here.screen.field = ""
        await here.sessions.rewind(2)
        assert here.screen.field == "two"
        assert here.prompts == ["one"]
        assert await here.stored() == ["one"]
        await here.sessions.rewind(7)
        assert here.screen.toasts[0] == here.screen.toasts[-1] == "There is nothing to undo."
        await here.say("again")
        assert here.prompts == ["one", "again"]
        consistent(here.conversation, here.screen)


@each("ticks", range(8))
async def test_a_prompt_sent_while_turns_are_undone_comes_behind_that(tmp_path: Path, ticks: int) -> None:
    async with console(tmp_path) as here:
        await here.say("one", "two", "three")
        undoing = asyncio.create_task(here.sessions.rewind(1))
        for _ in range(ticks):
            await asyncio.sleep(0)
        here.conversation.send("next")
        await undoing
        await here.conversation.ended()
        assert here.prompts in (["next"], ["one", "two", "three", "next"])
        assert await here.stored() == here.prompts
        consistent(here.conversation, here.screen)


CHANGES: dict[str, Callable[[Sessions], Coroutine[Any, Any, None]]] = {
    "undone": Sessions.undo,
    "taken back": partial(Sessions.rewind_to, words="one"),
    "copied": partial(Sessions.fork, turn="1"),
    "opened": partial(Sessions.resume, prefix=""),
}


@each("change", CHANGES)
async def test_what_is_asked_as_a_turn_tells_its_end_waits_for_what_closes_behind_it(
    tmp_path: Path, change: str
) -> None:
    async with console(tmp_path) as here:
        closing = here.model.slow_close = asyncio.Event()
        asked: list[asyncio.Task[None]] = []

        def told(event: ev.Event) -> None:
            if isinstance(event, ev.TurnFinished):
                asked.append(asyncio.create_task(CHANGES[change](here.sessions)))
                asyncio.get_running_loop().call_later(0, closing.set)

        here.screen.react = told
        await here.say("one")
        await asked[0]
        assert BUSY not in here.screen.toasts
        assert here.prompts == ([] if change in ("undone", "taken back") else ["one"])


async def test_a_copy_up_to_a_turn_or_a_message_that_you_pick(tmp_path: Path) -> None:
    async with console(tmp_path) as here:
        await here.sessions.fork()
        assert here.screen.toasts == ["Nothing was said in this session yet."]
        await here.say("one", "two")
        first = here.id
        await here.sessions.fork("1")
        assert here.id != first
        assert here.prompts == ["one"]
        await here.sessions.fork("9")
        assert "There is no turn 9" in here.screen.toasts[-1]
        await here.sessions.open(first)
        here.screen.answers.append("turn 2 · before: two")
        await here.sessions.fork()
        assert here.prompts == ["one"]
        assert here.screen.field == "two"
        here.screen.answers.append(None)
        await here.sessions.fork()
        assert here.prompts == ["one"]
        assert await here.stored(first) == ["one", "two"]


async def test_a_session_is_renamed_exported_and_deleted(tmp_path: Path) -> None:
    async with console(tmp_path) as here:
        await here.say("one")
        first = here.id
        await here.sessions.rename("My title")
        here.screen.answers += ["Another title", None]
        await here.sessions.rename()
        await here.sessions.rename()
        info = await here.library.store.find(first)
        assert info.title == "Another title"
        here.screen.answers += ["md", None]
        await here.sessions.export()
        await here.sessions.export()
        await here.sessions.export("jsonl kept.jsonl")
        await here.sessions.export("kept.jsonl")
        await here.sessions.export("calls.trace.json")
        await here.sessions.export("pdf")
        await here.sessions.export("talk.json")
        await here.sessions.export("svg talk.svg")
        await here.sessions.export("talk.svg")
        await here.sessions.export("~nobody-is-called-so/x.md")
        await here.sessions.export("md no/such/folder/x.md")
        assert sorted(path.name for path in tmp_path.iterdir() if ".db" not in path.name and path.is_file()) == [
            "calls.trace.json",
            f"fanout-{first[:8]}.md",
            "kept-2.jsonl",
            "kept.jsonl",
        ]
        assert "traceEvents" in json.loads((tmp_path / "calls.trace.json").read_text())
        assert "as pdf" in here.screen.toasts[-6]
        assert "as talk.json" in here.screen.toasts[-5]
        makes = f"The shell makes that: fanout sessions export {first[:8]} -o talk.svg"
        assert here.screen.toasts[-4:-2] == [makes, makes]
        here.screen.answers.append("delete")
        with pytest.raises(SessionInUse):
            await here.sessions.delete(info)
        here.sessions.begin()
        here.screen.answers += ["keep", "delete"]
        await here.sessions.delete(info)
        assert await here.stored(first) == ["one"]
        await here.sessions.delete(info)
        with pytest.raises(FanoutError):
            await here.library.store.find(first)


async def test_where_nothing_is_kept_it_is_said(tmp_path: Path) -> None:
    screen = Screen()
    conversation = Conversation(engine_of(Model([TextChunk("x"), FinishChunk("stop")])), None, screen)
    sessions = Sessions(conversation, None, screen, tmp_path, page.of_conversation)
    conversation.send("one")
    await conversation.ended()
    await sessions.resume("a")
    await sessions.open("a")
    await sessions.fork()
    await sessions.rename("x")
    await sessions.export("md")
    assert screen.toasts == [NOT_SAVED] * 5
    await sessions.undo()
    assert screen.field == "one"
    assert sessions.begin()
    assert conversation.engine.history == []


async def test_a_replayed_conversation_is_read_only(tmp_path: Path) -> None:
    screen = Screen()
    conversation = Conversation(engine_of(Model()), None, screen)
    sessions = Sessions(conversation, None, screen, tmp_path, page.of_conversation, replayed=True)
    assert sessions.read_only
    await sessions.undo()
    await sessions.rewind(1)
    assert screen.toasts == [READ_ONLY] * 2


async def test_a_damaged_file_is_told_and_what_can_be_read_is_kept(tmp_path: Path) -> None:
    async with console(tmp_path) as before:
        await before.say("one")
        first = before.id
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [[root]] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sessions'")
    db.close()
    with (tmp_path / "sessions.db").open("r+b") as file:
        file.seek((root - 1) * 4096 + 8)
        file.write(b"\xa5" * 4000)
    async with console(tmp_path) as here:
        await here.say("two")
        await here.screen.until(lambda: len(here.screen.told) > 1)
        assert [level for level, _ in here.screen.told] == ["warning", "info"]
        assert "It was kept as" in here.screen.told[0][1]
        await here.sessions.resume(first)
        assert here.prompts == ["one"]


async def test_a_disk_that_refuses_is_told_once_and_again_when_it_takes(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").mkdir()
    async with console(tmp_path) as here:
        await here.say("one")
        assert here.screen.told[0][0] == "warning"
        assert here.screen.endings == ["completed"]
        (tmp_path / "sessions.db").rmdir()
        await here.library.store.flush()
        assert ("info", "Sessions are written again; nothing was lost meanwhile.") in here.screen.told
        assert await here.stored() == ["one"]
