"""Each result has one verdict: a green tick never stands over a failure, and no failure is made up."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.tools import Outcome
from console_app.domain.transcript.verdicts import VerdictWord, verdict_of
from tests.each import each

COMMAND: dict[str, Any] = {"command": "pytest -q"}
PAGE: dict[str, Any] = {"url": "https://docs.example.org/api"}


@each("outcome", list(Outcome))
def test_every_outcome_has_a_verdict_with_a_glyph_and_a_word(outcome: Outcome) -> None:
    verdict = verdict_of(outcome, COMMAND, "exit code: 0", None)
    assert verdict.glyph
    assert verdict.is_good is (outcome is Outcome.SUCCEEDED)
    if outcome is not Outcome.SUCCEEDED:
        assert verdict == verdict_of(outcome, COMMAND, "exit code: 3", {"exit_code": 3}), "the engine's word stands"


SAYINGS = {
    "a field": ("", {"exit_code": 1, "stdout": "1 failed"}),
    "an object in the text": (json.dumps({"returncode": 1, "stdout": "x"}), None),
    "a line at the end": ("1 failed, 141 passed\nexit code: 1", None),
    "a line at the beginning": ("Exit code 1\n" + "noise\n" * 5_000, None),
    "a line behind much": ("noise\n" * 50_000 + "Process exited with code 1\n", None),
}


@each("said", SAYINGS)
def test_a_command_that_exits_with_a_failure_said_no_wherever_it_says_so(said: str) -> None:
    content, structured = SAYINGS[said]
    verdict = verdict_of(Outcome.SUCCEEDED, COMMAND, content, structured)
    assert (verdict.word, verdict.why, verdict.glyph) == (VerdictWord.SAID_NO, "exit 1", "!")
    assert verdict.needs_an_eye


@each("status", [400, 404, 500, 503])
@each("field", ["status", "status_code", "statusCode"])
def test_an_address_that_answers_with_a_failure_said_no(status: int, field: str) -> None:
    verdict = verdict_of(Outcome.SUCCEEDED, PAGE, json.dumps({field: status, "body": ""}), None)
    assert (verdict.word, verdict.why) == (VerdictWord.SAID_NO, f"status {status}")


@each(
    ("arguments", "content", "structured"),
    [
        (COMMAND, "exit code: 0", None),
        (COMMAND, "", {"exit_code": 0}),
        (COMMAND, "", {"exit_code": True}),
        (COMMAND, "The exit code 1 means that a test failed.", None),
        (COMMAND, '{"exit_code": 1', None),
        (PAGE, json.dumps({"status": 200}), None),
        (PAGE, json.dumps({"status": "ok"}), None),
        (PAGE, json.dumps({"status": 9_999}), None),
        ({"path": "README.md"}, "exit code: 1", None),
        ({"path": "log.json"}, json.dumps({"exit_code": 1, "status": 404}), None),
        ({}, "exit code: 1", {"exit_code": 1}),
    ],
)
def test_what_is_no_failure_is_done(arguments: dict[str, Any], content: str, structured: dict[str, Any] | None) -> None:
    assert verdict_of(Outcome.SUCCEEDED, arguments, content, structured).is_good


@given(st.text(), st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_no_result_whatever_it_holds_is_beyond_a_verdict(content: str, value: Any) -> None:
    for arguments in (None, {}, COMMAND, PAGE):
        for text in (content, json.dumps(value)):
            assert verdict_of(Outcome.SUCCEEDED, arguments, text, value if isinstance(value, dict) else None).glyph
