"""Lets calls in or not, from the request to the decision. A person's answer is checked and copied before it counts;
what can't be accepted leaves its call waiting, with a notice. An approval stands for the tool as shown, so a call whose
tool becomes another is asked about anew. Repeated calls are noticed here, too."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from console_app.domain import Decision, Outcome, ToolResult, ToolSpec, ports
from console_app.domain import events as ev
from console_app.domain import schema as json_schema
from console_app.domain.settings import EngineSettings
from console_app.domain.tools import Risk
from console_app.engine.activity import Activity
from console_app.engine.calls import arguments as args
from console_app.engine.calls import results
from console_app.engine.calls.approval_gate import Rule, Ruling
from console_app.engine.calls.call_execution import CallExecution, Resolution
from console_app.engine.calls.file_uses import CHANGES_FILES
from console_app.engine.calls.slots import limited
from console_app.engine.session import Session
from console_app.records import dataclass, replace

FREE_REPEATS = 2  # after its first run a call may run this often again, in a row, before somebody is asked


class Repetition:
    """Repeated calls of one turn: how many steps in a row asked for one (a loop has no gap, and no new edit of a file,
    after which tests may come to something else), and which results of tools that only read still stand."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], int] = {}
        self._now: dict[tuple[str, str], int] = {}
        self._edits: set[tuple[str, str]] = set()
        self._standing: set[tuple[str, str]] = set()
        self._changes = 0  # calls of other agents that may have changed things, as of the last look

    def next_step(self) -> None:
        """Begin a new answer and forget calls that the last one didn't ask for. A thought between two acts is no gap:
        who thinks aloud can go in circles too."""
        if self._now:
            self._before, self._now = self._now, {}

    def times(self, name: str, arguments: str) -> int:
        """Count this call, `arguments` in their canonical form; 1 for the first time in a row."""
        key = (name, arguments)
        self._now[key] = self._before.get(key, 0) + 1
        return self._now[key]

    def allow_again(self, name: str, arguments: str) -> None:
        self._now[name, arguments] = 1

    def answered(self, ran: Sequence[tuple[ToolSpec, str, Outcome | None]]) -> None:
        """Note the calls that ran, with canonical arguments. No result of a reading one stands beside a change."""
        edits = {(spec.name, key) for spec, key, outcome in ran if outcome is Outcome.SUCCEEDED and _edits(spec, key)}
        if not edits <= self._edits:
            self._edits |= edits
            self._now = {key: times for key, times in self._now.items() if key in edits}
        if any(not spec.annotations.read_only for spec, _, _ in ran):
            self._standing.clear()
            return
        self._standing.update(
            (spec.name, arguments) for spec, arguments, outcome in ran if outcome is Outcome.SUCCEEDED
        )

    def others_made(self, changes: int) -> None:
        if changes != self._changes:
            self._changes = changes
            self._standing.clear()

    def forget_answers(self) -> None:
        """Let calls be asked again: the user said something, or a late result came."""
        self._standing.clear()

    def stands(self, name: str, arguments: str) -> bool:
        """Tell whether the model has the answer of this call. It is said once: who asks again after that means it."""
        key = (name, arguments)
        stands = key in self._standing
        self._standing.discard(key)
        return stands


def _edits(spec: ToolSpec, arguments: str) -> bool:
    return Risk.of(spec, args.read(arguments) or {}).word in CHANGES_FILES


READS_ONLY = "this agent can change nothing"


@dataclass(frozen=True, slots=True)
class MissedApproval:
    """A call that nobody could approve: its `server.tool`, the rule that asks (None: the mode), its canonical
    arguments, and its dialect where only that is in question."""

    tool: str
    rule: str | None
    arguments: str = ""
    form: str = ""


@dataclass(slots=True)
class _Waiting:
    """Somebody is asked about this call. `repeats` wants a person, whatever the gate says. `first` is the tool's
    fingerprint when it began to wait, `spec` the tool as it is now."""

    call: CallExecution
    spec: ToolSpec
    repeats: bool
    answer: asyncio.Future[Resolution]
    first: str

    @property
    def always(self) -> bool:
        """Tell whether nothing about this call itself lets a rule answer for the person."""
        return bool(self.call.asks) or self.repeats


class Approvals:
    """The approvals of the calls of one step. `missed` are those that nobody was there to give."""

    def __init__(self, session: Session, repetition: Repetition, emit: Callable[[ev.Event], None]) -> None:
        self.missed: list[MissedApproval] = []
        self._given = session.given
        self._gate = session.gate
        self._provider = session.provider
        self._settings = session.settings
        self._toolset = session.toolset
        self._repetition = repetition
        self._emit = emit
        self._reads_only = session.reads_only
        self._files, self._agent = session.files, session.agent
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, call: CallExecution, spec: ToolSpec) -> ToolResult | None:
        """Return None when the call may run, with what then are its arguments; else the result that it gets."""
        if call.unlicensed and (known := self._provider.licence) and known.form == call.dialect:
            call.unlicensed = ""  # a call of the same answer brought the licence
        if self._given is not None and call.attempt == 1:
            await self._given.judge(call, spec)
        arguments = call.arguments or {}
        key = args.canonical(arguments)
        times = self._repetition.times(spec.name, key)
        if spec.asks and (wrong := json_schema.arguments_problem(spec.input_schema, arguments)):
            return results.unreadable(wrong, call.written)  # nobody is asked for what can't be
        verdict = self._check(spec, arguments, call.asks)
        repeats = False
        if verdict.action == "ask" and verdict.by is ev.DecidedBy.MODE and call.hook_allows:
            verdict = Ruling("allow", "a hook allows it", ev.DecidedBy.HOOK)
        if verdict.action == "ask" and spec.builtin and not spec.asks and not call.asks:
            verdict = Ruling("allow", "a tool of Fanout itself", ev.DecidedBy.MODE)
        if verdict.action != "deny" and times > FREE_REPEATS + 1:
            if verdict.action == "allow" and (self._gate.headless or spec.builtin):
                return results.repeated(times)
            end = "th" if 10 <= times % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(times % 10, "th")
            verdict, repeats = Ruling("ask", f"the same call for the {times}{end} time", ev.DecidedBy.LIMIT), True
        elif verdict.action != "deny" and self._has_answer(call, spec, key):
            return results.answered_before()
        if verdict.action == "ask" and verdict.by is ev.DecidedBy.MODE and call.why:
            verdict = replace(verdict, why=call.why)
        if verdict.action == "ask":
            resolution = await self._request(call, spec, verdict, repeats)
            if repeats and resolution.decision is Decision.ALLOW:
                self._repetition.allow_again(spec.name, key)
        else:
            words = verdict.why if verdict.why == READS_ONLY else None
            resolution = Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule, feedback=words)
            if verdict.binds is not None:
                await self._bind(verdict.binds, spec)
        if resolution.arguments is not None:
            call.arguments = resolution.arguments
        elif call.attempt > 1 and resolution.decision is Decision.ALLOW and arguments != args.read(call.written):
            resolution = replace(resolution, arguments=arguments)  # edited before it was asked about: the model is told
        self.record(call, resolution)
        return None if resolution.decision is Decision.ALLOW else _refused(resolution, verdict, call.advice)

    def _has_answer(self, call: CallExecution, spec: ToolSpec, key: str) -> bool:
        """Tell whether the same call of this turn has a result that still stands; one that the user runs again has
        none."""
        self._repetition.others_made(self._files.changes_of_others(self._agent))
        reads = self._settings.dedupe and spec.annotations.read_only and not spec.builtin
        return reads and call.attempt == 1 and self._repetition.stands(spec.name, key)

    async def _bind(self, rule: Rule, spec: ToolSpec) -> None:
        """Have a rule that is used with a server for the first time mean that one from now on, which is said once."""
        if spec.identity is None or not self._gate.bind(rule, spec):
            return
        if rule.is_kept:
            text = f"{rule} (a rule of {rule.source}) now stands for {spec.server} as it is: {spec.identity.text}"
            self._emit(ev.Notice(level="info", text=f"{text}. Another program or address of that name will ask."))
            await asyncio.to_thread(self._gate.keep, rule, spec)

    async def _request(self, call: CallExecution, spec: ToolSpec, verdict: Ruling, repeats: bool) -> Resolution:
        self._emit(_requested(call, verdict.why, always=bool(call.asks) or repeats))
        if self._gate.headless:
            form = call.dialect if call.unlicensed and not call.must_ask else ""
            arguments = args.canonical(call.arguments or {})
            self.missed.append(MissedApproval(spec.label, verdict.rule, arguments, form))
            return Resolution(Decision.DENY, ev.DecidedBy.LIMIT)
        waiting = _Waiting(call, spec, repeats, asyncio.get_running_loop().create_future(), spec.fingerprint)
        self._waiting[call.id] = waiting
        limit = self._settings.approval_timeout
        try:
            async with asyncio.timeout(limit):
                return await waiting.answer
        except TimeoutError:
            feedback = f"nobody answered within {results.seconds(limit or 0)}"
            return Resolution(Decision.DENY, ev.DecidedBy.LIMIT, feedback=feedback)
        finally:
            if self._waiting.get(call.id) is waiting:  # else the call was started again meanwhile
                del self._waiting[call.id]

    def _check(self, spec: ToolSpec, arguments: dict[str, Any], must_ask: str) -> Ruling:
        """Return the verdict of the gate; where the agent can change nothing, no rule lets a call do so."""
        if self._reads_only and not self._gate.only_reads(spec, arguments):
            return Ruling("deny", READS_ONLY, ev.DecidedBy.LIMIT)
        return self._gate.check(spec, arguments, must_ask)

    def waits(self, call_id: str) -> bool:
        waiting = self._waiting.get(call_id)
        return waiting is not None and waiting.call.result is None and not waiting.answer.done()

    def asked_about(self, call_id: str) -> ToolSpec | None:
        return self._waiting[call_id].spec if self.waits(call_id) else None

    def is_as_shown(self, call_id: str, shown: str | None) -> bool:
        if not self.waits(call_id):
            return False
        waiting = self._waiting[call_id]
        spec = current(self._toolset, self._settings, waiting.spec)
        return spec.fingerprint == (waiting.first if shown is None else shown)

    def always_asks(self, call_id: str) -> bool:
        waiting = self._waiting.get(call_id)
        return waiting is not None and (waiting.always or waiting.spec.require_approval)

    def resolve(self, call_id: str, given: Resolution) -> bool:
        """Take a person's answer; False when the call doesn't wait, or waits on. Approving another tool than there is
        now counts for nothing. `licensed` lets calls of that form go on that wait for nothing else."""
        if not self.waits(call_id):
            return False
        waiting = self._waiting[call_id]
        edited, shown = None, waiting.first if given.definition is None else given.definition
        if given.decision is Decision.ALLOW:
            self._renew(waiting)
            try:
                edited = self._checked(waiting, given.arguments, shown)
            except args.UnreadableArguments as error:
                self._emit(ev.Notice(level="warning", text=f"{waiting.spec.label} still waits: {error}."))
                return False
        words = given.feedback.strip() if given.feedback else ""
        if given.decision is Decision.DENY and waiting.call.unlicensed:
            words = words or results.QUOTATION
        licenses = given.licensed and bool(waiting.call.unlicensed)
        licensed = licenses and given.decision is Decision.ALLOW
        taken = replace(given, arguments=edited, feedback=words or None, definition=shown or None, licensed=licensed)
        waiting.answer.set_result(taken)
        if licenses:
            self._license(waiting.call.dialect)
        return True

    def _license(self, form: str) -> None:
        self._provider.license(form)
        for call_id, waiting in self._waiting.items():
            if self.waits(call_id) and waiting.call.unlicensed and waiting.call.dialect == form:
                waiting.call.unlicensed = ""
                verdict = self._check(waiting.spec, waiting.call.arguments or {}, waiting.call.asks)
                if verdict.action == "ask" or waiting.repeats:
                    self._emit(_requested(waiting.call, verdict.why, always=waiting.always))
                else:
                    waiting.answer.set_result(Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule))

    def _checked(self, waiting: _Waiting, arguments: dict[str, Any] | None, shown: str) -> dict[str, Any] | None:
        """Return the edited arguments, None for those of the call; raises UnreadableArguments for what can't be
        approved."""
        call, spec = waiting.call, waiting.spec
        if shown != spec.fingerprint:
            raise args.UnreadableArguments("it has changed since it was shown, look at it again")
        if arguments is not None and arguments != call.arguments:
            edited = self._gate.edited(spec, arguments, waits=True)
            if self._reads_only and not self._gate.only_reads(spec, edited):
                raise args.UnreadableArguments(READS_ONLY)
            return edited
        problem = json_schema.arguments_problem(spec.input_schema, call.arguments or {})
        if spec.fingerprint != waiting.first and problem:
            raise args.UnreadableArguments(problem)
        return None

    def _renew(self, waiting: _Waiting) -> bool:
        spec = current(self._toolset, self._settings, waiting.spec)
        if spec.fingerprint == waiting.spec.fingerprint:
            return False
        waiting.spec = waiting.call.spec = spec
        verdict = self._check(spec, waiting.call.arguments or {}, waiting.call.asks)
        why = f"{spec.label} changed while it waited" if verdict.action != "ask" else verdict.why
        self._emit(_requested(waiting.call, why, always=waiting.always))
        return True

    def reconsider(self) -> int:
        """Have the rules look at waiting calls and their tools again; count those that were answered. The mode isn't
        asked, since it is about later calls."""
        answered = 0
        for call_id, waiting in self._waiting.items():
            if not self.waits(call_id) or self._renew(waiting) or waiting.repeats:
                continue
            verdict = self._check(waiting.spec, waiting.call.arguments or {}, waiting.call.asks)
            if verdict.action != "ask" and verdict.by is ev.DecidedBy.RULE:
                waiting.answer.set_result(Resolution(Decision(verdict.action), verdict.by, rule=verdict.rule))
                answered += 1
        return answered

    def record(self, call: CallExecution, resolution: Resolution) -> None:
        call.resolution = resolution
        self._emit(
            ev.ApprovalResolved(
                call_id=call.id,
                decision=resolution.decision,
                by=resolution.by,
                arguments=resolution.arguments,
                feedback=resolution.feedback,
                rule=resolution.rule,
                definition=resolution.definition,
                displayed=resolution.displayed,
                licensed=call.dialect if resolution.licensed else None,
            )
        )


class Decidable(Activity):
    """An activity on whose waiting calls a person decides."""

    @abstractmethod
    def _approvals_of(self, call_id: str) -> Approvals | None: ...

    def resolve(
        self,
        call_id: str,
        decision: Decision,
        *,
        arguments: dict[str, Any] | None = None,
        feedback: str | None = None,
        shown: str | None = None,
        displayed: str | None = None,
        licensed: bool = False,
    ) -> bool:
        """Answer an `approval.requested`. `arguments` run in place of the model's. `licensed`: the model writes calls
        in this form. `shown` is the fingerprint of the tool that was shown, `displayed` the hash of the lines. False
        when the call doesn't wait; with a notice, it waits on when the tool is another now, or arguments don't fit or
        are denied."""
        asked, user = self._approvals_of(call_id), ev.DecidedBy.USER
        given = Resolution(decision, user, arguments, feedback, None, shown, displayed, licensed)
        return asked is not None and asked.resolve(call_id, given)

    def is_as_shown(self, call_id: str, shown: str | None) -> bool:
        asked = self._approvals_of(call_id)
        return asked is not None and asked.is_as_shown(call_id, shown)

    def asked_about(self, call_id: str) -> ToolSpec | None:
        asked = self._approvals_of(call_id)
        return asked.asked_about(call_id) if asked is not None else None

    def always_asks(self, call_id: str) -> bool:
        asked = self._approvals_of(call_id)
        return asked is not None and asked.always_asks(call_id)


def _requested(call: CallExecution, why: str, *, always: bool) -> ev.ApprovalRequested:
    return ev.ApprovalRequested(
        call_id=call.id, why=why, always=always, form=call.dialect if call.unlicensed else "", passage=call.passage
    )


def current(toolset: ports.Toolset, settings: EngineSettings, spec: ToolSpec) -> ToolSpec:
    found = next((one for one in toolset.tools() if one.name == spec.name), None)
    return spec if found is None or spec.builtin else limited(found, settings.never_parallel, settings.limits)


def _refused(resolution: Resolution, verdict: Ruling, advice: str) -> ToolResult:
    """Return the result of a call that may not run: only a person's own no is told as one. `advice` is for the model
    where nobody could be asked."""
    match resolution.by:
        case ev.DecidedBy.HOOK:
            return results.not_approved(f"a hook denied it: {resolution.feedback}.")
        case ev.DecidedBy.RULE:
            return results.not_approved(f"a rule forbids it: {resolution.rule}.")
        case ev.DecidedBy.LIMIT if resolution.feedback:
            return results.not_approved(f"{resolution.feedback}.")
        case ev.DecidedBy.LIMIT:
            why = f"it needs an approval ({verdict.why}), and there is no one to approve (non-interactive)."
            return results.not_approved(f"{why} {advice}".rstrip())
        case ev.DecidedBy.MODE:
            return results.planned()
        case ev.DecidedBy.USER:
            return results.denied(resolution.feedback or "")
