"""A session is told alike by replay and every export: its text where it stood, and what people did with its calls."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from console_app import page
from console_app.commands.sessions import conversation
from console_app.console.reports.call_report import call_text
from console_app.domain import events as ev
from console_app.domain.tools import Outcome, ToolCall
from console_app.domain.transcript import Transcript
from console_app.line_console.wording import turn_lines
from console_app.sessions import Replay
from console_app.sessions.export import exported
from tests.each import each

TEXT = "I look at both."
ASKED = ev.ApprovalRequested(call_id="c0", why="not pre-approved")
STARTED, ENDED = ev.CallStarted(call_id="c0"), ev.CallFinished(call_id="c0", outcome=Outcome.SUCCEEDED, content="found")
AGAIN = ev.CallRestarted(call_id="c0", attempt=2, arguments={"n": 2})


def decided(decision: ev.Decision, **more: object) -> ev.ApprovalResolved:
    return ev.ApprovalResolved(call_id="c0", decision=decision, by=ev.DecidedBy.USER, **more)  # pyright: ignore


STATES: dict[str, tuple[Sequence[ev.Event], Sequence[str]]] = {
    "it just ran": ([STARTED, ENDED], []),
    "it was approved": ([ASKED, decided(ev.Decision.ALLOW), STARTED, ENDED], ["Approved by you."]),
    "it was changed": (
        [ASKED, decided(ev.Decision.ALLOW, arguments={"n": 2}), STARTED, ENDED],
        ["Approved by you, with other arguments."],
    ),
    "it was denied": (
        [
            ASKED,
            decided(ev.Decision.DENY, feedback="not now"),
            ev.CallFinished(call_id="c0", outcome=Outcome.DENIED, content="The user denied this call."),
        ],
        ["Denied by you."],
    ),
    "it ran again": ([STARTED, ENDED, AGAIN, STARTED, ENDED], ["Run again by you, try 2.", "Arguments edited by you."]),
    "it went to the background": ([STARTED, ev.CallDetached(call_id="c0"), ENDED], ["Sent to the background."]),
}


def session(state: str) -> list[ev.Event]:
    call = ToolCall(id="c0", name="lab_peek", arguments='{"n": 1}')
    told = [
        ev.SessionStarted(
            model="m", provider="p", protocol="native", strategy="agentic", policy="parallel",
            tools=("lab_peek", "fanout_ask"), servers={"lab": 1},
        ),
        ev.TurnStarted(prompt="go"),
        ev.StepStarted(),
        ev.CallAnnounced(call_id="c0", index=0, name="lab_peek", server="lab", tool="peek"),
        ev.CallReady(call_id="c0", arguments={"n": 1}),
        *STATES[state][0],
        ev.MessageAdded(role="assistant", content=TEXT, tool_calls=(call,)),
        ev.MessageAdded(role="tool", content="found", tool_call_id="c0", name="lab_peek"),
        ev.StepStarted(),
        ev.MessageAdded(role="assistant", content="Done."),
        ev.TurnFinished(outcome="completed"),
    ]  # fmt: skip
    return [
        one.model_copy(update={"session_id": "s", "turn": 1, "seq": n, "at": 100.0}) for n, one in enumerate(told, 1)
    ]


@each("state", STATES)
async def test_the_text_of_an_answer_stands_before_its_calls_whatever_tells_it(state: str) -> None:
    events = session(state)
    played = Transcript()
    async for event in Replay(events, speed=1000).play():
        if isinstance(event, ev.CallAnnounced):
            assert played.step is not None
            assert played.step.text == TEXT
        played.apply(event)
    assert [step.text for turn in played.turns for step in turn.steps] == [TEXT, "Done."]
    for text in (exported(events, "md", "t"), page.of_conversation(events, "t")):
        assert text.index(TEXT) < text.index("peek") < text.index("Done.")


@each("state", STATES)
def test_what_people_did_with_a_call_is_told_once_by_every_export(state: str) -> None:
    events, (_, words) = session(state), STATES[state]
    markdown, html = exported(events, "md", "t"), page.of_conversation(events, "t")
    report = call_text(Transcript.of(events).calls["c0"])
    shown, read = "\n".join(conversation(events)), "\n".join(turn_lines(Transcript.of(events).turns[0], {"c0": 1}))
    for told in words:
        assert shown.count(told) == 1, shown
        assert read.count(told) == 1, read
        assert markdown.count(told) == 1, markdown
        assert report.count(told) == 1, report
        assert told.rstrip(".") in re.sub("<[^>]*>", "", html) or "as you edited" in html
    if not words:
        assert "by you" not in markdown + report + shown + read


def test_a_call_that_said_no_says_so_in_every_export_and_in_each_of_its_runs() -> None:
    no = ev.CallFinished(call_id="c0", outcome=Outcome.SUCCEEDED, content="oops\n[exit 3]")
    again = ev.CallRestarted(call_id="c0", attempt=2)
    ready = ev.CallReady(call_id="c0", arguments={"command": "make"})
    events = [
        one.model_copy(update={"session_id": "s", "turn": 1, "seq": n, "at": 100.0 + n})
        for n, one in enumerate([*session("it just ran")[:4], ready, STARTED, no, again, STARTED, no], 1)
    ]
    bars = json.loads(exported(events, "trace", "t"))["traceEvents"]
    assert [one["args"]["outcome"] for one in bars if one.get("cat") == "run"] == ["superseded", "said no (exit 3)"]
    assert "Run 1, superseded: said no (exit 3)" in page.of_conversation(events, "t")
    assert "said no (exit 3)" in exported(events, "md", "t")


def test_a_replay_knows_the_servers_and_tools_of_then() -> None:
    began = Replay(session("it just ran")).session
    assert began is not None
    assert began.servers == {"lab": 1}
