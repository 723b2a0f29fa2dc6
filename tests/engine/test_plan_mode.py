"""Plan mode: what only reads runs, nothing else does, and the model is told of it once."""

from __future__ import annotations

import asyncio
import re

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import Decision
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import ToolAnnotations, ToolSpec
from console_app.engine import ApprovalGate, ManualCall, Rule, Turn
from console_app.engine.turn import PLAN_OFF, PLAN_ON
from tests.engine.peers import Model, Tools, call, calls, engine_of, only, play, results_of, spec, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run

READS, WRITES = spec("look"), spec("write", read_only=False)


def notes(request: ModelRequest) -> list[str]:
    """Return the notes of a request on plan mode, in their order."""
    text = "\n".join(str(one.content) for one in request.messages if one.role == "user")
    return re.findall(f"{re.escape(PLAN_ON)}|{re.escape(PLAN_OFF)}", text)


def test_what_only_reads_runs_and_the_rest_gets_a_result_that_says_why() -> None:
    async def scene() -> None:
        tools = Tools([READS, WRITES])
        answer = [*call(0, {"n": "a"}, "demo_look"), *call(1, {"n": "b"}, "demo_write"), calls()[-1]]
        engine = engine_of(model := Model(answer), tools, gate=ApprovalGate(ApprovalMode.PLAN, [Rule("allow", "*")]))
        events = await play(engine)
        check_turn(engine, events)
        assert [one.spec.tool for one in tools.ran] == ["look"]
        assert [str(one.outcome) for one in results_of(events)] in (["succeeded", "denied"], ["denied", "succeeded"])
        assert "plan mode is on" in tool_texts(engine)[1]
        assert "user denied" not in tool_texts(engine)[1]
        assert not only(events, ev.ApprovalRequested)
        assert [notes(request) for request in model.requests] == [[PLAN_ON], [PLAN_ON]]

    run(scene)


def test_the_model_is_told_once_that_it_is_on_and_once_that_it_is_off() -> None:
    async def scene() -> None:
        engine = engine_of(model := Model(), mode=ApprovalMode.ASK)
        for mode in ("ask", "plan", "plan", "auto", "ask", "plan"):
            engine.gate.mode = ApprovalMode(mode)
            await play(engine)
        told = [notes(request) for request in model.requests]
        assert told == [
            [],
            [PLAN_ON],
            [PLAN_ON],
            [PLAN_ON, PLAN_OFF],
            [PLAN_ON, PLAN_OFF],
            [PLAN_ON, PLAN_OFF, PLAN_ON],
        ]

    run(scene)


def test_a_call_that_waits_when_plan_mode_begins_is_yours_to_decide_edited_too() -> None:
    async def scene() -> None:
        tools = Tools([WRITES])
        engine = engine_of(Model(calls({"n": "a"}, name="demo_write")), tools, mode=ApprovalMode.ASK)

        def decide(turn: Turn, call_id: str) -> None:
            assert turn.reconsider() == 0
            assert turn.resolve(call_id, Decision.ALLOW, arguments={"n": "b"})

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                engine.gate.mode = ApprovalMode.PLAN
                asyncio.get_running_loop().call_soon(decide, turn, event.call_id)

        events = await play(engine, react=react)
        assert [one.arguments for one in tools.ran] == [{"n": "b"}]
        [resolved] = only(events, ev.ApprovalResolved)
        assert (resolved.decision.value, resolved.by.value) == ("allow", "user")

    run(scene)


def test_who_types_a_call_that_changes_things_is_refused_too() -> None:
    async def scene() -> None:
        tools = Tools([READS, WRITES])
        engine = engine_of(Model(), tools, mode=ApprovalMode.PLAN)
        async with engine.start_manual("/call", [ManualCall("demo.write", {}), ManualCall("demo.look", {})]) as turn:
            events = [event async for event in turn]
        assert [one.spec.tool for one in tools.ran] == ["look"]
        assert {str(one.outcome) for one in results_of(events)} == {"denied", "succeeded"}

    run(scene)


def test_a_call_that_changed_things_does_not_run_again_or_edited() -> None:
    async def scene() -> None:
        tools = Tools([WRITES])
        hold = asyncio.Event()
        answer = [*call(0, {"n": "a"}, "demo_write"), *call(1, {"n": "b", "do": "wait"}, "demo_write"), calls()[-1]]
        engine = engine_of(Model(answer), tools)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallFinished) and not hold.is_set():
                hold.set()
                engine.gate.mode = ApprovalMode.PLAN
                assert not turn.retry(event.call_id)
                assert not turn.edit_and_run(event.call_id, {"n": "c"})
                tools.event("b").set()

        events = await play(engine, react=react)
        assert [one.arguments["n"] for one in tools.ran] == ["a", "b"]
        said = [event.text for event in only(events, ev.Notice)]
        assert len(said) == 2
        assert all("plan mode" in text and "rule" not in text for text in said)

    run(scene)


@given(
    st.builds(
        ToolSpec,
        name=st.just("s_t"),
        server=st.just("s"),
        tool=st.just("t"),
        annotations=st.builds(ToolAnnotations, read_only=st.booleans()),
        require_approval=st.booleans(),
        builtin=st.booleans(),
        asks=st.booleans(),
    ),
    st.lists(st.builds(Rule, st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(["*", "s.t", "s.*", "x.y"]))),
    st.sampled_from(["", "it stands in a file"]),
)
def test_no_rule_lets_run_what_is_not_known_to_only_read(tool: ToolSpec, rules: list[Rule], must_ask: str) -> None:
    verdict = ApprovalGate(ApprovalMode.PLAN, rules).check(tool, {}, must_ask)
    known = not tool.asks if tool.builtin else tool.annotations.read_only
    if not known:
        assert verdict.action == "deny"
    elif must_ask:
        assert verdict.action in ("ask", "deny")
