"""A slow screen: the answer waits for it, progress is left out, and what must be known still arrives."""

from __future__ import annotations

import asyncio

from console_app.domain import events as ev
from console_app.domain.chunks import SLICE, CallDelta, CallOpened, FinishChunk, TextChunk
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome, ToolResult
from console_app.engine.activity import FLOOD, HIGH, MOST, Outbox
from tests.engine.peers import Model, Tools, calls, engine_of, only
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import at_rest, run


def test_the_answer_is_read_no_further_than_the_screen_can_follow() -> None:
    async def scene() -> None:
        sent: list[int] = []
        model = Model([*[TextChunk("x")] * 3000, lambda: sent.append(1), FinishChunk("stop")])
        engine = engine_of(model)
        seen: list[ev.Event] = []
        async with engine.start("go") as turn:
            await at_rest()
            assert not sent
            waiting = turn._outbox  # pyright: ignore[reportPrivateUsage]
            assert HIGH <= len(waiting) <= HIGH + SLICE
            async for event in turn:
                seen.append(event)
        assert engine.history[1].content == "x" * 3000
        check_turn(engine, seen)

    run(scene)


def test_text_that_comes_in_large_pieces_is_read_no_further_either() -> None:
    async def scene() -> None:
        piece, sent = "x" * MOST, list[int]()
        model = Model([*[TextChunk(piece)] * (4 * SLICE), lambda: sent.append(1), FinishChunk("stop")])
        engine = engine_of(model)
        async with engine.start("go") as turn:
            await at_rest()
            assert not sent
            async for _ in turn:
                pass
        assert sent
        assert engine.history[1].content == piece * 4 * SLICE

    run(scene)


def test_arguments_that_come_in_large_pieces_are_read_no_further_either() -> None:
    async def scene() -> None:
        sent = list[int]()
        pieces = [CallDelta(0, " " * MOST)] * (4 * SLICE)
        model = Model([CallOpened(0, "a", "demo_do"), *pieces, lambda: sent.append(1), FinishChunk("tool_calls")])
        engine = engine_of(model)
        async with engine.start("go") as turn:
            await at_rest()
            assert not sent
            async for _ in turn:
                pass
        assert sent

    run(scene)


class Flood(Tools):
    """A tool that reports without end."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        for part in range(3 * FLOOD):
            reporter.progress(part, None, f"part {part}")
            reporter.log("info", f"line {part}")
        return ToolResult(outcome=Outcome.SUCCEEDED, content="done")


def test_of_a_flood_the_newest_is_told_and_how_many_it_stands_for() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({})), Flood())
        seen: list[ev.Event] = []
        async with engine.start("go") as turn:
            await at_rest()
            async for event in turn:
                seen.append(event)
        assert len(seen) < FLOOD + 50
        assert len(only(seen, ev.CallFinished)) == 1
        for kind, newest in ((ev.CallProgress, f"part {3 * FLOOD - 1}"), (ev.CallLog, f"line {3 * FLOOD - 1}")):
            told = only(seen, kind)
            assert (told[-1].message if kind is ev.CallProgress else told[-1].text) == newest
            assert sum(1 + event.dropped for event in told) == 3 * FLOOD
        assert [event.seq for event in seen] == list(range(seen[0].seq, seen[0].seq + len(seen)))
        (call,) = engine.transcript.calls.values()
        assert (call.logged, call.message) == (3 * FLOOD, f"line {3 * FLOOD - 1}")
        assert call.dropped == sum(event.dropped for event in only(seen, ev.CallLog)) > FLOOD
        check_turn(engine, seen)

    run(scene)


def test_text_may_gather_for_a_moment_and_what_is_behind_it_is_given_at_once() -> None:
    async def scene() -> None:
        more, end, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
        engine = engine_of(Model([TextChunk("a"), more, TextChunk("b"), end, FinishChunk("stop")]))
        async with engine.start("go") as turn:
            await at_rest()
            await turn.next_slice(HIGH)
            loop.call_later(1, more.set)
            begun = loop.time()
            assert [event.type for event in await turn.next_slice(HIGH, 5)] == ["text.delta"]
            assert loop.time() == begun + 5
            loop.call_later(1, end.set)
            assert only(await turn.next_slice(HIGH, 5), ev.MessageAdded)
            assert loop.time() == begun + 6

    run(scene)


class Pausing(Flood):
    """A tool that reports without end, and then waits."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        await super().call(invocation, reporter)
        await self.event("go").wait()
        return ToolResult(outcome=Outcome.SUCCEEDED, content="done")


def test_the_newest_is_told_as_soon_as_the_reader_has_caught_up_while_the_call_runs() -> None:
    async def scene() -> None:
        tools = Pausing()
        engine = engine_of(Model(calls({})), tools)
        seen: list[ev.Event] = []
        async with engine.start("go") as turn:
            await at_rest()
            while not (seen and isinstance(seen[-1], ev.CallLog) and seen[-1].text == f"line {3 * FLOOD - 1}"):
                seen += await turn.next_slice(SLICE)
            assert not only(seen, ev.CallFinished)
            tools.event("go").set()
            async for event in turn:
                seen.append(event)
        check_turn(engine, seen)

    run(scene)


def test_what_comes_after_the_end_is_dropped() -> None:
    async def scene() -> None:
        outbox = Outbox()
        outbox.put(ev.StepStarted())
        outbox.close()
        outbox.put(ev.StepStarted())
        assert await outbox.take(1)
        assert not await outbox.take(1)
        assert not await outbox.take(1)

    run(scene)
