"""Holds what the turns of a session share, so that a turn needs no engine and a test can build one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from console_app.domain import Event, Message, ToolResult, ToolSpec, UserMessage, ports
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings, ToolOffer
from console_app.domain.transcript import Transcript
from console_app.engine.background import Background
from console_app.engine.calls.approval_gate import ApprovalGate
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.file_uses import FileUses
from console_app.engine.calls.given import GivenToModel
from console_app.engine.calls.slots import Slots
from console_app.engine.context import WireHistory
from console_app.engine.program_calls import program_alone
from console_app.engine.tool_search import Offer, ToolSearch
from console_app.records import dataclass, field, replace

EventT = TypeVar("EventT", bound=Event)


class Stamper:
    """Numbers the events of one session. `clock` gives seconds since the epoch."""

    def __init__(self, session_id: str, clock: Callable[[], float], first_seq: int = 1) -> None:
        self.session_id = session_id
        self.clock = clock
        self._next = first_seq

    def stamp(self, event: EventT, turn: int = 0, step: int = 0) -> EventT:
        place = {"session_id": self.session_id, "turn": turn, "step": step, "seq": self._next, "at": self.clock()}
        self._next += 1
        # Events are frozen for everybody else; a copy would cost more than all else that is done for a token here.
        vars(event).update(place)
        event.__pydantic_fields_set__.update(place)
        return event


LONGEST_ID = 2**16  # characters of a call's id: some gateways carry a signature in it, and every event of a call has it

logger = logging.getLogger(__name__)


class RunsAgents(Protocol):
    """The agents of an engine, at every depth. An activity and a step stand above a session, which names neither."""

    def spec(self, session: Session) -> ToolSpec | None: ...

    def question(self, session: Session, calls: Sequence[CallExecution]) -> str: ...

    def takes_place(self, session: Session, call: CallExecution) -> None:
        """Ask for a place among the working agents. Who sends agents lends its own, and has one again before its next
        answer."""

    async def run(
        self, session: Session, activity: Any, invocation: ports.Invocation, reporter: ports.CallReporter
    ) -> ToolResult: ...

    def ended(self, call_id: str, result: ToolResult) -> ToolResult:
        """Stop the agent of a call that is ended from outside. Return the result, with what the agent had."""
        ...

    def step_of(self, call_id: str) -> Any: ...

    def steps(self) -> Sequence[Any]: ...


@dataclass(slots=True)
class Session:
    """`provider`, `settings` and `gate` may be replaced between answers. Nothing changes `transcript` but the events
    that `record` stamps."""

    provider: ports.Provider
    toolset: ports.Toolset
    settings: EngineSettings
    gate: ApprovalGate
    stamper: Stamper
    transcript: Transcript
    monotonic: Callable[[], float]
    servers: ports.ServerSwitch | None = None  # what is off and may be asked for
    programs: ports.ProgramRunner | None = None  # runs what the model writes in Python; None: nothing here does
    window: Callable[[], int | None] = lambda: None  # tokens that the model takes, where that is known
    other_model: bool = False  # than answered last: what was too large for that one says nothing of this one
    beside: tuple[str, float] | None = None  # what an answer waits for that isn't the model, and since when
    todo_edited: bool = False  # by the user, and the model hasn't been told
    calls: dict[str, CallExecution] = field(default_factory=dict[str, CallExecution])  # of the newest turn
    slots: Slots = field(default_factory=Slots)
    files: FileUses = field(default_factory=FileUses)  # that calls of all its agents changed and saw
    background: Background = field(default_factory=Background)
    wire: WireHistory = field(default_factory=WireHistory)
    search: ToolSearch = field(default_factory=ToolSearch)
    last_request: ports.ModelRequest | None = None  # of an answer, as it was sent
    workplace: ports.Workplace | None = None  # where the conversation is
    agents: RunsAgents | None = None  # None: nothing here runs any
    agent: str = ""  # the path of the agent whose conversation it is; "" for the user's
    folder: str = ""  # that an agent works in, where it has one of its own
    reads_only: bool = False  # nothing may be changed, whatever a rule says
    watch: Callable[[Event, str, str], None] | None = None  # sees every event, and the provider and model of now
    begun: bool = False  # the hooks of its start were asked
    _told: frozenset[str] = frozenset()  # parts of the system prompt that the workplace gave
    given: GivenToModel | None = field(default_factory=GivenToModel)  # None where a person makes the calls
    _program_alone: tuple[Sequence[ToolSpec], ToolSpec] | None = None  # what `program_alone` made, and of which tools
    _left_over: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def started(self, tools: Iterable[str], **more: Any) -> ev.SessionStarted:
        provider = self.provider
        return ev.SessionStarted(
            model=provider.model,
            provider=provider.name,
            protocol=provider.protocol,
            strategy=self.settings.strategy,
            policy=self.settings.policy_for(provider.protocol),
            tools=tuple(tools),
            **more,
        )

    async def look_around(self) -> None:
        if self.workplace is not None:
            parts = await self.workplace.parts()
            others = {name: text for name, text in self.settings.parts.items() if name not in self._told}
            self.settings, self._told = replace(self.settings, parts={**parts, **others}), frozenset(parts)

    def new_call_id(self, provider_id: str, made: str) -> str:
        """Return the provider's id where it gave one that is new in this session and of a size, else one that starts
        with `made`."""
        used = self.transcript.call_ids
        call_id = provider_id if 0 < len(provider_id) <= LONGEST_ID and provider_id not in used else made
        number = 2
        while call_id in used:
            call_id = f"{made}_{number}"
            number += 1
        return call_id

    def offer(self, plan: ToolOffer) -> Offer:
        native = self.provider.searches_tools
        return self.search.offer(self.toolset.tools(), plan, self.window(), self.transcript.history, native=native)

    def program_alone(self) -> ToolSpec:
        tools = self.toolset.tools()
        if (made := self._program_alone) is None or made[0] is not tools:
            self._program_alone = made = tools, program_alone(tools)
        return made[1]

    def messages(self, note: UserMessage | None = None) -> tuple[Message, ...]:
        told = self.transcript
        return self.wire.messages(told.history, told.compaction, self.settings.max_result_chars, note, told.shortened)

    def record(self, event: EventT, turn: int = 0, step: int = 0) -> EventT:
        """Place a new event among the session's and fold it in; the caller stores and shows it. Those of agents go
        through the user's conversation."""
        if self.agent or event.agent:
            if not event.agent:
                vars(event).update({"agent": self.agent, "turn": turn, "step": step})
                event.__pydantic_fields_set__.update(("agent", "turn", "step"))
            if not self.agent:
                self._place(event, self.transcript.agents.get(event.agent))
                self.transcript.apply(self.stamper.stamp(event, event.turn, event.step))
        else:
            self._place(event, self.transcript)
            self.transcript.apply(self.stamper.stamp(event, turn, step))
        if isinstance(event, ev.Notice) and event.without_reasoning_of:
            self.wire = WireHistory()  # what it keeps of older turns holds the reasoning
        if self.watch is not None and not self.agent:  # those of an agent come again through the user's
            self.watch(event, self.provider.name, self.provider.model)
        return event

    def _place(self, event: ev.Event, transcript: Transcript | None) -> None:
        """Note how much of its answer's text a new call stands behind."""
        known = transcript.calls if transcript is not None else ()
        if isinstance(event, ev.CallAnnounced) and event.parent not in known and transcript and transcript.step:
            vars(event)["behind"] = len(transcript.step.visible)
            event.__pydantic_fields_set__.add("behind")

    def leave(self, task: asyncio.Task[None]) -> None:
        logger.warning("Task “%s” doesn't stop; left to itself", task.get_name())
        self._left_over.add(task)
        task.add_done_callback(self._left_over.discard)
