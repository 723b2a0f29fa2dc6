"""Calls in the background: their answer goes on without them, and each has one result, which follows as a message."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.tools import Outcome
from console_app.domain.transcript import ToModel, Transcript
from console_app.engine import ApprovalGate, Engine, ManualCall, Turn
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, tool_texts
from tests.engine.strict_history import check_history, check_turn
from tests.engine.virtual_time import run


def detach_at_once(turn: Turn, event: ev.Event) -> None:
    if isinstance(event, ev.CallStarted) and event.call_id == "call_1_1_0":
        assert turn.detach_call(event.call_id)
        assert not turn.detach_call(event.call_id), "once"


async def rest_of(engine: Engine) -> list[ev.Event]:
    """Return the events between two turns, until nothing runs."""
    seen: list[ev.Event] = []
    while events := await engine.background.next_slice(16):
        seen += events
    return seen


def notes(engine: Engine) -> list[str]:
    return [one.content for one in engine.history if one.role == "user" and one.origin == "fanout"]


def test_the_turn_goes_on_and_the_result_joins_between_turns_as_a_message() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "slow", "do": "wait"}, {"n": "quick"})), tools)
        events = await play(engine, react=detach_at_once)
        assert tool_texts(engine) == [ToModel.IN_BACKGROUND, "result of quick"]
        check_turn(engine, events)
        assert len(engine.background) == 1
        tools.event("slow").set()
        late = await rest_of(engine)
        assert [type(event) for event in late] == [ev.CallFinished, ev.MessageAdded]
        assert late[0].seq == events[-1].seq + 1
        [note] = notes(engine)
        assert "result of slow" in note
        assert "succeeded" in note
        again = await play(engine, "and now?")
        assert note in engine.provider.requests[-1].messages[-1].content  # type: ignore[attr-defined]
        check_history(engine)
        told = Transcript.of([*events, *late, *again])
        assert told.history == engine.history
        assert told.calls["call_1_1_0"].outcome is Outcome.SUCCEEDED

    run(scene)


def test_a_result_that_comes_while_the_turn_goes_on_joins_at_its_next_step() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(
            Model(calls({"n": "slow", "do": "wait"}), calls({"n": "b", "seconds": 5}), calls({"n": "c"})), tools
        )
        asyncio.get_running_loop().call_later(2, tools.event("slow").set)
        events = await play(engine, react=detach_at_once)
        finished = [event.call_id for event in only(events, ev.CallFinished)]
        assert finished[0] == "call_1_1_0"
        assert len(finished) == 3
        assert len(notes(engine)) == 1
        assert len(engine.background) == 0
        check_turn(engine, events)

    run(scene)


def test_one_that_ends_before_its_siblings_gives_its_own_result_and_no_message() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a", "seconds": 1}, {"n": "b", "seconds": 5})))
        events = await play(engine, react=detach_at_once)
        assert tool_texts(engine) == ["result of a", "result of b"]
        assert notes(engine) == []
        check_turn(engine, events)

    run(scene)


def test_escape_leaves_it_running_and_it_can_be_stopped_by_itself() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"do": "hang", "n": 1}, {"do": "hang", "n": 2})))

        def react(turn: Turn, event: ev.Event) -> None:
            detach_at_once(turn, event)
            if isinstance(event, ev.CallDetached):
                turn.cancel()

        events = await play(engine, react=react)
        assert len(engine.background) == 1
        assert [event.outcome for event in only(events, ev.CallFinished)] == [Outcome.CANCELLED]
        assert engine.background.cancel_call("call_1_1_0")
        assert not engine.background.cancel_call("call_1_1_0")
        late = await rest_of(engine)
        assert only(late, ev.CallFinished)[0].outcome is Outcome.CANCELLED
        check_history(engine)

    run(scene)


def test_one_that_ends_with_the_console_was_interrupted_and_nobody_stopped_it() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "slow", "do": "wait"})), Tools())
        events = await play(engine, react=detach_at_once)
        engine.background.cancel()
        told = Transcript.of([*events, *await rest_of(engine)])
        assert told.calls["call_1_1_0"].outcome is Outcome.INTERRUPTED

    run(scene)


def test_its_time_limit_and_its_output_go_on() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"do": "write", "lines": 3000})), call_timeout=30)
        await play(engine, react=detach_at_once)
        late = await rest_of(engine)
        assert "".join(event.text for event in only(late, ev.CallOutput)).endswith("line 2999\n")
        assert only(late, ev.CallFinished)[0].outcome is Outcome.TIMED_OUT

    run(scene)


def test_with_nobody_there_a_turn_waits_for_them_and_the_model_reads_what_came() -> None:
    async def scene() -> None:
        gate = ApprovalGate(ApprovalMode.YOLO, headless=True)
        engine = engine_of(Model(calls({"n": "slow", "seconds": 60}, {"n": "quick"})), gate=gate, background_after=5)
        events = await play(engine)
        assert len(only(events, ev.CallDetached)) == 1
        assert tool_texts(engine) == [ToModel.IN_BACKGROUND, "result of quick"]
        assert "result of slow" in notes(engine)[0]
        assert engine.history[-1].role == "assistant"
        check_turn(engine, events)

    run(scene)


def test_a_typed_call_in_the_background_is_waited_for_only_where_nobody_is_there() -> None:
    async def scene(*, headless: bool) -> None:
        gate = ApprovalGate(ApprovalMode.YOLO, headless=headless)
        engine = engine_of(Model(), gate=gate, background_after=5)
        async with engine.start_manual("/call", [ManualCall("demo.do", {"n": "slow", "seconds": 60})]) as turn:
            events = [event async for event in turn]
        check_turn(engine, events)
        assert tool_texts(engine) == [ToModel.IN_BACKGROUND]
        assert len(engine.background) == (not headless)
        assert ["result of slow" in note for note in notes(engine)] == [True] * headless
        await rest_of(engine)

    run(lambda: scene(headless=True))
    run(lambda: scene(headless=False))


def test_with_nobody_there_a_turn_that_is_stopped_stops_them() -> None:
    async def scene() -> None:
        gate = ApprovalGate(ApprovalMode.YOLO, headless=True)
        engine = engine_of(Model(calls({"do": "hang"})), gate=gate, background_after=5, turn_timeout=30)
        events = await play(engine)
        assert only(events, ev.CallFinished)[0].outcome is Outcome.INTERRUPTED, "by nobody: the time was up"
        assert isinstance(events[-1], ev.TurnFinished)
        assert outcomes(engine) == ["succeeded"]
        check_turn(engine, events)

    run(scene)


def test_undo_ends_what_its_turn_left_running() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"do": "hang"})))
        await play(engine, react=detach_at_once)
        engine.undo_turn()
        assert len(engine.background) == 0
        check_history(engine)

    run(scene)


@given(
    st.lists(st.tuples(st.floats(0, 9), st.none() | st.floats(0, 9)), min_size=1, max_size=6),
    st.none() | st.floats(0, 12),
)
def test_whenever_calls_go_to_the_background_each_has_one_result(
    plan: list[tuple[float, float | None]], stop: float | None
) -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls(*({"n": n, "seconds": seconds} for n, (seconds, _) in enumerate(plan)))))
        loop, seen = asyncio.get_running_loop(), list[ev.Event]()
        async with engine.start("go") as turn:
            for n, (_, at) in enumerate(plan):
                if at is not None:
                    loop.call_later(at, turn.detach_call, f"call_1_1_{n}")
            if stop is not None:
                loop.call_later(stop, turn.cancel)
            async for event in turn:
                seen.append(event)
        seen += await rest_of(engine)
        ids = [event.call_id for event in only(seen, ev.CallFinished)]
        assert sorted(ids) == [f"call_1_1_{n}" for n in range(len(plan))]
        assert Transcript.of(seen).history == engine.history
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        check_history(engine)

    run(scene)
