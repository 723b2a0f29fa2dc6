"""Runs single calls again for the user while their batch is open: as they were, or with other arguments.

The answer waits for the new run, and only its result joins the history. What a rule denies stays denied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console_app.domain import events as ev
from console_app.domain.events import DecidedBy
from console_app.domain.tools import ToolSpec
from console_app.engine import arguments as args
from console_app.engine.approval import checked_edit, current
from console_app.engine.batch import Batch
from console_app.engine.call_execution import CallExecution
from console_app.engine.session import Session

# Until its server says otherwise (`idempotentHint`, or `readOnlyHint`), what a call did may happen once more.
TWICE = "it ran already: again may do its work twice"


class Restarts:
    """Of one batch. What can't be done is a False, with a notice where there is a reason worth telling."""

    def __init__(self, session: Session, batch: Batch, emit: Callable[[ev.Event], None]) -> None:
        self._session = session
        self._batch = batch
        self._emit = emit

    def retry(self, call_id: str) -> bool:
        """Runs a finished or running call again with the arguments of its last run.

        It needs no approval if a person gave it one; else it asks where rules and mode ask now. One that ran asks in
        any case, unless its tool only reads or says that running again changes nothing more.
        """
        call = self._batch.find(call_id)
        if call is None or call.arguments is None or (call.result is None and not call.ran):
            return False
        return self._restart(call, None)

    def edit_and_run(self, call_id: str, arguments: dict[str, Any]) -> bool:
        """Runs a call with `arguments` (`{}` too), whatever became of it: who edits and runs a call approves it."""
        call = self._batch.find(call_id)
        return call is not None and self._restart(call, arguments)

    def _restart(self, call: CallExecution, arguments: dict[str, Any] | None) -> bool:
        if call.spec is None or call.spec.builtin or not call.closed or self._batch.completed:
            return False
        spec = current(self._session.toolset, self._session.settings, call.spec)
        try:
            fresh = attempt(self._session, call, spec, arguments)
        except args.UnreadableArguments as error:
            self._emit(ev.Notice(level="warning", text=f"{spec.label} was not run again: {error}."))
            return False
        fresh.spec = spec
        self._batch.restart(call, fresh, spec)
        return True


def attempt(session: Session, call: CallExecution, spec: ToolSpec, arguments: dict[str, Any] | None) -> CallExecution:
    """The next attempt at `call`. Raises UnreadableArguments for arguments that don't fit, or that are denied."""
    if arguments is not None:
        fresh = call.again(checked_edit(session.gate, spec, arguments, waits=False))
        if spec.changed or (call.spec is not None and call.spec.fingerprint != spec.fingerprint):
            fresh.resolution = None  # who edits the arguments has not seen what became of the tool, or of its program
        return fresh
    if call.arguments is None:
        raise args.UnreadableArguments("its arguments could not be read; edit them")
    verdict = session.gate.check(spec, call.arguments)
    if verdict.action == "deny":
        raise args.UnreadableArguments(verdict.denial)
    fresh = call.again()
    if (call.ran or call.runs_before) and not (spec.annotations.read_only or spec.annotations.idempotent):
        fresh.must_ask, fresh.resolution = call.must_ask or TWICE, None
    if verdict.action == "ask" and not _approved(call, spec):
        fresh.resolution = None
    return fresh


def _approved(call: CallExecution, spec: ToolSpec) -> bool:
    """Whether a person approved the call, of the tool as it is now: what a mode let run is for the mode of now."""
    by = call.resolution.by if call.resolution else None
    return by is DecidedBy.USER and call.spec is not None and call.spec.fingerprint == spec.fingerprint
