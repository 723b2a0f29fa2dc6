"""Calls made by hand: how their prompt begins, and what came of them, of which no answer of a model tells."""

from __future__ import annotations

from console_app.domain.transcript_parts import CallView, TurnView

MANUAL = "/call "  # how a prompt begins that is calls made by hand


def without_success(turn: TurnView) -> list[CallView]:
    """The calls of a turn made by hand that did not succeed: no answer follows that would speak of them."""
    if not turn.prompt.startswith(MANUAL):
        return []
    calls = (call for step in turn.steps for call in step.batch.calls)
    return [call for call in calls if call.verdict is not None and not call.verdict.is_good]
