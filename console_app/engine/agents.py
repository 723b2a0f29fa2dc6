"""The agents of an engine at every depth. An agent is a call, whose conversation is a turn of its own (`AgentTurn`)
with a model or an agent of others. Whoever ends the call ends the agent first, at once and with all that it runs, so
that nothing is left without a result."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial

from pydantic import ValidationError

from console_app.domain import ApprovalMode, Outcome, ToolResult, ToolSpec, UserMessage, errors, one_line, plural, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.engine.activity import Activity, Outbox
from console_app.engine.background import Background
from console_app.engine.calls import results
from console_app.engine.calls.arguments import canonical, compact
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.familiar import tool_for
from console_app.engine.calls.given import GivenToModel
from console_app.engine.context import WireHistory
from console_app.engine.execution.builtin_specs import ENABLE, TODO, SendAgent, agent_spec, wrong_with
from console_app.engine.session import Session
from console_app.engine.step import Ask, Step
from console_app.engine.strategies import Ending, StepResult
from console_app.engine.tool_search import ToolSearch
from console_app.engine.turn import Turn, as_message
from console_app.records import dataclass, replace

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
    """The toolset of an agent with a folder or servers of its own: the tools of `place` stand for all of the same
    servers. Implements Toolset."""

    def __init__(self, tools: ports.Toolset, place: ports.PlaceApart | ports.ServersBeside) -> None:
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
    return [one for one in patterns if one not in ("Agent", "Task", f"fanout.{ag.AGENT}") and not _meant([one], every)]


def child_session(
    above: Session,
    task: ag.AgentTask,
    transcript: Transcript,
    provider: ports.Provider,
    only: Sequence[Sequence[str]],
    steps: int | None,
    skills: Sequence[str],
    place: ports.PlaceApart | None,
    beside: ports.ServersBeside | None,
) -> Session:
    """Return an agent's session, which has what `above` has, or less. `place` is a folder of its own, `beside` servers
    that run for it."""
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
    tools = ToolsApart(tools, beside) if beside is not None else tools
    narrowed = bool(only) or bool(task.kind.without)
    return replace(
        above,
        provider=provider,
        toolset=SelectedTools(tools, only, task.kind.without) if narrowed else tools,
        settings=settings,
        transcript=transcript,
        window=above.window if provider is above.provider else lambda: None,
        other_model=False,
        beside=None,
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
        if self.step_now is not None:
            self.step_now.end_now(ending)
        self._conclude(ending)
        if self._main is not None:
            self._main.cancel()


DEEPEST = 2  # agents that agents send send none
TYPICAL = 40_000  # tokens of an agent, until some have ended here
STAGGER = 5.0  # seconds that an agent waits at most until the first with its prefix has begun to answer
APART = 0.005  # seconds between agents that waited together, so that no key waits for the beginnings of all of them
GO_ON = "Your work was cut off here. Go on with your task, from what you have."
_NAME = re.compile(r"[^\w.-]+")

OpenModel = Callable[[str], Awaitable[ports.Provider]]


async def no_other_model(name: str) -> ports.Provider:
    raise errors.UsageError(f"no other model than the one that answers can be had here, so not {one_line(name, 60)}")


@dataclass(slots=True)
class _Running:
    task: ag.AgentTask
    activity: Activity
    turn: AgentTurn | None = None
    place: ports.PlaceApart | None = None


class Agents:
    """`base` gives the conversation of the user, `kinds` those that people wrote beside those that come along,
    `open_model` a provider for PROVIDER/MODEL, closed with the engine, and `open_place` a folder of an agent's own."""

    def __init__(
        self,
        base: Callable[[], Session],
        kinds: Callable[[], ag.Kinds] = dict,
        open_model: OpenModel = no_other_model,
        open_place: ports.OpenPlace | None = None,
    ) -> None:
        self._base = base
        self._written = kinds
        self._open, self._open_place = open_model, open_place
        self._opened: dict[str, ports.Provider] = {}
        self._running: dict[str, _Running] = {}  # by the id of the call
        self._places: dict[str, CallExecution] = {}  # the calls that hold them, by their ids
        self._answers: Counter[tuple[str, int]] = Counter()  # that agents of each turn of a session gave together
        self._one_begins = asyncio.Lock()
        self._first: dict[tuple[int, int, str], asyncio.Event] = {}  # of agents with one prefix: the first has begun

    @property
    def kinds(self) -> ag.Kinds:
        """Return every kind by its name: those that people wrote take the place of those that come along."""
        return {**ag.KINDS, **self._written()}

    def spec(self, session: Session) -> ToolSpec | None:
        if session.settings.send_agents == "off" or (session.agent.count("/") + bool(session.agent)) >= DEEPEST:
            return None
        return agent_spec({name: kind.description for name, kind in sorted(self.kinds.items())})

    def question(self, session: Session, calls: Sequence[CallExecution]) -> str:
        base, settings = self._base(), session.settings
        ended = [
            one.usage.input_tokens + one.usage.output_tokens
            for one in base.transcript.agents.values()
            if one.turn is not None and one.turn.outcome is not None
        ]
        tokens = round(sum(ended) / len(ended) / 100) * 100 if any(ended) else TYPICAL
        usage = base.transcript.usage
        spent = usage.input_tokens + usage.output_tokens
        cost = None if usage.cost is None or not spent else usage.cost / spent * tokens * len(calls)
        dear = settings.ask_agent_cost is not None and cost is not None and cost > settings.ask_agent_cost
        if len(calls) <= settings.ask_agents and not dear:
            return ""
        money = f", about ${cost:.2f} together" if cost is not None else ""
        return f"{plural(len(calls), 'agent')}, {base.provider.model}, about {tokens:,} tokens each{money}"

    # -- one of them

    def takes_place(self, session: Session, call: CallExecution) -> None:
        self._places[call.id] = call
        sender = self._places.get(self.running.get(session.agent, ""))
        if sender is not None and sender.ticket is not None:
            session.slots.give_back(sender.ticket)

    async def _has_place(self, session: Session, call_id: str, reporter: ports.CallReporter) -> None:
        """Return once an agent that lent its place has one."""
        call = self._places.get(call_id)
        if call is None or call.ticket is None or call.ticket.held:
            return
        call.ticket = ticket = session.slots.ask(call.ticket.limits)
        if not ticket.granted.done():
            reporter.progress(0, None, f"waits: {ticket.why}")
            await ticket.granted

    async def run(
        self, session: Session, activity: Activity, invocation: ports.Invocation, reporter: ports.CallReporter
    ) -> ToolResult:
        try:
            given = SendAgent.model_validate(dict(invocation.arguments))
        except ValidationError as error:
            return results.unreadable(wrong_with(error), compact(dict(invocation.arguments)))
        above = session if session.agent else self._base()
        kind = self.kinds.get(given.kind or ag.GENERAL)
        if kind is None:
            there = ", ".join(sorted(self.kinds))
            return results.unreadable(f"there is no kind “{one_line(given.kind, 60)}”; there are {there}", "")
        if unknown := unknown_tools(given.tools or (), above.toolset.tools()):
            return results.unreadable(f"no tool is called {one_line(', '.join(unknown), 200)}", "")
        cut = self._cut_before(invocation.call_id)
        path = cut or self._path(above, given.name or kind.name)
        task = ag.AgentTask(invocation.call_id, path, kind, given.task, given.model)
        running = self._running[invocation.call_id] = _Running(task, activity)
        if (given.background or kind.background) and isinstance(activity, Turn):
            asyncio.get_running_loop().call_soon(activity.detach_call, invocation.call_id)
        try:
            return await self._by_turn(running, given, above, reporter, again=bool(cut))
        finally:
            if self._running.get(invocation.call_id) is running:
                del self._running[invocation.call_id]
                self._places.pop(invocation.call_id, None)

    async def _by_turn(
        self, running: _Running, given: SendAgent, above: Session, reporter: ports.CallReporter, *, again: bool
    ) -> ToolResult:
        task, kind = running.task, running.task.kind
        if kind.opens is not None and (above.reads_only or above.gate.mode is ApprovalMode.PLAN):
            why = f"{kind.name} is a program of its own, which may change things: nothing may be changed here"
            return ToolResult(outcome=Outcome.DENIED, content=f"{why}.", error=why)
        provider = await self._provider(above, kind, given.model or kind.model)
        skills = [await self._skill(above, name) for name in kind.skills]
        place = running.place = await self._apart(task) if kind.worktree or given.worktree else None
        result: ToolResult | None = None
        beside: ports.ServersBeside | None = None
        try:
            if kind.beside is not None:
                reporter.progress(0, None, f"starts {one_line(', '.join(kind.starts), 60)}")
                beside = await kind.beside(above.toolset, place.folder if place is not None else above.folder)
            only = [patterns for patterns in (kind.tools, given.tools) if patterns is not None]
            transcript, steps = self._base().transcript.agent(task.path), given.max_steps or kind.max_steps
            session = child_session(above, task, transcript, provider, only, steps, skills, place, beside)
            if place is not None:
                await session.look_around()
            problems = beside.problems if beside is not None else ()
            result = await self._conversation(running, session, above, reporter, problems, again=again)
        finally:
            if beside is not None:
                await beside.end()
            came = await _closed(place) if place is not None else None
        if came is None:
            return result
        back = {"branch": came.branch, "base": came.base}
        return result.model_copy(update={"content": f"{result.content}\n\n{came.words}", "structured": back})

    async def _skill(self, above: Session, name: str) -> str:
        if above.workplace is None:
            raise errors.ToolError("there are no skills here")
        return f"The skill {one_line(name, 64)}:\n\n{await above.workplace.skill(name, '')}"

    async def _apart(self, task: ag.AgentTask) -> ports.PlaceApart:
        if self._open_place is None:
            raise errors.ToolError(f"{task.kind.name} works in a git worktree of its own, which can't be had here")
        return await self._open_place(f"{task.path}-{self._base().stamper.session_id[:8]}")

    async def _conversation(
        self,
        running: _Running,
        session: Session,
        above: Session,
        reporter: ports.CallReporter,
        problems: Sequence[str],
        *,
        again: bool,
    ) -> ToolResult:
        task, activity, provider = running.task, running.activity, session.provider
        prefix = (id(provider), activity.number, task.kind.name)
        first = await self._wait_for_first(prefix, reporter)
        relay = Relay(task.call_id, activity, above.background)
        message = as_message(GO_ON if again else task.task)
        spent, place = partial(self._spent, activity, above), partial(self._has_place, session, task.call_id, reporter)
        turn = AgentTurn(session, message, activity.number, relay, spent, first.set, place)
        running.turn = turn
        names = [spec.name for spec in session.toolset.tools()]
        turn.emit(session.started(names, parent=task.call_id, folder=session.folder))
        missing = unknown_tools(task.kind.tools or (), [*above.toolset.tools(), *session.toolset.tools()])
        if missing:
            problems = (*problems, f"{task.kind.name} names tools that are not here: {', '.join(missing)}")
        for problem in problems:
            turn.notice("warning", f"{one_line(problem, 300)}.")
        try:
            async with turn:
                async for _ in turn:
                    pass
        finally:
            first.set()
            if task.kind.opens is not None:
                await provider.close()
            if isinstance(activity, Turn):
                activity.approvals_missed.extend(turn.approvals_missed)
        history = session.transcript.history
        final = next((one.content for one in reversed(history) if one.role == "assistant" and one.content), turn.said)
        if turn.outcome in ("completed", "step_limit") and final.strip():
            note = "" if turn.outcome == "completed" else "[Fanout: the agent had used up its steps.]\n\n"
            return ToolResult(outcome=Outcome.SUCCEEDED, content=f"{note}{final.strip()}")
        why = turn.error or "The agent ended without an answer."
        had = ag.account(session.transcript, session.stamper.clock())
        return ToolResult(outcome=Outcome.FAILED, content=f"{why}\n{had}", error=one_line(why, 300))

    def ended(self, call_id: str, result: ToolResult) -> ToolResult:
        running = self._running.pop(call_id, None)
        if running is None:
            return result
        if running.turn is not None:
            running.turn.end_now(Ending("cancelled", result.error, cut=result.outcome is Outcome.INTERRUPTED))
        transcript = self._base().transcript.agents.get(running.task.path)
        if transcript is None:
            return result
        had = ag.account(transcript, self._base().stamper.clock())
        if running.place is not None:
            had += f"\nWhat it changed, if anything, is on the branch {running.place.branch}."
        ended = result.content.removesuffix(results.SENT_NOTHING).rstrip()
        return result.model_copy(update={"content": f"{ended}\n{had}"})

    @property
    def running(self) -> dict[str, str]:
        """Return the ids of the calls whose agents run, by the agents' paths."""
        return {one.task.path: call_id for call_id, one in self._running.items()}

    def steer(self, call_id: str, text: str) -> bool:
        running = self._running.get(call_id)
        if running is None or running.turn is None or not running.turn.running:
            return False
        running.turn.steer(text)
        return True

    # -- where their calls are

    def step_of(self, call_id: str) -> Step | None:
        has = (step for step in self.steps() if step.batch.find(call_id) is not None or step.approvals.waits(call_id))
        return next(has, None)

    def steps(self) -> Sequence[Step]:
        found = [one.turn.step_now for one in self._running.values() if one.turn is not None]
        return [step for step in found if step is not None]

    @property
    def any_turn(self) -> Turn | None:
        return next((one.turn for one in self._running.values() if one.turn is not None), None)

    # -- what they share

    def _spent(self, activity: Activity, above: Session) -> str | None:
        """Tell which limit of the pool is used up, and count the answer that is asked for."""
        turn, most = (self._base().stamper.session_id, activity.number), self._base().settings.agent_steps
        if self._answers[turn] >= most:
            return f"Step limit: the agents of this turn have given {plural(most, 'answer')} together (agent_steps)."
        self._answers[turn] += 1
        return activity.spent() if isinstance(activity, Turn) else None

    async def _wait_for_first(self, prefix: tuple[int, int, str], reporter: ports.CallReporter) -> asyncio.Event:
        """Return at once for the first agent with this prefix; for another once the first has begun to answer, since
        its endpoint has read the prefix then, and the others find it in the cache."""
        known = self._first.get(prefix)
        if known is None:
            self._first = {key: event for key, event in self._first.items() if not event.is_set()}
            self._first[prefix] = event = asyncio.Event()
            return event
        if not known.is_set():
            reporter.progress(0, None, "waits for the first answer of an agent with the same beginning")
            with suppress(TimeoutError):
                async with asyncio.timeout(STAGGER):
                    await known.wait()
            async with self._one_begins:
                await asyncio.sleep(APART)
        return known

    async def _provider(self, above: Session, kind: ag.AgentKind, name: str) -> ports.Provider:
        if kind.opens is not None:
            return kind.opens(name)
        if not name or name == ag.INHERIT or name == f"{above.provider.name}/{above.provider.model}":
            return above.provider
        if name not in self._opened:
            self._opened[name] = await self._open(name)
        return self._opened[name]

    async def close(self) -> None:
        opened, self._opened = list(self._opened.values()), {}
        for provider in opened:
            await provider.close()

    def _path(self, above: Session, name: str) -> str:
        wanted = _NAME.sub("-", one_line(name, 40)).strip("-.") or ag.GENERAL
        start = f"{above.agent}/{wanted}" if above.agent else wanted
        path, number, used = start, 2, {*self._base().transcript.agents, *self.running}
        while path in used:
            path, number = f"{start}-{number}", number + 1
        return path

    def _cut_before(self, call_id: str) -> str:
        transcript = self._base().transcript
        call = transcript.calls.get(call_id)
        if call is None or not call.runs or not call.superseded:
            return ""
        had = transcript.agents.get(call.runs)
        cut = call.superseded[-1].outcome is Outcome.INTERRUPTED and had is not None and had.history
        return call.runs if cut else ""


async def _closed(place: ports.PlaceApart) -> ports.HandedBack | None:
    try:
        return await place.close()
    except errors.FanoutError as error:
        words = f"Its changes could not be handed back, and stay in {place.folder}: {error.line}"
        return ports.HandedBack(words, place.branch, "")
