"""The output of a call while it runs: told twenty times a second, all of it before the call's end, bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console_app.domain import events as ev
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome, ToolResult
from console_app.engine import Turn
from console_app.engine.activity import FLOOD
from console_app.engine.calls.call_execution import MOST_AT_ONCE, MOST_THEN, PLENTY
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run


class Writer(Tools):
    """A tool that writes as a test says."""

    def __init__(self, write: Callable[[CallReporter], None], rounds: int = 1, every: float = 0.001) -> None:
        super().__init__()
        self._write = write
        self._rounds = rounds
        self._every = every
        self.written = asyncio.Event()

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        for _ in range(self._rounds):
            self._write(reporter)
            await asyncio.sleep(self._every)
        self.written.set()
        return ToolResult(outcome=Outcome.SUCCEEDED, content="done")


def written(write: Callable[[CallReporter], None], rounds: int = 1) -> list[ev.CallOutput]:
    """Return the events of a call that writes so, once a millisecond."""
    told: list[ev.CallOutput] = []

    async def scene() -> None:
        engine = engine_of(Model(calls({})), Writer(write, rounds))
        events = await play(engine)
        told.extend(only(events, ev.CallOutput))
        kinds = [type(event) for event in events]
        assert kinds.index(ev.CallFinished) > max(place for place, kind in enumerate(kinds) if kind is ev.CallOutput)
        check_turn(engine, events)

    run(scene)
    end = 0
    for event in told:
        assert event.offset == end + event.dropped
        end = event.offset + len(event.text.encode())
    return told


def test_a_thousand_lines_a_second_are_told_twenty_times_and_none_is_lost() -> None:
    number = iter(range(10_000))
    told = written(lambda reporter: reporter.output("stdout", f"line {next(number)}\n"), rounds=3000)
    assert "".join(event.text for event in told) == "".join(f"line {n}\n" for n in range(3000))
    assert 50 <= len(told) <= 62
    assert not any(event.dropped for event in told)


def test_streams_are_told_apart_until_they_alternate_faster_than_that() -> None:
    def write(reporter: CallReporter) -> None:
        reporter.output("stdout", "out\n")
        reporter.output("stderr", "err\n")

    assert [(event.stream, event.text) for event in written(write)] == [("stdout", "out\n"), ("stderr", "err\n")]
    assert [event.stream for event in written(lambda reporter: [write(reporter), write(reporter)])] == ["text"]
    told = written(write, rounds=2000)
    assert "".join(event.text for event in told) == "out\nerr\n" * 2000
    assert len(told) <= 45
    assert {event.stream for event in told} <= {"text", "stdout", "stderr"}


def test_of_more_than_an_event_holds_the_newest_is_told_and_how_much_is_missing() -> None:
    def write(reporter: CallReporter) -> None:
        for _ in range(1000):
            reporter.output("stdout", "é" * 1000)

    told = written(write)
    assert [len(event.text) for event in told] == [MOST_AT_ONCE]
    assert told[0].dropped == 2 * (1_000_000 - MOST_AT_ONCE)


def test_a_call_that_never_ends_to_write_is_told_of_in_small_pieces_at_last() -> None:
    told = written(lambda reporter: reporter.output("stdout", "x" * 1000 + "\n"), rounds=20_000)
    assert sum(len(event.text) for event in told) < PLENTY + 500 * MOST_THEN
    assert len(told[-1].text) == MOST_THEN
    assert told[-1].offset + MOST_THEN == 20_000 * 1001


def test_what_a_server_lost_is_told_before_what_came_next() -> None:
    def write(reporter: CallReporter) -> None:
        reporter.output("stdout", "one\n")
        reporter.output("stdout", "two\n", dropped=100)

    assert [(event.text, event.dropped) for event in written(write)] == [("one\n", 0), ("two\n", 100)]
    told = written(write, rounds=500)
    assert len(told) <= 12, "gaps don't make more events"
    assert told[-1].text.endswith("two\n")


def test_a_reader_who_is_far_behind_is_told_how_much_he_missed() -> None:
    async def scene() -> None:
        tools = Writer(lambda reporter: reporter.output("stdout", "a line\n"), rounds=2 * FLOOD, every=0.05)
        tools.specs[0] = tools.specs[0].model_copy(update={"timeout": 0})
        engine = engine_of(Model(calls({})), tools)
        seen: list[ev.Event] = []
        async with engine.start("go") as turn:
            await tools.written.wait()
            async for event in turn:
                seen.append(event)
        told = only(seen, ev.CallOutput)
        assert len(told) <= FLOOD + 5
        last = told[-1]
        assert last.offset + len(last.text) == 2 * FLOOD * len("a line\n")
        assert sum(event.dropped + len(event.text) for event in told) == last.offset + len(last.text)
        check_turn(engine, seen)

    run(scene)


def test_the_model_reads_what_a_call_wrote_before_it_was_ended() -> None:
    async def scene(end: Callable[[Turn, ev.Event], None], said: str, outcome: str, **limits: float) -> None:
        engine = engine_of(Model(calls({"do": "write", "n": "w", "lines": 100})), **limits)
        events = await play(engine, react=end)
        assert outcomes(engine) == [outcome]
        (text,) = tool_texts(engine)
        assert text.startswith(said)
        assert text.splitlines()[-1] == "line 99"
        assert len(text.splitlines()) <= 52
        check_turn(engine, events)

    def stop(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallOutput) and event.text.endswith("line 99\n"):
            turn.cancel_call(event.call_id)

    def ignore(turn: Turn, event: ev.Event) -> None: ...

    run(lambda: scene(stop, "The user cancelled this call. It had sent so far:", "cancelled"))
    run(lambda: scene(ignore, "This call timed out after", "timed_out", call_timeout=10))


def test_output_is_news_that_puts_off_the_deadline() -> None:
    async def scene() -> None:
        number = iter(range(100_000))
        tools = Writer(lambda reporter: reporter.output("stdout", f"\r{next(number)} %"), rounds=15_000)
        events = await play(engine_of(Model(calls({})), tools, call_timeout=2))
        assert only(events, ev.CallFinished)[0].outcome is Outcome.SUCCEEDED

    run(scene)
