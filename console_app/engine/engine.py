"""The engine: a conversation with a model and its tools, one turn at a time. Everything it needs is passed in."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from console_app.domain.approvals import CallPolicy
from console_app.domain.events import HistoryCompacted, SessionStarted, TodoChanged
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.ports import Provider, Toolset
from console_app.domain.todo import TodoItem
from console_app.domain.transcript import Transcript
from console_app.engine.approval_gate import ApprovalGate
from console_app.engine.arguments import encodable
from console_app.engine.builtin_tools.toolset import offered
from console_app.engine.compaction import Compacting, by_hand
from console_app.engine.given_calls import GivenCall, session_for
from console_app.engine.history import AnyMessage
from console_app.engine.rerun import Rerun, prepare
from console_app.engine.session import Session
from console_app.engine.settings import EngineSettings
from console_app.engine.stamping import EventT, Stamper
from console_app.engine.strategies import STRATEGIES
from console_app.engine.turn import GivenTurn, Turn, said
from console_app.engine.wire_history import WireHistory


class Engine:
    """A conversation. `provider`, `settings` and `gate` are settable; the next answer goes by them.

    `history` is the list itself, `first_turn` and `first_seq` continue a session that was stored.
    """

    def __init__(
        self,
        *,
        provider: Provider,
        toolset: Toolset,
        settings: EngineSettings | None = None,
        gate: ApprovalGate | None = None,
        session_id: str | None = None,
        history: Sequence[AnyMessage] = (),
        todo: Sequence[TodoItem] = (),
        first_turn: int = 1,
        first_seq: int = 1,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session_id = session_id or uuid.uuid4().hex
        self.turn: Turn | None = None
        self._next_turn = first_turn
        self._clock = clock
        self._session = Session(
            provider=provider,
            toolset=toolset,
            settings=settings or EngineSettings(),
            gate=gate or ApprovalGate(),
            stamper=Stamper(self.session_id, clock, first_seq),
            history=list(history),
            call_ids=_call_ids(history),
            monotonic=monotonic,
            todo=tuple(todo),
        )
        self._rerun: Rerun | None = None
        self._compacting: Compacting | None = None

    @property
    def history(self) -> list[AnyMessage]:
        """The messages of the conversation."""
        return self._session.history

    @property
    def compaction(self) -> HistoryCompacted | None:
        """The summary that the model reads in place of the oldest messages."""
        return self._session.compaction

    @compaction.setter
    def compaction(self, compaction: HistoryCompacted | None) -> None:
        self._session.compaction = compaction

    @property
    def window(self) -> Callable[[], int | None]:
        """Gives how many tokens the model takes, None where that isn't known: nearly full, a turn compacts first."""
        return self._session.window

    @window.setter
    def window(self, window: Callable[[], int | None]) -> None:
        self._session.window = window

    @property
    def toolset(self) -> Toolset:
        """The tools."""
        return self._session.toolset

    @property
    def provider(self) -> Provider:
        """The model that answers."""
        return self._session.provider

    @provider.setter
    def provider(self, provider: Provider) -> None:
        self._session.provider = provider
        self._session.overflowed = False  # that another model takes less says nothing of this one

    @property
    def settings(self) -> EngineSettings:
        """The settings."""
        return self._session.settings

    @settings.setter
    def settings(self, settings: EngineSettings) -> None:
        self._session.settings = settings

    @property
    def gate(self) -> ApprovalGate:
        """Who may run."""
        return self._session.gate

    @gate.setter
    def gate(self, gate: ApprovalGate) -> None:
        self._session.gate = gate

    @property
    def policy(self) -> CallPolicy:
        """The policy that holds with the present provider."""
        return self.settings.policy_for(self.provider.protocol)

    def session_event(self) -> SessionStarted:
        """The event that opens a session, stamped: each call is a new one."""
        return self._session.stamper.stamp(
            SessionStarted(
                model=self.provider.model,
                provider=self.provider.name,
                protocol=self.provider.protocol,
                strategy=self.settings.strategy,
                policy=self.policy,
                tools=tuple(offered(self.toolset, self._builtins())),
            )
        )

    def start(self, prompt: str | UserMessage) -> Turn:
        """A new turn, to be entered with `async with`. Only one can be open; its predecessor must have finished."""
        self._must_be_idle()
        self.turn = Turn(self._session, said(prompt), self._next_turn)
        self._next_turn += 1
        return self.turn

    def start_given(self, prompt: str, calls: Sequence[GivenCall]) -> Turn:
        """Like `start`, but the calls are given and no model is asked. Raises UsageError for a tool that isn't on."""
        self._must_be_idle()
        self.turn = GivenTurn(session_for(self._session, calls), said(prompt), self._next_turn)
        self._next_turn += 1
        return self.turn

    def rerun(self, call_id: str, arguments: dict[str, Any] | None = None) -> Rerun:
        """Runs a call of an earlier answer again, between turns: entered and read like a turn; see `engine.rerun`.

        With `arguments` these run, which is an approval; else those of its last run, and who denied them is asked.
        Raises ToolError when it can't be. While the batch of a call is open, `Turn.retry` is the way.
        """
        self._must_be_idle()
        self._rerun = prepare(self._session, call_id, arguments, max(self._next_turn - 1, 0))
        return self._rerun

    def compact(self) -> Compacting:
        """A compaction by hand, to be entered and read like a turn. Raises UsageError when there is nothing to."""
        self._must_be_idle()
        self._compacting = by_hand(self._session, max(self._next_turn - 1, 0))
        return self._compacting

    @property
    def todo(self) -> tuple[TodoItem, ...]:
        """The to-do list."""
        return self._session.todo

    def edit_todo(self, items: Sequence[TodoItem]) -> TodoChanged | None:
        """The user's own list in place of the one there is; the model is told with the next request.

        While a turn runs its stream carries the event; else it is returned, stamped, for the caller to store and show.
        """
        clean = (item.model_copy(update={"content": encodable(item.content)}) for item in items)
        self._session.todo, self._session.todo_edited = tuple(clean), True
        event = TodoChanged(items=self._session.todo, by="user")
        if self.turn is not None and self.turn.running:
            self.turn.emit(event)
            return None
        return self.stamp(event)

    def _builtins(self) -> frozenset[str]:
        return self.settings.builtin_tools | STRATEGIES[self.settings.strategy].tools

    def _must_be_idle(self) -> None:
        for activity in (self.turn, self._rerun, self._compacting):
            if activity is not None and activity.running:
                raise RuntimeError("a turn is still running")

    def stamp(self, event: EventT) -> EventT:
        """Gives a new event that belongs to no turn its place among the session's events."""
        return self._session.stamper.stamp(event)

    def begin(
        self,
        session_id: str | None = None,
        *,
        history: Sequence[AnyMessage] = (),
        todo: Sequence[TodoItem] = (),
        first_turn: int = 1,
        first_seq: int = 1,
    ) -> None:
        """Another session in place of this one: a new one, or one that was stored. No turn may run."""
        self._must_be_idle()
        self.session_id = session_id or uuid.uuid4().hex
        self.turn = None
        self._next_turn = first_turn
        session = self._session
        session.stamper = Stamper(self.session_id, self._clock, first_seq)
        session.history[:] = history
        session.compaction, session.context, session.overflowed = None, 0, False
        session.todo, session.todo_edited = tuple(todo), False
        session.calls.clear()
        session.call_ids = _call_ids(history)
        session.wire = WireHistory()

    def go_on(self, session_id: str, said: Transcript, *, first_turn: int, first_seq: int) -> None:
        """Goes on with a stored session, whose events add up to `said`. No turn may run."""
        self.begin(session_id, history=said.history, todo=said.todo, first_turn=first_turn, first_seq=first_seq)
        before, session = said.session, self._session
        same_model = before is not None and (before.provider, before.model) == (self.provider.name, self.provider.model)
        session.compaction = said.compaction
        session.context = 0 if said.usage.stale else said.usage.context
        session.overflowed = said.overflowed and same_model

    def take_back(self, said: Transcript) -> None:
        """A turn or a compaction was undone: what is left of the conversation is `said`. No turn may run."""
        self._must_be_idle()
        session = self._session
        session.history[:], session.compaction = said.history, said.compaction
        session.context, session.overflowed = 0, False


def _call_ids(history: Sequence[AnyMessage]) -> set[str]:
    return {call.id for message in history if isinstance(message, AssistantMessage) for call in message.tool_calls}
