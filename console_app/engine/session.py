"""What the turns of a session share, in one place, so that a turn needs no engine and a test can build one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from console_app.domain.events import HistoryCompacted
from console_app.domain.ports import Provider, Toolset
from console_app.domain.todo import TodoItem
from console_app.engine.approval_gate import ApprovalGate
from console_app.engine.call_run import CallRun
from console_app.engine.history import AnyMessage
from console_app.engine.settings import EngineSettings
from console_app.engine.slots import Slots
from console_app.engine.stamping import Stamper
from console_app.engine.wire_history import WireHistory

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Session:
    """The parts of a session. `provider`, `settings` and `gate` may be replaced between answers."""

    provider: Provider
    toolset: Toolset
    settings: EngineSettings
    gate: ApprovalGate
    stamper: Stamper
    history: list[AnyMessage]
    call_ids: set[str]
    monotonic: Callable[[], float]
    todo: tuple[TodoItem, ...] = ()
    compaction: HistoryCompacted | None = None  # what stands for the oldest messages in every request
    window: Callable[[], int | None] = lambda: None  # tokens that the model takes, where that is known
    context: int = 0  # tokens of the newest request and its answer; 0 where not known
    overflowed: bool = False  # the newest request was too large
    todo_edited: bool = False  # by the user, and the model hasn't been told
    calls: dict[str, CallRun] = field(default_factory=dict[str, CallRun])  # of the newest turn
    slots: Slots = field(default_factory=Slots)
    wire: WireHistory = field(default_factory=WireHistory)
    _left_over: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def new_call_id(self, given: str, made: str) -> str:
        """The provider's id where it gave one that is new in this session, else one that starts with `made`."""
        call_id = given if given and given not in self.call_ids else made
        number = 2
        while call_id in self.call_ids:
            call_id = f"{made}_{number}"
            number += 1
        self.call_ids.add(call_id)
        return call_id

    def leave(self, task: asyncio.Task[None]) -> None:
        """Keeps a task that doesn't stop until it does, so that it isn't lost half-way."""
        logger.warning("Task “%s” doesn't stop; left to itself", task.get_name())
        self._left_over.add(task)
        task.add_done_callback(self._left_over.discard)
