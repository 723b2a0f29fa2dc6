"""Esc, `x` on one panel, deadlines, and leaving in the middle: what ran is known, nothing hangs, nothing leaks."""

from __future__ import annotations

import asyncio
import itertools
import logging

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, FinishChunk, TextChunk
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome, ToolResult
from console_app.domain.transcript import CallView, Transcript
from console_app.engine import Turn
from console_app.engine.activity import GRACE
from tests.each import each
from tests.engine.peers import (
    Line,
    Model,
    Tools,
    call,
    calls,
    ending,
    engine_of,
    only,
    outcomes,
    play,
    results_of,
    spec,
    tool_texts,
)
from tests.engine.strict_history import check_history, check_turn
from tests.engine.virtual_time import at_rest, run
from tests.examples import EXPLORING


def others() -> set[asyncio.Task[object]]:
    """The tasks that run beside this one."""
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


def test_cancelling_one_call_leaves_its_siblings_running() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a", "seconds": 2}, {"n": "b", "do": "hang"}, {"n": "c"})), tools)

        def press_x(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallLog):
                assert turn.cancel_call(event.call_id)
                assert not turn.cancel_call(event.call_id)

        events = await play(engine, react=press_x)
        assert outcomes(engine) == ["succeeded", "cancelled", "succeeded"]
        assert tool_texts(engine)[1] == "The user cancelled this call. It had sent so far:\nworking on b"
        assert tools.cancelled == ["b"]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_a_call_cancelled_while_its_arguments_come_in_never_runs() -> None:
    async def scene() -> None:
        tools = Tools()
        rest = asyncio.Event()
        model = Model(
            [
                CallOpened(0, "id_0", "demo_do"),
                CallDelta(0, '{"n": '),
                rest,
                CallDelta(0, "1}"),
                CallClosed(0, '{"n": 1}'),
                *call(1, {}),
                FinishChunk("tool_calls"),
            ]
        )

        def press_x(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallArguments) and event.call_id == "id_0":
                assert turn.cancel_call("id_0")
                rest.set()

        engine = engine_of(model, tools)
        events = await play(engine, react=press_x)
        assert outcomes(engine) == ["cancelled", "succeeded"]
        assert len(tools.ran) == 1
        assert engine.history[1].tool_calls[0].arguments == '{"n": 1}'  # type: ignore[union-attr]
        check_turn(engine, events)

    run(scene)


def test_esc_keeps_the_text_and_ends_every_call() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model(
            [
                TextChunk("Let me"),
                *call(0, {"n": "quick"}),
                *call(1, {"n": "slow", "do": "hang"}),
                *call(2, {"n": "queued", "do": "hang"}, "demo_one"),
                *call(3, {"n": "queued"}, "demo_one"),
                CallOpened(4, "id_4", "demo_do"),
                CallDelta(4, '{"half'),
                asyncio.Event(),
            ]
        )
        tools.specs.append(spec("one", parallel=False))
        engine = engine_of(model, tools)

        def esc(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallLog) and event.call_id == "id_2":
                turn.cancel()
                turn.cancel()

        events = await play(engine, react=esc)
        assert ending(events).outcome == "cancelled"
        assert outcomes(engine) == ["succeeded", *["cancelled"] * 4]
        assert tool_texts(engine)[3] == "The user cancelled this call. It had not started."
        assert engine.history[1].content == "Let me"
        assert engine.history[1].interrupted  # type: ignore[union-attr]
        assert not others()
        assert model.open_streams == 0
        check_turn(engine, events)
        await play(engine, "what did you do?")
        sent = model.requests[-1].messages
        assert "the user stopped the turn here" in sent[-1].content
        assert sent[-1].content.endswith("what did you do?")

    run(scene)


def test_esc_before_anything_came_leaves_a_valid_history() -> None:
    async def scene() -> None:
        engine = engine_of(Model([asyncio.Event()]))
        async with engine.start("go") as turn:
            turn.cancel("stopped by the test")
            events = [event async for event in turn]
        assert (ending(events).outcome, ending(events).error) == ("cancelled", "stopped by the test")
        check_turn(engine, events)

    run(scene)


def test_a_tool_that_ignores_cancelling_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "deaf", "do": "stubborn"}, {"n": "b", "seconds": 9})), tools)

        def press_x(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and tools.ran[0].call_id == event.call_id:
                asyncio.get_running_loop().call_later(1, turn.cancel_call, event.call_id)

        events = await play(engine, react=press_x)
        assert outcomes(engine) == ["cancelled", "succeeded"]
        assert results_of(events)[0].at == 1  # at once, not when the tool is done
        check_turn(engine, events)
        assert len(others()) == 1  # the deaf tool, kept until it ends
        tools.event("deaf").set()
        await asyncio.wait(others())
        assert not others()
        assert "Dropped a late result" in caplog.text
        assert outcomes(engine) == ["cancelled", "succeeded"]

    with caplog.at_level(logging.WARNING):
        run(scene)


def test_a_deaf_tool_gives_its_place_free_after_a_while() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "deaf", "do": "stubborn"}, {"n": "next"})), tools, max_parallel=1)

        def press_x(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallQueued):
                turn.cancel_call(tools.ran[0].call_id)

        events = await play(engine, react=press_x)
        assert outcomes(engine) == ["cancelled", "succeeded"]
        assert only(events, ev.CallStarted)[-1].at == GRACE
        tools.event("deaf").set()
        await asyncio.wait(others())

    run(scene)


def test_esc_returns_within_the_grace_from_a_deaf_tool() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "deaf", "do": "stubborn"})), tools)

        def esc(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted):
                asyncio.get_running_loop().call_later(1, turn.cancel)

        events = await play(engine, react=esc)
        assert ending(events).at == 1
        assert asyncio.get_running_loop().time() == 1 + GRACE
        check_turn(engine, events)
        tools.event("deaf").set()
        await asyncio.wait(others())

    run(scene)


def foretold(events: list[ev.Event]) -> int:
    """How many calls timed out, each when a panel that knows no more than the events says so."""
    transcript, count = Transcript(), 0
    for event in events:
        if isinstance(event, ev.CallFinished) and event.outcome is Outcome.TIMED_OUT:
            assert transcript.calls[event.call_id].ends_at == pytest.approx(event.at, abs=0.01)
            count += 1
        transcript.apply(event)
    return count


class Repeating(Tools):
    """Says something every half a second, for ever: the same, or something new each time."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        for number in itertools.count():
            match invocation.arguments["says"]:
                case "same line":
                    reporter.log("info", "still there")
                case "same progress":
                    reporter.progress(1, 2, "still there")
                case _:
                    reporter.progress(number, None, None)
            await asyncio.sleep(0.5)
        raise AssertionError("never")


def test_news_puts_a_deadline_off_only_while_it_is_new_and_up_to_a_limit() -> None:
    async def scene() -> None:
        kinds = ("same line", "same progress", "new")
        engine = engine_of(Model(calls(*({"says": kind} for kind in kinds))), Repeating(), call_timeout=2)
        events = await play(engine)
        assert outcomes(engine) == ["timed_out"] * 3
        assert [round(event.duration_ms / 1000) for event in results_of(events)] == [2, 2, 2 * CallView.MOST_LIMITS]
        assert "24 times its limit of 2.0 s, with news to the end" in tool_texts(engine)[2]
        assert foretold(events) == 3

    run(scene)


class Flooding(Tools):
    """Logs `rate` new lines a second for ever."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        for number in itertools.count():
            reporter.log("info", f"line {number}")
            await asyncio.sleep(1 / invocation.arguments["rate"])
        raise AssertionError("never")


def test_a_flood_of_new_lines_is_no_news_and_a_steady_stream_is() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"rate": 1_000}, {"rate": 20})), Flooding(), call_timeout=5)
        events = await play(engine)
        flood, steady = (event.duration_ms / 1000 for event in results_of(events))
        assert 5 < flood < 7
        assert round(steady) == 5 * CallView.MOST_LIMITS
        assert foretold(events) == 2

    run(scene)


def test_silence_ends_a_call_and_news_keeps_it_alive() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(
            Model(calls({"n": "mute", "do": "hang"}, {"n": "b", "do": "chatty"})), tools, call_timeout=0.8
        )
        events = await play(engine)
        assert outcomes(engine) == ["timed_out", "succeeded"]
        assert tool_texts(engine)[0] == (
            "This call timed out after 0.8 s (0.8 s without progress). It had sent so far:\nworking on mute"
        )
        assert tools.cancelled == ["mute"]
        check_turn(engine, events)

    run(scene)


def test_a_tool_of_its_own_deadline_and_more_time_on_request() -> None:
    async def scene() -> None:
        tools = Tools([spec(timeout=5)])
        engine = engine_of(Model(calls({"n": "a", "do": "hang"})), tools, call_timeout=1)

        def more_time(turn: Turn, event: ev.Event) -> None:
            assert not turn.extend_call("nobody")
            if isinstance(event, ev.CallStarted):
                asyncio.get_running_loop().call_later(4, turn.extend_call, event.call_id)

        events = await play(engine, react=more_time)
        assert results_of(events)[0].duration_ms == 9000
        assert foretold(events) == 1

    run(scene)


def test_the_time_limit_of_the_turn_says_what_ran() -> None:
    async def scene() -> None:
        tools = Tools([spec(), spec("one", parallel=False)])
        model = Model([*call(0, {"do": "hang", "n": "a"}, "demo_one"), *call(1, {}, "demo_one"), FinishChunk("stop")])
        engine = engine_of(model, tools, turn_timeout=7)
        turns: list[Turn] = []
        events = await play(engine, react=lambda turn, _: turns.append(turn))
        assert ending(events).outcome == "failed"
        assert turns[0].timed_out
        assert outcomes(engine) == ["timed_out", "interrupted"]
        assert tool_texts(engine) == [
            "This call timed out after 7.0 s (the turn reached its limit of 7.0 s). It had sent so far:\nworking on a",
            "Interrupted before completion.",
        ]
        check_turn(engine, events)

    run(scene)


def test_a_provider_that_goes_on_after_esc_starts_nothing_more() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(
            Model([TextChunk("a"), asyncio.Event(), asyncio.Event(), TextChunk("b"), *call(0, {})], deaf=True), tools
        )

        def esc(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.TextDelta):
                turn.cancel()

        events = await play(engine, react=esc)
        await at_rest()
        assert not tools.ran
        assert engine.history[1].content == "a"
        check_turn(engine, events)
        check_history(engine)

    run(scene)


def test_esc_while_a_call_waits_for_you() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({}, {})), tools, mode=ApprovalMode.ASK)

        def esc(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                turn.cancel()

        events = await play(engine, react=esc)
        assert outcomes(engine) == ["cancelled", "cancelled"]
        assert not tools.ran
        check_turn(engine, events)

    run(scene)


@each("how", ["break", "raise", "cancel"])
def test_leaving_in_the_middle_cancels_everything(how: str) -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model([*call(0, {"do": "hang"}), *call(1, {}), asyncio.Event()])
        engine = engine_of(model, tools)

        async def console() -> None:
            async with engine.start("go") as turn:
                async for event in turn:
                    if isinstance(event, ev.CallLog):
                        if how == "break":
                            break
                        if how == "raise":
                            raise LookupError
            assert turn.outcome == "cancelled"

        task = asyncio.create_task(console())
        if how == "cancel":
            asyncio.get_running_loop().call_later(1, task.cancel)
        await asyncio.wait({task})
        assert task.cancelled() == (how == "cancel")
        assert isinstance(None if task.cancelled() else task.exception(), LookupError) == (how == "raise")
        assert not others()
        assert model.open_streams == 0
        assert outcomes(engine) == ["cancelled", "succeeded"]
        check_history(engine)
        assert ending(await play(engine, "again")).outcome == "completed"

    run(scene)


def test_a_second_turn_can_only_start_when_the_first_has_ended() -> None:
    async def scene() -> None:
        engine = engine_of(Model())
        async with engine.start("go"):
            with pytest.raises(RuntimeError):
                engine.start("too early")
            with pytest.raises(RuntimeError):
                engine.begin()
        assert ending(await play(engine)).outcome == "completed"

    run(scene)


def answers() -> list[list[Line]]:
    """Text, quick, slow, failing, unknown and unreadable calls in three steps."""
    return [
        [
            TextChunk("one"),
            *call(0, {"n": "a"}),
            *call(1, {"n": "b", "seconds": 1}),
            *call(2, "{", id="bad"),
            *call(3, {"n": "d", "do": "chatty"}),
            TextChunk("two"),
            FinishChunk("tool_calls"),
        ],
        [*call(0, {"n": "e", "do": "raise"}), *call(1, {}, "none"), FinishChunk("tool_calls")],
    ]


def ticks_of_a_whole_turn() -> int:
    async def scene() -> int:
        await play(engine_of(Model(*answers(), paced=True), Tools(), max_parallel=2))
        return asyncio.get_running_loop().ticks  # type: ignore[attr-defined]

    return run(scene)


@each("who", ["user", "console"])
def test_stopping_at_every_single_moment(who: str) -> None:
    last = ticks_of_a_whole_turn()
    assert last > 40
    first, step = (1, 1) if EXPLORING else (1 + (who == "user"), 2)  # else at every second one, in turns
    for tick in range(first, last + 2, step):
        stop: list[object] = []

        def at_tick(stop: list[object] = stop) -> None:
            for act in stop:
                act()  # type: ignore[operator]

        async def scene(stop: list[object] = stop) -> None:
            tools = Tools()
            engine = engine_of(Model(*answers(), paced=True), tools, max_parallel=2)
            seen: list[ev.Event] = []

            async def console() -> None:
                turn = engine.start("go")
                stop.append(turn.cancel)
                async with turn:
                    async for event in turn:
                        seen.append(event)

            task = asyncio.create_task(console())
            if who == "console":
                stop.append(task.cancel)
            await asyncio.wait({task})
            assert not others()
            assert tools.running == 0
            check_history(engine)
            if who == "user":
                check_turn(engine, seen)
            await play(engine, "again")
            check_history(engine)

        run(scene, {tick: at_tick})
