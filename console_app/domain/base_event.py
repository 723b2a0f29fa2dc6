"""What every event has, and how weighty what it says may be."""

from __future__ import annotations

from typing import ClassVar, Literal

from console_app.domain.tools import Frozen

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class BaseEvent(Frozen):
    """The fields of every event: `seq` orders a session's events, `at` is seconds since the epoch (UTC)."""

    shown_only: ClassVar[bool] = False

    session_id: str = ""
    turn: int = 0
    step: int = 0
    seq: int = 0
    at: float = 0.0
