"""Calls made by hand: read from a line, run side by side without a model, their results in the history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.errors import UsageError
from console_app.domain.tools import Outcome
from console_app.engine import ApprovalGate, Engine, ManualCall, Rule
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, echo

labels = st.sampled_from(["a.b", "my server.tool", "s.t/u", "x.y"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda v: st.lists(v, max_size=3)
)
arguments = st.dictionaries(st.text(max_size=6), values, max_size=3)


@given(st.lists(st.builds(ManualCall, labels, arguments), min_size=1, max_size=4))
def test_what_is_written_is_read_again(calls: list[ManualCall]) -> None:
    assert ManualCall.read(" ".join(map(str, calls)), {"a.b", "my server.tool", "s.t/u", "x.y"}) == calls


def test_arguments_may_be_left_out() -> None:
    assert ManualCall.read('a.b c.d {"x": 1} e.f', set()) == [
        ManualCall("a.b", {}),
        ManualCall("c.d", {"x": 1}),
        ManualCall("e.f", {}),
    ]


@each("text", ['{"x": 1}', 'a.b {"x": }', 'a.b {"x": 1} {"y": 2}'])
def test_what_is_no_call_is_said(text: str) -> None:
    with pytest.raises(UsageError):
        ManualCall.read(text, set())


async def test_they_run_without_a_model_and_the_history_has_their_results() -> None:
    model = WrittenModel()
    engine = Engine(provider=model, toolset=Tools({("calc", "add"): echo, ("calc", "sub"): echo}, read_only=False))
    calls = [ManualCall("calc.add", {"a": 1}), ManualCall("calc.sub", {})]
    async with engine.start_manual("/call", calls) as turn:
        events = [event async for event in turn]
    assert model.requests == []
    assert [e.outcome for e in events if isinstance(e, ev.CallFinished)] == [Outcome.SUCCEEDED] * 2
    assert [message.role for message in engine.history] == ["user", "assistant", "tool", "tool"]
    assert engine.provider is model
    async with engine.start("and now?") as turn:
        assert [event async for event in turn][-1].type == "turn.finished"
    assert [message.role for message in model.requests[0].messages][:5] == ["user", "assistant", "tool", "tool", "user"]


async def test_equal_calls_run_each_for_themselves() -> None:
    engine = Engine(provider=WrittenModel(), toolset=Tools({("calc", "add"): echo}))
    async with engine.start_manual("/call", [ManualCall("calc.add", {"a": 1})] * 2) as turn:
        events = [event async for event in turn]
    assert sum(isinstance(event, ev.CallStarted) for event in events) == 2


async def test_a_deny_rule_holds_and_an_unknown_tool_is_said() -> None:
    engine = Engine(
        provider=WrittenModel(),
        toolset=Tools({("calc", "add"): echo}),
        gate=ApprovalGate(rules=[Rule("deny", "calc.*")]),
    )
    async with engine.start_manual("/call", [ManualCall("calc.add", {})]) as turn:
        events = [event async for event in turn]
    assert [e.outcome for e in events if isinstance(e, ev.CallFinished)] == [Outcome.DENIED]
    with pytest.raises(UsageError, match=r"Did you mean calc\.add"):
        engine.start_manual("/call", [ManualCall("calc.ad", {})])
