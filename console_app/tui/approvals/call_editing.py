"""Opens the form for a call's arguments, and says what of them can run: read, checked and judged as the engine does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from console_app.domain import CallState, ToolSpec, call_description, one_line
from console_app.domain.transcript import CallView, results
from console_app.engine import ApprovalGate

if TYPE_CHECKING:
    from console_app.tui.approvals.arguments_editor import ArgumentsEditor

RESULT = "result"  # the name of the field


def editor_for(
    call: CallView, spec: ToolSpec | None, gate: ApprovalGate, *, accept: str, clock: Callable[[], float]
) -> ArgumentsEditor:
    """The form; a tool that is gone has no schema, and everything fits it."""
    from console_app.tui.approvals.arguments_editor import ArgumentsEditor

    return ArgumentsEditor(
        f"Edit the arguments of {one_line(call.label, 60)}",
        call.arguments or {},
        spec.input_schema if spec else {},
        checker(spec, gate, waits=call.state is CallState.WAITING),
        accept=accept,
        result=not call_description.refusal(call, call_description.Act.RESULT),
        clock=clock,
    )


def result_editor(call: CallView, clock: Callable[[], float]) -> ArgumentsEditor:
    """The form for another result of a call: a copy of the conversation goes on from it."""
    from console_app.tui.approvals.arguments_editor import ArgumentsEditor

    text = results.shown_text(call)

    def check(written: str) -> dict[str, Any]:
        if (read := json.loads(written))[RESULT] == text:
            raise ValueError("this is the result as it is")
        return read

    field = {"type": "string", "title": "the model reads", "format": "multi-line"}
    schema = {"type": "object", "properties": {RESULT: field}, "required": [RESULT]}
    title = f"Change the result of {one_line(call.label, 60)}"
    return ArgumentsEditor(title, {RESULT: text}, schema, check, accept="goes on from it, in a copy", clock=clock)


def checker(spec: ToolSpec | None, gate: ApprovalGate, *, waits: bool) -> Callable[[str], dict[str, Any]]:
    """Reads the text of edited arguments; raises ValueError for what can't run."""

    def check(text: str) -> dict[str, Any]:
        if not text.strip():
            raise ValueError("the arguments are one JSON object; {} is none at all")
        return gate.edited(spec, text, waits=waits)

    return check
