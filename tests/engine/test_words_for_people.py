"""The model hears of a call that ended without a result of its own; people read it in words for them."""

from __future__ import annotations

from console_app.domain.tools import Outcome, ToolResult
from console_app.domain.transcript.results import without_remarks
from console_app.engine.calls import results
from tests.each import each


@each(
    ("result", "shown"),
    [
        (results.cancelled([], started=False), "You cancelled it before it started."),
        (results.cancelled(["a", "b"], started=True), "You cancelled it. It had sent so far:\na\nb"),
        (results.not_waited_for([], started=False), "You sent the other results on before it started."),
        (
            results.not_waited_for([], started=True),
            "You sent the other results on without it. It had sent nothing so far.",
        ),
        (results.denied("too soon"), "You denied it. too soon"),
        (results.denied(), "You denied it."),
        (results.not_approved("a rule forbids it: files.*."), "It was not run: a rule forbids it: files.*."),
        (results.planned(), "It was not run: plan mode is on, and this tool isn't known to be read-only."),
        (results.not_approved("nobody answered."), "It was not run: nobody answered."),
        (results.not_single(), "not executed: one tool a message."),
        (results.too_many(3), "not executed: one answer may make 3 calls."),
        (results.repeated(4), "the same call with the same arguments came 4 times in a row."),
        (
            results.with_remarks(results.cancelled([], started=False), edited={"n": 1}, feedback=None),
            "You cancelled it before it started.",
        ),
    ],
)
def test_a_persons_own_choice_is_said_to_them(result: ToolResult, shown: str) -> None:
    assert without_remarks(result.content, result.outcome) == shown
    assert without_remarks(result.content) != shown or "user" not in result.content


def test_a_tool_may_say_the_same_words() -> None:
    said = results.cancelled([], started=False).content
    assert without_remarks(said, Outcome.SUCCEEDED) == said
