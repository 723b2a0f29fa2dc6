"""The one fold from events to state: what both front ends, the store and replay know of a conversation.

`Transcript.apply` is called once an event, in order, and touches only what the event names, so a thousand calls cost
no more an event than one. The state is plain and mutable; the conversation's blocks read it when they paint.
"""

from __future__ import annotations

from collections.abc import Sequence

from console_app.domain import events as ev
from console_app.domain.call_changes import apply_to_call
from console_app.domain.errors import ContextOverflow
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.todo import TodoItem
from console_app.domain.tools import CallState
from console_app.domain.transcript_parts import Call, Step, Turn, Usage


class Transcript:
    """State folded from events. Unknown call ids are ignored: a late event of a call can't break the screen."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.calls: dict[str, Call] = {}
        self.open_calls: dict[str, Call] = {}  # those without a result: few, where `calls` may be thousands
        self.history: list[UserMessage | AssistantMessage | ToolMessage] = []
        self.usage = Usage()
        self.session: ev.SessionStarted | None = None
        self.todo: tuple[TodoItem, ...] = ()
        self._compactions: list[ev.HistoryCompacted] = []

    @property
    def compactions(self) -> Sequence[ev.HistoryCompacted]:
        """Those that were not taken back, the oldest first."""
        return self._compactions

    @property
    def compaction(self) -> ev.HistoryCompacted | None:
        """What the model reads in place of older messages, if anything."""
        return self._compactions[-1] if self._compactions else None

    @property
    def overflowed(self) -> bool:
        """Whether the newest turn ended by a request that was too large for the model."""
        turn = self.turn
        return turn is not None and turn.error is not None and turn.error.startswith(f"{ContextOverflow.title}:")

    @property
    def turn(self) -> Turn | None:
        """The newest turn."""
        return self.turns[-1] if self.turns else None

    @property
    def step(self) -> Step | None:
        """The newest step of the newest turn."""
        return self.turns[-1].steps[-1] if self.turns and self.turns[-1].steps else None

    def apply(self, event: ev.Event) -> None:
        """Folds one event in."""
        match event:
            case ev.SessionStarted():
                self.session = event
            case ev.TurnStarted():
                self.turns.append(Turn(event.turn, event.prompt, event.at, len(self.history)))
            case ev.StepStarted():
                if self.turns:
                    self.turns[-1].steps.append(Step(event.step))
            case ev.ReasoningDelta():
                if step := self.step:
                    step.reasoning += event.text
            case ev.TextDelta():
                if step := self.step:
                    step.add_text(event.text)
            case ev.TextRevised():
                if step := self.step:
                    step.set_text(event.text)
            case ev.ThoughtDelta():
                if step := self.step:
                    step.thinking += event.text
                    step.thinking_label = event.label
            case ev.Thought():
                if step := self.step:
                    step.thoughts.append(event)
                    step.thinking, step.thinking_label = "", None
            case ev.TodoChanged():
                self.todo = event.items
            case ev.MessageAdded():
                self._message(event)
            case ev.UsageReported():
                self._usage(event)
            case ev.BatchFinished():
                if step := self.step:
                    step.batch.wall_ms, step.batch.summed_ms = event.wall_ms, event.summed_ms
            case ev.TurnFinished():
                if turn := self.turn:
                    turn.outcome, turn.error, turn.finished_at = event.outcome, event.error, event.at
            case ev.TurnUndone():
                self._undone(event)
            case ev.HistoryCompacted():
                self.usage.stale = True
                if event.covers:
                    self._compactions.append(event)
                elif self._compactions:
                    self._compactions.pop()
            case ev.RetryScheduled() | ev.Notice():
                pass
            case ev.CallAnnounced():
                self._announced(event)
            case ev.CallDropped():
                if (call := self._forget(event.call_id)) and (step := self.step):
                    step.batch.calls[:] = [other for other in step.batch.calls if other is not call]
            case _:
                if call := self.calls.get(event.call_id):
                    apply_to_call(call, event)
                    self._keep_if_open(call)

    def _keep_if_open(self, call: Call) -> None:
        if call.state is CallState.FINISHED:
            self.open_calls.pop(call.id, None)
        else:
            self.open_calls[call.id] = call

    def _message(self, event: ev.MessageAdded) -> None:
        message = event.message
        self.history.append(message)
        if isinstance(message, UserMessage):
            if (turn := self.turn) is not None and message.origin == "user":
                if turn.message is None:
                    turn.message = message
                elif turn.steps:
                    turn.steps[-1].steered.append(message)
            return
        if isinstance(message, ToolMessage):
            # One text, and not two alike: results can be megabytes, and read from a file they came twice.
            if (call := self.calls.get(message.tool_call_id)) is not None and call.content == message.content:
                call.content = message.content
            return
        step = self.step
        if step is not None:
            if step.done:
                # A second message of one answer: what the model gave to `finished`, after the calls beside it.
                step = Step(step.number)
                self.turns[-1].steps.append(step)
            # The stored message is the truth; the deltas before it were only for the eyes.
            if message.label is None:
                step.set_text(message.content)
            step.interrupted, step.done = message.interrupted, True
            if not step.reasoning:
                step.reasoning = "\n\n".join(part.text for part in message.reasoning if part.text)

    def _undone(self, event: ev.TurnUndone) -> None:
        turn = self.turn
        if turn is None or turn.number != event.undone:
            return
        self.turns.pop()
        self.usage.stale = True
        del self.history[turn.begins :]
        self._compactions = [one for one in self._compactions if one.covers <= len(self.history)]
        for step in turn.steps:
            for call in step.batch.calls:
                self._forget(call.id)

    def _usage(self, event: ev.UsageReported) -> None:
        usage = self.usage
        usage.input_tokens += event.input_tokens
        usage.output_tokens += event.output_tokens
        usage.cached_tokens += event.cached_tokens or 0
        if not event.call_id:
            usage.context, usage.stale = event.input_tokens + event.output_tokens, False
        if event.cost is not None:
            usage.cost = (usage.cost or 0.0) + event.cost

    def _announced(self, event: ev.CallAnnounced) -> None:
        step = self.step
        if step is None or event.call_id in self.calls:
            return
        call = Call(
            event.call_id,
            event.index,
            event.name,
            event.server,
            event.tool,
            event.origin,
            event.at,
            news_at=event.at,
        )
        self.calls[event.call_id] = call
        self.open_calls[event.call_id] = call
        step.batch.calls.append(call)

    def _forget(self, call_id: str) -> Call | None:
        self.open_calls.pop(call_id, None)
        return self.calls.pop(call_id, None)
