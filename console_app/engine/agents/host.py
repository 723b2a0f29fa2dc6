"""The host lets another engine run the task of an agent: it tells events, asks for calls, and uses tools of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from console_app.domain import Outcome, ToolResult, ToolSpec, errors, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.engine.calls import results
from console_app.engine.calls.call_execution import CallExecution

if TYPE_CHECKING:
    from console_app.engine.activity import Activity
    from console_app.engine.agents.child import Relay
    from console_app.engine.session import Session
    from console_app.engine.step import Step


class Host:
    """Implements AgentHost, for the agent of `task` that the model of `session` sent in `activity`."""

    def __init__(
        self,
        session: Session,
        activity: Activity,
        task: ag.AgentTask,
        relay: Relay,
        reporter: ports.CallReporter,
        step: Step | None,
    ) -> None:
        self._session, self._activity, self._task = session, activity, task
        self._relay, self._reporter, self._step = relay, reporter, step
        self._open: dict[str, None] = {}  # calls that have no result yet
        self._made = 0

    def begin(self) -> None:
        """Tell that the conversation begins."""
        kind = self._task.kind.name
        self.tell(
            ev.SessionStarted(
                model=self._task.model or kind,
                provider=kind,
                protocol="native",
                strategy="agentic",
                policy="parallel",
                parent=self._task.call_id,
            )
        )
        self.tell(ev.TurnStarted(prompt=self._task.task))

    def tell(self, event: ev.Event) -> None:
        if self._relay.closed:
            return
        fields = {"agent": self._task.path, "turn": self._activity.number, "step": event.step or 1}
        vars(event).update(fields)
        event.__pydantic_fields_set__.update(fields)
        if isinstance(event, ev.CallAnnounced):
            self._open[event.call_id] = None
        elif isinstance(event, ev.CallFinished | ev.CallDropped):
            self._open.pop(event.call_id, None)
        self._relay.put(event)

    def new_call_id(self, given: str) -> str:
        self._made += 1
        return self._session.new_call_id(given, f"{self._task.call_id}_{self._made}")

    async def permitted(self, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], why: str) -> ag.Permit:
        self._goes_on()
        if self._step is None:
            raise errors.ToolError("nobody can be asked here")
        call = CallExecution(call_id, 0, spec.name, spec, parent=self._task.call_id, closed=True)
        call.arguments = dict(arguments)
        refused = await self._step.approvals.ask(call, spec)
        words = call.resolution.feedback if call.resolution is not None else ""
        return ag.Permit(
            refused is None, call.arguments or {}, words or (refused.content if refused is not None else "")
        )

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self._goes_on()
        specs = {spec.label: spec for spec in self._session.toolset.tools()}
        if tool not in specs or self._step is None:
            raise errors.ToolError(f"there is no tool {tool} here")
        self._made += 1
        asked = ports.ProgramCall(self._made, tool, dict(arguments), earlier=False)
        return await self._step.made(self._task.call_id, specs[tool], asked)

    def _goes_on(self) -> None:
        if self._relay.closed:
            raise errors.ToolError("the agent has ended")

    def progress(self, words: str) -> None:
        self._reporter.progress(0, None, words)

    def end(self, outcome: ev.TurnOutcome, why: str) -> None:
        """End the conversation: what has no result is interrupted. Again does nothing."""
        if self._relay.closed:
            return
        result = results.interrupted()
        for call_id in list(self._open):
            self.tell(
                ev.CallFinished(
                    call_id=call_id, outcome=Outcome.INTERRUPTED, content=result.content, error=result.error
                )
            )
        self.tell(ev.TurnFinished(outcome=outcome, error=why or None))
        self._relay.close()
