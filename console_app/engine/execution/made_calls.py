"""The calls that programs make run as any other call. A program that goes on where its console was killed asks for its
calls again: what ended gives its result, what was cut asks where that may do its work twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from console_app.domain import Outcome, ToolResult, ToolSpec, ports, safe_text
from console_app.domain import events as ev
from console_app.domain.transcript import CallView
from console_app.engine.calls import results
from console_app.engine.calls.arguments import compact, declared
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

    async def run(self, parent: CallExecution, spec: ToolSpec, made: ports.ProgramCall) -> ToolResult:
        """Run a call of the program `parent`; return its last result, as it may be run again. Cancelled, it ends as
        interrupted."""
        settings = self._session.settings
        spec = limited(spec, settings.never_parallel, settings.limits)
        id = f"{parent.id[:_LONGEST_PARENT] or 'made'}_{made.number}"
        seen = self._session.transcript.calls.get(id) if made.earlier else None
        if seen is not None and seen.parent != parent.id:
            seen = None
        if seen is not None and seen.outcome not in (None, Outcome.INTERRUPTED):
            return _given_before(seen, spec)
        if seen is not None:
            id = self._again(seen, spec, made)
        else:
            id = self._anew(self._session.new_call_id("", id), parent, spec, made)
        try:
            while (result := self.by_id[id].result) is None:
                await self.by_id[id].finished.wait()
        except asyncio.CancelledError:
            self._executor.end(self.by_id[id], results.interrupted())
            raise
        return result

    def _anew(self, id: str, parent: CallExecution, spec: ToolSpec, made: ports.ProgramCall) -> str:
        call = CallExecution(id, parent.index, spec.name, spec, parent=parent.id, closed=True, awaited=True)
        if made.earlier and spec.annotations.may_do_twice:
            call.must_ask = TWICE  # it may have run before anything of it was stored
        self.by_id[id] = call
        self._emit(
            ev.CallAnnounced(
                call_id=id, index=call.index, name=spec.name, server=spec.server, tool=spec.tool, parent=parent.id
            )
        )
        _take(call, spec, made.arguments)
        self._emit(ev.CallReady(call_id=id, arguments=call.arguments or {}))
        self._executor.start(call, spec)
        return id

    def _again(self, seen: CallView, spec: ToolSpec, made: ports.ProgramCall) -> str:
        old = CallExecution(seen.id, seen.index, spec.name, spec, parent=seen.parent, closed=True, attempt=seen.attempt)
        old.awaited = True
        _take(old, spec, made.arguments)
        old.started_at, old.result = seen.started_at, results.interrupted()
        fresh = old.again()
        fresh.spec = spec
        if old.ran and spec.annotations.may_do_twice:
            fresh.must_ask = TWICE
        self.by_id[seen.id] = fresh
        self._executor.restart(old, fresh, spec)
        fresh.before = None  # a no is told as one: the program has not had the cut result
        return seen.id


def _take(call: CallExecution, spec: ToolSpec, arguments: dict[str, Any]) -> None:
    call.arguments, call.left_out = declared(spec.input_schema, arguments)
    call.written = compact(arguments)


def _given_before(seen: CallView, spec: ToolSpec) -> ToolResult:
    structured = seen.structured
    if structured is None and spec.output_schema is not None:
        structured = safe_text.object_in(seen.content) or None  # stored once where the text is that very JSON
    return ToolResult(
        outcome=seen.outcome or Outcome.INTERRUPTED, content=seen.content, error=seen.error, structured=structured
    )
