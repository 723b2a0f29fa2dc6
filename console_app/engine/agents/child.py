"""The conversation of an agent: a turn on a session of its own, whose events are told in the activity that sent it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from console_app.domain import ToolResult, ToolSpec, UserMessage, one_line, plural, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.engine.activity import Activity, Outbox
from console_app.engine.background import Background
from console_app.engine.calls.arguments import canonical
from console_app.engine.calls.familiar import tool_for
from console_app.engine.calls.given import GivenToModel
from console_app.engine.context import WireHistory
from console_app.engine.execution.builtin_specs import AGENT, ENABLE, TODO
from console_app.engine.session import Session
from console_app.engine.step import Ask
from console_app.engine.strategies import Ending, StepResult
from console_app.engine.tool_search import ToolSearch
from console_app.engine.turn import Turn

EQUAL_FAILURES = 3  # of one call: the last ends the agent


class Relay(Outbox):
    """The outbox of an agent tells the activity that sent it, or, of a call in the background, tells that."""

    def __init__(self, call_id: str, activity: Activity, background: Background) -> None:
        super().__init__()
        self._call_id, self._activity, self._background = call_id, activity, background

    def put(self, event: ev.Event) -> None:
        if self.closed:
            return
        if isinstance(event, ev.CallAnnounced) and not event.parent:
            vars(event)["parent"] = self._call_id
            event.__pydantic_fields_set__.add("parent")
        if self._call_id in self._background:
            self._background.tell(event)
        else:
            self._activity.emit(event)

    async def room(self) -> None:
        await self._activity.room()


class ToolsApart:
    """The toolset of an agent with a folder of its own: the tools of `place` stand for all of the same servers.
    Implements Toolset."""

    def __init__(self, tools: ports.Toolset, place: ports.PlaceApart) -> None:
        self._tools, self._place = tools, place

    def tools(self) -> Sequence[ToolSpec]:
        others = [spec for spec in self._tools.tools() if spec.server not in self._place.servers]
        return [*others, *self._place.toolset.tools()]

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        here = invocation.spec.server in self._place.servers
        return await (self._place.toolset if here else self._tools).call(invocation, reporter)


class SelectedTools:
    def __init__(self, tools: ports.Toolset, only: Sequence[Sequence[str]], without: Sequence[str]) -> None:
        self._tools, self._only, self._without = tools, only, without

    def tools(self) -> Sequence[ToolSpec]:
        every = {spec.name: spec for spec in self._tools.tools()}
        kept = set(every)
        for patterns in self._only:
            kept &= _meant(patterns, every)
        kept -= _meant(self._without, every)
        return [spec for name, spec in every.items() if name in kept]

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        return await self._tools.call(invocation, reporter)


def _meant(patterns: Sequence[str], specs: dict[str, ToolSpec]) -> set[str]:
    """Return the wire names of tools that patterns name, as here or as the files of others do (`Read`, `Bash(git *)`,
    `mcp__server__tool`)."""
    found: set[str] = set()
    for pattern in patterns:
        name = pattern.partition("(")[0].strip()
        server, _, tool = name.removeprefix("mcp__").partition("__") if name.startswith("mcp__") else ("", "", "")
        label = f"{server}.{tool or '*'}" if server else name
        direct = {wire for wire, spec in specs.items() if fnmatchcase(spec.label, label) or fnmatchcase(wire, label)}
        found |= direct or ({wire} if (wire := tool_for(name, specs)) else set())
    return found


def unknown_tools(patterns: Sequence[str], specs: Sequence[ToolSpec]) -> list[str]:
    every = {spec.name: spec for spec in specs}
    return [one for one in patterns if one not in ("Agent", "Task", f"fanout.{AGENT}") and not _meant([one], every)]


def child_session(
    above: Session,
    task: ag.AgentTask,
    transcript: Transcript,
    provider: ports.Provider,
    only: Sequence[Sequence[str]],
    steps: int | None,
    skills: Sequence[str],
    place: ports.PlaceApart | None,
) -> Session:
    """Return an agent's session, which has what `above` has, or less. `place` is a folder of its own."""
    settings = replace(
        above.settings,
        system_prompt="\n\n".join((task.kind.prompt, *skills)),
        effort=task.kind.effort or above.settings.effort,
        parts={name: text for name, text in above.settings.parts.items() if name != "servers"},
        strategy="agentic",
        tool_choice=None,
        finish_todos=False,
        turn_timeout=None,
        builtin_tools=above.settings.builtin_tools - {TODO, ENABLE},
        max_steps=steps or above.settings.max_steps,
    )
    tools = ToolsApart(above.toolset, place) if place is not None else above.toolset
    narrowed = bool(only) or bool(task.kind.without)
    return replace(
        above,
        provider=provider,
        toolset=SelectedTools(tools, only, task.kind.without) if narrowed else tools,
        settings=settings,
        transcript=transcript,
        servers=None,
        window=above.window if provider is above.provider else lambda: None,
        other_model=False,
        compacting_since=None,
        todo_edited=False,
        calls={},
        background=Background(),
        wire=WireHistory(),
        search=ToolSearch(),
        last_request=None,
        begun=True,
        given=GivenToModel(),
        agent=task.path,
        folder=place.folder if place is not None else above.folder,
        workplace=place.workplace if place is not None else above.workplace,
        reads_only=above.reads_only or task.kind.reads_only,
    )


class AgentTurn(Turn):
    """The turn of an agent. `spent_above` tells which limit of the turn that sent it is used up; `begun` is called
    with its first word or call; `place` returns once it may work."""

    def __init__(
        self,
        session: Session,
        prompt: UserMessage,
        number: int,
        relay: Relay,
        spent_above: Callable[[], str | None],
        begun: Callable[[], None],
        place: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(session, prompt, number)
        self._outbox = relay
        self._spent_above = spent_above
        self._begun, self._place = begun, place
        self._failures: Counter[tuple[str, str, str]] = Counter()
        session.background.activity = lambda: self

    @property
    def said(self) -> str:
        return self._said

    def _begin(self) -> None:
        self.emit(ev.TurnStarted(prompt=self.prompt.source or self.prompt.content))
        self.join(self.prompt)

    async def _follow(self) -> Ending:
        ending = await self._work()
        while ending.outcome == "completed" and await self._session.background.news():
            ending = await self._work()
        return ending

    def spent(self) -> str | None:
        return self._spent_above()

    async def _run_step(self, session: Session, ask: Ask) -> StepResult:
        await self._place()
        return await super()._run_step(session, ask)

    def emit(self, event: ev.Event) -> None:
        if isinstance(event, ev.TextDelta | ev.ReasoningDelta | ev.CallAnnounced | ev.TurnFinished):
            self._begun()
        super().emit(event)
        if isinstance(event, ev.CallFinished) and event.outcome.is_error and event.agent == self._session.agent:
            call = self._session.transcript.calls.get(event.call_id)
            if call is None:
                return
            key = (call.name, canonical(call.arguments or {}), event.error or event.content)
            self._failures[key] += 1
            if self._failures[key] == EQUAL_FAILURES - 1:
                again = plural(self._failures[key], "time")
                self.notice("warning", f"{call.label} failed {again} alike: once more ends the agent.")
            elif self._failures[key] >= EQUAL_FAILURES:
                why = one_line(event.error or event.content, 200)
                self._stop(Ending("failed", f"{call.label} failed {EQUAL_FAILURES} times alike: {why}"))

    def end_now(self, ending: Ending) -> None:
        """End at once, with all that it runs: before this returns everything has its result, and is told."""
        if self.outcome is not None:
            return
        self._stopped, self._ending = True, ending
        if self._step is not None:
            self._step.end_now(ending)
        self._conclude(ending)
        if self._main is not None:
            self._main.cancel()
