"""A long history is made valid once: what a request carries is the same as if all of it were looked at each time."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.events import HistoryCompacted
from console_app.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from console_app.domain.tools import ToolCall
from console_app.engine.context import LONG, WireHistory, in_context, normalise
from tests.engine.test_history import messages_of_any_kind

NOTE = UserMessage(content="Now act.", origin="fanout")


def turn(number: int, size: int = 2) -> list[Message]:
    calls = tuple(ToolCall(id=f"c{number}_{n}", name="lab_work", arguments="{}") for n in range(3))
    results = [ToolMessage(tool_call_id=call.id, content="r" * size, name=call.name) for call in calls]
    return [
        UserMessage(content=f"go {number}"),
        AssistantMessage(tool_calls=calls),
        *results,
        AssistantMessage(content="done"),
    ]


def afresh(
    history: Sequence[Message], compaction: HistoryCompacted | None, most: int | None, note: UserMessage | None
) -> tuple[Message, ...]:
    return normalise([*in_context(history, compaction, most), *([note] if note else [])])


lengths = st.one_of(st.integers(0, 20), st.just(LONG + 20))
whole_turns = st.lists(st.builds(turn, st.integers(0, 5), lengths), max_size=4)
of_turns = whole_turns.map(lambda turns: [message for turn in turns for message in turn])
pieces = st.lists(st.one_of(of_turns, st.lists(messages_of_any_kind, max_size=4)), max_size=8)


@given(pieces, st.integers(0, 12), st.sampled_from([None, 10, LONG + 10]), st.booleans())
def test_whatever_the_history_it_is_as_if_looked_at_anew(
    parts: list[list[Message]], covers: int, most: int | None, noted: bool
) -> None:
    wire, history = WireHistory(worth_keeping=1), list[Message]()
    compaction = HistoryCompacted(summary="S", covers=covers) if covers else None
    note = NOTE if noted else None
    for part in parts:
        history += part
        assert wire.messages(history, compaction, most, note) == afresh(history, compaction, most, note)


@given(of_turns, st.integers(0, 30), of_turns)
def test_a_history_that_was_cut_or_replaced_is_looked_at_anew(
    first: list[Message], kept: int, second: list[Message]
) -> None:
    wire, history = WireHistory(worth_keeping=1), first.copy()
    for compaction in (None, HistoryCompacted(summary="S", covers=5), HistoryCompacted(summary="T", covers=5)):
        wire.messages(history, compaction, None)
        history[:] = [*history[:kept], *second]
        assert wire.messages(history, compaction, None) == afresh(history, compaction, None, None)


def test_older_turns_are_gone_through_once() -> None:
    wire, history = WireHistory(), list[Message]()
    before: tuple[Message, ...] = ()
    for number in range(200):
        history += turn(number)
        sent = wire.messages(history, None, 100_000)
        assert all(new is old for new, old in zip(sent, before, strict=False))
        before = sent
    assert before == tuple(history)
    assert wire.ready > 1100
