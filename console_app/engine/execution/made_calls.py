"""The calls that programs make run as any other call. A program that goes on where its console was killed asks for its
calls again: what ended gives its result, what was cut asks where that may do its work twice."""

from __future__ import annotations

import asyncio
import json
from asyncio import Future
from collections.abc import Callable

from console_app.domain import Outcome, ToolResult, ToolSpec, ports, safe_text
from console_app.domain import events as ev
from console_app.domain.transcript import CallView
from console_app.engine.calls import results
from console_app.engine.calls.arguments import declared
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.slots import limited
from console_app.engine.execution.executor import Executor
from console_app.engine.session import Session

# Until its server says otherwise (`idempotentHint`, or `readOnlyHint`), what a call did may happen once more.
TWICE = "it ran already, and may do its work twice"
_LONGEST_PARENT = 100  # characters of a program's id that those of its calls begin with


class MadeCalls:
    """The newest attempt at each call that the programs of one activity made, by its id."""

    def __init__(self, session: Session, executor: Executor, emit: Callable[[ev.Event], None]) -> None:
        self.by_id: dict[str, CallExecution] = {}
        self._session = session
        self._executor = executor
        self._emit = emit

    def run(self, parent: CallExecution, spec: ToolSpec, made: ports.ProgramCall) -> Future[ToolResult]:
        """Run a call of the program `parent`. Who no longer wants its result cancels that, and the call ends as
        interrupted. No task waits for it: there may be hundreds."""
        wanted: Future[ToolResult] = asyncio.get_running_loop().create_future()
        settings = self._session.settings
        spec = limited(spec, settings.never_parallel, settings.limits)
        id = f"{parent.id[:_LONGEST_PARENT] or 'made'}_{made.number}"
        seen = self._session.transcript.calls.get(id) if made.earlier else None
        if seen is None or seen.parent != parent.id:
            id = self._session.new_call_id("", id)
            call = CallExecution(id, parent.index, spec.name, spec, parent=parent.id, closed=True, awaited=wanted)
            self._anew(call, spec, made)
        elif seen.outcome in (None, Outcome.INTERRUPTED):
            self._again(seen, spec, made, wanted)
        else:
            wanted.set_result(_given_before(seen, spec))
        ended = results.interrupted
        wanted.add_done_callback(lambda _: wanted.cancelled() and self._executor.end(self.by_id[id], ended()))
        return wanted

    def _anew(self, call: CallExecution, spec: ToolSpec, made: ports.ProgramCall) -> None:
        if made.earlier and spec.annotations.may_do_twice:
            call.must_ask = TWICE  # it may have run before anything of it was stored
        self.by_id[id := call.id] = call
        self._emit(
            ev.CallAnnounced(
                call_id=id, index=call.index, name=spec.name, server=spec.server, tool=spec.tool, parent=call.parent
            )
        )
        _take(call, spec, made.arguments)
        self._emit(ev.CallReady(call_id=id, arguments=call.arguments or {}))
        self._executor.start(call, spec)

    def _again(self, seen: CallView, spec: ToolSpec, made: ports.ProgramCall, wanted: Future[ToolResult]) -> None:
        old = CallExecution(seen.id, seen.index, spec.name, spec, parent=seen.parent, closed=True, attempt=seen.attempt)
        old.awaited = wanted
        _take(old, spec, made.arguments)
        old.started_at, old.result = seen.started_at, results.interrupted()
        fresh = old.again()
        fresh.spec = spec
        if old.ran and spec.annotations.may_do_twice:
            fresh.must_ask = TWICE
        self.by_id[seen.id] = fresh
        self._executor.restart(old, fresh, spec)
        fresh.before = None  # a no is told as one: the program has not had the cut result


def _take(call: CallExecution, spec: ToolSpec, written: str) -> None:
    call.arguments, call.left_out = declared(spec.input_schema, json.loads(written))
    call.written = written


def _given_before(seen: CallView, spec: ToolSpec) -> ToolResult:
    structured = seen.structured
    if structured is None and spec.output_schema is not None:
        structured = safe_text.object_in(seen.content) or None  # stored once where the text is that very JSON
    return ToolResult(
        outcome=seen.outcome or Outcome.INTERRUPTED, content=seen.content, error=seen.error, structured=structured
    )
