"""/context and /compact: a summary for the model, everything still on screen, and the way back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.console.intents.reports import NEXT, request_report
from console_app.domain.chunks import Chunk, FinishChunk, TextChunk, UsageChunk
from console_app.domain.errors import ContextOverflow
from console_app.domain.ports import CallReporter, Invocation, ModelRequest
from console_app.engine.context import SUMMARY_OPENS
from console_app.sessions import Replay
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, say, see, see_open, seen, until
from tests.tui.stored import library
from tests.tui.test_sessions_on_screen import console

pytestmark = pytest.mark.usefixtures("closed_libraries")


async def ask(pilot: Pilot[Any], text: str) -> None:
    screen = chat(pilot.app)
    screen.prompt_area.send(text)
    await until(pilot, lambda: not screen.console.conversation.busy)


def using(tokens: int, text: str) -> list[Chunk]:
    """An answer after which so many tokens are used."""
    return [TextChunk(text), UsageChunk(tokens, 0), FinishChunk("stop")]


def sent(request: ModelRequest) -> list[str]:
    return [message.content for message in request.messages]


async def test_a_summary_takes_the_place_of_older_turns_and_can_be_taken_back(tmp_path: Path) -> None:
    model = WrittenModel(*[say(f"answer {n}") for n in range(4)], say("They spoke of four things."), *[say("ok")] * 2)
    async with app(tmp_path, model).run_test(size=(110, 60)) as pilot:
        for number in range(4):
            await ask(pilot, f"prompt {number}")
        chat(pilot.app).prompt_area.take("/compact")
        await see(pilot, "Compacted: the model reads a summary in place of the 4 messages before.")
        assert "prompt 0" in model.requests[4].messages[0].content
        assert "prompt 2" not in model.requests[4].messages[0].content
        assert "prompt 0" in seen(pilot.app)
        await ask(pilot, "prompt 4")
        assert sent(model.requests[5])[0].startswith(f"{SUMMARY_OPENS}\n\nThey spoke of four things.")
        assert "prompt 2" in "".join(sent(model.requests[5]))
        assert "prompt 1" not in "".join(sent(model.requests[5]))
        chat(pilot.app).prompt_area.take("/context")
        await see(pilot, "A summary stands for the oldest 4 messages")
        await pilot.press("escape")
        chat(pilot.app).prompt_area.take("/compact undo")
        await see(pilot, "Compaction taken back")
        await ask(pilot, "prompt 5")
        assert sent(model.requests[6])[0] == "prompt 0"


async def test_what_stops_a_summary_is_said_and_the_row_of_one_opens_to_it(tmp_path: Path) -> None:
    model = WrittenModel(say("a"), say("b"), [asyncio.Event()], say("c"), say("A summary of it."))
    async with app(tmp_path, model).run_test(size=(110, 60), notifications=True) as pilot:
        await ask(pilot, "one")
        chat(pilot.app).prompt_area.take("/compact")
        await see(pilot, "There is nothing to compact")
        await ask(pilot, "two")
        chat(pilot.app).prompt_area.take("/compact")
        await see(pilot, "Asking the model for a summary")
        assert chat(pilot.app).console.conversation.busy
        await pilot.press("escape")
        await see(pilot, "Not compacted: you stopped it.")
        await ask(pilot, "three")
        assert sent(model.requests[3])[0] == "one"
        chat(pilot.app).prompt_area.take("/compact")
        await see(pilot, "Compacted")
        assert "A summary of it." not in seen(pilot.app)
        await pilot.press("tab", "o")
        await see(pilot, "A summary of it.")


async def test_a_window_that_is_nearly_full_is_compacted_before_the_next_prompt(tmp_path: Path) -> None:
    model = WrittenModel(say("one"), using(900, "two"), say("The summary."), using(300, "three"), say("four"))
    console = app(tmp_path, model, context_window=1000)
    async with console.run_test(size=(110, 60)) as pilot:
        for text in ("first", "second", "third"):
            await ask(pilot, text)
        await see(pilot, "Compacted, as its context was nearly full")
        assert len(model.requests) == 4
        assert sent(model.requests[3])[0].startswith(SUMMARY_OPENS)
        await ask(pilot, "fourth")  # and not again
        assert len(model.requests) == 5


class Overflowing(WrittenModel):
    """Refuses its third request, as too large."""

    def stream(self, request: ModelRequest) -> Any:
        if len(self.requests) == 2:
            self.requests.append(request)
            raise ContextOverflow(
                "the request is larger than the model's context window: 9 of 8 tokens", "See /compact."
            )
        return super().stream(request)


async def test_a_request_that_was_too_large_goes_out_again_with_a_summary(tmp_path: Path) -> None:
    model = Overflowing(say("one"), say("two"), say("The summary."), say("at last"))
    async with app(tmp_path, model).run_test(size=(110, 60)) as pilot:
        for text in ("first", "second", "third"):
            await ask(pilot, text)
        await see(pilot, "at last")
        await see(pilot, "Compacted, as the request was too large for the model")
        lines = seen(pilot.app)
        assert lines.index("too large for the model") < lines.index("Compacted") < lines.index("at last")
        assert "9 of 8 tokens" not in lines
        assert len(model.requests) == 5
        assert model.requests[4].messages[0].content.startswith(SUMMARY_OPENS)
        assert sent(model.requests[4])[-1].endswith("third")


class Small(WrittenModel):
    """Refuses every request of more than 9,000 characters of results, as too large."""

    def stream(self, request: ModelRequest) -> Any:
        if sum(len(one.content) for one in request.messages if one.role == "tool") > 9_000:
            self.requests.append(request)
            raise ContextOverflow("the request is larger than the model's context window: 9 of 8 tokens")
        return super().stream(request)


async def test_a_first_turn_with_too_large_results_goes_on_with_them_shorter(tmp_path: Path) -> None:
    async def page(invocation: Invocation, _: CallReporter) -> str:
        return "x" * int(invocation.arguments["n"])

    model = Small(calls(("lab_do", '{"n": 30000}'), ("lab_do", '{"n": 50}')), say("I read it."))
    console = app(tmp_path, model, Tools({("lab", "do"): page}))
    async with console.run_test(size=(110, 60)) as pilot:
        await ask(pilot, "first")
        await see(pilot, "I read it.")
        words = " ".join(seen(pilot.app).split())
        assert "its largest result is sent shortened to 14," in words
        assert "and it goes out again. All of it stays here and in the session." in words
        chat(pilot.app).prompt_area.take("/request")
        await see(pilot, NEXT)
        report = request_report(chat(pilot.app).console.conversation.engine)
        assert report.count("of 30,000 characters are left out here, as the request was too large") == 2
        await pilot.press("escape")
        chat(pilot.app).prompt_area.take("/context")
        await see(pilot, "Shortened further because a request was too large: 1.")


async def compacted(folder: Path) -> str:
    """A session of three turns whose first two a summary stands for."""
    kept = library(folder)
    model = WrittenModel(say("One."), say("Two."), say("S"), say("Three."))
    async with console(folder, model, kept).run_test(size=(110, 60)) as pilot:
        for prompt in ("first", "second"):
            await ask(pilot, prompt)
        chat(pilot.app).prompt_area.take("/compact")
        await see(pilot, "Compacted")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await ask(pilot, "third")
        session = kept.session_id
    await kept.close()
    return session


async def test_a_compacted_session_comes_back_so_and_can_be_taken_back(tmp_path: Path) -> None:
    session = await compacted(tmp_path)
    model = WrittenModel(say("Four."), say("Five."))
    kept = library(tmp_path)
    async with console(tmp_path, model, kept, resume=session).run_test(size=(110, 60)) as pilot:
        await see(pilot, "Compacted: the model reads a summary in place of the 2 messages before.")
        await see(pilot, "One.")
        await ask(pilot, "fourth")
        assert sent(model.requests[0]) == [f"{SUMMARY_OPENS}\n\nS\n\nsecond", "Two.", "third", "Three.", "fourth"]
        chat(pilot.app).prompt_area.take("/undo")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "fourth")
        await see(pilot, "Compacted: the model reads a summary")
        chat(pilot.app).prompt.clear()
        chat(pilot.app).prompt_area.take("/compact undo")
        await see(pilot, "Compaction taken back")
        await ask(pilot, "fifth")
        assert sent(model.requests[1]) == ["first", "One.", "second", "Two.", "third", "Three.", "fifth"]
    await kept.close()
    kept = library(tmp_path)
    async with console(tmp_path, model, kept, resume=session).run_test(size=(110, 60)) as pilot:
        await see_open(pilot, "Five.")
        assert chat(pilot.app).ui.shown.transcript.compaction is None
        assert len(chat(pilot.app).services.engine.history) == 8


async def test_undoing_the_turn_before_leaves_the_summary_in_force_and_on_screen(tmp_path: Path) -> None:
    model = WrittenModel(say("One."), say("Two."), say("S"), say("Again."))
    async with console(tmp_path, model).run_test(size=(110, 60)) as pilot:
        for prompt in ("first", "second"):
            await ask(pilot, prompt)
        chat(pilot.app).prompt_area.take("/compact")
        await see(pilot, "Compacted")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        chat(pilot.app).prompt_area.take("/undo")
        await until(pilot, lambda: "Two." not in seen(pilot.app))
        await see(pilot, "Compacted: the model reads a summary")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "second")
        await pilot.press("enter")
        await see(pilot, "Again.")
        assert sent(model.requests[3]) == [f"{SUMMARY_OPENS}\n\nS\n\nsecond"]


async def test_a_fork_from_before_the_summary_reads_it_all_one_from_behind_does_not_and_a_replay_shows_it(
    tmp_path: Path,
) -> None:
    session = await compacted(tmp_path)
    kept = library(tmp_path)
    events = await kept.store.load(session)
    [row] = [event for event in events if event.type == "history.compacted"]
    before, behind = await kept.store.fork(session, row.seq - 1), await kept.store.fork(session)
    for fork, first in ((before, "first"), (behind, f"{SUMMARY_OPENS}\n\nS\n\nsecond")):
        model = WrittenModel(say("Here."))
        async with console(tmp_path, model, kept, resume=fork).run_test(size=(110, 60)) as pilot:
            await see(pilot, "Two.")
            await ask(pilot, "and now")
            assert sent(model.requests[0])[0] == first
    await kept.close()
    async with app(tmp_path, replay=Replay(events, speed=100)).run_test(size=(110, 60)) as pilot:
        await see(pilot, "Three.")
        lines = seen(pilot.app)
        assert lines.index("Two.") < lines.index("Compacted: the model reads a summary") < lines.index("third")
        chat(pilot.app).prompt_area.take("/compact")
        await pilot.pause()
        assert not chat(pilot.app).console.conversation.busy, "a replay"


async def test_the_meter_falls_with_the_compaction_and_rises_when_it_is_taken_back(tmp_path: Path) -> None:
    long = "word " * 400
    model = WrittenModel(using(900, long), using(900, "Two."), say("S"))
    async with app(tmp_path, model, context_window=10_000).run_test(size=(160, 60)) as pilot:
        for prompt in ("first", "second"):
            await ask(pilot, prompt)
        await until(pilot, lambda: "900" in seen(pilot.app).splitlines()[0])
        chat(pilot.app).prompt_area.take("/compact")
        await until(pilot, lambda: "900" not in seen(pilot.app).splitlines()[0])
        meter = seen(pilot.app).splitlines()[0]
        chat(pilot.app).prompt_area.take("/compact undo")
        await until(pilot, lambda: seen(pilot.app).splitlines()[0] != meter)
