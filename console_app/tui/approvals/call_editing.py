"""Opens the form for a call's arguments, and says what of them can run: read, checked and judged as the engine does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from console_app.domain import CallState, ToolSpec, one_line
from console_app.domain.transcript import CallView
from console_app.engine import ApprovalGate

if TYPE_CHECKING:
    from console_app.tui.approvals.arguments_editor import ArgumentsEditor


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
        clock=clock,
    )


def checker(spec: ToolSpec | None, gate: ApprovalGate, *, waits: bool) -> Callable[[str], dict[str, Any]]:
    """Reads the text of edited arguments; raises ValueError for what can't run."""

    def check(text: str) -> dict[str, Any]:
        if not text.strip():
            raise ValueError("the arguments are one JSON object; {} is none at all")
        return gate.edited(spec, text, waits=waits)

    return check
