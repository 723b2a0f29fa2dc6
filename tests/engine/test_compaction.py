"""Room in the model's window: made between two requests, never between a call and its result, and taken back."""

from __future__ import annotations

import asyncio

import pytest

from console_app.domain import events as ev
from console_app.domain.chunks import Chunk, FinishChunk, TextChunk, UsageChunk
from console_app.domain.errors import ContextOverflow, ProviderError, UsageError
from console_app.domain.transcript import Transcript
from console_app.engine import Engine
from console_app.engine.compaction import REFUSED
from console_app.engine.context import SUMMARY_OPENS
from tests.each import each
from tests.engine.peers import Line, Model, calls, ending, engine_of, only, play
from tests.engine.strict_history import check_history
from tests.engine.virtual_time import run

WINDOW = 1000


def said(text: str, used: int = 100) -> list[Line]:
    """An answer after which so many tokens are used."""
    return [TextChunk(text), UsageChunk(used, 0), FinishChunk("stop")]


def asked(used: int) -> list[Line]:
    """An answer that calls a tool."""
    chunks: list[Chunk] = calls({"n": 1})
    return [*chunks[:-1], UsageChunk(used, 0), chunks[-1]]


def engine_with(model: Model) -> Engine:
    engine = engine_of(model)
    engine.window = lambda: WINDOW
    return engine


def sent(model: Model, number: int) -> list[str]:
    """Return the texts of a request, one a message."""
    return [message.content for message in model.requests[number].messages]


def test_within_a_turn_the_older_turns_make_room_and_the_calls_keep_their_results() -> None:
    async def scene() -> None:
        model = Model(said("one"), said("two"), said("three"), asked(900), said("The summary."), said("four"))
        engine = engine_with(model)
        for prompt in ("first", "second", "third"):
            await play(engine, prompt)
        events = await play(engine, "fourth")
        assert ending(events).outcome == "completed"
        [compacted] = only(events, ev.HistoryCompacted)
        assert (compacted.summary, compacted.covers, compacted.automatic) == ("The summary.", 2, True)
        assert "first" in sent(model, 4)[0]
        assert "second" not in sent(model, 4)[0]
        assert sent(model, 5)[0] == f"{SUMMARY_OPENS}\n\nThe summary.\n\nsecond"
        assert sent(model, 5)[1:] == ["two", "third", "three", "fourth", "", "result of 1"]
        check_history(engine)
        assert len(engine.history) == 10

    run(scene)


def test_one_turn_before_this_one_stays_whole_unless_the_request_was_refused() -> None:
    async def scene() -> None:
        model = Model(said("one", 900), said("two", 950), said("The summary."), said("three"))
        engine = engine_with(model)
        await play(engine, "first")
        assert not only(await play(engine, "second"), ev.HistoryCompacted)
        assert only(await play(engine, "third"), ev.HistoryCompacted)[0].covers == 2
        engine = engine_with(Model(said("one", 950), [TOO_LARGE], said("The summary."), said("two")))
        await play(engine, "first")
        assert only(await play(engine, "second"), ev.HistoryCompacted)[0].covers == 2

    run(scene)


TOO_LARGE = ContextOverflow("the request is larger than the window: 9 of 8 tokens", "See /compact.")


def test_a_request_that_is_refused_as_too_large_goes_out_again_with_a_summary_in_the_same_turn() -> None:
    async def scene() -> None:
        model = Model(said("one"), asked(10), [TOO_LARGE], said("The summary."), said("at last"))
        engine = engine_of(model)  # whose window nobody knows
        await play(engine, "first")
        events = await play(engine, "second")
        assert ending(events).outcome == "completed"
        assert [notice.text for notice in only(events, ev.Notice)] == [REFUSED]
        assert only(events, ev.HistoryCompacted)[0].covers == 2
        assert sent(model, 4) == [f"{SUMMARY_OPENS}\n\nThe summary.\n\nsecond", "", "result of 1"]
        assert len(only(events, ev.StepStarted)) == 2
        check_history(engine)
        assert not only(await play(engine, "more"), ev.HistoryCompacted)
        assert len(model.requests) == 6

    run(scene)


def test_what_was_too_large_is_never_sent_again() -> None:
    async def scene() -> None:
        model = Model(said("one"), [TOO_LARGE], said("S1"), [TOO_LARGE], said("S2"), said("at last"))
        engine = engine_of(model)
        await play(engine, "first")
        assert "9 of 8" in str(ending(await play(engine, "second")).error)  # too large alone
        events = await play(engine, "again")
        assert ending(events).outcome == "completed"
        assert [message for message in sent(model, 5) if "second" in message] == []
        assert sent(model, 5)[0].startswith(f"{SUMMARY_OPENS}\n\nS2")
        assert not only(await play(engine, "more"), ev.HistoryCompacted)

    run(scene)


def test_a_first_prompt_that_is_too_large_fails_at_once() -> None:
    async def scene() -> None:
        model = Model([TOO_LARGE])
        events = await play(engine_of(model), "first")
        assert "9 of 8" in str(ending(events).error)
        assert not only(events, ev.Notice)
        assert len(model.requests) == 1

    run(scene)


def test_what_stays_whole_of_a_refused_request_is_at_most_half_of_it() -> None:
    async def scene() -> None:
        model = Model(said("one"), said("two"), said("three"), [TOO_LARGE], said("S"), said("four"))
        engine = engine_of(model)
        for prompt in ("first " * 100, "second", "third " * 200):
            await play(engine, prompt)
        events = await play(engine, "fourth")
        assert only(events, ev.HistoryCompacted)[0].covers == 6
        assert sent(model, 5) == [f"{SUMMARY_OPENS}\n\nS\n\nfourth"]

    run(scene)


def test_an_answer_that_had_begun_when_it_was_too_large_is_kept_and_not_asked_for_again() -> None:
    async def scene() -> None:
        model = Model(said("one"), [TextChunk("half an "), TOO_LARGE])
        engine = engine_of(model)
        await play(engine, "first")
        assert "9 of 8" in str(ending(await play(engine, "second")).error)
        assert len(model.requests) == 2

    run(scene)


def test_a_summary_that_is_too_large_itself_is_made_of_less() -> None:
    async def scene() -> None:
        model = Model(said("one"), [TOO_LARGE], [TOO_LARGE], [TOO_LARGE], said("S"), said("two"))
        engine = engine_of(model)
        await play(engine, "x" * 60_000 + " the end of it")
        assert ending(await play(engine, "second")).outcome == "completed"
        sizes = [len(sent(model, number)[0]) // 1000 for number in (2, 3, 4)]
        assert sizes == [60, 30, 15]
        assert "the end of it" in sent(model, 4)[0]

    run(scene)


def test_another_model_may_take_what_this_one_did_not() -> None:
    async def scene() -> None:
        engine = engine_of(Model(said("one"), [TOO_LARGE], [ProviderError("no")]))
        await play(engine, "first")
        assert "9 of 8" in str(ending(await play(engine, "second")).error)
        engine.provider = other = Model(said("gladly"))
        await play(engine, "third")
        assert sent(other, 0)[0] == "first"

    run(scene)


def test_a_summary_that_is_not_to_be_had_is_told_once_a_turn() -> None:
    async def scene() -> None:
        model = Model(said("one"), said("two", 900), [ProviderError("no")], asked(900), said("three"))
        engine = engine_with(model)
        for prompt in ("first", "second"):
            await play(engine, prompt)
        events = await play(engine, "third")
        assert [notice.text for notice in only(events, ev.Notice)][1:] == ["Not compacted. Model: no"]
        assert ending(events).outcome == "completed"
        assert len(model.requests) == 5

    run(scene)


def test_a_stop_while_the_summary_is_made_ends_the_turn_and_changes_nothing() -> None:
    async def scene() -> None:
        model = Model(said("one"), said("two", 900), [asyncio.Event()])
        engine = engine_with(model)
        for prompt in ("first", "second"):
            await play(engine, prompt)
        events = await play(
            engine, "third", lambda turn, event: turn.cancel() if isinstance(event, ev.Notice) else None
        )
        assert ending(events).outcome == "cancelled"
        assert engine.transcript.compaction is None
        await play(engine, "fourth")
        assert engine.transcript.compaction is not None

    run(scene)


def test_by_hand_between_turns_again_and_back() -> None:
    async def scene() -> None:
        model = Model(said("one"), said("two"), said("S1"), said("three"), said("S2"), said("four"), said("five"))
        engine = engine_of(model)
        transcript = Transcript()

        async def compact() -> None:
            async with engine.compact() as compacting:
                async for event in compacting:
                    transcript.apply(event)

        async def ask(prompt: str) -> None:
            for event in await play(engine, prompt):
                transcript.apply(event)

        with pytest.raises(UsageError, match="nothing to compact"):
            engine.compact()
        await ask("first")
        await ask("second")
        await compact()
        await ask("third")
        assert sent(model, 3)[0].startswith(f"{SUMMARY_OPENS}\n\nS1")
        await compact()  # the second summary is made from the first and what came since
        assert "S1" in sent(model, 4)[0]
        assert "second" in sent(model, 4)[0]
        assert "first" not in sent(model, 4)[0]
        await ask("fourth")
        assert sent(model, 5) == [f"{SUMMARY_OPENS}\n\nS2\n\nthird", "three", "fourth"]
        undone = engine.undo_compaction()
        assert undone is not None
        transcript.apply(undone)
        assert (transcript.history, transcript.compaction) == (engine.history, engine.transcript.compaction)
        await ask("fifth")
        assert sent(model, 6)[0] == f"{SUMMARY_OPENS}\n\nS1\n\nsecond"

    run(scene)


def test_a_compaction_by_hand_can_be_stopped() -> None:
    async def scene() -> None:
        model = Model(said("one"), said("two"), [asyncio.Event()])
        engine = engine_of(model)
        for prompt in ("first", "second"):
            await play(engine, prompt)
        told: list[str] = []
        async with engine.compact() as compacting:
            async for event in compacting:
                told.append(event.text if isinstance(event, ev.Notice) else event.type)
                compacting.cancel()
        assert told == ["Asking the model for a summary of the older turns.", "Not compacted: you stopped it."]
        assert engine.transcript.compaction is None
        assert ending(await play(engine, "third")).outcome == "completed"

    run(scene)


def test_a_stored_session_goes_on_with_its_summary() -> None:
    async def scene() -> None:
        engine = engine_with(Model(said("one"), said("two"), said("S")))
        events: list[ev.Event] = [engine.session_event()]
        for prompt in ("first", "second"):
            events += await play(engine, prompt)
        async with engine.compact() as compacting:
            events += [event async for event in compacting]
        stored = Transcript()
        for event in events:
            stored.apply(ev.EVENT.validate_json(event.model_dump_json()))
        model = Model(said("three"))
        later = engine_with(model)
        later.go_on("s", stored)
        await play(later, "third")
        assert sent(model, 0) == [f"{SUMMARY_OPENS}\n\nS\n\nsecond", "two", "third"]

    run(scene)


@each("known", [True, False])
def test_a_stored_session_that_was_nearly_full_is_compacted_first(known: bool) -> None:
    async def scene() -> None:
        engine = engine_of(Model(said("one"), said("two", 900)))
        stored = Transcript()
        for prompt in ("first", "second"):
            for event in await play(engine, prompt):
                stored.apply(event)
        model = Model(said("The summary."), said("three"))
        later = engine_with(model) if known else engine_of(model)
        later.go_on("s", stored)
        assert bool(only(await play(later, "third"), ev.HistoryCompacted)) is known

    run(scene)
