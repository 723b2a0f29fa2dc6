"""Whether `finished` may end the turn: the one place that says so, from the results of the same answer.

Nothing is remembered: the next answer has calls of its own, so a failure is forgotten with the next request, and the
user who says "just complete anyway" gets what they ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console_app.domain.todo import TodoItem
from console_app.engine.builtin_tools.specs import FINISHED
from console_app.engine.builtin_tools.todo_list import as_checklist, open_items
from console_app.engine.call_execution import CallExecution

BLOCKED = "Cannot complete because a previous tool call failed in this turn. Address the failure before completing."
OPEN_ITEMS = "The to-do list still has open items. Do them, or take them off the list, before completing."


def is_completion(call: CallExecution) -> bool:
    """Whether the call is one that ends the turn."""
    return call.spec is not None and call.spec.builtin and call.spec.tool == FINISHED


def problem(calls: Iterable[CallExecution], todo: Sequence[TodoItem], *, finish_todos: bool) -> str | None:
    """What stands against completing an answer with these calls, as the model reads it; None when nothing does.

    Outcome.is_error counts: a failed, timed out, unreadable, unknown or interrupted call. What the user denied or
    cancelled doesn't, nor what was put off. With `finish_todos`, an open item of the to-do list does.
    """
    if any(call.outcome is not None and call.outcome.is_error for call in calls if not is_completion(call)):
        return BLOCKED
    if finish_todos and (left := open_items(todo)):
        return f"{OPEN_ITEMS}\n{as_checklist(left)}"
    return None
