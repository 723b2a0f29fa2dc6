"""Calls of an earlier answer, run once more for the user, one or several side by side: no model takes part.

Their events are those of the calls (`call.restarted` to `call.finished`), numbered with the turn that ended last, so
that their panels show the new runs. The results that the model read stay in the history; the new ones join it as a note
of Fanout, which goes on the wire with the next prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console_app.domain.errors import ToolError
from console_app.domain.events import Decision
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import no_pictures
from console_app.domain.tools import ToolCall, ToolResult, ToolSpec
from console_app.engine import arguments as args
from console_app.engine.activity import Activity
from console_app.engine.approval import Approvals
from console_app.engine.call_execution import CallExecution
from console_app.engine.executor import Executor
from console_app.engine.repetition import Repetition
from console_app.engine.restarts import attempt
from console_app.engine.session import Session
from console_app.engine.slots import limited

# What was right then may not be now, and a key that was meant for another call must not do harm.
EARLIER = "a call of an earlier turn"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call as it was, its next attempt, and its tool as it is now."""

    old: CallExecution
    call: CallExecution
    spec: ToolSpec


class Rerun(Activity):
    """Entered and read like a Turn. Made by `prepare` or `prepare_all`, which check what can be; `left_out` says of
    each call that can't run why."""

    def __init__(self, session: Session, attempts: Sequence[Attempt], turn: int, left_out: Sequence[str] = ()) -> None:
        super().__init__(session, turn)
        self.left_out = tuple(left_out)
        self._attempts = {one.call.id: one for one in attempts}
        self._approvals = Approvals(session, Repetition(), self.emit)
        self._executor = Executor(
            toolset=session.toolset,
            approvals=self._approvals,
            slots=session.slots,
            settings=session.settings,
            emit=self.emit,
            spawn=self.spawn,
            monotonic=session.monotonic,
            report=self.report,
            no_pictures=lambda: no_pictures(session.provider),
            remarks=False,  # the note says it
        )

    def cancel(self, why: str = "") -> None:
        """Ends the calls that still run or wait; they get their results at once."""
        if self._main is not None:
            for one in self._attempts.values():
                self._executor.cancel(one.call)
            self._conclude()

    def cancel_call(self, call_id: str) -> bool:
        """The same, as a Turn has it."""
        one = self._attempts.get(call_id)
        return self.running and one is not None and self._executor.cancel(one.call)

    def extend_call(self, call_id: str) -> bool:
        """Gives the call its whole time again; see Turn."""
        one = self._attempts.get(call_id)
        return self.running and one is not None and self._executor.extend(one.call)

    def resolve(
        self,
        call_id: str,
        decision: Decision,
        *,
        arguments: dict[str, Any] | None = None,
        feedback: str | None = None,
        shown: str | None = None,
        displayed: str | None = None,
    ) -> bool:
        """Answers an `approval.requested`; see Turn."""
        return self._approvals.resolve(call_id, decision, arguments, feedback, shown, displayed)

    def is_as_shown(self, call_id: str, shown: str | None) -> bool:
        """Whether a call that waits is of the tool that was shown; see Turn."""
        return self._approvals.is_as_shown(call_id, shown)

    def always_asks(self, call_id: str) -> bool:
        """Whether a call waits that no rule could let run."""
        return self._approvals.always_asks(call_id)

    def reconsider(self) -> int:
        """Has the rules look again, after one has changed; see Turn."""
        return self._approvals.reconsider()

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


def prepare(session: Session, call_id: str, arguments: dict[str, Any] | None, turn: int) -> Rerun:
    """A rerun of the call with this id, with the arguments of its last run or with other ones, which approves it.

    Raises ToolError when there is no such call, its tool is off, its arguments don't fit, or a rule denies it.
    """
    return Rerun(session, [_attempt(session, call_id, arguments)], turn)


def prepare_all(session: Session, call_ids: Sequence[str], turn: int) -> Rerun:
    """The same of several calls, with the arguments of their last runs. Raises ToolError when none of them can run."""
    attempts: list[Attempt] = []
    problems: list[ToolError] = []
    for call_id in call_ids:
        try:
            attempts.append(_attempt(session, call_id, None))
        except ToolError as error:
            problems.append(error)
    if not attempts:
        raise problems[0] if problems else ToolError("no call was cut off")
    return Rerun(session, attempts, turn, [error.line for error in problems])


def _attempt(session: Session, call_id: str, arguments: dict[str, Any] | None) -> Attempt:
    old = session.calls.get(call_id) or _from_history(session, call_id)
    if old is None:
        raise ToolError("no such call is in this conversation")
    settings = session.settings
    specs = {spec.name: spec for spec in session.toolset.tools()}
    spec = specs.get(old.name)
    if spec is None:
        raise ToolError(f"{old.name} can't run again: no such tool is on", "Switch its server on (/mcp).")
    if old.arguments is not None:  # from the history they come as the model wrote them
        old.arguments, _ = args.declared(spec.input_schema, old.arguments)
    try:
        fresh = attempt(session, old, spec, arguments)
    except args.UnreadableArguments as error:
        raise ToolError(f"{spec.label} was not run again: {error}") from None
    fresh.spec = limited(spec, settings.never_parallel, settings.limits)
    return Attempt(old, fresh, fresh.spec)


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
    run = CallExecution(call.id, 0, call.name, None, call.origin, written=call.arguments, raw=call.raw, closed=True)
    # A call that could not be read joined the history as `{}`, and must not run so.
    read = call.whole and (call.origin == "text" or not call.raw or call.repaired) and args.is_object(call.arguments)
    run.arguments = args.read(call.arguments) if read else None
    run.must_ask = EARLIER
    run.result = run.before = ToolResult(outcome=result.outcome, content=result.content)
    return run


def _note(spec: ToolSpec, call: CallExecution) -> str:
    """What the model reads of it. The result is fenced, since a tool's words are not the user's."""
    result = call.as_message()
    words = call.resolution.feedback if call.resolution else None
    said = f"About it I said: {words}\n" if words else ""
    return (
        f"I ran {spec.label} again, with {args.compact(call.arguments or {})}: {result.outcome.value}. "
        f"{said}What came of it now, as the tool said it:\n<result>\n{result.content}\n</result>"
    )
