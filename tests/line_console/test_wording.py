"""How a call ended is said in few words, and none of those that only the model is told."""

from __future__ import annotations

import pytest

from console_app.domain.tools import CallState, Outcome, ToolResult
from console_app.engine.calls import results
from console_app.line_console.wording import came_of
from tests.tui.lineview.test_blocks import a_call


@pytest.mark.parametrize(
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
