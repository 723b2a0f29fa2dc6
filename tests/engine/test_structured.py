"""Structured content beside a result's text: told to people where the text doesn't say it already."""

from __future__ import annotations

from typing import Any

from console_app.domain import events as ev
from console_app.domain.tools import Outcome, ToolResult
from console_app.engine.calls.results import MOST_STRUCTURED, structured_beside
from tests.each import each

DEEP: dict[str, Any] = {}
at = DEEP
for _ in range(50_000):
    at["a"] = at = {}


@each(
    ("content", "structured", "told"),
    [
        ("It is warm.", {"degrees": 21.5}, {"degrees": 21.5}),
        ('{"degrees":21.5}', {"degrees": 21.5}, None),
        ('{"degrees":21.5}\nedited', {"degrees": 21.5}, {"degrees": 21.5}),
        ("It is warm.", None, None),
        ("much", {"text": "x" * MOST_STRUCTURED}, None),
        ("deep", DEEP, None),
    ],
)
def test_structured_content_is_told_where_it_says_more(
    content: str, structured: dict[str, Any] | None, told: dict[str, Any] | None
) -> None:
    result = ToolResult(outcome=Outcome.SUCCEEDED, content=content, structured=structured)
    beside = structured_beside(result)
    assert beside == told
    event = ev.CallFinished(call_id="c", outcome=Outcome.SUCCEEDED, content=content, structured=beside)
    assert ev.EVENT.validate_json(event.model_dump_json().encode()) == event
