"""The host of an agent of others that answers a turn: it tells events, asks for calls, and uses tools of ours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from console_app.domain import Message, Outcome, ToolResult, ToolSpec, errors, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.engine.calls import results
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.session import Session
from console_app.engine.step import Step

MOST_EARLIER = 60_000  # characters of what was said before, the newest


class Host:
    """Implements AgentHost, for one prompt. `emit` and `steer` are those of the turn."""

    def __init__(
        self, session: Session, step: Step, number: int, emit: Callable[[ev.Event], None], steer: Callable[[str], None]
    ) -> None:
        self._session, self._step, self._number = session, step, number
        self._emit, self._steer = emit, steer
        self._open: dict[str, None] = {}  # calls that have no result yet
        self._made = 0
        self._ended = False

    def tell(self, event: ev.Event) -> None:
        if isinstance(event, ev.CallAnnounced):
            self._open[event.call_id] = None
        elif isinstance(event, ev.CallFinished | ev.CallDropped):
            self._open.pop(event.call_id, None)
        self._emit(event)

    def new_call_id(self, given: str) -> str:
        self._made += 1
        return self._session.new_call_id(given, f"call_{self._number}_{self._made}")

    def tools(self) -> Collection[str]:
        return [spec.label for spec in self._session.toolset.tools()]

    async def permitted(self, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], why: str) -> ag.Permit:
        self._goes_on()
        call = CallExecution(call_id, 0, spec.name, spec, why=why, closed=True)
        call.arguments = dict(arguments)
        refused = await self._step.approvals.ask(call, spec)
        answer = call.resolution
        if refused is not None and answer is not None and answer.by is ev.DecidedBy.USER and answer.feedback:
            self._steer(f"About {spec.label}, which I denied: {answer.feedback}")  # its protocol has no place for it
        return ag.Permit(refused is None, call.arguments or {})

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self._goes_on()
        spec = next((one for one in self._session.toolset.tools() if one.label == tool), None)
        if spec is None:
            raise errors.ToolError(f"there is no tool {tool} here")
        self._made += 1
        return await self._step.made("", spec, ports.ProgramCall(self._made, tool, dict(arguments), earlier=False))

    def _goes_on(self) -> None:
        if self._ended:
            raise errors.ToolError("the agent has ended")

    def progress(self, words: str) -> None:
        self.tell(ev.Notice(level="info", text=words))

    def end_calls(self) -> None:
        self._ended = True
        result = results.interrupted()
        for call_id in list(self._open):
            self.tell(
                ev.CallFinished(
                    call_id=call_id, outcome=Outcome.INTERRUPTED, content=result.content, error=result.error
                )
            )


def in_words(history: Sequence[Message]) -> str:
    """Return what was said before as the beginning of a prompt; "" where nothing was."""
    said = [f"{one.role}: {one.content}" for one in history if one.role in ("user", "assistant") and one.content]
    text = "\n\n".join(said)[-MOST_EARLIER:]
    opens = "[Fanout: this was said before you were asked; answer what stands below it.]"
    return f"{opens}\n\n{text}\n\n[Fanout: now it says:]\n\n" if text else ""
