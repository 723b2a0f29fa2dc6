"""Runs calls, one task each: approval, then a slot, then the tool, under a deadline that news puts off.

The rule that keeps it simple: the result comes first, the cancelling second. Whoever ends a call (the user, a deadline,
the end of the turn) writes its result at once and then cancels its task; the task may take its time, or ignore it, and
whatever it still brings is dropped and logged. So nothing ever waits for a tool that doesn't stop, and `finish` is the
one place that gives a call its one result.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

from console_app.domain import events as ev
from console_app.domain.amounts import plural
from console_app.domain.chunks import UsageChunk
from console_app.domain.ports import Invocation, Toolset
from console_app.domain.settings import EngineSettings
from console_app.domain.tools import Outcome, ToolResult, ToolSpec
from console_app.domain.transcript import MOST_LIMITS, ends_at
from console_app.engine import results
from console_app.engine.approval import Approvals
from console_app.engine.call_execution import CallExecution
from console_app.engine.held_news import CallNews
from console_app.engine.slots import Slots, limits_of

GRACE = 1.0  # seconds that a cancelled task may take before it is left to itself
SAME_CALL = "the same call as another of this answer: it runs once for both"
_OWN_ENDS = frozenset({Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT})

logger = logging.getLogger(__name__)
Spawn = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


@dataclass(frozen=True, slots=True)
class Queue:
    """What a call waits for: `others` are the calls that have not ended and must, `why` is said of the wait."""

    others: Callable[[], Sequence[CallExecution]]
    why: str


class Executor:
    """Runs the calls of one step. `emit` queues an event, `report` what a running call says of itself, `spawn` starts
    a task that the turn owns."""

    def __init__(
        self,
        *,
        toolset: Toolset,
        approvals: Approvals,
        slots: Slots,
        settings: EngineSettings,
        emit: Callable[[ev.Event], None],
        spawn: Spawn,
        monotonic: Callable[[], float],
        report: Callable[[CallNews], None],
        no_pictures: Callable[[], str] = lambda: "",
        remarks: bool = True,
    ) -> None:
        self._toolset = toolset
        self._approvals = approvals
        self._slots = slots
        self._settings = settings
        self._emit = emit
        self._spawn = spawn
        self._monotonic = monotonic
        self._report = report
        self._no_pictures = no_pictures  # why the model is shown none
        self._remarks = remarks  # whether results say how they came about, or somebody else does

    def start(self, call: CallExecution, spec: ToolSpec, queue: Queue | None = None) -> None:
        """Starts a call whose arguments were read; `queue` says which calls must have ended before it runs."""
        call.dispatched = True
        call.task = self._spawn(self._drive(call, spec, queue), f"call {call.id}")

    def follow(
        self, call: CallExecution, spec: ToolSpec, leader: Callable[[], CallExecution], queue: Queue | None = None
    ) -> None:
        """Gives a call the result of an equal one of the same answer; it runs by itself when that one did not run to
        its own end as it was written."""
        call.dispatched = True
        call.task = self._spawn(self._follow(call, spec, leader, queue), f"call {call.id}")

    async def _follow(
        self, call: CallExecution, spec: ToolSpec, leader: Callable[[], CallExecution], queue: Queue | None
    ) -> None:
        self._emit(ev.CallQueued(call_id=call.id, why=SAME_CALL))
        try:
            while (result := (first := leader()).result) is None:  # it may have been run again meanwhile
                await first.finished.wait()
        except asyncio.CancelledError:
            self._finish_late(call, results.interrupted())
            return
        if first.ran and first.edited is None and result.outcome in _OWN_ENDS:
            self.finish(call, results.shared(result))
        else:
            await self._drive(call, spec, queue)

    def restart(self, old: CallExecution, fresh: CallExecution, spec: ToolSpec, queue: Queue | None = None) -> None:
        """Starts another attempt at a call (`old.again()`). What the old one still brings is dropped."""
        if old.result is None:
            old.result = results.interrupted()
            self._close(old)
            self._stop_task(old)
        fresh.before = old.result if old.ran else old.before
        edited = fresh.arguments if fresh.arguments != old.arguments else None
        self._emit(ev.CallRestarted(call_id=fresh.id, attempt=fresh.attempt, arguments=edited))
        if fresh.resolution is not None and fresh.resolution is not old.resolution:
            self._approvals.record(fresh, fresh.resolution)
        self.start(fresh, spec, queue)

    def finish(self, call: CallExecution, result: ToolResult) -> bool:
        """Gives a call its one result; the first stands, a second is dropped."""
        if call.result is not None:
            return False
        if call.ran and self._remarks:
            feedback = call.resolution.feedback if call.resolution else None
            result = results.with_remarks(result, call.edited, feedback, call.runs_before + 1, call.left_out)
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
        return True

    def _close(self, call: CallExecution) -> None:
        call.ended_at = self._monotonic()
        if call.timer is not None:
            call.timer.cancel()
        call.finished.set()

    def end(self, call: CallExecution, result: ToolResult) -> bool:
        """Gives a call its result from outside and cancels what still runs of it."""
        if not self.finish(call, result):
            return False
        self._stop_task(call)
        return True

    def _stop_task(self, call: CallExecution) -> None:
        if call.task is not None and not call.task.done():
            call.task.cancel()
            asyncio.get_running_loop().call_later(GRACE, self._abandon, call)

    def cancel(self, call: CallExecution) -> bool:
        """Ends a call for the user."""
        return self.end(call, results.cancelled(list(call.sent), started=call.ran))

    async def _drive(self, call: CallExecution, spec: ToolSpec, queue: Queue | None) -> None:
        try:
            if call.resolution is None and (refusal := await self._approvals.ask(call, spec)):
                self.finish(call, refusal if call.before is None else results.not_again(call.before))
                return
            spec = call.spec or spec  # as it was approved, where it became another while it waited
            if queue is not None:
                await self._wait_in(queue, call)
            call.released = True
            if not spec.builtin:
                await self._take_slot(call, spec)
            await self._run(call, spec)
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

    def _finish_late(self, call: CallExecution, result: ToolResult) -> None:
        if not self.finish(call, result):
            logger.debug("Call %s had ended as %s before its task did", call.id, call.outcome)

    # Running

    async def _wait_in(self, queue: Queue, call: CallExecution) -> None:
        announced = False
        while others := queue.others():  # asked again each time, as a call may have been run again meanwhile
            if not announced:
                self._emit(ev.CallQueued(call_id=call.id, why=queue.why))
                announced = True
            await others[-1].finished.wait()  # the nearest: all would wake, and look again, with each of the others

    async def _take_slot(self, call: CallExecution, spec: ToolSpec) -> None:
        limits = limits_of(spec, call.arguments or {}, self._settings.max_parallel)
        call.ticket = self._slots.ask(limits)
        if not call.ticket.granted.done():
            self._emit(ev.CallQueued(call_id=call.id, why=call.ticket.why))
            await call.ticket.granted

    async def _run(self, call: CallExecution, spec: ToolSpec) -> None:
        call.started_at = call.news_at = call.counts_from = self._monotonic()
        limit = spec.timeout if spec.timeout is not None else self._settings.call_timeout
        self._emit(ev.CallStarted(call_id=call.id, limit=limit or None))
        self._watch(call, limit)
        # A copy, so that nobody who holds the approved arguments can change what runs, nor the tool what is shown.
        invocation = Invocation(call.id, spec, copy.deepcopy(call.arguments or {}))
        result = await self._toolset.call(invocation, _Reporter(self, call))
        if not self.finish(call, results.of_tool(result, self._no_pictures())):
            logger.warning("Dropped a late result of call %s, which had ended as %s", call.id, call.outcome)

    def _watch(self, call: CallExecution, limit: float | None) -> None:
        """Ends the call when it has sent no news for `limit` seconds."""
        if limit is None or limit <= 0 or call.result is not None:
            return
        now = self._monotonic()
        end = ends_at(call.news_at, call.counts_from, limit)
        left = limit if call.holds else end - now
        if left > 0:
            call.timer = asyncio.get_running_loop().call_later(left, self._watch, call, limit)
            return
        ran = now - (now if call.started_at is None else call.started_at)
        most = MOST_LIMITS if end < call.news_at + limit else 0
        self.end(call, results.timed_out(ran, limit, list(call.sent), most_limits=most))

    def _abandon(self, call: CallExecution) -> None:
        if call.task is not None and not call.task.done():
            logger.warning("Call %s doesn't stop; left to itself %s after it was cancelled", call.id, f"{GRACE:g} s")
            self._free(call)

    def _free(self, call: CallExecution) -> None:
        if call.ticket is not None:
            self._slots.give_back(call.ticket)

    # News of a running call

    def progress(self, call: CallExecution, progress: float, total: float | None, message: str | None) -> None:
        """A running call said how far it is."""
        if call.result is not None:
            return
        progress = progress if isfinite(progress) else 0.0
        total = total if total is not None and isfinite(total) else None
        now = self._monotonic()
        new = bool(message) and call.says_news(message, now)
        news = call.advances(progress) or new
        if news:
            call.news_at = now
        call.keep(message or (f"progress {progress:g}" + (f" of {total:g}" if total is not None else "")))
        self._report(ev.CallProgress(call_id=call.id, progress=progress, total=total, message=message, news=news))

    def log(self, call: CallExecution, level: ev.Level, text: str, *, sure: bool = True, dropped: int = 0) -> None:
        """A running call logged a line; not `sure`: or another call of its server did."""
        if call.result is not None:
            return
        now = self._monotonic()
        news = sure and call.says_news(text, now, dropped)
        if news:
            call.news_at = now
        if dropped:
            call.keep(f"[{plural(dropped, 'line')} came too fast to keep]")
        call.keep(text)
        self._report(ev.CallLog(call_id=call.id, level=level, text=text, news=news, dropped=dropped, sure=sure))

    def extend(self, call: CallExecution) -> bool:
        """Gives a running call its whole time again; False when it doesn't run."""
        if not call.ran or call.result is not None:
            return False
        call.news_at = call.counts_from = self._monotonic()
        self._emit(ev.CallExtended(call_id=call.id))
        return True

    @contextmanager
    def held(self, call: CallExecution) -> Generator[None]:
        """A person is asked on behalf of a running call: that is no time of its own."""
        call.holds += 1
        try:
            yield
        finally:
            call.holds -= 1
            call.news_at = call.counts_from = self._monotonic()

    def asked(self, call: CallExecution, what: str) -> None:
        """A running call's server asks the user."""
        if call.result is None:
            self._emit(ev.CallAsked(call_id=call.id, what=what))

    def answered(self, call: CallExecution, what: str, how: str) -> None:
        """What came of that."""
        if call.result is None:
            self._emit(ev.CallAnswered(call_id=call.id, what=what, how=how))

    def used(self, call: CallExecution, usage: UsageChunk) -> None:
        """A call's server asked the model. Counted even after the call ended: it was spent."""
        self._emit(
            ev.UsageReported(
                call_id=call.id,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                cost=usage.cost,
            )
        )


class _Reporter:
    """What a tool gets to report with: knows which call it speaks of."""

    def __init__(self, executor: Executor, call: CallExecution) -> None:
        self._executor = executor
        self._call = call

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._executor.progress(self._call, progress, total, message)

    def log(self, level: ev.Level, text: str, *, sure: bool = True, dropped: int = 0) -> None:
        self._executor.log(self._call, level, text, sure=sure, dropped=dropped)

    def held(self) -> AbstractContextManager[None]:
        return self._executor.held(self._call)

    def asked(self, what: str) -> None:
        self._executor.asked(self._call, what)

    def answered(self, what: str, how: str) -> None:
        self._executor.answered(self._call, what, how)

    def used(self, usage: UsageChunk) -> None:
        self._executor.used(self._call, usage)
