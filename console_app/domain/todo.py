"""The to-do list of a session: what the model plans to do, which you see and can change."""

from __future__ import annotations

from enum import StrEnum

from console_app.domain.tools import Frozen


class TodoStatus(StrEnum):
    """Where an item stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class TodoItem(Frozen):
    """One item; `content` is one line of text."""

    content: str
    status: TodoStatus = TodoStatus.PENDING
