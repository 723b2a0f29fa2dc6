"""Asks the programs of the user's hooks before and after a call. A hook can forbid a call, have a person asked, or
change what will run, which is shown. Its allowing spares only the mode's question, no rule and nothing that always
asks."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any

from console_app.domain import Decision, Outcome, ToolResult, ToolSpec, ports
from console_app.domain import events as ev
from console_app.domain import schema as json_schema
from console_app.engine.calls import results
from console_app.engine.calls.call_execution import CallExecution, Resolution
from console_app.engine.session import Session

_SOON = 0.5  # seconds after which a hook that has not answered is told of
_MOST_RESPONSE = 100_000  # characters of a result that hooks are told


class CallHooks:
    """The hooks of the calls of one step. `record` keeps the decision on a call and tells it."""

    def __init__(
        self, session: Session, emit: Callable[[ev.Event], None], record: Callable[[CallExecution, Resolution], None]
    ) -> None:
        self._session = session
        self._emit = emit
        self._record = record

    async def before(self, call: CallExecution, spec: ToolSpec) -> ToolResult | None:
        """Ask the hooks of a call; None where it goes on, else its result. To a person's decision a hook can only say
        no."""
        decided = call.resolution
        heard = await self._heard("PreToolUse", call, spec, {})
        if heard is None:
            return None
        arguments = call.arguments or {}
        changed = dict(heard.arguments) if heard.arguments not in (None, arguments) else None
        why = (heard.reason or heard.block or "no reason was given") if heard.permission == "deny" else ""
        if not why and changed is not None and (wrong := json_schema.arguments_problem(spec.input_schema, changed)):
            why = f"it changed the arguments, and they don't fit the tool: {wrong}"
        if not why and changed is not None and decided is not None and decided.arguments is not None:
            why = "it would change the arguments that you edited"
        if why:
            self._record(call, Resolution(Decision.DENY, ev.DecidedBy.HOOK, feedback=why))
            return results.not_approved(f"a hook denied it: {why}")
        call.hooked_context = heard.context
        if decided is not None:
            return None
        if changed is not None:
            call.arguments = call.hooked = changed
            shown = copy.deepcopy(changed)
            self._emit(
                ev.CallReady(call_id=call.id, arguments=shown, raw=call.raw, repaired=call.repaired, hooked=True)
            )
        if heard.permission == "ask" and (asks := f"a hook asks: {heard.reason}".rstrip(" :")) not in call.must_ask:
            call.must_ask = "; ".join(filter(None, (call.must_ask, asks)))
        call.hook_allows = heard.permission == "allow"
        return None

    async def after(self, call: CallExecution, spec: ToolSpec, result: ToolResult) -> ToolResult:
        content = result.content[:_MOST_RESPONSE]
        response = {"content": content, "is_error": result.outcome is not Outcome.SUCCEEDED}
        call.holds += 1
        try:
            heard = await self._heard("PostToolUse", call, spec, {"tool_response": response})
        finally:
            call.holds -= 1
        words = [f"[Fanout: a hook says: {call.hooked_context}]"] if call.hooked_context else []
        if heard is not None:
            words += [f"[Fanout: a hook objects: {heard.block}]"] if heard.block else []
            words += [f"[Fanout: a hook says: {heard.context}]"] if heard.context else []
        text = "\n\n".join((result.content, *words))
        return result.model_copy(update={"content": text}) if words else result

    async def _heard(
        self, event: str, call: CallExecution, spec: ToolSpec, more: Mapping[str, Any]
    ) -> ports.Heard | None:
        place, names = self._session.workplace, (f"mcp__{spec.server}__{spec.tool}", spec.label, spec.name)
        if place is None or spec.builtin or not place.asks(event, names):
            return None
        told = {"tool_name": names[0], "tool_input": copy.deepcopy(call.arguments or {}), "tool_use_id": call.id}
        said = asyncio.get_running_loop().call_later(_SOON, self._say_asked, event, call)
        try:
            heard = await place.ask(ports.Happening(event, names, {**in_session(self._session), **told, **more}))
        finally:
            said.cancel()
        for line in heard.notices:
            self._emit(ev.Notice(level="warning", text=line))
        return heard

    def _say_asked(self, event: str, call: CallExecution) -> None:
        if call.result is None and event == "PreToolUse":
            self._emit(ev.CallQueued(call_id=call.id, why="a hook is asked"))
        elif call.result is None:
            self._emit(ev.CallLog(call_id=call.id, level="info", text="a hook is asked about the result"))


def in_session(session: Session) -> dict[str, Any]:
    return {"session_id": session.stamper.session_id, "permission_mode": session.gate.mode.value}


async def at_event(session: Session, event: str, emit: Callable[[ev.Event], None], **told: Any) -> ports.Heard:
    if session.workplace is None or not session.workplace.asks(event):
        return ports.Heard()
    session.beside = "asking hooks", session.stamper.clock()
    try:
        heard = await session.workplace.ask(ports.Happening(event, (), {**in_session(session), **told}))
    finally:
        session.beside = None
    for line in heard.notices:
        emit(ev.Notice(level="warning", text=line))
    return heard
