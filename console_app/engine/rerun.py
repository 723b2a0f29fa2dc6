"""Runs calls again for the user. While their batch is open the answer waits, and only the new result joins the history.
Later no model takes part: the events are numbered with the turn that ended last, so that panels show the new runs.
Results that the model read stay, and a note with the new ones goes on the wire with the next prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from console_app.domain import (
    AssistantMessage,
    Decision,
    Outcome,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
    errors,
    ports,
)
from console_app.domain import events as ev
from console_app.engine.calls import arguments as args
from console_app.engine.calls.call_execution import CallExecution, Resolution
from console_app.engine.calls.slots import limited
from console_app.engine.execution.approval import Approvals, Decidable, Repetition, current
from console_app.engine.execution.batch import Batch
from console_app.engine.execution.builtin_specs import is_agent
from console_app.engine.execution.builtin_tools import AnswerTools
from console_app.engine.execution.executor import Executor
from console_app.engine.execution.made_calls import TWICE, MadeCalls
from console_app.engine.program_calls import PROGRAM_SPEC, key_of
from console_app.engine.session import Session
from console_app.records import dataclass


class Restarts:
    """Restarts the calls of one batch. False means it can't be done, with a notice where a reason is worth telling."""

    def __init__(self, session: Session, batch: Batch, emit: Callable[[ev.Event], None]) -> None:
        self._session = session
        self._batch = batch
        self._emit = emit

    def retry(self, call_id: str) -> bool:
        """Run a finished or running call again with its last arguments. A person's approval still counts; else rules
        and mode ask now, and always where running again may change more."""
        call = self._batch.find(call_id)
        if call is None or call.arguments is None or (call.result is None and not call.ran):
            return False
        return self._restart(call, None)

    def edit_and_run(self, call_id: str, arguments: dict[str, Any]) -> bool:
        call = self._batch.find(call_id)
        return call is not None and self._restart(call, arguments)

    def _restart(self, call: CallExecution, arguments: dict[str, Any] | None) -> bool:
        away = call.detached and call.result is None
        own = call.spec is not None and call.spec.builtin and not is_agent(call.spec)
        if call.spec is None or own or not call.closed or self._batch.completed or away:
            return False
        spec = current(self._session.toolset, self._session.settings, call.spec)
        try:
            fresh = _next(self._session, call, spec, arguments)
        except args.UnreadableArguments as error:
            self._emit(ev.Notice(level="warning", text=f"{spec.label} was not run again: {error}."))
            return False
        fresh.spec = spec
        self._batch.restart(call, fresh, spec)
        return True


def _next(session: Session, call: CallExecution, spec: ToolSpec, arguments: dict[str, Any] | None) -> CallExecution:
    if arguments is not None:
        fresh = call.again(session.gate.edited(spec, arguments, waits=False))
        if spec.changed or (call.spec is not None and call.spec.fingerprint != spec.fingerprint):
            fresh.resolution = None  # who edits the arguments has not seen what became of the tool, or of its program
        return fresh
    if call.arguments is None:
        raise args.UnreadableArguments("its arguments could not be read; edit them")
    verdict = session.gate.check(spec, call.arguments)
    if verdict.action == "deny":
        raise args.UnreadableArguments(verdict.denial)
    fresh = call.again()
    if (call.ran or call.runs_before) and spec.annotations.may_do_twice:
        fresh.must_ask, fresh.resolution = call.asks or TWICE, None
    # Only what a person approved, of the tool as it is now, still counts: what a mode let run is for the mode of now.
    by_person = call.resolution is not None and call.resolution.by is ev.DecidedBy.USER
    as_approved = by_person and call.spec is not None and call.spec.fingerprint == spec.fingerprint
    if verdict.action == "ask" and not as_approved:
        fresh.resolution = None
    return fresh


# A rerun asks: the call may be wrong by now, and a key that was meant for another call must not do harm.
EARLIER = "a call of an earlier turn"


@dataclass(frozen=True, slots=True)
class _Attempt:
    old: CallExecution
    call: CallExecution
    spec: ToolSpec


class _AgentStep(Protocol):
    batch: Batch
    executor: Executor
    approvals: Approvals


class Rerun(Decidable):
    """Runs calls again; it is entered and read like a Turn. `prepare` and `prepare_all` make one of the calls that can
    run. `left_out` says why others can't."""

    def __init__(self, session: Session, attempts: Sequence[_Attempt], turn: int, left_out: Sequence[str] = ()) -> None:
        super().__init__(session, turn)
        self.left_out = tuple(left_out)
        self._attempts = {one.call.id: one for one in attempts}
        self._approvals = Approvals(session, Repetition(), self.emit)
        # Without remarks: the note says how the results came about.
        tools = AnswerTools(session, self, lambda: (), self._made)
        self._executor = Executor(session, self, self._approvals, tools, remarks=False)
        self._programs = MadeCalls(session, self._executor, self.emit)

    def cancel(self, why: str = "") -> None:
        if self._main is not None:
            for one in self._attempts.values():
                self._executor.cancel(one.call)
            self._conclude()

    def cancel_call(self, call_id: str) -> bool:
        if (step := self._agent_step(call_id)) is not None:
            return (call := step.batch.find(call_id)) is not None and step.executor.cancel(call)
        call = self._find(call_id)
        return self.running and call is not None and self._executor.cancel(call)

    def extend_call(self, call_id: str) -> bool:
        call = self._find(call_id)
        return self.running and call is not None and self._executor.extend(call)

    def _find(self, call_id: str) -> CallExecution | None:
        one = self._attempts.get(call_id)
        return self._programs.by_id.get(call_id) if one is None else one.call

    def _made(self, parent: str, spec: ToolSpec, made: ports.ProgramCall) -> asyncio.Future[ToolResult]:
        return self._programs.run(self._attempts[parent].call, spec, made)

    def reconsider(self) -> int:
        return self._approvals.reconsider()

    def _agent_step(self, call_id: str) -> _AgentStep | None:
        agents = self._session.agents
        return agents.step_of(call_id) if agents is not None else None

    def _approvals_of(self, call_id: str) -> Approvals:
        step = self._agent_step(call_id)
        return self._approvals if step is None else step.approvals

    def _begin(self) -> None:
        for one in self._attempts.values():
            self._executor.restart(one.old, one.call, one.spec)

    async def _run(self) -> None:
        for one in self._attempts.values():
            await one.call.finished.wait()
        self._conclude()

    def _main_is_done(self, task: asyncio.Task[None]) -> None:
        self.cancel()

    def _conclude(self) -> None:
        if not self.running or any(one.call.result is None for one in self._attempts.values()):
            return
        self._session.calls.update((one.call.id, one.call) for one in self._attempts.values())
        notes = [_note(one.spec, one.call) for one in self._attempts.values() if one.call.ran]
        if notes:
            self.join(UserMessage(content="\n\n".join(notes), origin="fanout"))
        self._outbox.close()


def prepare(session: Session, call_ids: Sequence[str], arguments: dict[str, Any] | None = None) -> Rerun:
    """Make a rerun of these calls, `arguments` being approved by that. Raises ToolError when none can run: no such
    call, its tool is off, its arguments don't fit, or a rule denies it."""
    attempts: list[_Attempt] = []
    problems: list[errors.ToolError] = []
    for call_id in call_ids:
        try:
            attempts.append(_again(session, call_id, arguments))
        except errors.ToolError as error:
            problems.append(error)
    if not attempts:
        raise problems[0] if problems else errors.ToolError("no call was cut off")
    return Rerun(session, attempts, session.transcript.last_turn, [error.line for error in problems])


def why_again(session: Session, call_id: str) -> str:
    """Return why running a call again asks first although it ran; "" where it doesn't, or can't run."""
    try:
        return _again(session, call_id, None).call.must_ask
    except errors.ToolError:
        return ""


def take_up(session: Session) -> Rerun:
    """Make a rerun that fetches the results of calls that go on at their servers; nothing is called anew or asks.
    Raises ToolError where there are none."""
    attempts: list[_Attempt] = []
    toolset = session.toolset
    if not isinstance(toolset, ports.KeepsTasks):
        raise errors.ToolError("no task is kept")
    cut_off = [view for view in session.transcript.calls.values() if view.outcome is Outcome.INTERRUPTED]
    specs = {spec.name: spec for spec in session.toolset.tools()} if cut_off else {}
    for view in cut_off:
        spec, arguments = specs.get(view.name), view.arguments
        if spec is None or arguments is None or not toolset.goes_on(ports.Invocation(view.id, spec, arguments)):
            continue
        if (old := _from_history(session, view.id)) is not None:
            old.arguments, old.must_ask = arguments, ""
            fresh = old.again()
            fresh.spec, fresh.taken_up = spec, True
            fresh.resolution = Resolution(Decision.ALLOW, ev.DecidedBy.MODE)
            attempts.append(_Attempt(old, fresh, spec))
    if not attempts:
        raise errors.ToolError("no call goes on at its server")
    return Rerun(session, attempts, session.transcript.last_turn)


def _again(session: Session, call_id: str, arguments: dict[str, Any] | None) -> _Attempt:
    old = session.calls.get(call_id) or _from_history(session, call_id)
    if old is None:
        raise errors.ToolError("no such call is in this conversation")
    settings = session.settings
    specs = {spec.name: spec for spec in session.toolset.tools()}
    if session.agents is not None and (agent := session.agents.spec(session)) is not None:
        specs[agent.name] = agent
    spec = specs.get(old.name)
    if old.name == PROGRAM_SPEC.name:
        if arguments is not None or not (
            session.programs is not None and session.programs.is_paused(key_of(session.stamper.session_id, call_id))
        ):
            raise errors.ToolError("a program goes on only where Fanout ended before it did, and as it was written")
        cut = [one for one in session.transcript.calls.values() if one.parent == call_id and one.was_cut]
        if gone := next((one.name for one in cut if one.name not in specs), ""):
            raise errors.ToolError(f"the program can't go on: no {gone} is on", "Switch its server on (/mcp).")
        spec = PROGRAM_SPEC
    if spec is None:
        raise errors.ToolError(f"{old.name} can't run again: no such tool is on", "Switch its server on (/mcp).")
    if old.arguments is not None:  # from the history they come as the model wrote them
        old.arguments, _ = args.declared(spec.input_schema, old.arguments)
    try:
        fresh = _next(session, old, spec, arguments)
    except args.UnreadableArguments as error:
        raise errors.ToolError(f"{spec.label} was not run again: {error}") from None
    fresh.spec = limited(spec, settings.never_parallel, settings.limits)
    fresh.taken_up = spec is PROGRAM_SPEC
    return _Attempt(old, fresh, fresh.spec)


def _from_history(session: Session, call_id: str) -> CallExecution | None:
    call: ToolCall | None = None
    for message in reversed(session.transcript.history):
        if isinstance(message, AssistantMessage):
            call = next((one for one in message.tool_calls if one.id == call_id), call)
    result = next(
        (one for one in session.transcript.history if isinstance(one, ToolMessage) and one.tool_call_id == call_id),
        None,
    )
    if call is None or result is None:
        return None
    view = session.transcript.calls.get(call_id)
    index = 0 if view is None else view.index
    run = CallExecution(call.id, index, call.name, None, call.origin, written=call.arguments, raw=call.raw, closed=True)
    # A call that could not be read joined the history as `{}`, and must not run so.
    read = call.whole and (call.origin == "text" or not call.raw or call.repaired) and args.is_object(call.arguments)
    run.arguments = args.read(call.arguments) if read else None
    run.must_ask = EARLIER
    run.result = run.before = ToolResult(outcome=result.outcome, content=result.content)
    return run


def _note(spec: ToolSpec, call: CallExecution) -> str:
    """Return what the model reads of it. The result is fenced, since a tool's words are not the user's."""
    result = call.as_message()
    words = call.resolution.feedback if call.resolution else None
    said = f"About it I said: {words}\n" if words else ""
    began = f"{spec.label} went on when Fanout had ended" if call.taken_up else f"I ran {spec.label} again"
    return (
        f"{began}, with {args.compact(call.arguments or {})}: {result.outcome.value}. "
        f"{said}What came of it now, as the tool said it:\n<result>\n{result.content}\n</result>"
    )
