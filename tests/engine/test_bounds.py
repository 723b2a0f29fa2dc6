"""An answer may ask for so many calls, with arguments of such a size; a turn with more of it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import CallPolicy
from console_app.domain.chunks import (
    CallClosed,
    CallDelta,
    CallOpened,
    Chunk,
    FinishChunk,
    ProviderCallStarted,
    ProviderData,
    ReasoningChunk,
    ReasoningFinished,
    ReasoningSoFar,
    TextChunk,
)
from console_app.domain.messages import Reasoning
from console_app.engine.answer import LARGEST_KEPT, LARGEST_SAID
from console_app.engine.context import normalise
from console_app.engine.execution.batch import LONGEST_NAME
from console_app.engine.session import LONGEST_ID
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
    tool_texts,
)
from tests.engine.strict_history import check_events, check_messages, check_turn
from tests.engine.virtual_time import run


def test_calls_beyond_the_bound_are_told_that_they_were_not_executed() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls(*({"n": str(n)} for n in range(300)))), tools)
        events = await play(engine)
        assert len(tools.ran) == 256
        assert outcomes(engine) == ["succeeded"] * 256 + ["skipped"] * 44
        assert tool_texts(engine)[256].startswith("not executed: one answer may make 256 calls.")
        check_turn(engine, events)

    run(scene)


def test_a_turn_with_a_thousand_calls_ends_at_its_limit_with_a_result_for_each() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls(*({"do": "hang", "n": n} for n in range(1_000)))), tools, turn_timeout=5)
        events = await play(engine)
        assert ending(events).error == "Time limit: the turn took longer than 5.0 s."
        assert ending(events).at - events[0].at == 5.0
        assert outcomes(engine) == ["timed_out"] * 128 + ["interrupted"] * 128 + ["skipped"] * 744
        assert len({event.call_id for event in results_of(events)}) == len(results_of(events)) == 1_000

    run(scene)


@each(("run_of_it", "read"), [(256, 4_096), (4_100, 4_100)])
def test_an_answer_is_not_read_beyond_four_thousand_calls_unless_more_may_run(run_of_it: int, read: int) -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls(*[{"n": 1}] * 4_105)), max_calls=run_of_it)
        events = await play(engine)
        (notice,) = only(events, ev.Notice)
        assert notice.text.startswith(f"Answer cut off: it makes more than {read:,} calls: the rest of it is not read.")
        assert len(outcomes(engine)) == len(results_of(events)) == read + 1

    run(scene)


def test_a_name_and_an_id_that_are_too_long_are_not_carried_along() -> None:
    async def scene() -> None:
        opened = [CallOpened(0, "a" * 2**25, "demo_do"), CallOpened(1, "b" * LONGEST_ID, "n" * 2**20)]
        ends = [CallClosed(0, "{}"), CallClosed(1, "{}")]
        engine = engine_of(Model([*opened, *ends, FinishChunk("tool_calls")]))
        events = await play(engine)
        check_turn(engine, events)
        first, second = only(events, ev.CallAnnounced)
        assert (first.name, len(first.call_id) < 100) == ("demo_do", True)
        assert (second.name, len(second.call_id)) == ("n" * LONGEST_NAME + "…", LONGEST_ID)
        assert outcomes(engine) == ["succeeded", "invalid"]
        assert max(len(event.model_dump_json()) for event in events) < 10 * LONGEST_ID

    run(scene)


def test_arguments_that_grow_beyond_their_bound_end_the_answer_and_are_not_kept() -> None:
    async def scene() -> None:
        sent = 0

        def count() -> None:
            nonlocal sent
            sent += 1

        piece = "x" * 2**20
        flood = [line for _ in range(100) for line in (CallDelta(1, piece), count)]
        model = Model([*call(0, {"n": "first"}), CallOpened(1, "b", "demo_do"), CallDelta(1, '{"n": "'), *flood])
        engine = engine_of(model)
        events = await play(engine)
        assert sent == 7  # what comes after the eighth is not read
        assert outcomes(engine) == ["succeeded", "invalid"]
        assert tool_texts(engine)[1].startswith("This call was not run: its arguments are larger than 8 MB.\nReceived:")
        assert "its arguments are larger than 8 MB" in only(events, ev.Notice)[0].text
        assert max(len(event.model_dump_json()) for event in only(events, ev.MessageAdded)) < 10_000
        check_turn(engine, events)

    run(scene)


def test_arguments_that_come_whole_and_too_large_are_invalid_alone() -> None:
    async def scene() -> None:
        large = call(0, {"n": "x" * 9 * 2**20})
        engine = engine_of(Model([large[0], large[2], *call(1, {"n": "second"}), FinishChunk("tool_calls")]))
        events = await play(engine)
        assert outcomes(engine) == ["invalid", "succeeded"]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_the_arguments_of_an_answer_are_bounded_together_however_they_come() -> None:
    async def scene() -> None:
        six = {"n": "x" * 6 * 2**20}
        for whole in (False, True):
            made = [call(index, six) for index in range(6)]
            chunks = [one for index, parts in enumerate(made) for one in (parts[::2] if whole else parts)]
            engine = engine_of(Model([*chunks, *call(6, {"n": "late"}), FinishChunk("tool_calls")]))
            events = await play(engine)
            assert outcomes(engine) == ["succeeded"] * 5 + ["invalid"]
            said = "the calls of the answer have more than 32 MB of arguments"
            assert said in tool_texts(engine)[5]
            assert said in only(events, ev.Notice)[0].text
            check_events(events)
            check_messages(normalise(engine.history))  # a body of 36 MB says no more

    run(scene)


def _blocks(size: int, count: int = 1) -> list[Chunk]:
    return [ReasoningFinished(Reasoning(provider="x", data={"block": {"data": ["y" * size]}}))] * count


SAID = "its text and reasoning are more than 8 MB"
KEPT = "what it wants back is more than 16 MB"
Flood = Callable[[], list[Chunk]]  # made when it is asked for: together they are half a gigabyte


@pytest.mark.parametrize(
    ("flood", "why"),
    [
        (lambda: [TextChunk("y" * 60 * 2**20)], SAID),
        (lambda: [TextChunk("y" * 2**20)] * 60, SAID),
        (lambda: [ReasoningChunk("y" * 60 * 2**20)], SAID),
        (
            lambda: [ReasoningChunk("y" * 2**20), TextChunk("y" * 2**20)] * 30,
            SAID,
        ),
        (lambda: _blocks(60 * 2**20), KEPT),
        (lambda: _blocks(2**20, 60), KEPT),
        (lambda: _blocks(0, 20_000), KEPT),
        (
            lambda: [ReasoningSoFar(Reasoning(provider="x", text="y" * 60 * 2**20))],
            KEPT,
        ),
        (lambda: [ProviderData({"y" * 60 * 2**20: 1})], KEPT),
        (
            lambda: [ProviderData({"a": 1}, 0), ProviderData({"a": [1] * 17 * 2**20}, 0)],
            "what it wants back is more than 16",
        ),
        (lambda: [ProviderData({"a": [[]] * 17 * 2**20}, 0)], KEPT),
    ],
    ids=[
        "text",
        "texts",
        "thought",
        "both",
        "block",
        "blocks",
        "many blocks",
        "so far",
        "data",
        "numbers of a call",
        "empty lists",
    ],
)
def test_what_an_answer_says_and_wants_back_is_bounded_however_it_comes(flood: Flood, why: str) -> None:
    async def scene() -> None:
        read: list[str] = []
        late: list[Line] = [lambda: read.append("late"), TextChunk("late")]
        engine = engine_of(Model([TextChunk("first"), *call(0, {"n": "first"}), *flood(), *late, FinishChunk("stop")]))
        events = await play(engine)
        assert read == []
        assert why in only(events, ev.Notice)[0].text
        assert outcomes(engine) == ["succeeded"]
        shown = sum(len(one.text) for one in events if isinstance(one, ev.TextDelta | ev.ReasoningDelta))
        assert shown <= LARGEST_SAID + 100  # with the answer to the result of the call
        kept = sum(len(event.model_dump_json()) for event in only(events, ev.MessageAdded))
        assert kept < LARGEST_SAID + LARGEST_KEPT + 10_000
        check_turn(engine, events)

    run(scene)


def test_the_calls_that_the_provider_makes_itself_are_bounded_too() -> None:
    async def scene() -> None:
        made: list[Line] = [ProviderCallStarted(str(n), "search") for n in range(8_000)]
        events = await play(engine_of(Model([TextChunk("first"), *made, FinishChunk("stop")])))
        assert len(only(events, ev.CallAnnounced)) == len(results_of(events)) == 4_097
        assert "its provider makes more than 4,096 calls" in (ending(events).error or "")

    run(scene)


def test_calls_one_after_the_other_are_woken_once_each_however_many_wait() -> None:
    async def scene() -> None:
        loop, woken = asyncio.get_running_loop(), 0
        really = loop.call_soon

        def counted(*args: Any, **more: Any) -> asyncio.Handle:
            nonlocal woken
            woken += 1
            return really(*args, **more)

        tools = Tools()
        answer = calls({"do": "wait", "n": "first"}, *({"do": "chatty", "n": n} for n in range(255)))
        model = Model([*answer[:-1], lambda: loop.call_later(1, tools.event("first").set), answer[-1]])
        engine = engine_of(model, tools, policy=CallPolicy.SEQUENTIAL)
        loop.call_soon = counted  # type: ignore[method-assign]
        events = await play(engine)
        assert outcomes(engine) == ["succeeded"] * 256
        assert woken < 256 * 50  # and not one for each pair of them, which is 32,640
        check_turn(engine, events)

    run(scene)
