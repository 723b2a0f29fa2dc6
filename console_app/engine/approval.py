"""Lets calls in or not, from the request to the decision: asks the gate, waits for the user where it says so.

What a person answers is checked and copied before it counts; what can't be accepted leaves its call waiting, and a
notice says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from console_app.domain import events as ev
from console_app.domain.approvals import DecidedBy, Decision
from console_app.domain.tools import ToolResult, ToolSpec
from console_app.engine import arguments as args
from console_app.engine import results
from console_app.engine.approval_gate import ApprovalGate, Verdict
from console_app.engine.call_execution import CallExecution, Resolution
from console_app.engine.repetition import FREE_REPEATS, Repetition
from console_app.engine.session import Session


@dataclass(frozen=True, slots=True)
class MissedApproval:
    """A call that nobody was there to approve: its `server.tool`, the rule that asks, None where the mode does, and
    whether it was read from text."""

    tool: str
    rule: str | None
    of_text: bool


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A call that somebody is asked about. A call that `repeats` itself wants a person, whatever the gate says."""

    call: CallExecution
    spec: ToolSpec
    repeats: bool
    answer: asyncio.Future[Resolution]


class Approvals:
    """Of the calls of one step. `missed` are the approvals that nobody was there to give."""

    def __init__(self, session: Session, repetition: Repetition, emit: Callable[[ev.Event], None]) -> None:
        self.missed: list[MissedApproval] = []
        self._gate = session.gate
        self._settings = session.settings
        self._repetition = repetition
        self._emit = emit
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, call: CallExecution, spec: ToolSpec) -> ToolResult | None:
        """None when the call may run, with what then are its arguments; else the result that it gets."""
        arguments = call.arguments or {}
        key = args.canonical(arguments)
        times = self._repetition.times(spec.name, key)
        if spec.asks and (wrong := args.problem(spec.input_schema, arguments)):
            return results.unreadable(wrong, call.written)  # nobody is asked for what can't be
        verdict = self._gate.check(spec, arguments, call.must_ask)
        repeats = False
        if verdict.action == "ask" and spec.builtin and not spec.asks and not call.must_ask:
            verdict = Verdict("allow", "a tool of Fanout itself", DecidedBy.MODE)
        if verdict.action != "deny" and times > FREE_REPEATS + 1:
            if verdict.action == "allow" and (self._gate.headless or spec.builtin):
                return results.repeated(times)
            verdict, repeats = Verdict("ask", f"the same call for the {_ordinal(times)} time", DecidedBy.LIMIT), True
        elif verdict.action != "deny" and self._has_answer(call, spec, key):
            return results.answered_before()
        if verdict.action == "ask":
            resolution = await self._request(call, spec, verdict, repeats)
            if repeats and resolution.decision is Decision.ALLOW:
                self._repetition.allow_again(spec.name, key)
        else:
            resolution = Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule)
        if resolution.arguments is not None:
            call.arguments = resolution.arguments
        self.record(call, resolution)
        return None if resolution.decision is Decision.ALLOW else _refused(resolution, verdict)

    def _has_answer(self, call: CallExecution, spec: ToolSpec, key: str) -> bool:
        """Whether the same call of this turn has a result that still stands; one that the user runs again has none."""
        reads = self._settings.dedupe and spec.annotations.read_only and not spec.builtin
        return reads and call.attempt == 1 and self._repetition.stands(spec.name, key)

    async def _request(self, call: CallExecution, spec: ToolSpec, verdict: Verdict, repeats: bool) -> Resolution:
        self._emit(ev.ApprovalRequested(call_id=call.id, why=verdict.why, always=bool(call.must_ask)))
        if self._gate.headless:
            self.missed.append(MissedApproval(spec.label, verdict.rule, call.origin == "text"))
            return Resolution(Decision.DENY, DecidedBy.LIMIT)
        waiting = _Waiting(call, spec, repeats, asyncio.get_running_loop().create_future())
        self._waiting[call.id] = waiting
        limit = self._settings.approval_timeout
        try:
            async with asyncio.timeout(limit):
                return await waiting.answer
        except TimeoutError:
            feedback = f"nobody answered within {results.seconds(limit or 0)}"
            return Resolution(Decision.DENY, DecidedBy.LIMIT, feedback=feedback)
        finally:
            if self._waiting.get(call.id) is waiting:  # else the call was started again meanwhile
                del self._waiting[call.id]

    def waits(self, call_id: str) -> bool:
        """Whether a call waits for somebody to approve it."""
        waiting = self._waiting.get(call_id)
        return waiting is not None and waiting.call.result is None and not waiting.answer.done()

    def resolve(self, call_id: str, decision: Decision, arguments: dict[str, Any] | None, feedback: str | None) -> bool:
        """A person's answer for one call; False when it doesn't wait, or waits on."""
        if not self.waits(call_id):
            return False
        waiting = self._waiting[call_id]
        call, spec = waiting.call, waiting.spec
        edited: dict[str, Any] | None = None
        if arguments is not None and arguments != call.arguments and decision is Decision.ALLOW:
            try:
                edited = checked_edit(self._gate, spec, arguments)
            except args.UnreadableArguments as error:
                self._emit(ev.Notice(level="warning", text=f"{spec.label} still waits: {error}."))
                return False
        words = feedback.strip() if feedback else ""
        waiting.answer.set_result(Resolution(decision, DecidedBy.USER, edited, words or None))
        return True

    def reconsider(self) -> int:
        """Asks the gate again about each call that waits; how many it answered."""
        answered = 0
        for call_id, waiting in self._waiting.items():
            if waiting.repeats or not self.waits(call_id):
                continue
            verdict = self._gate.check(waiting.spec, waiting.call.arguments or {}, waiting.call.must_ask)
            if verdict.action != "ask":
                waiting.answer.set_result(Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule))
                answered += 1
        return answered

    def record(self, call: CallExecution, resolution: Resolution) -> None:
        """Keeps the answer and tells it."""
        call.resolution = resolution
        self._emit(
            ev.ApprovalResolved(
                call_id=call.id,
                decision=resolution.decision,
                by=resolution.by,
                arguments=resolution.arguments,
                feedback=resolution.feedback,
                rule=resolution.rule,
            )
        )


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


def _refused(resolution: Resolution, verdict: Verdict) -> ToolResult:
    """The result of a call that may not run: only a person's own no is told as one."""
    match resolution.by:
        case DecidedBy.RULE:
            return results.denied(f"A rule forbids it: {resolution.rule}.")
        case DecidedBy.LIMIT if resolution.feedback:
            return results.not_approved(f"{resolution.feedback}.")
        case DecidedBy.LIMIT:
            return results.not_approved(f"it needs an approval ({verdict.why}), and nobody is there to give it.")
        case DecidedBy.USER | DecidedBy.MODE:
            return results.denied(resolution.feedback or "")


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
