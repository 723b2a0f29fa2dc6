"""What a person answers to the calls that wait: checked, copied, and only then handed to the executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from console_app.domain import events as ev
from console_app.domain.approvals import DecidedBy, Decision
from console_app.domain.tools import ToolSpec
from console_app.engine import arguments as args
from console_app.engine.approval_gate import ApprovalGate
from console_app.engine.call_run import CallRun, Resolution
from console_app.engine.executor import Executor
from console_app.engine.session import Session


class Calls(Protocol):
    """Where the calls are."""

    @property
    def calls(self) -> Sequence[CallRun]:
        """All of them."""
        ...

    def find(self, call_id: str) -> CallRun | None:
        """The one with this id, or None."""
        ...


class Approvals:
    """The waiting calls of one batch. What can't be accepted leaves its call waiting, and a notice says why."""

    def __init__(self, session: Session, batch: Calls, executor: Executor, emit: Callable[[ev.Event], None]) -> None:
        self._session = session
        self._batch = batch
        self._executor = executor
        self._emit = emit

    def resolve(self, call_id: str, decision: Decision, arguments: dict[str, Any] | None, feedback: str | None) -> bool:
        """Answers one call; False when it doesn't wait, or waits on."""
        call = self._batch.find(call_id)
        if call is None or call.spec is None or not call.waits:
            return False
        edited: dict[str, Any] | None = None
        if arguments is not None and arguments != call.arguments and decision is Decision.ALLOW:
            try:
                edited = checked_edit(self._session.gate, call.spec, arguments)
            except args.UnreadableArguments as error:
                self._emit(ev.Notice(level="warning", text=args.encodable(f"{call.spec.label} still waits: {error}.")))
                return False
        words = args.encodable(feedback).strip() if feedback else ""
        return self._executor.resolve(call, Resolution(decision, DecidedBy.USER, edited, words or None))

    def reconsider(self) -> int:
        """Asks the gate again about each; how many it answered. A call that repeats itself still wants a person."""
        answered = 0
        for call in self._batch.calls:
            if call.spec is None or not call.waits or call.asked_for_repeats:
                continue
            verdict = self._session.gate.check(call.spec, call.arguments or {})
            if verdict.action != "ask":
                resolution = Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule)
                answered += self._executor.resolve(call, resolution)
        return answered


def checked_edit(gate: ApprovalGate, spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """A copy of edited arguments, as they will run; raises UnreadableArguments for what can't."""
    try:
        edited = args.read(args.compact(arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise args.UnreadableArguments(str(error)) from None
    verdict = gate.check(spec, edited)
    denied = f"a rule denies it ({verdict.why})" if verdict.action == "deny" else None
    if problem := denied or args.problem(spec.input_schema, edited):
        raise args.UnreadableArguments(problem)
    return edited
