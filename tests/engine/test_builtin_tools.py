"""Fanout's own tools: the to-do list that both sides edit, questions to you, and completion after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, FinishChunk, TextChunk
from console_app.domain.events import Decision, TodoItem, TodoStatus
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate, Engine, Rule, Turn
from console_app.engine.execution.builtin_specs import as_checklist, read_items
from tests.each import each
from tests.engine.peers import (
    Line,
    Model,
    Tools,
    call,
    ending,
    engine_of,
    only,
    outcomes,
    play,
    spec,
    tool_texts,
)
from tests.engine.strict_history import check_history, check_turn
from tests.engine.test_strategies import FINISHED, QUESTION, STOP, TODO, finished
from tests.engine.virtual_time import run

BOTH = frozenset({"update_todo_list", "ask_followup_question"})
BLOCKED = "Cannot complete because a previous tool call failed in this turn. Address the failure before completing."
ONE = [{"content": "Check for coolness", "status": "pending"}]
COOL = TodoItem(content="Check for coolness")


def todo(index: int, todos: Any) -> list[Any]:
    return call(index, {"todos": todos}, TODO)


def ask(index: int, question: str = "Which?", *options: str) -> list[Any]:
    return call(index, {"question": question, "options": list(options)}, QUESTION)


# The to-do list


def test_the_to_do_list_is_replaced_whole_and_shown_to_both_sides() -> None:
    async def scene() -> None:
        second = [
            {"content": "Check for coolness", "status": "completed"},
            {"content": "Tell", "status": "in_progress"},
        ]
        engine = engine_of(Model([*todo(0, ONE), *STOP], [*todo(0, second), *STOP]), builtin_tools=BOTH)
        events = await play(engine)
        assert [event.items for event in only(events, ev.TodoChanged)] == [(COOL,), engine.transcript.todo]
        assert tool_texts(engine)[1] == "The to-do list is now:\n[x] Check for coolness\n[-] Tell"
        transcript = Transcript()
        for event in events:
            transcript.apply(event)
        assert transcript.todo == engine.transcript.todo
        check_turn(engine, events)

    run(scene)


@each(
    ("written", "items"),
    [
        ("[ ] one\n[x] two\n[-] three", "[ ] one\n[x] two\n[-] three"),
        ("# Plan\r\n- [X] one\r\n* [~] two\r\n\r\n1. [ ] three\n- four", "[x] one\n[-] two\n[ ] three\n[ ] four"),
        ("[] one", "[ ] one"),
        (["one", "[x] two"], "[ ] one\n[x] two"),
        ([{"content": " a\n b "}, {"content": "c", "status": "done"}], "[ ] a b\n[x] c"),
        ([{"content": "c", "status": "In-Progress"}], "[-] c"),
        ([], "(the list is empty)"),
        ("", "(the list is empty)"),
    ],
)
def test_a_list_is_understood_however_it_is_written(written: Any, items: str) -> None:
    assert as_checklist(read_items(written)) == items


@each(
    ("written", "says"),
    [
        (7, "must be a list of items"),
        ("just do it", "has no line like"),
        ([7], "item 1 is no object"),
        ([{"content": ""}], "item 1 has no content"),
        ([{"content": "a"}, {"content": "b", "status": "maybe"}], "item 2 has the status “maybe”"),
        (["a"] * 201, "has 201 items, and 200 is the most"),
    ],
)
def test_a_list_that_cant_be_understood_changes_nothing_and_says_why(written: Any, says: str) -> None:
    async def scene() -> None:
        engine = engine_of(Model([*todo(0, written), *STOP]), builtin_tools=BOTH)
        events = await play(engine)
        assert outcomes(engine) == ["invalid"]
        assert says in tool_texts(engine)[0]
        assert not only(events, ev.TodoChanged)
        check_turn(engine, events)

    run(scene)


def test_what_you_edit_reaches_the_model_with_the_next_request() -> None:
    async def scene() -> None:
        engine = engine_of(Model(), builtin_tools=BOTH)
        event = engine.edit_todo([COOL, TodoItem(content="Mine", status=TodoStatus.IN_PROGRESS)])
        assert event
        assert (event.by, event.seq, event.items) == ("user", 1, engine.transcript.todo)
        await play(engine, "go")
        asked = engine.provider.requests[0].messages[-1]  # type: ignore[attr-defined]
        assert asked.content == "go\n\nI changed the to-do list. It is now this:\n[ ] Check for coolness\n[-] Mine"
        assert asked.origin == "user"
        await play(engine, "and?")
        assert [message.content for message in engine.history[-2:]] == ["and?", "done"]  # said once
        check_history(engine)

    run(scene)


def test_a_list_that_you_edit_while_the_model_writes_its_own_stays_yours() -> None:
    async def scene() -> None:
        def edit() -> None:
            assert engine.edit_todo([TodoItem(content="Mine")]) is None

        engine = engine_of(Model([edit, *todo(0, ONE), *STOP]), builtin_tools=BOTH)
        events = await play(engine)
        assert engine.transcript.todo == (TodoItem(content="Mine"),)
        assert [event.by for event in only(events, ev.TodoChanged)] == ["user"]
        assert tool_texts(engine)[0].endswith("differ from:\n[ ] Mine")
        check_turn(engine, events)

    run(scene)


def test_open_items_can_keep_a_turn_from_ending() -> None:
    async def scene() -> None:
        ticked = [{"content": "Check for coolness", "status": "completed"}]
        model = Model(
            [*todo(0, ONE), *STOP],
            [*finished(), *STOP],
            [*todo(0, ticked), *finished(1), *STOP],
        )
        engine = engine_of(model, builtin_tools=BOTH, strategy="act", finish_todos=True)
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "blocked", "succeeded", "succeeded"]
        assert tool_texts(engine)[1].endswith("before completing.\n[ ] Check for coolness")
        check_turn(engine, events)

    run(scene)


def test_open_items_are_told_once_to_a_model_that_ends_with_text() -> None:
    async def scene() -> None:
        engine = engine_of(Model([*todo(0, ONE), *STOP]), builtin_tools=BOTH, finish_todos=True)
        events = await play(engine)
        assert len(engine.provider.requests) == 3  # type: ignore[attr-defined]
        assert "[ ] Check for coolness" in engine.history[-2].content
        assert "open items" in only(events, ev.Notice)[-1].text
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


# Questions


def answering(text: str, after: float = 3600) -> Any:
    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.QuestionAsked):
            assert not turn.answer(event.call_id, "  ")
            assert not turn.answer("nobody", text)
            asyncio.get_running_loop().call_later(after, turn.answer, event.call_id, text)

    return react


def test_a_question_waits_for_you_as_long_as_you_like_and_nothing_waits_for_it() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model([*ask(0, "Which one?", "a", "b"), *call(1, {"n": "x"}), *STOP])
        engine = engine_of(model, tools, builtin_tools=BOTH, max_parallel=1, call_timeout=5)
        events = await play(engine, react=answering("b, and quickly"))
        asked = only(events, ev.QuestionAsked)[0]
        assert (asked.question, asked.options) == ("Which one?", ("a", "b"))
        assert tools.ended == ["x"]
        assert tool_texts(engine) == ["The user answered:\nb, and quickly", "result of x"]
        check_turn(engine, events)

    run(scene)


def test_a_question_that_you_cancel_is_told_so() -> None:
    async def scene() -> None:
        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.QuestionAsked):
                assert turn.cancel_call(event.call_id)
                assert not turn.answer(event.call_id, "too late")

        engine = engine_of(Model([*ask(0), *STOP]), builtin_tools=BOTH)
        events = await play(engine, react=react)
        assert outcomes(engine) == ["cancelled"]
        check_turn(engine, events)

    run(scene)


@each(
    ("arguments", "says"),
    [({"question": ""}, "“question”"), ({"question": "x", "options": list("abcde")}, "at most 4"), ({}, "required")],
)
def test_a_question_that_is_none_is_told_what_is_wrong(arguments: dict[str, Any], says: str) -> None:
    async def scene() -> None:
        engine = engine_of(Model([*call(0, arguments, QUESTION), *STOP]), builtin_tools=BOTH)
        events = await play(engine)
        assert outcomes(engine) == ["invalid"]
        assert says in tool_texts(engine)[0]
        check_turn(engine, events)

    run(scene)


def test_where_nobody_is_there_a_question_is_declined() -> None:
    async def scene() -> None:
        gate = ApprovalGate(ApprovalMode.YOLO, headless=True)
        engine = engine_of(Model([*ask(0), *STOP]), gate=gate, builtin_tools=BOTH)
        events = await play(engine)
        assert outcomes(engine) == ["denied"]
        assert tool_texts(engine)[0].startswith("Nobody is there to answer.")
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


# No approval


def test_builtin_tools_need_no_approval_and_never_wait_behind_one() -> None:
    async def scene() -> None:
        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.TodoChanged):
                turn.resolve("id_0", Decision.ALLOW)

        engine = engine_of(
            Model([*call(0, {"n": "a"}), *todo(1, ONE), *STOP]), mode=ApprovalMode.ASK, builtin_tools=BOTH
        )
        events = await play(engine, react=react)
        assert [event.call_id for event in only(events, ev.ApprovalRequested)] == ["id_0"]
        assert outcomes(engine) == ["succeeded", "succeeded"]
        check_turn(engine, events)

    run(scene)


def test_a_rule_can_forbid_a_builtin_tool() -> None:
    async def scene() -> None:
        gate = ApprovalGate(ApprovalMode.YOLO, [Rule("deny", "fanout.*")])
        engine = engine_of(Model([*todo(0, ONE), *STOP]), gate=gate, builtin_tools=BOTH)
        events = await play(engine)
        assert outcomes(engine) == ["denied"]
        assert not engine.transcript.todo
        check_turn(engine, events)

    run(scene)


def test_a_server_that_calls_itself_fanout_is_no_builtin() -> None:
    async def scene() -> None:
        tools = Tools([spec("wipe", "fanout"), spec("update_todo_list", "fanout")])
        model = Model([*call(0, {}, "fanout_wipe"), *todo(1, ONE), *STOP])
        engine = engine_of(model, tools, gate=ApprovalGate(headless=True), builtin_tools=BOTH)
        events = await play(engine)
        assert outcomes(engine) == ["denied", "succeeded"]
        assert not tools.ran
        check_turn(engine, events)

    run(scene)


# Completion after a failure

NO_SUCH = [CallOpened(1, "id_1", "demo_nothing"), CallClosed(1, "{}")]
CUT = [CallOpened(1, "id_1", "demo_do"), CallDelta(1, '{"n')]
BROKEN = call(1, '{"n": ')


@each(
    ("bad", "outcome"),
    [
        (call(1, {"do": "fail"}), "failed"),
        (call(1, {"do": "raise", "seconds": 2}), "failed"),
        (call(1, {"do": "hang"}), "timed_out"),
        (BROKEN, "invalid"),
        (CUT, "invalid"),
        (NO_SUCH, "invalid"),
    ],
)
def test_completion_is_blocked_by_any_failure_of_the_same_answer(bad: list[Any], outcome: str) -> None:
    async def scene() -> None:
        answer = [*finished(0), *bad, *call(2, {"n": "fine"}), *STOP]
        engine = engine_of(Model(answer, [*finished(0), *STOP]), strategy="act", call_timeout=5)
        events = await play(engine)
        assert outcomes(engine) == ["blocked", outcome, "succeeded", "succeeded"]
        assert tool_texts(engine)[0] == BLOCKED
        assert ending(events).outcome == "completed"  # with the next request the failure is forgotten
        check_turn(engine, events)

    run(scene)


def _refusing(what: str) -> Callable[[Turn, ev.Event], None]:
    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            if event.call_id != "id_0":
                assert turn.resolve(event.call_id, Decision.ALLOW)
            else:
                assert turn.resolve("id_0", Decision.DENY) if what == "deny" else turn.cancel_call("id_0")

    return react


@each("what", ["deny", "cancel"])
def test_what_you_decided_yourself_does_not_block_completion(what: str) -> None:
    async def scene() -> None:
        answer = [*call(0, {}), *call(1, {"n": "b"}), *finished(2), *STOP]
        engine = engine_of(Model(answer), strategy="act", mode=ApprovalMode.ASK)
        events = await play(engine, react=_refusing(what))
        assert outcomes(engine) == ["denied" if what == "deny" else "cancelled", "succeeded", "succeeded"]
        assert len(engine.provider.requests) == 1  # type: ignore[attr-defined]
        check_turn(engine, events)

    run(scene)


@each("what", ["deny", "cancel"])
def test_where_you_let_nothing_run_the_model_has_to_answer_knowing_that(what: str) -> None:
    async def scene() -> None:
        answers = [*call(0, {}), *finished(1, "I deleted it."), *STOP], [*finished(0, "You did not allow it."), *STOP]
        engine = engine_of(Model(*answers), strategy="act", mode=ApprovalMode.ASK)
        events = await play(engine, react=_refusing(what))
        assert outcomes(engine) == ["denied" if what == "deny" else "cancelled", "blocked", "succeeded"]
        assert "no other call of this answer ran" in tool_texts(engine)[1]
        assert engine.history[-1].content == "You did not allow it."
        check_turn(engine, events)

    run(scene)


def test_what_you_did_not_wait_for_is_no_failure_and_blocks_nothing() -> None:
    async def scene() -> None:
        answer = [*call(0, {"n": "a"}), *call(1, {"n": "b", "do": "hang"}), *finished(2), *STOP]
        engine = engine_of(Model(answer), strategy="act")

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallFinished) and event.call_id == "id_0":
                asyncio.get_running_loop().call_later(1, turn.send_now)

        events = await play(engine, react=react)
        assert outcomes(engine) == ["succeeded", "cancelled", "succeeded"]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


@each(
    "written",
    [
        [{"text": "the red one", "mode": "code"}, {"text": "the blue one"}],
        ["the red one", "the blue one"],
        "<suggest>the red one</suggest>\n<suggest mode='code'>the blue one</suggest>",
        "- the red one\n- the blue one",
    ],
)
def test_options_are_read_by_the_name_that_other_agents_have_for_them(written: Any) -> None:
    async def scene() -> None:
        asked = {"question": "Which?", "follow_up": written}
        engine = engine_of(Model([*call(0, asked, QUESTION), *STOP]), builtin_tools=BOTH)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.QuestionAsked):
                assert event.options == ("the red one", "the blue one")
                assert turn.answer(event.call_id, "the blue one")

        events = await play(engine, react=react)
        assert tool_texts(engine) == ["The user answered:\nthe blue one"]
        check_turn(engine, events)

    run(scene)


def test_after_a_blocked_completion_the_user_can_have_it_complete_anyway() -> None:
    async def scene() -> None:
        blocked = [*call(0, {"do": "fail"}), *todo(1, ONE), *finished(2), *STOP]
        model = Model(blocked, [TextChunk("I can't."), *STOP], [*finished(0, "Completed, as you asked."), *STOP])
        engine = engine_of(model, strategy="act", builtin_tools=BOTH)
        events = await play(engine, "Read it, and update the list.")
        assert outcomes(engine) == ["failed", "succeeded", "blocked"]
        assert engine.transcript.todo == (COOL,)
        assert ending(events).outcome == "completed"
        check_turn(engine, events)
        again = await play(engine, "just complete anyway")
        assert ending(again).outcome == "completed"
        assert engine.history[-1].content == "Completed, as you asked."
        check_history(engine)

    run(scene)


def test_finished_can_be_offered_to_the_plain_strategy_too() -> None:
    async def scene() -> None:
        lines: list[Line] = [*finished(), FinishChunk("tool_calls")]
        engine: Engine = engine_of(Model(lines), builtin_tools=frozenset({"finished"}))
        events = await play(engine)
        assert only(events, ev.CallFinished)[0].outcome is Outcome.SUCCEEDED
        assert engine.history[-1].content == "All done."
        assert FINISHED in {tool.name for tool in engine.provider.requests[0].tools}  # type: ignore[attr-defined]
        check_turn(engine, events)

    run(scene)
