"""Rewinding to any message: it comes back, what calls changed is named, and the session keeps all. Without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from console_app import page
from console_app.console.talk.conversation import Conversation
from console_app.console.talk.sessions import BUSY, Sessions, not_undone
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.transcript import CallView, Transcript
from console_app.engine import ApprovalGate, Engine
from console_app.sessions import Library, Store
from console_app.sessions.export import exported
from tests.console.peers import Screen, consistent
from tests.engine.peers import Line, Model, Tools, call, spec


class Kept:
    """A conversation whose tools read (`demo_look`) and change (`demo_do`), kept under a folder."""

    def __init__(self, folder: Path, *answers: list[Line]) -> None:
        self.screen, self.model = Screen(), Model(*answers)
        self.library = Library(Store(folder / "sessions.db", folder=str(folder)), folder / "locks")
        tools = Tools([spec("do", read_only=False), spec("look")])
        engine = Engine(provider=self.model, toolset=tools, gate=ApprovalGate(ApprovalMode.YOLO))
        engine.begin()
        self.conversation = Conversation(engine, self.library, self.screen)
        self.sessions = Sessions(self.conversation, self.library, self.screen, folder, page.of_conversation)

    async def say(self, *texts: str) -> None:
        for text in texts:
            self.conversation.send(text)
        await self.conversation.ended()

    @property
    def prompts(self) -> list[str]:
        return [turn.prompt for turn in self.conversation.engine.transcript.turns]

    async def stored(self, session_id: str = "") -> list[ev.Event]:
        return list(await self.library.store.load(session_id or self.library.session_id))


@asynccontextmanager
async def kept(folder: Path, *answers: list[Line]) -> AsyncGenerator[Kept]:
    here = Kept(folder, *answers)
    try:
        yield here
    finally:
        await here.conversation.close()
        await here.library.close()


def plain(text: str = "well") -> list[Line]:
    return [TextChunk(text), FinishChunk("stop")]


def both() -> list[Line]:
    """An answer with a call that changes something and one that reads."""
    looks = call(1, {"n": 2, "do": "succeed"}, "demo_look", id="two")
    return [*call(0, {"n": 1, "do": "succeed"}), *looks, FinishChunk("tool_calls")]


async def test_a_picked_message_comes_back_and_what_was_changed_is_named(tmp_path: Path) -> None:
    async with kept(tmp_path, plain(), both(), plain("changed"), plain()) as here:
        await here.say("one", "change it", "three")
        points = here.sessions.rewind_points()
        assert [(point.prompt, point.turns, len(point.changes)) for point in points] == [
            ("one", 3, 1), ("change it", 2, 1), ("three", 1, 0)]  # fmt: skip
        here.screen.answers.append("turn 2 · change it")
        await here.sessions.rewind_to()
        assert here.screen.questions == ["Rewind to before"]
        assert here.prompts == ["one"]
        assert here.screen.field == "change it"
        assert here.screen.toasts[-1] == "The last 2 turns are undone; /fork can bring them back."
        [(level, told)] = here.screen.told
        assert level == "warning"
        assert told.split("\n") == [
            "Not undone, as these calls may have changed something:",
            "- demo · do",
            "  n: 1",
            "  do: succeed",
        ]
        consistent(here.conversation, here.screen)


async def test_nothing_is_lost_by_it(tmp_path: Path) -> None:
    async with kept(tmp_path) as here:
        await here.say("one", "two", "three")
        await here.sessions.rewind_to("two")
        here.screen.field = ""
        await here.say("two, otherwise")
        session = here.library.session_id
        events = await here.stored()
        assert [e.prompt for e in events if isinstance(e, ev.TurnStarted)] == ["one", "two", "three", "two, otherwise"]
        assert [turn.prompt for turn in Transcript.of(events).turns] == ["one", "two, otherwise"]
        assert [m.content for m in here.model.requests[-1].messages if m.role == "user"] == ["one", "two, otherwise"]
        page = exported(events, "markdown", "title", here.library.redactor)
        assert "two, otherwise" in page
        assert "three" not in page
        turn_three = next(e for e in events if isinstance(e, ev.TurnStarted) and e.prompt == "three")
        fork = await here.library.store.fork(session, turn_three.seq)
        assert [turn.prompt for turn in Transcript.of(await here.stored(fork)).turns] == ["one", "two", "three"]


async def test_back_to_a_message_that_joined_a_running_turn(tmp_path: Path) -> None:
    goes = asyncio.Event()
    async with kept(tmp_path, [goes, *both()], plain("after"), plain()) as here:
        here.conversation.send("work")
        await here.screen.sees(ev.StepStarted)
        await here.conversation.steer("and be quick")
        goes.set()
        await here.conversation.ended()
        await here.say("next")
        before = here.library.session_id
        assert [(p.prompt, p.steered) for p in here.sessions.rewind_points()] == [
            ("work", 0), ("and be quick", 1), ("next", 0)]  # fmt: skip
        await here.sessions.rewind_to("quick")
        assert here.screen.field == "and be quick"
        assert here.library.session_id != before
        assert here.prompts == ["work"]
        contents = [message.content for message in here.conversation.engine.history]
        assert "and be quick" not in contents
        assert len([message for message in here.conversation.engine.history if message.role == "tool"]) == 2
        whole = Transcript.of(await here.stored(before))
        assert [turn.prompt for turn in whole.turns] == ["work", "next"]


async def test_refused_while_something_runs_and_where_there_is_nothing(tmp_path: Path) -> None:
    goes = asyncio.Event()
    async with kept(tmp_path, [goes, *plain()]) as here:
        await here.sessions.rewind_to()
        assert here.screen.toasts == ["There is no message to rewind to."]
        here.conversation.send("one")
        await here.screen.sees(ev.StepStarted)
        await here.sessions.rewind_to()
        assert here.screen.toasts[-1] == BUSY
        goes.set()
        await here.conversation.ended()
        await here.sessions.rewind_to("nothing like it")
        assert here.screen.toasts[-1].startswith("No message has nothing like it in it.")
        assert here.prompts == ["one"]


async def test_what_is_being_written_is_not_overwritten(tmp_path: Path) -> None:
    async with kept(tmp_path) as here:
        await here.say("one")
        here.screen.field = "half a thought"
        await here.sessions.undo()
        assert here.screen.field == "half a thought"
        assert "the message is in the history" in here.screen.toasts[-1]


def test_what_is_not_undone_is_a_list_that_is_no_longer_than_a_few_lines() -> None:
    """Text as text, whatever it holds; the rest of many arguments and of many calls is a number."""
    many = {f"name {n}": n for n in range(7)}
    told = [_ran({"path": "a.md", "text": 'say "hi"\nto her\u202e'}), *(_ran(many) for _ in range(6))]
    lines = not_undone(told).split("\n")
    assert lines[1:4] == ["- demo · write", "  path: a.md", '  text: say "hi" to her<U+202E>']
    assert lines[4:11] == ["- demo · write", *(f"  name {n}: {n}" for n in range(5)), "  and 2 more arguments"]
    assert lines[-1] == "and 2 more"
    assert not_undone([]) == ""


def _ran(arguments: dict[str, object]) -> CallView:
    call = CallView("c", 0, "demo_write", "demo", "write", "native", 1.0)
    call.arguments = arguments
    return call
