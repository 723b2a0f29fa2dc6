"""How a call ended is said in few words, and none of those that only the model is told."""

from __future__ import annotations

from console_app.domain.tools import CallState, Outcome, ToolResult
from console_app.domain.transcript import BatchView, StepView, TurnView
from console_app.engine.calls import results
from console_app.line_console.wording import came_of, turn_lines
from tests.each import each
from tests.tui.lineview.test_blocks import a_call


@each(
    ("result", "logged", "said"),
    [
        (results.cancelled(["step 1", "step 2"], started=True), 2, "stopped after 2.0 s: It had sent 2 lines."),
        (results.cancelled([], started=True), 0, "stopped after 2.0 s"),
        (results.not_waited_for([], started=True), 0, "stopped after 2.0 s: you did not wait for it"),
        (results.denied(), 0, "denied after 2.0 s"),
        (results.denied("too dangerous"), 0, "denied after 2.0 s: too dangerous"),
        (results.planned(), 0, "denied after 2.0 s: not run: plan mode"),
        (results.interrupted(), 0, "interrupted after 2.0 s"),
        (
            results.shared(ToolResult(outcome=Outcome.SUCCEEDED, content="Oslo: rain")),
            0,
            "ok after 2.0 s: Oslo: rain",
        ),
    ],
)
def test_a_call_that_ended_is_said_without_what_is_for_the_model(result: ToolResult, logged: int, said: str) -> None:
    call = a_call(CallState.FINISHED, outcome=result.outcome, content=result.content, error=result.error, logged=logged)
    assert came_of(call) == said


def test_the_calls_of_a_program_stand_below_it() -> None:
    ended = {"outcome": Outcome.SUCCEEDED, "content": "18"}
    program = a_call(CallState.FINISHED, id="p", server="fanout", tool="program", **ended)
    inner = a_call(CallState.FINISHED, id="i", parent="p", depth=1, **ended)
    turn = TurnView(1, "go", 0.0, steps=[StepView(1, BatchView([program, inner]))])
    _, above, below = turn_lines(turn, {"p": 1, "i": 2})
    assert above.startswith("Call 1, fanout.program")
    assert below.startswith("  Call 2, demo.look_up")
