"""A session where it is cut: the places at which it can be forked, another result put among its events, and the events
that end a turn truthfully whose console died in it. The answer is kept and marked, calls without a result get
`interrupted`, and the turn ends as cancelled. Nothing runs again by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from console_app.domain import (
    AssistantMessage,
    CallState,
    Outcome,
    Reasoning,
    ToolCall,
    ToolMessage,
    UsageError,
    UserMessage,
    one_line,
)
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, StepView, ToModel, Transcript
from console_app.records import dataclass, replace

INTERRUPTED = "Interrupted before completion."
MOST_SENT = 50  # lines


def closing_events(events: Sequence[ev.Event], why: str = ev.CONSOLE_ENDED) -> list[ev.Event]:
    """Return the events to append to a session, drafts among its events, so that its last turn is over."""
    if not _is_open(events):
        return []
    transcript = Transcript.of(events)
    turn, newest = transcript.turn, events[-1]
    if turn is None:
        return []
    # They happened when the last thing did, not when somebody looked: a lane must not grow by a night.
    common = {"session_id": newest.session_id, "turn": turn.number, "step": newest.step, "at": newest.at}
    return _Closing(newest.seq, common, why).of(transcript)


def _is_open(events: Sequence[ev.Event]) -> bool:
    """Return whether the last turn, or a call that was run again since, never ended; without folding a long session."""
    ended: set[str] = set()
    for event in reversed(events):
        match event:
            case ev.TurnStarted() if not event.agent:
                return True
            case ev.TurnFinished() | ev.TurnUndone() if not event.agent:
                return _runs_beside(events)
            case ev.CallFinished():
                ended.add(event.call_id)
            case ev.CallRestarted() if event.call_id not in ended:
                return True
            case _:
                pass
    return False


def _runs_beside(events: Sequence[ev.Event]) -> bool:
    left: set[str] = set()
    for event in events:
        if isinstance(event, ev.CallDetached):
            left.add(event.call_id)
        elif left and isinstance(event, ev.CallFinished):
            left.discard(event.call_id)
    return bool(left)


class _Closing:
    def __init__(self, seq: int, common: dict[str, Any], why: str) -> None:
        self._seq, self._why = seq, why
        self._common: dict[str, Any] = common
        self._events: list[ev.Event] = []

    def _add(self, kind: type[ev.Event], **fields: Any) -> None:
        self._seq += 1
        self._events.append(kind(**self._common, seq=self._seq, **fields))

    def of(self, transcript: Transcript) -> list[ev.Event]:
        for path in sorted(transcript.agents, key=lambda path: path.count("/"), reverse=True):
            self._agent(path, transcript.agents[path])
        step = transcript.step
        if step is not None:
            self._answer(step, transcript)
            self._results(step, transcript)
        if again := transcript.what_is_cut():
            self._add(ev.Notice, level="warning", text=again)
        if transcript.turns[-1].outcome is None:
            self._add(ev.TurnFinished, outcome="cancelled", error=self._why)
        return self._events

    def _agent(self, path: str, transcript: Transcript) -> None:
        if (turn := transcript.turn) is None or turn.outcome is not None:
            return
        before: dict[str, Any] = self._common
        self._common = {**before, "agent": path}
        if (step := transcript.step) is not None:
            self._answer(step, transcript, path)
            self._results(step, transcript, path)
        self._add(ev.TurnFinished, outcome="cancelled", error=self._why)
        turn.finished_at = before["at"]
        self._common = before

    def _answer(self, step: StepView, transcript: Transcript, agent: str = "") -> None:
        """Add the shown part of the answer to the history, with the calls that were read whole."""
        if step.thinking and step.thinking_label is not None:
            self._add(ev.Thought, label=step.thinking_label, text=step.thinking)
        if step.done:
            return
        # A cut thought has no signature, so it gets no provider and is never sent; the user can still read it.
        unkept = step.reasoning.removeprefix("".join(block.text for block in step.kept))
        cut = (Reasoning(provider="", text=unkept),) if unkept.strip() else ()
        from_drafts = AssistantMessage(
            content=step.text,
            tool_calls=tuple(_as_call(call, _model(transcript)) for call in _joining(step, transcript, agent)),
            reasoning=(*step.kept, *cut),
            interrupted=True,
            endpoint=step.endpoint,
            provider_data=step.provider_data,
        )
        if from_drafts.content or from_drafts.tool_calls or from_drafts.reasoning:
            self._add(ev.MessageAdded, **ev.MessageAdded.fields_of(from_drafts))

    def _cut_beside(self, call: CallView) -> None:
        text = f"[Fanout: the call {call.name}, which went to the background, was interrupted.{_so_far(call)}]"
        message = UserMessage(content=text, origin="fanout", tells=call.id)
        self._add(ev.MessageAdded, **ev.MessageAdded.fields_of(message))

    def _results(self, step: StepView, transcript: Transcript, agent: str = "") -> None:
        recorded = {message.tool_call_id for message in transcript.history if isinstance(message, ToolMessage)}
        for call in transcript.calls.values():  # one of an older answer may have been running again
            if call.state is not CallState.FINISHED and call.agent == agent:
                had = transcript.agents.get(call.runs)
                self._add(
                    ev.CallFinished,
                    call_id=call.id,
                    outcome=Outcome.INTERRUPTED,
                    content=INTERRUPTED + (f"\n{ag.account(had, self._common['at'])}" if had else _so_far(call)),
                    error=INTERRUPTED,
                    duration_ms=0
                    if call.started_at is None
                    else max(round((self._common["at"] - call.started_at) * 1000), 0),
                )
                if call.detached and call.id in recorded:
                    self._cut_beside(call)
        for call in _joining(step, transcript, agent):
            if call.id in recorded:
                continue
            message = ToolMessage(
                tool_call_id=call.id,
                content=call.content if call.outcome is not None else INTERRUPTED,
                name=call.name,
                outcome=call.outcome or Outcome.INTERRUPTED,
            )
            self._add(ev.MessageAdded, **ev.MessageAdded.fields_of(message))


def _joining(step: StepView, transcript: Transcript, agent: str) -> list[CallView]:
    calls = [call for call in transcript.turns[-1].calls if call.joins and call.agent == agent]
    return sorted((call for call in calls if call.step == step.number), key=lambda call: call.index)


def _so_far(call: CallView) -> str:
    lines = call.output.plain_lines(MOST_SENT) if call.output is not None else []
    return "\n".join([" It had sent so far:", *lines]) if lines else ""


def _model(transcript: Transcript) -> str:
    answers = (message for message in reversed(transcript.history) if isinstance(message, AssistantMessage))
    newest = next((call.model for message in answers for call in message.tool_calls), "")
    session = transcript.session
    return newest or (f"{session.provider}/{session.model}" if session is not None else "")


def _as_call(call: CallView, model: str) -> ToolCall:
    arguments = json.dumps(call.written, ensure_ascii=False) if call.written is not None else "{}"
    return ToolCall(
        id=call.id,
        name=call.name,
        arguments=arguments,
        origin="text" if call.origin == "text" else "native",
        raw=call.raw,
        repaired=call.repaired,
        model=model,
        whole=call.written is not None,
        provider_data=call.provider_data,
    )


_TITLE = 100  # characters of a message that tell it from the others


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """A place: the fork has the events up to `up_to`. `prompt` comes next there, to be sent again or otherwise."""

    label: str
    up_to: int
    turn: int
    prompt: str = ""

    @classmethod
    def all_of(cls, events: Sequence[ev.Event]) -> list[ForkPoint]:
        found: list[ForkPoint] = []
        answer: ForkPoint | None = None
        for event in events:
            if event.agent:
                continue
            match event:
                case ev.TurnStarted():
                    found.append(
                        cls(f"before: {one_line(event.prompt, _TITLE)}", event.seq - 1, event.turn, event.prompt)
                    )
                case ev.MessageAdded() if event.role == "assistant":
                    if answer is not None:
                        found.append(answer)
                    answer = cls(_label(event), event.seq, event.turn)
                case ev.MessageAdded() | ev.TurnFinished() if answer is not None:
                    answer = replace(answer, up_to=event.seq)
                case ev.TurnUndone():
                    found = [
                        replace(place, label=f"{place.label} (undone)") if place.turn == event.undone else place
                        for place in found
                    ]
                case _:
                    pass
            if answer is not None and isinstance(event, ev.StepStarted | ev.TurnFinished):
                found.append(answer)
                answer = None
        return found if answer is None else [*found, answer]

    @staticmethod
    def end_of(events: Sequence[ev.Event], turn: int) -> int | None:
        return max((event.seq for event in events if event.turn == turn), default=None)


def _label(event: ev.MessageAdded) -> str:
    calls = event.tool_calls or ()
    count = f"{len(calls)} call{'' if len(calls) == 1 else 's'}" if calls else ""
    text = one_line(event.content, _TITLE)
    return f"after: {' · '.join(part for part in (text, count) if part) or 'an empty answer'}"


_PLACE = ("session_id", "turn", "step", "seq", "at")


@dataclass(frozen=True, slots=True)
class OtherResult:
    call_id: str
    content: str

    def put_into(self, events: Sequence[ev.Event]) -> list[ev.Event]:
        """Return events up to the results of the call's answer, with this one as the user's. Raises UsageError for a
        call without a result."""
        own = next((at for at, event in enumerate(events) if self._joins(event)), None)
        if own is None:
            raise UsageError("the model read no result of this call")
        end = own + 1
        while end < len(events) and _goes_along(events[end]):
            end += 1
        kept = [
            event for event in events[:end] if not (isinstance(event, ev.CallOutput) and event.call_id == self.call_id)
        ]
        ends = (isinstance(event, ev.CallFinished) and event.call_id == self.call_id for event in kept)
        finished = max((at for at, is_end in enumerate(ends) if is_end), default=-1)
        return [self._put(event) if at == finished or self._joins(event) else event for at, event in enumerate(kept)]

    def _joins(self, event: ev.Event) -> bool:
        return isinstance(event, ev.MessageAdded) and event.role == "tool" and event.tool_call_id == self.call_id

    def _put(self, event: ev.Event) -> ev.Event:
        place: dict[str, Any] = {name: getattr(event, name) for name in _PLACE}
        if isinstance(event, ev.CallFinished):
            return ev.CallFinished(
                **place,
                call_id=self.call_id,
                outcome=Outcome.SUCCEEDED,
                content=self.content,
                duration_ms=event.duration_ms,
                by_user=True,
            )
        assert isinstance(event, ev.MessageAdded)
        message = ToolMessage(
            tool_call_id=self.call_id, content=f"{ToModel.YOURS}\n\n{self.content}", name=event.name or ""
        )
        return ev.MessageAdded(**place, **ev.MessageAdded.fields_of(message))


def _goes_along(event: ev.Event) -> bool:
    if event.agent:
        return True
    if isinstance(event, ev.MessageAdded):
        return event.role == "tool"
    return not isinstance(event, ev.StepStarted | ev.TurnFinished | ev.CallRestarted | ev.TurnStarted)
