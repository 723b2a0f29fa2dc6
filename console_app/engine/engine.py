"""The engine: a conversation with a model and its tools, one turn at a time. Everything it needs is passed in."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from console_app.domain import Message, ToolSpec, UserMessage, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings
from console_app.domain.steady_time import steady_time
from console_app.domain.transcript import Transcript
from console_app.engine.agents import Agents, OpenModel, no_other_model
from console_app.engine.background import Background
from console_app.engine.calls.approval_gate import ApprovalGate
from console_app.engine.calls.file_uses import FileUses
from console_app.engine.calls.slots import Slots
from console_app.engine.compaction import NEARLY_FULL, Compacting
from console_app.engine.context import ContextPart, WireHistory, breakdown
from console_app.engine.execution.builtin_specs import ENABLE
from console_app.engine.execution.builtin_tools import offered, with_programs
from console_app.engine.execution.made_calls import TWICE
from console_app.engine.manual_calls import ManualCall, ManualCallsProvider, session_for, typed
from console_app.engine.program_calls import PROGRAM_SPEC
from console_app.engine.rerun import Rerun, prepare, take_up, why_again
from console_app.engine.session import EventT, Session, Stamper
from console_app.engine.strategies import STRATEGIES
from console_app.engine.tool_search import Offer, find_spec, searched, tokens
from console_app.engine.turn import ManualTurn, Turn, as_message

Activities = Turn | Rerun | Compacting
ActivityT = TypeVar("ActivityT", bound=Activities)
T = TypeVar("T")


class _OfSession(Generic[T]):
    """A field of an engine's session, under the same name."""

    def __set_name__(self, owner: type[Engine], name: str) -> None:
        self._name = name

    def __get__(self, engine: Engine, of: type[Engine]) -> T:
        return getattr(engine.session, self._name)

    def __set__(self, engine: Engine, value: T) -> None:
        setattr(engine.session, self._name, value)


class Engine:
    """Holds a conversation and starts its turns. What is set of `provider`, `settings`, `gate` and `window` counts from
    the next answer on. A `transcript` is that of a stored session, to go on with. A model may ask for `servers`, and
    engines that share them share `slots`. `agents` gives the kinds that people wrote; without it no agents are sent.
    For an agent `open_model` opens another model, and `open_place` a folder of its own."""

    nearly_full = NEARLY_FULL
    background = _OfSession[Background]()  # the calls that no answer waits for, and what is told of them between
    beside = _OfSession[tuple[str, float] | None]()
    gate = _OfSession[ApprovalGate]()
    last_request = _OfSession[ports.ModelRequest | None]()
    settings = _OfSession[EngineSettings]()
    toolset = _OfSession[ports.Toolset]()
    transcript = _OfSession[Transcript]()
    window = _OfSession[Callable[[], int | None]]()  # tokens that the model takes: nearly full, a turn compacts first

    def __init__(
        self,
        *,
        provider: ports.Provider,
        toolset: ports.Toolset,
        settings: EngineSettings | None = None,
        gate: ApprovalGate | None = None,
        transcript: Transcript | None = None,
        servers: ports.ServerSwitch | None = None,
        programs: ports.ProgramRunner | None = None,
        session_id: str | None = None,
        slots: Slots | None = None,
        agents: Callable[[], ag.Kinds] | None = None,
        open_model: OpenModel | None = None,
        open_place: ports.OpenPlace | None = None,
        workplace: ports.Workplace | None = None,
        watch: Callable[[ev.Event, str, str], None] | None = None,
        clock: Callable[[], float] = steady_time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.activity: Activities | None = None  # what goes on, until its context is left
        self.on_decided: Callable[[Turn], None] | None = None  # called with a turn whose outcome is known
        self._clock = clock
        transcript = transcript or Transcript()
        settings = settings or EngineSettings()
        self.session = Session(
            provider=provider,
            toolset=toolset,
            settings=typed(settings, read_by_model=False) if isinstance(provider, ManualCallsProvider) else settings,
            gate=gate or ApprovalGate(),
            stamper=Stamper(session_id or uuid.uuid4().hex, clock, transcript.last_seq + 1),
            transcript=transcript,
            monotonic=monotonic,
            servers=servers,
            programs=programs,
            slots=slots or Slots(),
            workplace=workplace,
            watch=watch,
        )
        self.agents = (
            Agents(lambda: self.session, agents, open_model or no_other_model, open_place)
            if agents is not None
            else None
        )
        self.session.agents = self.agents
        self.background.record = self.record
        self.background.activity = lambda: self.activity

    async def close(self) -> None:
        agents = self.agents.close() if self.agents is not None else asyncio.sleep(0)
        await asyncio.gather(self.provider.close(), agents)

    @property
    def session_id(self) -> str:
        return self.session.stamper.session_id

    @property
    def history(self) -> list[Message]:
        return self.session.transcript.history

    @property
    def provider(self) -> ports.Provider:
        return self.session.provider

    @provider.setter
    def provider(self, provider: ports.Provider) -> None:
        self.session.provider, self.session.other_model = provider, True

    @property
    def turn(self) -> Turn | None:
        return self.activity if isinstance(self.activity, Turn) else None

    def session_event(self) -> ev.SessionStarted:
        servers = dict(Counter(spec.server for spec in self.toolset.tools()))
        return self.record(self.session.started(self._offered, servers=servers))

    def context_parts(self, transcript: Transcript) -> list[ContextPart]:
        """Return what the next request would be made of, by source, where the conversation is that of `transcript`."""
        settings = self.settings
        system = {"instructions": settings.system_prompt, **settings.parts}
        return breakdown(system, self.offer.shown.values(), transcript, settings.max_result_chars)

    def next_request(self) -> ports.ModelRequest:
        """Return what the next request would carry before anything is said; of a strategy's own notes it has none."""
        settings, transcript = self.settings, self.session.transcript
        most, shortened = settings.max_result_chars, transcript.shortened
        messages = WireHistory().messages(transcript.history, transcript.compaction, most, shortened=shortened)
        tools = self._with_builtins(self.offer)
        return ports.ModelRequest(messages, settings.whole_prompt, tuple(tools.values()))

    def asked_about(self, call_id: str) -> ToolSpec | None:
        turn = self.turn or (self.agents.any_turn if self.agents is not None else None)
        return turn.asked_about(call_id) if turn is not None else None

    async def look_around(self) -> None:
        await self.session.look_around()

    def spec(self, name: str) -> ToolSpec | None:
        return self._offered.get(name) or (PROGRAM_SPEC if name == PROGRAM_SPEC.name else None)

    # What can go on, one at a time: made here, entered with `async with`, and read to its end

    def start(self, prompt: str | UserMessage) -> Turn:
        return self._begin(Turn(self.session, as_message(prompt), self._next_turn))

    def start_manual(self, prompt: str, calls: Sequence[ManualCall]) -> Turn:
        """Like `start`, but the calls are given and no model is asked. Raises UsageError for a tool that isn't on."""
        return self._begin(ManualTurn(session_for(self.session, calls), as_message(prompt), self._next_turn))

    def rerun(self, call_id: str, arguments: dict[str, Any] | None = None) -> Rerun:
        """Run a call of an earlier answer again, between turns; `arguments` are approved by that, and after a denial it
        asks. Raises ToolError. `Turn.retry` is for an open batch."""
        return self._begin(prepare(self.session, [call_id], arguments))

    def rerun_all(self, call_ids: Sequence[str]) -> Rerun:
        return self._begin(prepare(self.session, call_ids))

    def why_again(self, call_id: str) -> str:
        """Return why running a call again asks first although it ran; "" where it doesn't."""
        view = self.session.transcript.calls.get(call_id)
        if view is None or view.started_at is None:
            return ""
        if self.turn is None:
            return why_again(self.session, call_id)
        spec = self.spec(view.name)
        return TWICE if spec is not None and spec.annotations.may_do_twice else ""

    def take_up(self) -> Rerun:
        """Fetch the results of calls that go on at their servers since an earlier program made them. Raises ToolError
        when there are none."""
        return self._begin(take_up(self.session))

    def compact(self) -> Compacting:
        return self._begin(Compacting(self.session, self.session.transcript.last_turn))

    def _begin(self, activity: ActivityT) -> ActivityT:
        self._must_be_idle()
        self.activity = activity
        activity.on_left = self._left
        if isinstance(activity, Turn):
            activity.on_decided = self.on_decided
        return activity

    def runs(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
        """Return the program or address that a call reaches, or that it would switch on; "" where that is Fanout
        itself."""
        if spec.identity is not None:
            return spec.identity.text
        servers, name = self.session.servers, arguments.get("server")
        if servers is None or not spec.builtin or spec.tool != ENABLE or not isinstance(name, str):
            return ""
        return servers.runs(name)

    def _left(self, activity: object) -> None:
        if self.activity is activity:
            self.activity = None
            self.background.join()

    def _must_be_idle(self) -> None:
        if self.activity is not None and self.activity.running:
            raise RuntimeError("a turn is still running")

    @property
    def _next_turn(self) -> int:
        return self.session.transcript.last_turn + 1

    @property
    def _offered(self) -> Mapping[str, ToolSpec]:
        return self._with_builtins(self.session.offer("all"))

    @property
    def offer(self) -> Offer:
        """The servers' tools that the next request holds, and those behind a search."""
        return self.session.offer(self.settings.tools)

    def in_each_request(self, taken: int) -> int:
        """Return the tokens of tools that each request holds where the tools that are on take `taken`."""
        offer = self.offer
        if searched(self.settings.tools, self.window(), taken):
            return tokens(offer.shown.values() if offer.behind else [find_spec(())])
        return max(taken - tokens(one for one in offer.behind.values() if one.offer == "search"), 0)

    def _with_builtins(self, offer: Offer) -> Mapping[str, ToolSpec]:
        settings, session = self.settings, self.session
        wanted = settings.builtin_tools | STRATEGIES[settings.strategy].tools
        return offered(with_programs(offer.callable, session), wanted, session)

    # What changes the conversation between turns, each by an event that the caller stores and shows

    def record(self, event: EventT) -> EventT:
        """Give a new event that belongs to no turn its place among the session's events, and folds it in."""
        return self.session.record(event)

    def edit_todo(self, items: Sequence[ev.TodoItem]) -> ev.TodoChanged | None:
        """Put the user's own list in place. While a turn runs its stream carries the event; else it is returned."""
        self.session.todo_edited = True
        event = ev.TodoChanged(items=tuple(items), by="user")
        if self.turn is not None and self.turn.running:
            self.turn.emit(event)
            return None
        return self.record(event)

    def undo_turn(self) -> ev.TurnUndone | None:
        """Take the newest turn out of the conversation; None when there is none. No turn may run."""
        self._must_be_idle()
        turn = self.session.transcript.turn
        if turn is None:
            return None
        self.session.calls.clear()  # what they were allowed went with them
        for call in turn.calls:
            self.background.cancel_call(call.id)
        return self.record(ev.TurnUndone(undone=turn.number))

    def undo_compaction(self) -> ev.HistoryCompacted | None:
        self._must_be_idle()
        none_there = self.session.transcript.compaction is None
        return None if none_there else self.record(ev.HistoryCompacted(summary="", covers=0))

    def begin(self, session_id: str | None = None) -> None:
        self.go_on(session_id or uuid.uuid4().hex, Transcript())

    def go_on(self, session_id: str, transcript: Transcript) -> None:
        """Go on with a stored session, whose events add up to `transcript`: the engine's own from now on. No turn
        may run."""
        self._must_be_idle()
        session, before = self.session, transcript.session
        session.stamper = Stamper(session_id, self._clock, transcript.last_seq + 1)
        session.transcript = transcript
        session.other_model = before is not None and (before.provider, before.model) != (
            self.provider.name,
            self.provider.model,
        )
        session.todo_edited = False
        session.calls.clear()
        session.wire, session.files = WireHistory(), FileUses()
        session.last_request = None
        session.begun = False
