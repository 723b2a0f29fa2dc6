"""Each call by itself: run again, edit and run, send partial results; in the open batch, and after it has closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.chunks import CallClosed, CallOpened, FinishChunk, TextChunk
from console_app.domain.errors import ToolError
from console_app.domain.events import Decision
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.tools import ServerIdentity, ToolAnnotations, ToolCall
from console_app.domain.transcript import Transcript
from console_app.domain.transcript.results import without_remarks
from console_app.engine import ApprovalGate, Engine, Rule, Turn
from console_app.engine.rerun import TWICE
from console_app.sessions.repair import closing_events
from tests.each import each
from tests.engine.peers import Model, Tools, call, calls, engine_of, only, outcomes, play, results_of, spec, tool_texts
from tests.engine.strict_history import check_history, check_turn
from tests.engine.test_strategies import QUESTION, STOP, TODO, finished
from tests.engine.virtual_time import run
from tests.examples import EXPLORING

Act = Callable[[Turn], object]


def at(seconds: float, act: Act) -> Callable[[Turn, ev.Event], None]:
    """A user who does something so many seconds into the turn."""

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.TurnStarted):
            asyncio.get_running_loop().call_later(seconds, act, turn)

    return react


def slow(do: str = "succeed", seconds: float = 1, **more: Any) -> dict[str, Any]:
    return {"n": "a", "do": do, "seconds": seconds, **more}


LONG = {"n": "long", "seconds": 10}


def ids(engine: Engine) -> list[str]:
    return [
        call.id for message in engine.history if isinstance(message, AssistantMessage) for call in message.tool_calls
    ]


def first(turn: Turn) -> str:
    return f"call_{turn.number}_1_0"


def test_a_failed_call_runs_again_while_its_siblings_run_and_the_last_result_counts() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls(slow("fail"), LONG)), tools)
        events = await play(engine, react=at(2, lambda turn: turn.retry(first(turn))))
        assert [invocation.arguments["n"] for invocation in tools.ran] == ["a", "long", "a"]
        ends = [event for event in results_of(events) if event.call_id == ids(engine)[0]]
        assert len(ends) == 2
        restarted = only(events, ev.CallRestarted)
        assert [(event.attempt, event.arguments) for event in restarted] == [(2, None)]
        assert tool_texts(engine)[0] == ends[-1].content
        assert tool_texts(engine)[0].startswith(
            "The user ran this call again: it ran 2 times, and this is the last result.\n\n"
        )
        check_turn(engine, events)

    run(scene)


def test_the_answer_waits_for_the_new_run() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls(slow(seconds=5), {"n": "b", "seconds": 6})))
        events = await play(engine, react=at(5.5, lambda turn: turn.retry(first(turn))))
        assert only(events, ev.BatchFinished)[0].at == 10.5
        check_turn(engine, events)

    run(scene)


def test_a_running_call_is_ended_and_what_it_still_brings_is_dropped() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a", "do": "stubborn"}, LONG)), tools, call_timeout=None)

        def edit(turn: Turn) -> None:
            assert turn.edit_and_run(first(turn), {"n": "new"})
            tools.event("a").set()

        events = await play(engine, react=at(2, edit))
        assert len([event for event in results_of(events) if event.call_id == ids(engine)[0]]) == 1
        assert tool_texts(engine)[0] == (
            'The user edited the arguments before this call ran. It ran with: {"n": "new"}\n'
            "The user ran this call again: it ran 2 times, and this is the last result.\n\nresult of new"
        )
        assert [event.arguments for event in only(events, ev.CallRestarted)] == [{"n": "new"}]
        assert only(events, ev.ApprovalResolved)[-1].arguments == {"n": "new"}
        check_turn(engine, events)
        transcript = Transcript()
        for event in events:
            transcript.apply(event)
        shown = transcript.calls[ids(engine)[0]]
        assert (shown.attempt, shown.arguments, shown.edited) == (2, {"n": "new"}, True)
        assert [(old.arguments, old.outcome) for old in shown.superseded] == [({"n": "a", "do": "stubborn"}, None)]

    run(scene)


def test_arguments_that_could_not_be_read_can_be_written_anew() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model([*call(0, '{"n": '), *call(1, LONG), *STOP]), tools)

        def edit(turn: Turn) -> None:
            assert not turn.retry("id_0")
            assert turn.edit_and_run("id_0", {})

        events = await play(engine, react=at(1, edit))
        assert outcomes(engine) == ["succeeded", "succeeded"]
        assert dict(tools.ran[-1].arguments) == {}
        check_turn(engine, events)

    run(scene)


SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}


def test_what_does_not_fit_or_a_rule_denies_does_not_run() -> None:
    async def scene() -> None:
        tools = Tools([spec(input_schema=SCHEMA), spec("other")])
        gate = ApprovalGate(ApprovalMode.YOLO, [Rule("deny", "demo.*", arguments={"n": "secret"})])
        engine = engine_of(Model([*call(0, {"n": "a"}), *call(1, LONG, "demo_other"), *STOP]), tools, gate=gate)

        def edit(turn: Turn) -> None:
            assert not turn.edit_and_run("id_0", {"n": 1})
            assert not turn.edit_and_run("id_0", {"n": "secret"})
            assert not turn.edit_and_run("nobody", {})
            gate.rules.append(Rule("deny", "demo.do"))
            assert not turn.retry("id_0")

        events = await play(engine, react=at(1, edit))
        assert len(tools.ran) == 2
        assert ["was not run again" in event.text for event in only(events, ev.Notice)] == [True] * 3
        check_turn(engine, events)

    run(scene)


def test_a_call_that_you_denied_asks_again_when_it_is_to_run_after_all() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a"}, {"n": "b"})), tools, mode=ApprovalMode.ASK)
        asked: list[str] = []

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                asked.append(event.call_id)
                if len(asked) == 2:
                    turn.resolve(asked[0], Decision.DENY)
                if len(asked) == 3:
                    turn.resolve(asked[0], Decision.ALLOW)
                    turn.resolve(asked[1], Decision.ALLOW)
            if isinstance(event, ev.CallFinished) and event.outcome == "denied":
                assert turn.retry(event.call_id)

        events = await play(engine, react=react)
        assert len(asked) == 3
        assert outcomes(engine) == ["succeeded", "succeeded"]
        assert tool_texts(engine)[0] == "result of a"  # it ran once
        check_turn(engine, events)

    run(scene)


def test_who_edits_and_runs_a_waiting_or_denied_call_approves_it() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a"}, {"n": "b"})), tools, mode=ApprovalMode.ASK)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested) and event.call_id.endswith("1"):
                turn.resolve(first(turn), Decision.DENY)
            if isinstance(event, ev.CallFinished) and event.outcome == "denied":
                assert turn.edit_and_run(event.call_id, {"n": "a"})  # unchanged, and approved so
                assert turn.edit_and_run(event.call_id.removesuffix("0") + "1", {"n": "z"})  # which waits

        events = await play(engine, react=react)
        assert tool_texts(engine)[0] == "result of a"
        assert "result of z" in tool_texts(engine)[1]
        assert len(only(events, ev.ApprovalRequested)) == 2
        check_turn(engine, events)

    run(scene)


def test_what_can_not_be_run_again_is_a_no() -> None:
    async def scene() -> None:
        engine = engine_of(Model([*call(0, {"todos": []}, TODO), *call(1, {}), *call(2, LONG), *STOP]), strategy="act")
        said: list[bool] = []

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallFinished) and event.call_id == "id_2":
                said.append(turn.retry("nobody"))
            if isinstance(event, ev.TurnFinished):
                said.extend((turn.retry("id_1"), turn.edit_and_run("id_1", {}), bool(turn.send_now())))

        events = await play(engine, react=react)
        assert not any(said)
        check_turn(engine, events)

    run(scene)


def test_a_call_that_waits_or_is_queued_can_not_be_retried() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls(slow(), LONG)), policy=CallPolicy.SEQUENTIAL)
        events = await play(engine, react=at(0.5, lambda turn: said.append(turn.retry("call_1_1_1"))))
        assert said == [False]
        check_turn(engine, events)

    said: list[bool] = []
    run(scene)


def test_completion_that_was_judged_stands() -> None:
    async def scene() -> None:
        engine = engine_of(Model([*call(0, {}), *finished(1), *STOP]), strategy="act")

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallFinished) and event.call_id == "id_1":
                assert not turn.retry("id_0")

        events = await play(engine, react=react)
        assert outcomes(engine) == ["succeeded", "succeeded"]
        check_turn(engine, events)

    run(scene)


def test_completion_waits_for_a_call_that_runs_again() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model([*call(0, slow("fail")), *call(1, LONG), *finished(2), *STOP]), tools, strategy="act")

        def edit(turn: Turn) -> None:
            assert turn.edit_and_run("id_0", {"n": "mended", "seconds": 20})

        events = await play(engine, react=at(2, edit))
        assert outcomes(engine) == ["succeeded"] * 3  # the failure was mended before completion was judged
        check_turn(engine, events)

    run(scene)


@each("policy", [CallPolicy.SEQUENTIAL, CallPolicy.SINGLE])
def test_a_call_that_runs_again_keeps_to_the_policy(policy: CallPolicy) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls(slow(seconds=4), {"n": "b", "seconds": 4}, {"n": "c"})), tools, policy=policy)
        which = first if policy is CallPolicy.SEQUENTIAL else lambda turn: "call_1_1_1"
        when = 5 if policy is CallPolicy.SEQUENTIAL else 2

        def again(turn: Turn) -> None:
            assert turn.edit_and_run(which(turn), {"n": "again", "seconds": 1})

        events = await play(engine, react=at(when, again))
        assert tools.most_running == 1
        check_turn(engine, events)

    run(scene)


def test_what_there_is_goes_to_the_model_and_the_rest_is_cancelled() -> None:
    async def scene() -> None:
        tools = Tools()
        answer = calls({"n": "a"}, {"n": "b", "do": "hang"}, {"n": "c", "do": "chatty", "seconds": 9})
        engine = engine_of(Model(answer), tools)
        events = await play(engine, react=at(2, lambda turn: sent.append(turn.send_now())))
        assert sent == [2]
        assert outcomes(engine) == ["succeeded", "cancelled", "cancelled"]
        assert tool_texts(engine)[1] == ("The user did not wait for this call. It had sent so far:\nworking on b")
        assert events[-1].at == 2
        check_turn(engine, events)

    sent: list[int] = []
    run(scene)


def test_nothing_is_sent_while_more_calls_may_come() -> None:
    async def scene() -> None:
        more = asyncio.Event()
        engine = engine_of(Model([*call(0, {"n": "a"}), more, *call(1, {"n": "b"}), *STOP]))

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallFinished) and event.call_id == "id_0":
                assert turn.send_now() == 0
                more.set()

        events = await play(engine, react=react)
        assert outcomes(engine) == ["succeeded", "succeeded"]
        check_turn(engine, events)

    run(scene)


# After the batch has closed


async def rerun(
    engine: Engine, call_id: str, arguments: dict[str, Any] | None = None, *, decision: Decision | None = None
) -> list[ev.Event]:
    events: list[ev.Event] = []
    async with engine.rerun(call_id, arguments) as again:
        async for event in again:
            events.append(event)
            if isinstance(event, ev.ApprovalRequested) and decision is not None:
                assert again.resolve(call_id, decision)
    return events


def test_a_call_of_the_last_turn_runs_again_and_the_model_hears_of_it_with_the_next_prompt() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model(calls({"n": "a", "do": "fail"}))
        engine = engine_of(model, tools)
        events = await play(engine)
        before = list(engine.history)
        again = await rerun(engine, ids(engine)[0], {"n": "b"})
        assert [event.type for event in again] == [
            "call.restarted",
            "approval.resolved",
            "call.started",
            "call.finished",
            "message.added",
        ]
        assert [event.seq for event in again] == list(range(events[-1].seq + 1, events[-1].seq + 6))
        assert {event.turn for event in again} == {1}
        assert engine.history[:-1] == before
        note = engine.history[-1]
        assert isinstance(note, UserMessage)
        assert note.origin == "fanout"
        assert note.content.startswith('I ran demo.do again, with {"n": "b"}: succeeded.')
        assert "<result>\nresult of b\n</result>" in note.content  # the tool's words alone: the note says the rest
        transcript = Transcript()
        for event in [*events, *again]:
            transcript.apply(event)
        shown = transcript.calls[ids(engine)[0]]
        assert (shown.outcome, shown.attempt, len(shown.superseded)) == ("succeeded", 2, 1)
        await play(engine, "and now?")
        assert note.content in model.requests[-1].messages[-1].content
        check_history(engine)

    run(scene)


def test_it_can_be_repeated_cancelled_and_waits_for_your_approval() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a", "do": "hang"})), mode=ApprovalMode.ASK)
        await play(engine, react=lambda turn, event: _deny(turn, event))
        call_id = ids(engine)[0]
        seen: list[ev.Event] = []
        async with engine.rerun(call_id) as again:
            async for event in again:
                seen.append(event)
                if isinstance(event, ev.ApprovalRequested):
                    assert again.resolve(call_id, Decision.ALLOW)
                if isinstance(event, ev.CallStarted):
                    assert again.cancel_call(call_id)
                    with pytest.raises(RuntimeError):
                        engine.start("not now")
        assert [event.outcome for event in only(seen, ev.CallFinished)] == ["cancelled"]
        third = await rerun(engine, call_id, {"n": "ok"})
        assert only(third, ev.CallRestarted)[0].attempt == 3
        check_history(engine)

    def _deny(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            turn.resolve(event.call_id, Decision.DENY)

    run(scene)


def test_leaving_it_early_still_leaves_one_result() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a"})))
        await play(engine)
        async with engine.rerun(ids(engine)[0], {"do": "hang"}) as again:
            pass
        assert [event.type for event in [event async for event in again]][-1] == "call.finished"
        assert asyncio.all_tasks() == {asyncio.current_task()}
        check_history(engine)

    run(scene)


def effects(**says: bool) -> Tools:
    """A tool whose server says that much of its effects."""
    return Tools([spec().model_copy(update={"annotations": ToolAnnotations(**says)})])


@each(
    ("says", "asks"),
    [({}, True), ({"destructive": False}, True), ({"idempotent": True}, False), ({"read_only": True}, False)],
)
@each("do", ["fail", "hang"])
def test_a_call_that_ran_asks_before_it_runs_again_unless_twice_is_known_to_be_as_once(
    says: dict[str, bool], asks: bool, do: str
) -> None:
    async def scene() -> None:
        tools = effects(**says)
        engine = engine_of(Model(calls(slow(do), LONG)), tools)
        seen: list[str] = []

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                seen.append(event.why)
                assert event.always
                assert [one.arguments["n"] for one in tools.ran] == ["a", "long"]  # nothing runs while it asks
                assert turn.resolve(event.call_id, Decision.ALLOW)
            if isinstance(event, ev.TurnStarted):
                asyncio.get_running_loop().call_later(2, turn.retry, first(turn))
                asyncio.get_running_loop().call_later(5, turn.cancel_call, first(turn))

        events = await play(engine, react=react)
        assert seen == ([TWICE] if asks else [])
        assert [one.arguments["n"] for one in tools.ran] == ["a", "long", "a"]
        check_turn(engine, events)

    run(scene)


def test_a_call_that_was_not_let_run_again_keeps_the_result_of_its_run() -> None:
    async def scene() -> None:
        tools = effects()
        engine = engine_of(Model(calls(slow("fail"), LONG)), tools)

        def react(turn: Turn, event: ev.Event) -> None:
            at(2, lambda turn: turn.retry(first(turn)))(turn, event)
            if isinstance(event, ev.ApprovalRequested):
                assert turn.resolve(event.call_id, Decision.DENY)

        events = await play(engine, react=react)
        assert outcomes(engine) == ["failed", "succeeded"]
        assert tool_texts(engine)[0].endswith("What came of it before:\n\nTool execution failed: no such order")
        assert without_remarks(tool_texts(engine)[0]) == "no such order"
        check_turn(engine, events)
        before = len(engine.history)
        again = await rerun(engine, ids(engine)[0], decision=Decision.DENY)
        assert [event.why for event in only(again, ev.ApprovalRequested)] == [TWICE]
        assert [event.outcome for event in only(again, ev.CallFinished)] == ["failed"]
        assert len(engine.history) == before  # nothing ran, so there is nothing to tell the model
        assert len(tools.ran) == 2

    run(scene)


def test_a_call_that_never_ran_is_not_asked_about_for_having_run() -> None:
    async def scene() -> None:
        tools = effects()
        engine = engine_of(Model(calls({"n": "a"})), tools, mode=ApprovalMode.ASK)
        await play(engine, react=lambda turn, event: _no(turn, event))
        again = await rerun(engine, ids(engine)[0], decision=Decision.ALLOW)
        assert [event.why for event in only(again, ev.ApprovalRequested)] == ["not pre-approved"]
        assert len(tools.ran) == 1

    def _no(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            turn.resolve(event.call_id, Decision.DENY)

    run(scene)


def test_a_call_of_a_stored_session_runs_again_with_what_the_model_wrote() -> None:
    async def scene() -> None:
        tools = Tools()
        asked = (
            ToolCall(id="old", name="demo_do", arguments='{"n": "a"}'),
            ToolCall(id="bad", name="demo_do", raw="{"),
            ToolCall(id="mended", name="demo_do", arguments='{"n": "b"}', raw='{"n": "b",}', repaired=("a comma",)),
        )
        history = [
            UserMessage(content="go"),
            AssistantMessage(tool_calls=asked),
            ToolMessage(tool_call_id="old", content="x", name="demo_do"),
            ToolMessage(tool_call_id="bad", content="x", name="demo_do"),
            ToolMessage(tool_call_id="mended", content="x", name="demo_do"),
        ]
        stored = Transcript()
        stored.history.extend(history)
        engine = Engine(provider=Model(), toolset=tools, gate=ApprovalGate(ApprovalMode.YOLO), transcript=stored)
        await rerun(engine, "mended", decision=Decision.ALLOW)
        assert [dict(invocation.arguments) for invocation in tools.ran] == [{"n": "b"}]
        tools.ran.clear()
        events = await rerun(engine, "old", decision=Decision.ALLOW)
        assert [event.why for event in only(events, ev.ApprovalRequested)] == ["a call of an earlier turn"]
        assert [dict(invocation.arguments) for invocation in tools.ran] == [{"n": "a"}]
        with pytest.raises(ToolError, match="could not be read"):
            engine.rerun("bad")
        with pytest.raises(ToolError, match="no such call"):
            engine.rerun("nobody")
        engine.gate.rules.append(Rule("deny", "demo.*"))
        with pytest.raises(ToolError, match="a rule denies it"):
            engine.rerun("old")
        tools.specs.clear()
        with pytest.raises(ToolError, match="no such tool is on"):
            engine.rerun("old", {})

    run(scene)


@each("resumed", [False, True])
@each("end", ["cut", "stopped", "killed"])
def test_a_call_whose_arguments_never_came_runs_in_no_later_turn(end: str, resumed: bool) -> None:
    async def scene() -> None:
        tools = Tools()
        opened = CallOpened(0, "id_0", "demo_do")
        model = Model([opened, FinishChunk("length")] if end == "cut" else [opened, asyncio.Event()])
        engine = engine_of(model, tools)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallAnnounced) and end != "cut":
                turn.cancel()

        events = await play(engine, react=react)
        if end == "killed":
            known = [event for event in events if event.seq <= only(events, ev.CallAnnounced)[0].seq]
            events = [*known, *closing_events(known)]
        if resumed or end == "killed":
            engine.go_on("s", Transcript.of(events))
        else:
            await play(engine)
        with pytest.raises(ToolError, match="could not be read"):
            engine.rerun("id_0")
        assert not tools.ran
        assert await rerun(engine, "id_0", {"n": "written by hand"})
        assert len(tools.ran) == 1

    run(scene)


def test_a_call_that_stood_in_the_text_runs_again_after_resuming() -> None:
    async def scene() -> None:
        tools = Tools()
        opened = CallOpened(0, "", "demo_do", "text")
        model = Model([opened, CallClosed(0, '{"n": "a"}', raw="<tool_call>", sure=False), FinishChunk("stop")])
        engine = engine_of(model, tools)
        engine.go_on("s", Transcript.of(await play(engine)))
        await rerun(engine, ids(engine)[0], decision=Decision.ALLOW)
        assert [invocation.arguments for invocation in tools.ran] == [{"n": "a"}] * 2

    run(scene)


@each("rules", [[], [Rule("allow", "demo.*")]])
def test_a_call_of_an_earlier_turn_asks_each_time_whatever_allows_it(rules: list[Rule]) -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model(calls({"n": "old"}), [TextChunk("One."), FinishChunk("stop")], calls({"n": "new"}))
        engine = engine_of(model, tools, gate=ApprovalGate(ApprovalMode.YOLO, rules))
        await play(engine)
        await play(engine)
        old, new = ids(engine)
        assert not only(await rerun(engine, new), ev.ApprovalRequested)
        for _ in range(2):
            events = await rerun(engine, old, decision=Decision.ALLOW)
            assert len(only(events, ev.ApprovalRequested)) == 1
        async with engine.rerun(old) as again:
            async for event in again:
                if isinstance(event, ev.ApprovalRequested):
                    engine.gate.rules.append(Rule("allow", "*"))
                    assert again.reconsider() == 0, "no rule answers it"
                    assert again.resolve(old, Decision.DENY)
        assert [invocation.arguments["n"] for invocation in tools.ran] == ["old", "new", "new", "old", "old"]

    run(scene)


def test_a_call_of_a_turn_that_was_undone_runs_no_more() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a"})), tools)
        await play(engine)
        (call_id,) = ids(engine)
        engine.undo_turn()
        with pytest.raises(ToolError, match="no such call"):
            engine.rerun(call_id, {"n": "b"})
        assert not engine.history

    run(scene)


def _tightened(engine: Engine, tools: Tools) -> None:
    engine.gate.mode = ApprovalMode.ASK


def _changed(engine: Engine, tools: Tools) -> None:
    tools.specs[:] = [spec(changed="+ another", require_approval=True)]


def test_a_stricter_mode_holds_for_a_call_that_runs_again_in_its_turn() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a"}, LONG)), tools)

        def retry(turn: Turn) -> None:
            engine.gate.mode = ApprovalMode.ASK
            assert turn.retry(first(turn))

        def react(turn: Turn, event: ev.Event) -> None:
            at(2, retry)(turn, event)
            if isinstance(event, ev.ApprovalRequested):
                assert turn.resolve(event.call_id, Decision.DENY)

        await play(engine, react=react)
        assert [invocation.arguments["n"] for invocation in tools.ran] == ["a", "long"]
        assert outcomes(engine) == ["succeeded", "succeeded"]  # of the run that was

    run(scene)


@each("change", [_tightened, _changed])
def test_what_a_mode_let_run_asks_where_mode_or_tool_are_no_more_the_same(
    change: Callable[[Engine, Tools], None],
) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a"})), tools)
        await play(engine)
        (call_id,) = ids(engine)
        change(engine, tools)
        assert only(await rerun(engine, call_id, decision=Decision.DENY), ev.ApprovalRequested)
        assert only(await rerun(engine, call_id, decision=Decision.ALLOW), ev.ApprovalRequested)
        assert len(tools.ran) == 2
        assert not only(await rerun(engine, call_id), ev.ApprovalRequested), "a person approved this one"
        assert len(tools.ran) == 3

    run(scene)


def _replaced(engine: Engine, tools: Tools) -> None:
    engine.gate.mode = ApprovalMode.ASK
    tools.specs[:] = [spec(read_only=False, identity=ServerIdentity(digest="other", text="python other.py"))]


def _redefined(engine: Engine, tools: Tools) -> None:
    engine.gate.mode = ApprovalMode.ASK
    tools.specs[:] = [spec(read_only=False, definition="another")]


@each("change", [_replaced, _redefined, _changed])
def test_who_edits_a_call_does_not_approve_of_what_its_tool_has_become(
    change: Callable[[Engine, Tools], None],
) -> None:
    async def scene() -> None:
        tools = Tools([spec(read_only=False)])
        engine = engine_of(Model(calls({"n": "a"})), tools)
        await play(engine)
        (call_id,) = ids(engine)
        change(engine, tools)
        assert only(await rerun(engine, call_id, {"n": "b"}, decision=Decision.DENY), ev.ApprovalRequested)
        assert len(tools.ran) == 1

    run(scene)


# At every single moment


def _acts(turn: Turn) -> list[Callable[[], object]]:
    return [
        lambda: turn.retry("id_0"),
        lambda: turn.edit_and_run("id_1", {"n": "z"}),
        lambda: (turn.retry("id_0"), turn.retry("id_0"), turn.edit_and_run("id_0", {})),
        turn.send_now,
        lambda: (turn.retry("id_0"), turn.send_now()),
        lambda: (turn.retry("id_0"), turn.cancel()),
        lambda: (turn.cancel(), turn.retry("id_0"), turn.send_now()),
        lambda: turn.answer("id_3", "yes") and turn.retry("id_3"),
    ]


@pytest.mark.parametrize("number", range(8))
def test_whatever_you_do_at_any_moment_there_is_one_result_a_call(number: int) -> None:
    answer = [
        *call(0, {"n": "a", "do": "fail"}),
        *call(1, {"n": "b", "do": "chatty"}),
        *call(2, {"todos": ["x"]}, TODO),
        *call(3, {"question": "Well?"}, QUESTION),
        *finished(4),
        *STOP,
    ]
    for tick in range(1, 60) if EXPLORING else range(1 + number % 3, 60, 3):
        act: list[Callable[[], object]] = []

        def at_tick(act: list[Callable[[], object]] = act) -> None:
            for one in act:
                one()

        async def scene(act: list[Callable[[], object]] = act) -> None:
            builtin = frozenset({"update_todo_list", "ask_followup_question"})
            engine = engine_of(Model(answer, paced=True), strategy="act", builtin_tools=builtin)

            def react(turn: Turn, event: ev.Event) -> None:
                if isinstance(event, ev.TurnStarted):
                    act.append(_acts(turn)[number])
                if isinstance(event, ev.QuestionAsked):
                    asyncio.get_running_loop().call_later(3, turn.answer, event.call_id, "yes")

            events = await play(engine, react=react)
            check_turn(engine, events)
            await play(engine, "again", react)
            check_history(engine)
            assert asyncio.all_tasks() == {asyncio.current_task()}

        run(scene, {tick: at_tick})
