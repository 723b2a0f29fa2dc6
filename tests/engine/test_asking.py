"""A person who is asked on behalf of a call takes their time; what a call spends through the model is counted."""

from __future__ import annotations

import asyncio

from console_app.domain import events as ev
from console_app.domain.chunks import UsageChunk
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome, ToolResult
from console_app.domain.transcript import Transcript
from tests.engine.peers import Model, Tools, calls, engine_of, only, play, results_of
from tests.engine.virtual_time import run


class Asking(Tools):
    """Asks somebody who takes 100 s, then works on without news for `seconds`."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        with reporter.held(), reporter.held():
            reporter.asked("Who?")
            await asyncio.sleep(100)
            reporter.answered("Who?", "accepted")
        reporter.used(UsageChunk(7, 3, cost=0.25))
        await asyncio.sleep(float(invocation.arguments["seconds"]))
        return ToolResult(outcome=Outcome.SUCCEEDED, content="done")


def test_a_call_is_not_timed_out_while_somebody_is_asked_and_is_afterwards() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"seconds": 4}, {"seconds": 6})), Asking(), call_timeout=5)
        results = {event.call_id: event for event in results_of(await play(engine))}
        assert [event.outcome.value for event in results.values()] == ["succeeded", "timed_out"]
        assert [event.duration_ms // 1000 for event in results.values()] == [104, 105]

    run(scene)


def test_what_is_asked_for_a_call_is_told_until_it_has_ended() -> None:
    class Late(Tools):
        async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
            reporter.asked("Who?")
            try:
                await asyncio.sleep(100)
            finally:
                reporter.answered("Who?", "withdrawn")
            raise AssertionError("never")

    async def scene() -> None:
        events = await play(engine_of(Model(calls({"seconds": 4})), Asking()))
        told = [event.type for event in events if isinstance(event, ev.CallAsked | ev.CallAnswered)]
        assert told == ["call.asked", "call.answered"]
        late = await play(engine_of(Model(calls({"seconds": 4})), Late(), call_timeout=5))
        assert only(late, ev.CallFinished)[0].outcome is Outcome.TIMED_OUT
        assert not only(late, ev.CallAnswered)

    run(scene)


def test_what_a_server_spent_through_the_model_counts_but_not_as_the_conversations_size() -> None:
    async def scene() -> None:
        transcript = Transcript()
        events = await play(engine_of(Model(calls({"seconds": 0})), Asking()))
        for event in events:
            transcript.apply(event)
        (spent,) = [event for event in only(events, ev.UsageReported) if event.call_id]
        assert (spent.input_tokens, spent.output_tokens, spent.cost) == (7, 3, 0.25)
        assert transcript.usage.cost == 0.25
        assert transcript.usage.context != 10

    run(scene)
