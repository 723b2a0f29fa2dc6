"""A user sends, queues, steers, stops and takes back between a prompt and its answer. Without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console_app.console.files import Attachments
from console_app.console.talk.conversation import STEERED, Conversation
from console_app.domain import events as ev
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.errors import FanoutError, UsageError
from console_app.domain.messages import Attachment, UserMessage
from tests.console.peers import Memory, Screen, consistent
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of
from tests.engine.virtual_time import run


def answer(text: str, *before: asyncio.Event) -> list[object]:
    return [*before, TextChunk(text), FinishChunk("stop")]


def said(conversation: Conversation) -> list[str]:
    return [message.content for message in conversation.engine.history if message.role == "user"]


class Gate:
    """A gate that a prompt waits at before its turn: `asked` once it does, over once it is `opened`."""

    def __init__(self) -> None:
        self.asked, self.opened = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.asked.set()
        await self.opened.wait()


async def test_a_prompt_opens_the_session_and_is_answered() -> None:
    screen, store = Screen(), Memory()
    conversation = Conversation(engine_of(Model()), store, screen)
    conversation.send("hello")
    assert conversation.busy
    await conversation.ended()
    assert not conversation.busy
    assert conversation.activity is None
    assert [event.type for event in screen.events][:2] == ["session.started", "turn.started"]
    assert screen.endings == ["completed"]
    assert [event.seq for event in store.events] == sorted(event.seq for event in store.events)
    conversation.send("again")
    await conversation.ended()
    assert screen.prompts == ["hello", "again"]
    assert len([event for event in screen.events if isinstance(event, ev.SessionStarted)]) == 1
    consistent(conversation, screen)


async def test_prompts_are_answered_one_after_the_other() -> None:
    gate = asyncio.Event()
    screen = Screen()
    conversation = Conversation(engine_of(Model(answer("one", gate))), None, screen)
    for text in ("first", "second", "third"):
        conversation.send(text)
    await screen.sees(ev.StepStarted)
    assert list(conversation.waiting) == ["second", "third"]
    assert conversation.take_back() == "third"
    gate.set()
    await conversation.ended()
    assert screen.prompts == ["first", "second"]
    consistent(conversation, screen)


async def test_a_stopped_turn_holds_the_queue_until_you_go_on() -> None:
    screen = Screen()
    conversation = Conversation(engine_of(Model(answer("one", asyncio.Event()))), None, screen)
    conversation.send("first")
    conversation.send("second")
    await screen.sees(ev.StepStarted)
    assert conversation.stop("enough")
    await conversation.ended()
    assert not conversation.stop()
    assert conversation.paused
    assert list(conversation.waiting) == ["second"]
    assert screen.endings == ["cancelled"]
    assert conversation.resume()
    assert not conversation.resume()
    await conversation.ended()
    assert screen.prompts == ["first", "second"]
    consistent(conversation, screen)


async def test_stop_ends_running_calls_each_with_a_result() -> None:
    screen, tools = Screen(), Tools()
    model = Model(calls({"do": "hang", "n": 1}, {"n": 2}))
    conversation = Conversation(engine_of(model, tools), Memory(), screen)
    conversation.send("go")
    await screen.sees(ev.CallFinished)
    conversation.stop()
    await conversation.ended()
    assert screen.endings == ["cancelled"]
    consistent(conversation, screen)


async def test_a_message_joins_the_running_turn_and_is_a_prompt_without_one() -> None:
    screen, tools = Screen(), Tools()
    conversation = Conversation(engine_of(Model(calls({"do": "wait", "n": 1})), tools), None, screen)
    conversation.send("go")
    await screen.sees(ev.CallStarted)
    await conversation.steer("and be quick")
    assert screen.toasts == [STEERED]
    tools.event(1).set()
    await conversation.ended()
    assert screen.prompts == ["go"]
    assert said(conversation) == ["go", "and be quick"]
    await conversation.steer("more")
    await conversation.ended()
    assert screen.prompts == ["go", "more"]


async def test_a_message_that_no_request_carried_waits_whole_in_the_queue(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside a")
    screen = Screen()
    conversation = Conversation(
        engine_of(Model(calls({"do": "hang"}))),
        None,
        screen,
        attachments=Attachments(tmp_path, None, None, lambda: ""),
    )
    conversation.send("go")
    await screen.sees(ev.CallStarted)
    await conversation.steer("@a.txt and @b.txt", typed="@a.txt")
    (tmp_path / "b.txt").write_text("secret")  # named in what was pasted only
    conversation.stop()
    await conversation.ended()
    assert conversation.paused
    assert list(conversation.waiting) == ["@a.txt and @b.txt"]
    conversation.resume()
    await conversation.ended()
    last = [message for message in conversation.engine.history if isinstance(message, UserMessage)][-1]
    assert [one.text for one in last.attachments] == ["inside a"]


async def test_a_prompt_that_only_waits_can_be_called_off_and_sent_again_in_its_place() -> None:
    screen, ready = Screen(), Gate()
    conversation = Conversation(engine_of(Model()), None, screen, ready=ready)
    conversation.send("first")
    conversation.send("second")
    assert conversation.on_its_way is not None
    assert conversation.on_its_way.text == "first"
    await ready.asked.wait()
    assert conversation.call_off() == "first"
    assert conversation.on_its_way is None
    assert list(conversation.waiting) == ["second"]
    assert conversation.call_off() is None
    conversation.send("first, changed")
    ready.opened.set()
    await conversation.ended()
    assert screen.prompts == ["first, changed", "second"]


async def test_the_only_prompt_is_taken_back_while_it_waits() -> None:
    screen, ready = Screen(), Gate()
    conversation = Conversation(engine_of(Model()), None, screen, ready=ready)
    conversation.send("first")
    await ready.asked.wait()
    assert conversation.take_back() == "first"
    assert conversation.take_back() is None
    await conversation.ended()
    assert screen.prompts == []
    assert not conversation.busy


@each("ticks", range(12))
async def test_a_prompt_called_off_at_any_moment_begins_no_turn_or_is_stopped(ticks: int) -> None:
    """Whatever is being waited for: readiness, the first event's storing, or nothing more."""
    screen = Screen()
    conversation = Conversation(engine_of(Model(answer("one", asyncio.Event()))), Memory(), screen)
    conversation.send("first")
    for _ in range(ticks):
        await asyncio.sleep(0)
    off = conversation.call_off()
    if off is None:
        assert conversation.stop()
    await conversation.ended()
    assert (screen.prompts, off) in (([], "first"), (["first"], None))
    conversation.send("second")
    await screen.until(lambda: "second" in screen.prompts)
    conversation.stop()
    await conversation.ended()
    consistent(conversation, screen)


async def test_stop_before_the_turn_keeps_the_prompt() -> None:
    screen, ready = Screen(), Gate()
    conversation = Conversation(engine_of(Model()), None, screen, ready=ready)
    conversation.send("first")
    await ready.asked.wait()
    assert conversation.stop()
    await conversation.ended()
    assert conversation.paused
    assert list(conversation.waiting) == ["first"]
    assert screen.prompts == []
    ready.opened.set()
    conversation.resume()
    await conversation.ended()
    assert screen.prompts == ["first"]


async def test_a_prompt_whose_files_cannot_go_comes_back_or_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\0" * 100)
    screen = Screen()
    conversation = Conversation(
        engine_of(Model()), None, screen, attachments=Attachments(tmp_path, None, None, lambda: "")
    )
    conversation.send("look at @a.txt")
    conversation.send("next")
    await conversation.ended()
    assert screen.field == "look at @a.txt"
    assert screen.prompts == []
    assert conversation.paused
    assert list(conversation.waiting) == ["next"]
    assert screen.told[0][0] == "error"
    conversation.resume()
    await conversation.ended()
    assert screen.prompts == ["next"]
    # Where something else is being written, it stays in the queue.
    conversation.send("look at @a.txt")
    await conversation.ended()
    assert conversation.paused
    assert list(conversation.waiting) == ["look at @a.txt"]


async def test_what_a_message_names_is_told_and_goes_along(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside a")
    screen = Screen()
    went: list[Attachment] = []
    conversation = Conversation(
        engine_of(Model()),
        None,
        screen,
        attachments=Attachments(tmp_path, None, None, lambda: ""),
        attached=went.extend,
    )
    conversation.send("@a.txt and @b/missing.txt")
    await conversation.ended()
    assert [one.text for one in went] == ["inside a"]
    assert [level for level, _ in screen.told] == ["warning"]
    assert "missing" in screen.told[0][1]


async def test_a_fault_in_putting_a_message_together_is_told_in_a_line(tmp_path: Path) -> None:
    class Faulty(Attachments):
        async def compose(self, text: str, typed: str | None = None) -> object:  # type: ignore[override]
            raise ZeroDivisionError("inside")

    screen, tools = Screen(), Tools()
    conversation = Conversation(
        engine_of(Model(calls({"do": "wait", "n": 1})), tools),
        None,
        screen,
        attachments=Faulty(tmp_path, None, None, lambda: ""),
    )
    conversation.send("go")
    await screen.sees(ev.CallStarted)
    await conversation.steer("look at @x")
    assert screen.field == "look at @x"
    assert "could not be put together" in screen.told[0][1]
    tools.event(1).set()
    await conversation.ended()
    assert screen.endings == ["completed"]


async def test_calls_by_hand_ask_no_model_and_a_ready_message_never_is_one() -> None:
    screen, tools, model = Screen(), Tools(), Model()
    conversation = Conversation(engine_of(model, tools), None, screen)
    conversation.send('/call demo.do {"n": 1}')
    await conversation.ended()
    assert len(tools.ran) == 1
    assert not model.requests
    text = '/call demo.do {"n": 2}'
    conversation.send(text, message=UserMessage(content=text))
    await conversation.ended()
    assert len(tools.ran) == 1
    assert len(model.requests) == 1
    conversation.send("/call demo.nothing")
    conversation.send("after it")
    await conversation.ended()
    assert screen.told[0][0] == "error"
    assert screen.prompts[-1] == "after it"


async def test_an_event_that_cannot_be_shown_is_told_once_and_the_turn_goes_on() -> None:
    screen, store = Screen(), Memory()
    screen.breaks = lambda event: isinstance(event, ev.CallFinished)
    conversation = Conversation(engine_of(Model(calls({"n": 1}, {"n": 2}))), store, screen)
    conversation.send("go")
    conversation.send("next")
    await conversation.ended()
    assert screen.endings == ["completed", "completed"]
    assert len(screen.told) == 1
    assert "ZeroDivisionError" in screen.told[0][1]
    assert len([event for event in store.events if isinstance(event, ev.CallFinished)]) == 2


async def test_a_turn_that_cannot_be_stored_is_stopped_and_seen_to_end() -> None:
    screen, store = Screen(), Memory()

    def react(event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted):
            store.fails = FanoutError("the disk is gone")

    screen.react = react
    conversation = Conversation(engine_of(Model(calls({"do": "chatty"}), answer("x", asyncio.Event()))), store, screen)
    conversation.send("go")
    await conversation.ended()
    assert screen.endings == ["cancelled"]
    assert ("error", FanoutError("the disk is gone").line) in screen.told
    assert conversation.activity is None


async def test_a_session_that_cannot_be_begun_keeps_the_prompt() -> None:
    screen, store = Screen(), Memory()
    store.fails = FanoutError("the disk is gone")
    conversation = Conversation(engine_of(Model()), store, screen)
    conversation.send("go")
    await conversation.ended()
    assert conversation.paused
    assert list(conversation.waiting) == ["go"]
    conversation.resume()
    await conversation.ended()
    assert screen.told == [("error", FanoutError("the disk is gone").line)] * 2  # each time
    store.fails = None
    conversation.resume()
    await conversation.ended()
    assert screen.endings == ["completed"]


async def test_a_prompt_that_is_stopped_before_its_turn_begins_stays_in_the_queue() -> None:
    """As where a command of your own waits for its model."""
    screen, gate = Screen(), Gate()

    @asynccontextmanager
    async def another_model() -> AsyncGenerator[None]:
        await gate()
        yield

    conversation = Conversation(engine_of(Model()), None, screen)
    conversation.send("go", around=another_model)
    await gate.asked.wait()
    assert conversation.stop()
    gate.opened.set()
    await conversation.ended()
    assert (conversation.paused, list(conversation.waiting), screen.prompts) == (True, ["go"], [])
    conversation.resume()
    await conversation.ended()
    assert (screen.prompts, screen.endings) == (["go"], ["completed"])


async def test_a_prompt_that_is_stopped_while_its_model_loads_never_begins_behind_another() -> None:
    """It is given back, as one that waits for anything else; what is sent next goes in its place."""
    screen, gate = Screen(), Gate()

    @asynccontextmanager
    async def another_model() -> AsyncGenerator[None]:
        await gate()
        yield

    conversation = Conversation(engine_of(Model()), None, screen)
    conversation.send("go", around=another_model)
    conversation.send("later")
    await gate.asked.wait()
    assert conversation.on_its_way is not None
    assert conversation.on_its_way.text == "go"
    assert conversation.call_off() == "go"
    conversation.send("another")
    gate.opened.set()
    await conversation.ended()
    assert (screen.prompts, list(conversation.waiting)) == (["another", "later"], [])


async def test_of_a_stopped_prompt_whose_model_cannot_answer_nothing_more_is_said() -> None:
    screen, gate = Screen(), Gate()

    @asynccontextmanager
    async def no_model() -> AsyncGenerator[None]:
        await gate()
        raise UsageError("it can't answer")
        yield

    conversation = Conversation(engine_of(Model()), None, screen)
    conversation.send("go", around=no_model)
    await gate.asked.wait()
    assert conversation.call_off() == "go"
    conversation.send("another")
    gate.opened.set()
    await conversation.ended()
    assert (screen.prompts, screen.told, screen.field) == (["another"], [], "")


def test_closing_while_calls_run_stores_how_they_ended() -> None:
    async def scene() -> None:
        screen, store, tools = Screen(), Memory(), Tools()
        model = Model(calls({"do": "stubborn", "n": 1}, {"do": "hang", "n": 2}))
        conversation = Conversation(engine_of(model, tools), store, screen)
        conversation.send("go")
        conversation.send("never")
        await screen.sees(ev.CallStarted, 2)
        shown = len(screen.events)
        await conversation.close()
        assert not conversation.busy
        assert len(screen.events) == shown
        assert isinstance(store.events[-2], ev.TurnFinished)
        assert isinstance(told := store.events[-1], ev.Notice)
        assert told.text == "2 calls were cut off: /retry runs them again."
        assert len([event for event in store.events if isinstance(event, ev.CallFinished)]) == 2
        assert screen.prompts == ["go"]
        tools.event(1).set()

    run(scene)


async def test_closing_while_a_prompt_waits_forgets_it() -> None:
    screen, ready = Screen(), Gate()
    conversation = Conversation(engine_of(Model()), Memory(), screen, ready=ready)
    conversation.send("first")
    await ready.asked.wait()
    await conversation.close()
    assert not conversation.busy
    assert screen.prompts == []
    await conversation.close()
    conversation.send("too late")
    await conversation.ended()
    assert screen.prompts == []


async def test_a_call_runs_again_between_turns_and_the_queue_goes_on_behind_it() -> None:
    screen, tools = Screen(), Tools()
    conversation = Conversation(engine_of(Model(calls({"do": "wait", "n": 1})), tools), Memory(), screen)
    tools.event(1).set()
    conversation.send("go")
    await conversation.ended()
    call_id = next(iter(conversation.engine.transcript.calls))
    tools.event(1).clear()
    conversation.rerun(call_id)
    await screen.sees(ev.CallRestarted)
    conversation.send("next")
    assert conversation.on_its_way is None
    assert list(conversation.waiting) == ["next"]
    for other in (lambda: conversation.rerun(call_id), conversation.compact):
        with pytest.raises(UsageError):
            other()
    with pytest.raises(UsageError):
        await conversation.undo_compaction()
    tools.event(1).set()
    await conversation.ended()
    assert screen.prompts == ["go", "next"]
    consistent(conversation, screen)


async def test_nothing_runs_beside_a_prompt_that_waits() -> None:
    screen, ready = Screen(), Gate()
    ready.opened.set()
    conversation = Conversation(engine_of(Model(calls({"n": 1}))), None, screen, ready=ready)
    conversation.send("go")
    await conversation.ended()
    ready.opened.clear()
    conversation.send("next")
    with pytest.raises(UsageError):
        conversation.rerun(next(iter(conversation.engine.transcript.calls)))
    with pytest.raises(UsageError):
        conversation.compact()
    ready.opened.set()
    await conversation.ended()
    assert screen.prompts == ["go", "next"]
    assert screen.endings == ["completed", "completed"]


async def test_older_turns_become_a_summary_with_a_prompt_behind_it_and_back() -> None:
    gate = asyncio.Event()
    screen = Screen()
    model = Model(*(answer(f"{number}") for number in range(6)), answer("the summary", gate))
    conversation = Conversation(engine_of(model), Memory(), screen)
    for number in range(6):
        conversation.send(f"prompt {number}")
    await conversation.ended()
    conversation.compact()
    await screen.until(lambda: len(model.requests) == 7)
    conversation.send("next")
    gate.set()
    await conversation.ended()
    assert conversation.engine.transcript.compaction is not None
    assert await conversation.undo_compaction()
    assert conversation.engine.transcript.compaction is None
    assert not await conversation.undo_compaction()
    consistent(conversation, screen)


async def test_a_compaction_is_stopped() -> None:
    screen = Screen()
    model = Model(*(answer(f"{number}") for number in range(6)), answer("the summary", asyncio.Event()))
    conversation = Conversation(engine_of(model), Memory(), screen)
    for number in range(6):
        conversation.send(f"prompt {number}")
    await conversation.ended()
    conversation.compact()
    await screen.until(lambda: len(model.requests) == 7)
    assert conversation.stop()
    await conversation.ended()
    assert conversation.engine.transcript.compaction is None
    assert not conversation.busy


def test_how_long_a_prompt_waits_counts_from_when_it_was_next() -> None:
    async def scene() -> None:
        screen, ready = Screen(), Gate()
        loop = asyncio.get_running_loop()
        conversation = Conversation(engine_of(Model()), None, screen, ready=ready, clock=loop.time)
        conversation.send("first")
        await asyncio.sleep(10)
        assert conversation.call_off() == "first"
        await asyncio.sleep(10)
        conversation.send("second")
        await asyncio.sleep(5)
        assert conversation.on_its_way is not None
        assert loop.time() - conversation.on_its_way.since == 5
        conversation.stop()
        await conversation.ended()

    run(scene)


async def test_a_fault_before_the_turn_is_told_and_gives_the_prompt_back() -> None:
    async def fails() -> None:
        raise UsageError("the servers can't be started", "Look into mcp.json.")

    screen = Screen()
    conversation = Conversation(engine_of(Model()), None, screen, ready=fails)
    conversation.send("hello")
    await conversation.ended()
    assert screen.told == [("error", "the servers can't be started. Look into mcp.json.")]
    assert (screen.field, screen.prompts, list(conversation.waiting)) == ("hello", [], [])


@each("field", ["", "being written"])
async def test_calls_by_hand_that_cannot_be_made_are_not_lost(field: str) -> None:
    screen = Screen()
    conversation = Conversation(engine_of(Model()), None, screen)
    screen.field = field
    conversation.send("/call nobody.nothing {")
    await conversation.ended()
    assert screen.told[0][0] == "error"
    assert screen.field == (field or "/call nobody.nothing {")
    assert screen.told[1:] == ([("warning", "Not sent: /call nobody.nothing {")] if field else [])


async def test_what_was_meant_for_a_turn_that_was_stopped_waits_for_you(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    screen = Screen()
    attachments = Attachments(tmp_path, None, None, lambda: "")
    model = Model(answer("one", asyncio.Event()))
    conversation = Conversation(engine_of(model), None, screen, attachments=attachments)
    conversation.send("go")
    await screen.sees(ev.StepStarted)
    steering = asyncio.create_task(conversation.steer("and @a.txt"))
    await asyncio.sleep(0)  # it is being read
    conversation.stop()
    await steering
    await conversation.ended()
    assert screen.prompts == ["go"]
    assert list(conversation.waiting) == ["and @a.txt"]
    assert conversation.paused
    conversation.resume()
    await conversation.ended()
    assert screen.prompts == ["go", "and @a.txt"]
    consistent(conversation, screen)
