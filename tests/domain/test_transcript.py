"""The fold from events to state."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.events import TodoItem, TodoStatus
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.tools import CallState, Outcome, ToolCall
from console_app.domain.transcript import Transcript
from console_app.domain.transcript.times import runs


def told(*events: ev.Event) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


START = [ev.TurnStarted(turn=1, prompt="go", at=1.0), ev.StepStarted(turn=1, step=1, at=1.0)]


def announce(call_id: str, index: int = 0, at: float = 2.0) -> ev.CallAnnounced:
    return ev.CallAnnounced(call_id=call_id, index=index, name="calc_eval", server="calc", tool="eval", at=at)


def test_a_call_goes_through_its_states() -> None:
    t = told(*START, announce("a"))
    call = t.calls["a"]
    assert call.state is CallState.ANNOUNCED
    t.apply(ev.CallArguments(call_id="a", delta='{"x":'))
    t.apply(ev.CallArguments(call_id="a", delta="1}"))
    t.apply(ev.CallReady(call_id="a", arguments={"x": 1}, at=2.5))
    assert (call.arguments_text, call.arguments) == ('{"x":1}', {"x": 1})
    t.apply(ev.ApprovalRequested(call_id="a", why="writes"))
    assert (call.state, call.why) == (CallState.WAITING, "writes")
    t.apply(ev.ApprovalResolved(call_id="a", decision="allow", by="user", arguments={"x": 2}))  # type: ignore[arg-type]
    assert (call.arguments, call.edited) == ({"x": 2}, True)
    t.apply(ev.CallQueued(call_id="a", why="calc runs 1 at a time"))
    assert call.state is CallState.QUEUED
    t.apply(ev.CallStarted(call_id="a", at=3.0))
    t.apply(ev.CallProgress(call_id="a", progress=1, total=4, message="one", at=3.5))
    t.apply(ev.CallLog(call_id="a", text="two", at=3.6))
    assert (call.progress, call.total, call.message, call.news_at) == (1, 4, "two", 3.6)
    t.apply(ev.CallLog(call_id="a", text="calc: copied 0 of 4", sure=False, news=False, at=3.7))  # of an older session
    assert [line.text for line in call.log] == ["two"]
    assert (call.message, call.logged, call.news_at) == ("two", 1, 3.6)
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="4", duration_ms=900, at=4.0))
    assert [line.text for line in call.log] == ["two"]
    assert (call.state, call.outcome, call.content, call.duration_ms) == (
        CallState.FINISHED,
        Outcome.SUCCEEDED,
        "4",
        900,
    )


class Piece(str):
    """Text that may be joined with more, but not added to what there is: that would copy all of it for each piece."""

    def __radd__(self, before: str) -> str:
        raise AssertionError(f"{len(before)} characters were copied for {len(self)} more")


def test_arguments_are_not_copied_for_each_piece_of_them() -> None:
    t = told(*START, announce("a"))
    for _ in range(100):
        t.apply(ev.CallArguments.model_construct(call_id="a", delta=Piece("x" * 100), at=3.0))
    assert t.calls["a"].arguments_text == "x" * 10_000


def test_the_newest_words_of_an_agent_are_without_the_marks_of_markdown() -> None:
    def tail(*pieces: str) -> str:
        begun = ev.SessionStarted(
            agent="a", parent="x", model="m", provider="p", protocol="native", strategy="agentic", policy="parallel"
        )
        words = [ev.TextDelta(agent="a", text=piece) for piece in pieces]
        return told(*START, announce("x"), begun, *words).calls["x"].message

    assert tail("## Found\n", "- **providers** has `src/**/*.py`, and *", "*two** rooms") == (
        "providers has src/**/*.py, and two rooms"
    )
    assert tail("> so **2 * 3** is __init__ of a_b") == "so 2 * 3 is __init__ of a_b"


def test_the_first_of_two_results_stands() -> None:
    t = told(*START, announce("a"))
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.CANCELLED, content="cancelled"))
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="late"))
    assert t.calls["a"].content == "cancelled"


def test_events_of_unknown_calls_are_ignored() -> None:
    t = told(
        ev.CallProgress(call_id="nobody", progress=1), ev.CallFinished(call_id="x", outcome=Outcome.FAILED, content="")
    )
    assert not t.calls


def test_a_dropped_call_leaves_nothing() -> None:
    t = told(*START, announce("a"), announce("b", 1), ev.CallDropped(call_id="a"))
    assert [call.id for call in t.turns[0].steps[0].batch.calls] == ["b"]


def test_a_result_that_was_read_from_a_file_is_held_once() -> None:
    finished = ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="long " * 1000)
    joined = ev.MessageAdded.of(ToolMessage(tool_call_id="a", content="long " * 1000))
    stored = [ev.EVENT.validate_json(event.model_dump_json()) for event in (finished, joined)]
    t = told(*START, announce("a"), *stored)
    assert t.calls["a"].content is t.history[0].content


things = st.sampled_from(
    [
        "announced",
        "ready",
        "requested",
        "started",
        "asked",
        "answered",
        "asks",
        "finished",
        "restarted",
        "dropped",
        "undone",
    ]
)


@given(st.lists(st.tuples(things, st.sampled_from("abc")), max_size=30))
def test_open_calls_are_those_without_a_result(changes: list[tuple[str, str]]) -> None:
    t = told(*START)
    for kind, call_id in changes:
        t.apply(
            {
                "announced": announce(call_id),
                "ready": ev.CallReady(call_id=call_id, arguments={}),
                "requested": ev.ApprovalRequested(call_id=call_id, why="writes"),
                "started": ev.CallStarted(call_id=call_id),
                "finished": ev.CallFinished(call_id=call_id, outcome=Outcome.SUCCEEDED, content=""),
                "restarted": ev.CallRestarted(call_id=call_id, attempt=2),
                "asked": ev.CallAsked(call_id=call_id, what="Which?"),
                "answered": ev.CallAnswered(call_id=call_id, what="Which?", how="accepted"),
                "asks": ev.QuestionAsked(call_id=call_id, question="Which?"),
                "dropped": ev.CallDropped(call_id=call_id),
                "undone": ev.TurnUndone(undone=1),
            }[kind]
        )
        assert set(t.open_calls) == {one.id for one in t.calls.values() if one.state is not CallState.FINISHED}
        assert t.waiting == {one.id for one in t.calls.values() if one.waits_for_you}


def test_the_stored_message_is_the_truth() -> None:
    said = AssistantMessage(content="whole text", tool_calls=(ToolCall(id="a", name="calc_eval"),))
    t = told(*START, ev.TextDelta(text="who"), ev.MessageAdded(**ev.MessageAdded.fields_of(said)))
    assert t.turns[0].steps[0].text == "whole text"
    assert t.history == [said]


def test_history_holds_the_exact_messages_in_order() -> None:
    messages = [UserMessage(content="q"), AssistantMessage(content="a"), ToolMessage(tool_call_id="1", content="r")]
    t = told(*START, *(ev.MessageAdded(**ev.MessageAdded.fields_of(m)) for m in messages))
    assert t.history == messages


def test_usage_adds_up_and_the_context_is_the_newest_request() -> None:
    t = told(
        ev.UsageReported(input_tokens=100, output_tokens=10, cost=0.5),
        ev.UsageReported(input_tokens=120, output_tokens=5, cached_tokens=100),
    )
    assert (t.usage.input_tokens, t.usage.output_tokens, t.usage.cached_tokens) == (220, 15, 100)
    assert (t.usage.cost, t.usage.context) == (0.5, 125)


def test_a_log_keeps_its_newest_lines() -> None:
    t = told(*START, announce("a"), *(ev.CallLog(call_id="a", text=str(n)) for n in range(2000)))
    assert t.calls["a"].log[-1].text == "1999"
    assert len(t.calls["a"].log) <= 500
    t.apply(ev.CallLog(call_id="a", text="2010", dropped=10))
    assert (t.calls["a"].logged, t.calls["a"].dropped, t.calls["a"].log[-1].dropped) == (2011, 10, 10)


@given(st.lists(st.sampled_from(["reasoning", "text", "revise"]), max_size=30))
def test_text_is_what_came_since_the_last_revision(kinds: list[str]) -> None:
    t, expected = told(*START), ""
    for n, kind in enumerate(kinds):
        match kind:
            case "text":
                t.apply(ev.TextDelta(text=f"{n} "))
                expected += f"{n} "
            case "revise":
                t.apply(ev.TextRevised(text="new "))
                expected = "new "
            case _:
                t.apply(ev.ReasoningDelta(text="hm"))
    assert t.turns[0].steps[0].text == expected


def test_a_call_that_runs_again_keeps_one_panel_and_its_earlier_runs() -> None:
    t = told(*START, announce("a"), ev.CallReady(call_id="a", arguments={"x": 1}), ev.CallStarted(call_id="a", at=2.0))
    t.apply(ev.CallLog(call_id="a", text="hm"))
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.FAILED, content="no", error="no", duration_ms=5, at=3.0))
    t.apply(ev.CallRestarted(call_id="a", attempt=2, arguments={"x": 2}, at=4.0))
    call = t.calls["a"]
    assert (call.state, call.outcome, call.started_at, call.arguments) == (CallState.ANNOUNCED, None, None, {"x": 2})
    t.apply(ev.CallStarted(call_id="a", at=4.5))
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="4", at=5.0))
    assert (call.content, call.attempt, call.error) == ("4", 2, None)
    assert [(old.content, old.arguments, old.duration_ms) for old in call.superseded] == [("no", {"x": 1}, 5)]
    assert len(t.turns[0].steps[0].batch.calls) == 1


def test_a_question_is_open_until_its_call_has_ended() -> None:
    t = told(*START, announce("a"), ev.CallStarted(call_id="a", at=2.0))
    t.apply(ev.QuestionAsked(call_id="a", question="Which?", options=("x", "y")))
    assert t.calls["a"].asks
    assert t.calls["a"].options == ("x", "y")
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="x"))
    assert not t.calls["a"].asks


def test_a_call_waits_for_you_while_its_server_has_an_open_question() -> None:
    t = told(*START, announce("a"), ev.CallStarted(call_id="a", at=2.0))
    call = t.calls["a"]
    t.apply(ev.CallAsked(call_id="a", what="Who?", at=3.0))
    t.apply(ev.CallAsked(call_id="a", what="Which?", at=4.0))
    assert (call.waits_for_you, call.asked, call.waits) == (True, ["Who?", "Which?"], [(3.0, None)])
    t.apply(ev.CallAnswered(call_id="a", what="Who?", how="accepted", at=5.0))
    assert (call.waits_for_you, call.asked) == (True, ["Which?"])
    t.apply(ev.CallAnswered(call_id="a", what="Which?", how="declined", at=6.0))
    assert (call.waits_for_you, call.waits) == (False, [(3.0, 6.0)])
    t.apply(ev.CallAsked(call_id="a", what="Where?", at=7.0))
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.CANCELLED, content="", at=8.0))
    assert (call.waits_for_you, call.waits[-1]) == (False, (7.0, 8.0))


def test_a_question_that_may_be_another_calls_stops_no_clock() -> None:
    t = told(*START, announce("a"), ev.CallStarted(call_id="a", at=2.0))
    t.apply(ev.CallAsked(call_id="a", what="one of 2 calls asks: Who?", sure=False, at=3.0))
    call = t.calls["a"]
    assert (call.waits_for_you, call.asked, call.waits) == (False, [], [])
    t.apply(ev.CallAnswered(call_id="a", what="one of 2 calls asks: Who?", how="accepted", at=5.0))
    t.apply(ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="", at=8.0))
    assert list(runs(call, 9.0)) == [(2.0, 8.0)]


def test_a_call_that_is_run_again_asks_anew() -> None:
    t = told(*START, announce("a"), ev.CallStarted(call_id="a", at=2.0))
    t.apply(ev.CallAsked(call_id="a", what="Who?", at=3.0))
    t.apply(ev.CallRestarted(call_id="a", attempt=2, at=4.0))
    t.apply(ev.CallStarted(call_id="a", at=5.0))
    assert (t.calls["a"].waits_for_you, t.calls["a"].waits) == (False, [(3.0, 4.0)])


def test_thoughts_are_no_text_of_the_answer() -> None:
    t = told(*START, ev.ThoughtDelta(label="think", text="Well, "), ev.ThoughtDelta(label="think", text="so."))
    assert t.step
    assert (t.step.thinking, t.step.thinking_label) == ("Well, so.", "think")
    thought = ev.Thought(label="think", text="Well, so.")
    t.apply(thought)
    t.apply(ev.MessageAdded(role="assistant", content="Well, so.", label="think"))
    assert (t.step.thoughts, t.step.thinking, t.step.text) == ([thought], "", "")
    assert t.history == [AssistantMessage(content="Well, so.", label="think")]


def test_what_finished_was_given_is_an_answer_of_its_own() -> None:
    t = told(*START, announce("a"))
    t.apply(ev.MessageAdded(role="assistant", content="Ending.", tool_calls=(ToolCall(id="a", name="x"),)))
    t.apply(ev.MessageAdded(role="assistant", content="All done."))
    assert [step.text for step in t.turns[0].steps] == ["Ending.", "All done."]


def test_the_to_do_list_is_the_newest() -> None:
    one, two = TodoItem(content="one"), TodoItem(content="two", status=TodoStatus.COMPLETED)
    t = told(ev.TodoChanged(items=(one,)), ev.TodoChanged(items=(one, two), by="user"))
    assert t.todo == (one, two)


class Compared(int):
    """A place among the calls that counts how often others are held against it."""

    count = 0

    def __gt__(self, other: int) -> bool:
        Compared.count += 1
        return int(self) > other


def test_a_call_that_comes_last_is_held_against_the_last_of_thousands_alone() -> None:
    t = told(*START, *(announce(f"c{n}", n) for n in range(1, 3001)))
    assert t.step
    for call in t.step.batch.calls:
        call.index = Compared(call.index)
    t.apply(announce("last", 3001))
    assert Compared.count == 1
    t.apply(announce("first", 0))
    assert [call.id for call in t.step.batch.calls][:2] == ["first", "c1"]
    assert list(t.calls) == [call.id for call in t.step.batch.calls]
