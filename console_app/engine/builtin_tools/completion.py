"""Whether `finished` may end the turn: the one place that says so, from the results of the same answer.

Nothing is remembered: the next answer has calls of its own, so a failure is forgotten with the next request, and the
user who says "just complete anyway" gets what they ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console_app.domain.events import TodoItem
from console_app.domain.tools import Outcome
from console_app.engine.builtin_tools.specs import FINISHED
from console_app.engine.builtin_tools.todo_list import as_checklist, open_items
from console_app.engine.call_execution import CallExecution

BLOCKED = "Cannot complete because a previous tool call failed in this turn. Address the failure before completing."
NOTHING_RAN = (
    "Cannot complete yet: no other call of this answer ran, since the user did not allow it. Tell the user so in "
    "your answer, or do it another way; then complete."
)
OPEN_ITEMS = "The to-do list still has open items. Do them, or take them off the list, before completing."
_REFUSED = frozenset({Outcome.DENIED, Outcome.CANCELLED})


def is_completion(call: CallExecution) -> bool:
    """Whether the call is one that ends the turn."""
    return call.spec is not None and call.spec.builtin and call.spec.tool == FINISHED


def problem(calls: Iterable[CallExecution], todo: Sequence[TodoItem], *, finish_todos: bool) -> str | None:
    """What stands against completing an answer with these calls, as the model reads it; None when nothing does.

    Outcome.is_error counts: a failed, timed out, unreadable, unknown or interrupted call. What the user denied or
    cancelled doesn't, nor what was put off, as long as anything ran. Where nothing did, the final answer was written
    before its model knew of the no, and may claim what never happened: it has to be given again, once. With
    `finish_todos`, an open item of the to-do list counts.
    """
    others = [call for call in calls if not is_completion(call)]
    if any(call.outcome is not None and call.outcome.is_error for call in others):
        return BLOCKED
    if any(call.outcome in _REFUSED for call in others) and not any(call.ran for call in others):
        return NOTHING_RAN
    if finish_todos and (left := open_items(todo)):
        return f"{OPEN_ITEMS}\n{as_checklist(left)}"
    return None
