"""`kill -9` at any instant: what was shown comes back, what ran is interrupted, nothing runs again by itself, and the
next request is one that all three wire formats accept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from console_app.domain import events as ev
from console_app.domain.chunks import (
    CallClosed,
    CallDelta,
    CallOpened,
    FinishChunk,
    ReasoningChunk,
    ReasoningFinished,
    TextChunk,
)
from console_app.domain.messages import Reasoning
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript import Transcript
from console_app.engine.context import normalise
from console_app.sessions import Store
from console_app.sessions.recorder import to_store
from tests.engine.peers import Line, Model, Tools, engine_of
from tests.examples import EXPLORING
from tests.providers import strict_wire

ROUNDS = 3 if EXPLORING else 1


def call(index: int, arguments: str) -> list[Line]:
    """A call that streams its arguments in two pieces."""
    half = len(arguments) // 2
    return [
        CallOpened(index, f"id-{index}", "demo_do"),
        CallDelta(index, arguments[:half]),
        CallDelta(index, arguments[half:]),
        CallClosed(index, arguments),
    ]


THOUGHT = {"type": "thinking", "thinking": "Three things, at once.", "signature": "c2ln"}
ANSWERS: list[list[Line]] = [
    [
        ReasoningChunk("Three things, "),
        ReasoningChunk("at once."),
        ReasoningFinished(Reasoning(provider="anthropic", text=THOUGHT["thinking"], data=THOUGHT)),
        TextChunk("I look "),
        TextChunk("these up."),
        *call(0, '{"n": 1, "do": "succeed"}'),
        *call(1, '{"n": 2, "do": "fail"}'),
        *call(2, '{"n": 3, "do": "raise"}'),
        FinishChunk("tool_calls"),
    ],
    [TextChunk("One of "), TextChunk("them worked."), FinishChunk("stop")],
    [*call(0, '{"n": 4}'), FinishChunk("tool_calls")],
    [ReasoningChunk("So."), TextChunk("All is said."), FinishChunk("stop")],
]


async def played() -> list[ev.Event]:
    """Two turns as a console shows them, event by event."""
    engine = engine_of(Model(*ANSWERS))
    events: list[ev.Event] = [engine.session_event()]
    for prompt in ("look these up", "and one more"):
        async with engine.start(prompt) as turn:
            async for event in turn:
                events.append(event)
    return events


async def killed_after(store: Store, events: Sequence[ev.Event], chance: random.Random, name: str) -> list[ev.Event]:
    """Stores events in slices as they would come; gives those that were shown."""
    mine = [event.model_copy(update={"session_id": name}) for event in events]
    at = 0
    while at < len(mine):
        size = chance.randint(1, 16)
        await store.append(to_store(mine[at : at + size]))
        at += size
    return mine


async def test_at_any_instant_nothing_shown_is_lost_and_the_next_request_is_valid(tmp_path: Path) -> None:
    events = await played()
    assert {"text.delta", "reasoning.delta", "call.arguments", "call.finished"} <= {event.type for event in events}
    chance = random.Random(20_26)
    store = Store(tmp_path / "sessions.db")
    for instant, number in product(range(2, len(events) + 1), range(ROUNDS)):
        name = f"killed-{instant}-{number}"
        shown = Transcript()
        for event in await killed_after(store, events[:instant], chance, name):
            shown.apply(event)
        recovered = await store.recover(name)
        back = Transcript()
        for event in recovered:
            back.apply(event)
        _as_shown(shown, back)
        assert await store.recover(name) == recovered, "closing it again changes nothing"
        await _goes_on(back, recovered)
    await store.close()


def _as_shown(shown: Transcript, back: Transcript) -> None:
    assert [turn.prompt for turn in shown.turns] == [turn.prompt for turn in back.turns]
    assert all(turn.outcome is not None for turn in back.turns)
    for turn, again in zip(shown.turns, back.turns, strict=True):
        assert [step.text for step in turn.steps] == [step.text for step in again.steps]
        assert [step.reasoning for step in turn.steps] == [step.reasoning for step in again.steps]
    assert list(shown.calls) == list(back.calls)
    for was, now in zip(shown.calls.values(), back.calls.values(), strict=True):
        assert was.arguments == now.arguments
        assert was.arguments is not None or was.arguments_text == now.arguments_text
        if was.state is CallState.FINISHED:
            assert (was.outcome, was.content, was.error) == (now.outcome, now.content, now.error)
        else:
            assert now.outcome is Outcome.INTERRUPTED


async def _goes_on(back: Transcript, recovered: Sequence[ev.Event]) -> None:
    model, tools = Model([TextChunk("Here I am."), FinishChunk("stop")]), Tools()
    engine = engine_of(model, tools)
    engine.go_on(recovered[-1].session_id, back)
    async with engine.start("go on") as turn:
        async for event in turn:
            assert event.seq > recovered[-1].seq
    assert tools.ran == [], "nothing runs again by itself"
    assert len(model.requests) == 1
    strict_wire.check_history(model.requests[0])
    strict_wire.check_history(ModelRequest(normalise(engine.history)))
