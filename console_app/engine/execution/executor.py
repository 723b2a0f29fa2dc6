"""Runs calls, one task each: approval, then a slot, then the tool, under a deadline that news puts off. The rule that
keeps it simple: the result comes first, the cancelling second. Whoever ends a call writes its result and then cancels
its task, whose late results are dropped and logged. So nothing waits for a tool that doesn't stop, and `finish` alone
gives a call its one result."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import isfinite

from console_app.domain import Outcome, ToolResult, ToolSpec, plural, ports
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.transcript import CallView
from console_app.engine.activity import GRACE, Activity
from console_app.engine.calls import results
from console_app.engine.calls.call_execution import MOST_SENT, CallExecution, GatheredOutput
from console_app.engine.calls.slots import agents_at_once, limits_of
from console_app.engine.execution.approval import Approvals
from console_app.engine.execution.builtin_specs import is_agent
from console_app.engine.execution.hooks import CallHooks
from console_app.engine.session import Session
from console_app.records import asdict, dataclass

SAME_CALL = "the same call as another of this answer: it runs once for both"
_OWN_ENDS = frozenset({Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Queue:
    others: Callable[[], Sequence[CallExecution]]
    why: str


class Executor:
    """Runs the calls of one step of `activity`: `toolset` has their tools. `remarks` says whether results tell how they
    came about, or somebody else does."""

    def __init__(
        self,
        session: Session,
        activity: Activity,
        approvals: Approvals,
        toolset: ports.Toolset,
        *,
        remarks: bool = True,
    ) -> None:
        self._session = session
        self._settings = session.settings
        self._activity = activity
        self._emit = activity.emit
        self._approvals = approvals
        self._toolset = toolset
        self._remarks = remarks
        self._hooks = CallHooks(session, activity.emit, approvals.record)

    def start(self, call: CallExecution, spec: ToolSpec, queue: Queue | None = None) -> None:
        """Start a call whose arguments were read; `queue` says which calls must have ended before it runs."""
        call.dispatched = True
        call.task = self._activity.spawn(self._drive(call, spec, queue), f"call {call.id}")

    def follow(
        self, call: CallExecution, spec: ToolSpec, leader: Callable[[], CallExecution], queue: Queue | None = None
    ) -> None:
        """Give a call the result of an equal one, or run it by itself when that one did not end as it was written."""
        call.dispatched = True
        call.task = self._activity.spawn(self._follow(call, spec, leader, queue), f"call {call.id}")

    async def _follow(
        self, call: CallExecution, spec: ToolSpec, leader: Callable[[], CallExecution], queue: Queue | None
    ) -> None:
        self._emit(ev.CallQueued(call_id=call.id, why=SAME_CALL))
        try:
            while (result := (first := leader()).result) is None:  # it may have been run again meanwhile
                if first.detached:
                    self.finish(call, results.shared(results.in_background()))
                    return
                await first.finished.wait()
        except asyncio.CancelledError:
            self._finish_late(call, results.interrupted())
            return
        if first.ran and first.edited is None and result.outcome in _OWN_ENDS:
            self.finish(call, results.shared(result))
        else:
            await self._drive(call, spec, queue)

    def restart(self, old: CallExecution, fresh: CallExecution, spec: ToolSpec, queue: Queue | None = None) -> None:
        if old.result is None:
            old.result = self._with_agent_ended(old, results.interrupted())
            self._close(old)
            self._stop_task(old)
        fresh.before = old.result if old.ran else old.before
        edited = fresh.arguments if fresh.arguments != old.arguments else None
        self._emit(ev.CallRestarted(call_id=fresh.id, attempt=fresh.attempt, arguments=edited))
        if fresh.resolution is not None and fresh.resolution is not old.resolution:
            self._approvals.record(fresh, fresh.resolution)
        self.start(fresh, spec, queue)

    def finish(self, call: CallExecution, result: ToolResult) -> bool:
        """Give a call its one result; the first stands, a second is dropped."""
        if call.result is not None:
            return False
        if call.ran and call.spec is not None:
            session = self._session
            session.files.note(session.agent, session.folder, call.spec, call.arguments or {}, result)
        if call.ran and self._remarks and self._read_by_model(call):
            feedback = call.resolution.feedback if call.resolution else None
            result = results.with_remarks(
                result, call.edited, feedback, call.runs_before + 1, call.left_out, call.hooked
            )
        elif call.parent and call.provider_data and call.spec is not None:
            result = results.as_data(result, call.spec)
        call.result = result
        self._close(call)
        self._emit(
            ev.CallFinished(
                call_id=call.id,
                outcome=result.outcome,
                content=result.content,
                error=result.error,
                artifacts=result.artifacts,
                structured=results.structured_beside(result),
                duration_ms=round(call.duration * 1000),
            )
        )
        if call.awaited is not None and not call.awaited.done():
            call.awaited.set_result(result)
        if call.detached:
            self._session.background.over(call)
        return True

    def _close(self, call: CallExecution) -> None:
        if call.output is not None:
            call.output.flush()
        call.ended_at = self._session.monotonic()
        if call.timer is not None:
            call.timer.cancel()
        call.finished.set()

    def end(self, call: CallExecution, result: ToolResult) -> bool:
        if not self.finish(call, self._with_agent_ended(call, result)):
            return False
        self._stop_task(call)
        return True

    def _with_agent_ended(self, call: CallExecution, result: ToolResult) -> ToolResult:
        agents = self._session.agents
        return result if agents is None or call.result is not None else agents.ended(call.id, result)

    def _stop_task(self, call: CallExecution) -> None:
        if call.task is not None and not call.task.done():
            call.task.cancel()
            asyncio.get_running_loop().call_later(GRACE, self._abandon, call)

    def cancel(self, call: CallExecution) -> bool:
        return self.end(call, results.cancelled(self.sent_by(call), started=call.ran))

    def interrupt(self, call: CallExecution) -> bool:
        return self.end(call, results.interrupted(self.sent_by(call)))

    def detach(self, call: CallExecution) -> bool:
        if not call.ran or call.result is not None or call.detached or call.task is None:
            return False
        if call.awaited or call.parent or call.spec is None or (call.spec.builtin and not is_agent(call.spec)):
            return False
        call.detached = True
        self._activity.release(call.task)
        self._session.background.take(call, self, call.task)
        self._emit(ev.CallDetached(call_id=call.id))
        call.finished.set()
        return True

    def sent_by(self, call: CallExecution) -> list[str]:
        if call.output is not None:
            call.output.flush()
        view = self._session.transcript.calls.get(call.id)
        written = [] if view is None or view.output is None else view.output.plain_lines(MOST_SENT)
        return [*call.sent, *written]

    async def _drive(self, call: CallExecution, spec: ToolSpec, queue: Queue | None) -> None:
        try:
            refusal = await self._hooks.before(call, spec)
            if refusal is None and call.resolution is None:
                refusal = await self._ask(call, spec)
                if refusal is None and call.edited is not None:  # which no hook has seen
                    refusal = await self._hooks.before(call, call.spec or spec)
            if refusal is not None:
                self.finish(call, refusal if call.before is None else results.not_again(call.before))
                return
            spec = call.spec or spec  # as it was approved, where it became another while it waited
            announced = False
            while queue is not None and (others := queue.others()):  # again each time: one may have been run again
                if not announced:
                    self._emit(ev.CallQueued(call_id=call.id, why=queue.why))
                    announced = True
                await others[-1].finished.wait()  # the nearest: all would wake with each of the others, and look again
            call.released = True
            if not spec.builtin or is_agent(spec):
                await self._take_slot(call, spec)
            while self._clash(call, spec):  # another agent changed the file while this waited
                self._free(call)
                if (refusal := await self._ask(call, spec)) is not None:
                    self.finish(call, refusal)
                    return
                await self._take_slot(call, spec)
            call.started_at = call.news_at = call.counts_from = self._session.monotonic()
            limit = spec.timeout if spec.timeout is not None else self._settings.call_timeout
            self._emit(ev.CallStarted(call_id=call.id, limit=limit or None))
            self._watch(call, limit)
            if (after := self._settings.background_after) is not None and not spec.builtin:
                asyncio.get_running_loop().call_later(after, self.detach, call)
            # A copy, so that nobody who holds the approved arguments can change what runs, nor the tool what is shown.
            invocation = ports.Invocation(call.id, spec, copy.deepcopy(call.arguments or {}), taken_up=call.taken_up)
            result = await self._toolset.call(invocation, _Reporter(self._session, self._activity, call))
            result = await self._hooks.after(call, spec, result)
            if self._read_by_model(call):
                result = results.of_tool(result, self._session.provider.no_pictures)
            else:
                if result.remark:
                    self._emit(ev.CallLog(call_id=call.id, level="warning", text=result.remark))
                result = results.as_value(result)
            if not self.finish(call, result):
                logger.warning("Dropped a late result of call %s, which had ended as %s", call.id, call.outcome)
        except asyncio.CancelledError:
            # Ended from outside: the result is there. Else the tool's own connection was cancelled under it.
            self._finish_late(call, results.failed(asyncio.CancelledError("the call was cancelled by its server")))
        except KeyboardInterrupt:
            self._finish_late(call, results.interrupted())
            raise
        except BaseException as error:  # a tool may raise anything, and its siblings must not notice
            logger.debug("Call %s of %s raised", call.id, spec.label, exc_info=True)
            self._finish_late(call, results.failed(error))
        finally:
            self._free(call)

    def _read_by_model(self, call: CallExecution) -> bool:
        """Tell whether a model reads the result, and so words about it; programs and scripts read values."""
        return not call.parent and self._settings.read_by_model

    def _clash(self, call: CallExecution, spec: ToolSpec) -> str:
        session = self._session
        return session.files.clash(session.agent, session.folder, spec, call.arguments or {})

    async def _ask(self, call: CallExecution, spec: ToolSpec) -> ToolResult | None:
        """Return None when the call may run, else its result. A change to a file that another agent changed asks a
        person; where nobody can be asked, it does not run."""
        session, clash = self._session, self._clash(call, spec)
        if clash and session.gate.headless:
            return results.changed_meanwhile(clash)
        if clash and clash not in call.must_ask:
            call.must_ask = "; ".join(filter(None, (call.must_ask, clash)))
        refusal = await self._approvals.ask(call, spec)
        if refusal is None and clash:
            session.files.accept(session.agent, session.folder, call.arguments or {})
        return refusal

    def _finish_late(self, call: CallExecution, result: ToolResult) -> None:
        if not self.finish(call, result):
            logger.debug("Call %s had ended as %s before its task did", call.id, call.outcome)

    # Running

    async def _take_slot(self, call: CallExecution, spec: ToolSpec) -> None:
        limits = limits_of(spec, call.arguments or {}, self._settings.max_parallel)
        if is_agent(spec):
            limits = [agents_at_once(self._settings.max_agents)]
            if self._session.agents is not None:
                self._session.agents.takes_place(self._session, call)
        call.ticket = self._session.slots.ask(limits)
        if not call.ticket.granted.done():
            self._emit(ev.CallQueued(call_id=call.id, why=call.ticket.why))
            await call.ticket.granted

    def _watch(self, call: CallExecution, limit: float | None) -> None:
        if limit is None or limit <= 0 or call.result is not None:
            return
        now = self._session.monotonic()
        end = CallView.end_by(call.news_at, call.counts_from, limit)
        left = limit if call.holds else end - now
        if left > 0:
            call.timer = asyncio.get_running_loop().call_later(left, self._watch, call, limit)
            return
        ran = now - (now if call.started_at is None else call.started_at)
        most = CallView.MOST_LIMITS if end < call.news_at + limit else 0
        self.end(call, results.timed_out(ran, limit, self.sent_by(call), most_limits=most))

    def _abandon(self, call: CallExecution) -> None:
        if call.task is not None and not call.task.done():
            logger.warning("Call %s doesn't stop; left to itself %s after it was cancelled", call.id, f"{GRACE:g} s")
            self._free(call)

    def _free(self, call: CallExecution) -> None:
        if call.ticket is not None:
            self._session.slots.give_back(call.ticket)

    def extend(self, call: CallExecution) -> bool:
        if not call.ran or call.result is not None:
            return False
        call.news_at = call.counts_from = self._session.monotonic()
        self._emit(ev.CallExtended(call_id=call.id))
        return True


class _Reporter:
    """Tells what a running call says of itself; once it has a result, only what it spent. Implements CallReporter."""

    def __init__(self, session: Session, activity: Activity, call: CallExecution) -> None:
        self._clock = session.monotonic
        self._activity = activity
        self._call = call
        call.output = GatheredOutput(self._told)

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        call = self._call
        if call.result is not None:
            return
        progress = progress if isfinite(progress) else 0.0
        total = total if total is not None and isfinite(total) else None
        now = self._clock()
        new = bool(message) and call.says_news(message, now)
        news = call.advances(progress, now) or new
        call.keep(message or (f"progress {progress:g}" + (f" of {total:g}" if total is not None else "")))
        self._activity.report(
            ev.CallProgress(call_id=call.id, progress=progress, total=total, message=message, news=news)
        )

    def log(self, level: ev.Level, text: str, *, dropped: int = 0) -> None:
        call = self._call
        if call.result is not None:
            return
        news = call.says_news(text, self._clock(), dropped)
        if dropped:
            call.keep(f"[{plural(dropped, 'line')} came too fast to keep]")
        call.keep(text)
        self._activity.report(ev.CallLog(call_id=call.id, level=level, text=text, news=news, dropped=dropped))

    def output(self, stream: ev.OutputStream, text: str, *, dropped: int = 0) -> None:
        if self._call.output is not None and self._call.result is None:
            self._call.output.add(stream, text, dropped)

    def _told(self, stream: ev.OutputStream, text: str, offset: int, dropped: int) -> None:
        call = self._call
        news = call.says_news(text, self._clock())
        self._activity.report(
            ev.CallOutput(call_id=call.id, stream=stream, text=text, offset=offset, dropped=dropped, news=news)
        )

    @contextmanager
    def held(self) -> Generator[None]:
        self._call.holds += 1
        try:
            yield
        finally:
            self._call.holds -= 1
            self._call.news_at = self._call.counts_from = self._clock()

    def asked(self, what: str, *, sure: bool = True) -> None:
        if self._call.result is None:
            self._activity.emit(ev.CallAsked(call_id=self._call.id, what=what, sure=sure))

    def answered(self, what: str, how: str) -> None:
        if self._call.result is None:
            self._activity.emit(ev.CallAnswered(call_id=self._call.id, what=what, how=how))

    def used(self, usage: ch.UsageChunk) -> None:
        self._activity.emit(ev.UsageReported(call_id=self._call.id, **asdict(usage)))
