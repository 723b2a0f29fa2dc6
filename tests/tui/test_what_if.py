"""A result that the user changed: a copy of the conversation goes on from it, marked on every face as the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console_app import page
from console_app.console.reports.call_report import call_text
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallClosed, CallOpened, FinishChunk
from console_app.domain.errors import ToolError, UsageError
from console_app.domain.messages import ToolMessage
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate
from console_app.sessions import Replay
from console_app.sessions.export import exported, imported
from console_app.sessions.repair import OtherResult
from console_app.tui.sessions.compare import CompareScreen
from tests.each import each
from tests.tui.parts import Answer, Tools, WrittenModel, app, chat, decide, echo, enter, pass_by, say, see, seen, until
from tests.tui.stored import library

pytestmark = pytest.mark.usefixtures("closed_libraries")

YOURS = "result changed by you"
OURS = "the user wrote this result in place of the tool's"
MINE = "all 12 are green"


async def refuse(*_: Any) -> str:
    raise ToolError("no such file")


ALL = ApprovalGate(ApprovalMode.YOLO)
TOOLS = Tools({("lab", "echo"): echo, ("lab", "read"): refuse})


def two_calls() -> Answer:
    opened_ = [CallOpened(0, "one", "lab_echo"), CallClosed(0, '{"text": "abc"}')]
    return [*opened_, CallOpened(1, "two", "lab_read"), CallClosed(1, '{"path": "a"}'), FinishChunk("tool_calls")]


def told() -> list[ev.Event]:
    """A session of two turns: in the first, three calls in one answer, then an answer; one of them ran again later."""
    spoken = [
        ev.SessionStarted(model="m", provider="p", protocol="native", strategy="agentic", policy="parallel"),
        ev.TurnStarted(prompt="go"),
        ev.StepStarted(),
        *(ev.CallAnnounced(call_id=f"c{n}", index=n, name="lab_do", server="lab", tool="do") for n in range(3)),
        *(ev.CallReady(call_id=f"c{n}", arguments={"n": n}) for n in range(3)),
        *(ev.CallStarted(call_id=f"c{n}") for n in range(3)),
        ev.CallOutput(call_id="c1", stream="stdout", text="the tool's words", offset=0),
        ev.CallFinished(call_id="c0", outcome=Outcome.SUCCEEDED, content="zero", duration_ms=5),
        ev.CallFinished(call_id="c1", outcome=Outcome.FAILED, content="broke", error="broke", duration_ms=5),
        ev.CallFinished(call_id="c2", outcome=Outcome.SUCCEEDED, content="two", structured={"a": 1}, duration_ms=5),
        ev.BatchFinished(calls=3, wall_ms=5, summed_ms=15),
        ev.MessageAdded(role="assistant", content="", tool_calls=()),
        *(
            ev.MessageAdded(role="tool", content=text, tool_call_id=f"c{n}", name="lab_do", outcome=outcome)
            for n, (text, outcome) in enumerate(
                [("zero", Outcome.SUCCEEDED), ("broke", Outcome.FAILED), ("two", Outcome.SUCCEEDED)]
            )
        ),
        ev.StepStarted(),
        ev.TextDelta(text="Done."),
        ev.MessageAdded(role="assistant", content="Done."),
        ev.TurnFinished(outcome="completed"),
        ev.CallRestarted(call_id="c1", attempt=2),
        ev.CallFinished(call_id="c1", outcome=Outcome.SUCCEEDED, content="later", duration_ms=5),
    ]
    return [
        one.model_copy(update={"session_id": "s", "turn": 1, "seq": n, "at": 100.0 + n})
        for n, one in enumerate(spoken, 1)
    ]


@each("call", ["c0", "c1", "c2"])
def test_a_copy_ends_with_the_results_of_the_answer_and_has_the_other_one_marked(call: str) -> None:
    before, copy = told(), OtherResult(call, MINE).put_into(told())
    transcript = Transcript.of(copy)
    assert (transcript.calls[call].by_user, transcript.calls[call].content) == (True, MINE)
    assert [one.content for one in transcript.calls.values() if one.id != call] == [
        text for n, text in enumerate(("zero", "broke", "two")) if f"c{n}" != call
    ]
    messages = [one for one in transcript.history if isinstance(one, ToolMessage)]
    assert [one.tool_call_id for one in messages] == ["c0", "c1", "c2"]
    assert [OURS in one.content for one in messages] == [one.tool_call_id == call for one in messages]
    assert not [words for words in ("Done.", "later") if words in str(copy)]
    assert copy[0] == before[0]
    if call == "c1":
        assert "the tool's words" not in str(copy)


def test_no_copy_is_made_of_a_call_whose_result_nobody_read() -> None:
    with pytest.raises(UsageError, match="the model read no result"):
        OtherResult("elsewhere", MINE).put_into(told())


@each("call", ["c0", "c1", "c2"])
async def test_every_way_of_telling_a_session_says_whose_result_it_is(call: str) -> None:
    copy = OtherResult(call, MINE).put_into(told())
    assert exported(copy, "md", "t").count(YOURS) == 1
    assert page.of_conversation(copy, "t").count(YOURS) >= 1
    trace = json.loads(exported(copy, "trace", "t"))["traceEvents"]
    assert sum(one["args"].get("outcome") == YOURS for one in trace) == 1
    again = imported(exported(copy, "jsonl", "t").splitlines(), "t.jsonl")
    replayed = [event async for event in Replay(again, speed=100_000).play()]
    assert Transcript.of(replayed).calls[call].by_user
    assert YOURS in call_text(Transcript.of(replayed).calls[call])


async def test_on_screen_e_changes_a_result_and_the_conversation_goes_on_from_it(tmp_path: Path) -> None:
    model, kept = WrittenModel(two_calls(), say("One failed."), say("Both are good.")), library(tmp_path)
    running = app(tmp_path, model, TOOLS, store=kept, library=kept, close=kept.close, gate=ALL)
    async with running.run_test(size=(140, 40), notifications=True) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "One failed.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        session = kept.session_id
        chat(running).view.enter_call(2)
        await decide(pilot, "e")
        await see(pilot, "its result")
        await pilot.press("f3")
        await see(pilot, "Change the result of lab · read")
        await pass_by(pilot)
        await pilot.press("ctrl+a", "ctrl+k", *MINE, "ctrl+s")
        await see(pilot, "Both are good.")
        await until(pilot, lambda: not chat(running).console.conversation.busy)
        assert kept.session_id != session
        assert "One failed." not in seen(running)
        await see(pilot, YOURS)
        read = [one for one in model.requests[2].messages if isinstance(one, ToolMessage)]
        assert [(OURS in one.content, MINE in one.content) for one in read] == [(False, False), (True, True)]
        assert any(getattr(event, "content", "") == "One failed." for event in await kept.store.load(session))

        await enter(pilot, "/compare")
        await until(pilot, lambda: isinstance(running.screen, CompareScreen))
        await see(pilot, "One failed.")
        assert not [words for words in ("Both are good.", "no such file", YOURS) if words not in seen(running)]
        await pilot.resize_terminal(80, 24)
        await see(pilot, "Both are good.")
        assert "One failed." not in seen(running)
        await pilot.press("tab")
        await see(pilot, "One failed.")
        assert "Both are good." not in seen(running)
        await pilot.press("d")
        await see(pilot, f"outcome: failed → {YOURS}")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not isinstance(running.screen, CompareScreen))
