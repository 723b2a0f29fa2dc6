"""A single call is stopped, changed or run again while its siblings run on. Without a screen."""

from __future__ import annotations

import asyncio

from console_app.console.calls import NOT_ASKED, OCCUPIED, Calls
from console_app.console.talk.conversation import Conversation
from console_app.domain import events as ev
from console_app.domain.tools import CallState
from console_app.domain.transcript import Transcript
from tests.console.peers import Memory, Screen, consistent
from tests.engine.peers import Line, Model, Tools, calls, engine_of, outcomes
from tests.engine.virtual_time import run


class Running:
    """A turn whose calls run."""

    def __init__(self, *answers: list[Line], **settings: object) -> None:
        self.screen, self.tools, self.store = Screen(), Tools(), Memory()
        self.model = Model(*answers)
        self.conversation = Conversation(engine_of(self.model, self.tools, **settings), self.store, self.screen)
        self.calls = Calls(self.conversation, self.screen)

    async def begin(self, started: int) -> list[str]:
        """The ids of the calls, once so many run."""
        self.conversation.send("go")
        await self.screen.sees(ev.CallStarted, started)
        return list(self.conversation.engine.transcript.calls)

    @property
    def ran(self) -> list[object]:
        return [invocation.arguments.get("n") for invocation in self.tools.ran]


async def test_one_of_two_is_cancelled() -> None:
    here = Running([*calls({"do": "wait", "n": 1}, {"do": "wait", "n": 2})])
    first, _ = await here.begin(2)
    here.calls.cancel(first)
    here.calls.cancel("nobody")
    here.tools.event(2).set()
    await here.conversation.ended()
    assert outcomes(here.conversation.engine) == ["cancelled", "succeeded"]
    assert here.screen.endings == ["completed"]
    here.calls.cancel(first)
    consistent(here.conversation, here.screen)


async def test_a_call_runs_again_while_another_runs_and_with_other_arguments() -> None:
    here = Running([*calls({"do": "fail", "n": 1}, {"do": "wait", "n": 2})])
    first, _ = await here.begin(2)
    await here.screen.sees(ev.CallFinished)
    here.calls.run_again(first)
    await here.screen.sees(ev.CallFinished, 2)
    here.calls.run_again(first, {"do": "succeed", "n": 3})
    await here.screen.sees(ev.CallFinished, 3)
    here.tools.event(2).set()
    await here.conversation.ended()
    assert here.ran == [1, 2, 1, 3]
    assert outcomes(here.conversation.engine) == ["succeeded", "succeeded"]
    assert here.screen.toasts == []


async def test_a_call_runs_again_after_its_turn_and_not_two_at_once() -> None:
    here = Running([*calls({"do": "wait", "n": 1}, {"n": 2})])
    first, second = await here.begin(2)
    here.tools.event(1).set()
    await here.conversation.ended()
    here.tools.event(1).clear()
    here.calls.run_again(first)
    await here.screen.sees(ev.CallStarted, 3)
    here.calls.run_again(second)
    assert here.screen.toasts[-1].startswith("A call is running again already")
    here.calls.send_now()
    assert here.screen.toasts[-1].startswith("No answer waits")
    here.calls.cancel(first)
    await here.conversation.ended()
    here.calls.run_again("nobody")
    await here.conversation.ended()
    assert here.screen.toasts[-1].startswith("Tool: no such call")
    here.calls.run_again(second, {"n": 5})
    await here.conversation.ended()
    assert here.ran == [1, 2, 1, 5]
    consistent(here.conversation, here.screen)


async def test_a_call_runs_again_once_its_servers_are_there_and_not_when_it_was_called_off() -> None:
    ready = asyncio.Event()
    ready.set()

    async def when_ready() -> None:
        await ready.wait()

    screen = Screen()
    conversation = Conversation(engine_of(Model([*calls({"n": 1})])), None, screen, ready=when_ready)
    acts = Calls(conversation, screen)
    conversation.send("go")
    await conversation.ended()
    again = next(iter(conversation.engine.transcript.calls))
    ready.clear()
    acts.run_again(again, {"n": 2})
    assert conversation.busy
    acts.run_again(again, {"n": 2})
    assert screen.toasts == [OCCUPIED]
    assert conversation.stop()
    await conversation.ended()
    acts.run_again(again, {"n": 2})
    ready.set()
    await conversation.ended()
    assert sum(isinstance(event, ev.CallStarted) for event in screen.events) == 2


async def test_a_call_does_not_run_again_before_a_prompt_that_waits() -> None:
    ready = asyncio.Event()
    ready.set()

    async def when_ready() -> None:
        await ready.wait()

    screen = Screen()
    conversation = Conversation(engine_of(Model([*calls({"n": 1})])), None, screen, ready=when_ready)
    conversation.send("go")
    await conversation.ended()
    ready.clear()
    conversation.send("next")
    Calls(conversation, screen).run_again(next(iter(conversation.engine.transcript.calls)))
    assert screen.toasts == [OCCUPIED]
    ready.set()
    await conversation.ended()
    assert screen.prompts == ["go", "next"]


def test_a_call_gets_its_whole_time_again_and_every_reader_of_the_session_knows() -> None:
    async def scene() -> None:
        here = Running([*calls({"do": "wait", "n": 1})], call_timeout=10)
        (first,) = await here.begin(1)
        await asyncio.sleep(8)
        here.calls.extend(first)
        await asyncio.sleep(8)
        for transcript in (Transcript.of(here.screen.events), Transcript.of(here.store.events)):
            call = transcript.calls[first]
            assert call.state is CallState.RUNNING
            assert call.started_at is not None
            assert call.news_at == call.started_at + 8
        here.tools.event(1).set()
        await here.conversation.ended()
        assert outcomes(here.conversation.engine) == ["succeeded"]
        here.calls.extend(first)
        assert here.screen.toasts == ["It has its whole time again.", "This call has ended."]

    run(scene)


def test_a_call_that_runs_again_between_turns_gets_its_whole_time_again() -> None:
    async def scene() -> None:
        here = Running([*calls({"do": "wait", "n": 1})], call_timeout=10)
        (first,) = await here.begin(1)
        here.tools.event(1).set()
        await here.conversation.ended()
        here.tools.event(1).clear()
        here.calls.run_again(first)
        await here.screen.sees(ev.CallStarted, 2)
        await asyncio.sleep(8)
        here.calls.extend(first)
        await asyncio.sleep(8)
        here.tools.event(1).set()
        await here.conversation.ended()
        call = here.conversation.engine.transcript.calls[first]
        assert call.outcome == "succeeded"

    run(scene)


async def test_the_results_that_are_there_are_sent_and_the_rest_ends() -> None:
    here = Running([*calls({"n": 1}, {"do": "hang", "n": 2})])
    await here.begin(2)
    await here.screen.sees(ev.CallFinished)
    await here.screen.until(lambda: here.model.open_streams == 0)
    here.calls.send_now()
    await here.conversation.ended()
    assert outcomes(here.conversation.engine) == ["succeeded", "cancelled"]
    assert here.screen.endings == ["completed"]


async def test_nothing_is_sent_while_the_answer_still_streams() -> None:
    gate = asyncio.Event()
    here = Running([*calls({"do": "wait", "n": 1})[:-1], gate, *calls()])
    await here.begin(1)
    here.calls.send_now()
    assert here.screen.toasts[-1].startswith("The answer still streams")
    gate.set()
    here.tools.event(1).set()
    await here.conversation.ended()
    assert outcomes(here.conversation.engine) == ["succeeded"]


async def test_a_question_that_is_not_open_is_not_answered() -> None:
    here = Running([*calls({"do": "wait", "n": 1})])
    (first,) = await here.begin(1)
    here.calls.answer(first, "yes")
    here.calls.answer(first, None)
    here.tools.event(1).set()
    await here.conversation.ended()
    here.calls.answer(first, "yes")
    assert here.screen.toasts == [NOT_ASKED] * 3


async def test_a_call_that_is_only_about_to_run_again_is_not_left_open_by_a_cancel() -> None:
    here = Running([*calls({"n": 1})])
    (first,) = await here.begin(1)
    await here.conversation.ended()
    here.calls.run_again(first)
    here.calls.cancel(first)  # in the same moment, before it began
    await here.conversation.ended()
    consistent(here.conversation, here.screen)
