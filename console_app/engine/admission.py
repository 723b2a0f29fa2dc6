"""Lets a call in or not: asks the gate, waits for the user where it says so, and records the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from console_app.domain import events as ev
from console_app.domain.approvals import DecidedBy, Decision
from console_app.domain.tools import ToolResult, ToolSpec
from console_app.engine import results
from console_app.engine.approval_gate import ApprovalGate, Verdict
from console_app.engine.arguments import canonical, encodable
from console_app.engine.call_run import CallRun, Resolution
from console_app.engine.repetition import FREE_REPEATS, Repetition
from console_app.engine.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class MissedApproval:
    """A call that nobody was there to approve: its `server.tool`, and the rule that asks, None where the mode does."""

    tool: str
    rule: str | None


class Admission:
    """Of the calls of one step. `missed` are the approvals that nobody was there to give."""

    def __init__(
        self, gate: ApprovalGate, settings: EngineSettings, repetition: Repetition, emit: Callable[[ev.Event], None]
    ) -> None:
        self.missed: list[MissedApproval] = []
        self._gate = gate
        self._settings = settings
        self._repetition = repetition
        self._emit = emit

    async def ask(self, call: CallRun, spec: ToolSpec) -> ToolResult | None:
        """None when the call may run, with what then are its arguments; else the result that it gets."""
        arguments = call.arguments or {}
        key = canonical(arguments)
        times = self._repetition.times(spec.name, key)
        verdict = self._gate.check(spec, arguments)
        if spec.builtin and verdict.action == "ask":
            verdict = Verdict("allow", "a tool of Fanout itself", DecidedBy.MODE)
        if verdict.action != "deny" and times > FREE_REPEATS + 1:
            if verdict.action == "allow" and (self._gate.headless or spec.builtin):
                return results.repeated(times)
            verdict = Verdict("ask", f"the same call for the {_ordinal(times)} time", DecidedBy.LIMIT)
            call.asked_for_repeats = True
        if verdict.action == "ask":
            resolution = await self._ask(call, spec, verdict)
            if call.asked_for_repeats and resolution.decision is Decision.ALLOW:
                self._repetition.allow_again(spec.name, key)
        else:
            resolution = Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule)
        if resolution.arguments is not None:
            call.arguments = resolution.arguments
        self.record(call, resolution)
        return None if resolution.decision is Decision.ALLOW else results.denied(_reason(resolution, verdict))

    def record(self, call: CallRun, resolution: Resolution) -> None:
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

    async def _ask(self, call: CallRun, spec: ToolSpec, verdict: Verdict) -> Resolution:
        self._emit(ev.ApprovalRequested(call_id=call.id, why=encodable(verdict.why)))
        if self._gate.headless:
            self.missed.append(MissedApproval(spec.label, verdict.rule))
            return Resolution(Decision.DENY, DecidedBy.LIMIT)
        call.request = asyncio.get_running_loop().create_future()
        limit = self._settings.approval_timeout
        await asyncio.wait({call.request}, timeout=limit)
        if call.request.done():
            return call.request.result()
        call.request.cancel()
        return Resolution(
            Decision.DENY, DecidedBy.LIMIT, feedback=f"Nobody answered within {results.seconds(limit or 0)}."
        )


def _reason(resolution: Resolution, verdict: Verdict) -> str:
    if resolution.feedback:
        return resolution.feedback
    match resolution.by:
        case DecidedBy.RULE:
            return f"A rule forbids it: {resolution.rule}."
        case DecidedBy.LIMIT:
            return f"It needs an approval ({verdict.why}), and nobody is there to give it."
        case DecidedBy.USER | DecidedBy.MODE:
            return ""


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
