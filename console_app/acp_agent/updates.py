"""Translate events into the updates that an editor is sent. A call is a tool call from the moment its name is known.
One read from text may be taken back until it is about to run, which the protocol has no word for: it is told of
then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, assert_never

from acp import schema

from console_app.acp_agent import tool_calls
from console_app.domain import ToolSpec, event_news, one_line
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, Transcript, TurnView
from console_app.records import dataclass, field

_GRAVE = frozenset({"warning", "error", "critical", "alert", "emergency"})
Update = Any  # one of the SDK's: it has no name for their union


@dataclass(eq=False)
class Updates:
    """Sends the updates of one conversation through `_tell`. `_spec_of` returns a call's tool as it is now."""

    _tell: Callable[[Update], None]
    _spec_of: Callable[[CallView], ToolSpec | None]
    _folder: Path
    _window: Callable[[], int | None]
    _offers: frozenset[str] = frozenset()  # what an editor may take beside the least: notices, compaction
    transcript: Transcript = field(default_factory=Transcript)
    _compactions: int = 0
    _told: set[str] = field(default_factory=set[str])  # ids of the calls that were told of and have not ended
    _news: dict[str, None] = field(default_factory=dict[str, None])  # of them, those with news that was not told yet
    _diffs: dict[str, tool_calls.Contents] = field(default_factory=dict[str, tool_calls.Contents])
    _message: int = 0

    def show(self, event: ev.Event) -> None:
        inside = event_news.is_inside(event)
        if not inside and isinstance(event, ev.MessageAdded) and event.role == "assistant" and event.label is None:
            step = self.transcript.step
            said = step.text if step is not None else ""
            if step is None or step.done or not event.content.startswith(said):
                self.new_message()
                said = ""
            self.say(event.content[len(said) :])
        self.transcript.apply(event)
        if inside:
            return
        match event:
            case ev.TextDelta():
                self.say(event.text)
            case ev.ReasoningDelta() | ev.ThoughtDelta():
                self.think(event.text)
            case ev.TextRevised():  # what was said can't be taken back
                self.new_message()
                self.say(event.text)
            case ev.StepStarted() | ev.TurnStarted():
                self.new_message()
            case ev.TodoChanged():
                self._tell(plan(event.items))
            case ev.UsageReported():
                self._usage()
            case ev.Notice():
                self.note(event.to_user(), grave=event.level in _GRAVE)
            case ev.RetryScheduled():
                self.note(f"{event.why}. The request is sent again in {event.delay:.0f} s.")
            case ev.HistoryCompacted():
                self._compacted(event)
            case (
                ev.CallAnnounced() | ev.CallReady() | ev.CallStarted() | ev.CallQueued() | ev.ApprovalRequested()
                | ev.ApprovalResolved() | ev.CallProgress() | ev.CallLog() | ev.CallOutput() | ev.CallRestarted()
                | ev.CallFinished() | ev.QuestionAsked()
            ):  # fmt: skip
                if (call := self.transcript.calls.get(event.call_id)) is not None:
                    self._call(event, call)
            case ev.CallDropped():
                self._drop(event.call_id)
            case (
                ev.Untold() | ev.Thought() | ev.CallArguments() | ev.CallExtended() | ev.CallDetached() | ev.CallAsked()
                | ev.CallAnswered() | ev.BatchFinished() | ev.MessageAdded() | ev.TurnFinished() | ev.TurnUndone()
            ):  # fmt: skip
                pass
            case _:
                assert_never(event)

    def flush(self) -> None:
        for call_id in self._news:
            if call_id in self._told and (call := self.transcript.calls.get(call_id)) is not None:
                self._update(call_id, content=[*self.diffs(call_id), tool_calls.progress(call)])
        self._news.clear()

    # -- words

    def new_message(self) -> None:
        self._message += 1

    def say(self, text: str) -> None:
        if text:
            self._tell(schema.AgentMessageChunk(
                session_update="agent_message_chunk", content=tool_calls.text(text), message_id=f"m{self._message}"
            ))  # fmt: skip

    def think(self, text: str) -> None:
        if text:
            self._tell(schema.AgentThoughtChunk(
                session_update="agent_thought_chunk", content=tool_calls.text(text), message_id=f"t{self._message}"
            ))  # fmt: skip

    def note(self, words: str, *, grave: bool = False) -> None:
        """Tell words of Fanout: beside the answer where they are `grave`, else among the thoughts."""
        if "notices" in self._offers:
            title, _, rest = words.strip().partition("\n")
            said = {"description": rest} if rest else {}
            severity = "warning" if grave else "info"
            self._tell({"sessionUpdate": "notice", "severity": severity, "title": title or "Fanout", **said})
            return
        self.new_message()
        (self.say if grave else self.think)(f"{words}\n\n")
        self.new_message()

    def _compacted(self, event: ev.HistoryCompacted) -> None:
        if not event.covers:
            return
        if "compaction" not in self._offers:
            self.note(f"A summary stands for the oldest {event.covers} messages from now on.")
            return
        self._compactions += 1
        self._tell({
            "sessionUpdate": "compaction_update", "compactionId": f"c{self._compactions}", "status": "completed",
            "summary": [{"type": "text", "text": event.summary}],
        })  # fmt: skip

    def _usage(self) -> None:
        usage, window = self.transcript.usage, self._window()
        if window:  # without it the protocol has no place for the rest
            cost = None if usage.cost is None else schema.Cost(amount=usage.cost, currency="USD")
            self._tell(schema.UsageUpdate(session_update="usage_update", used=usage.context, size=window, cost=cost))

    # -- calls

    def _call(self, event: ev.Event, call: CallView) -> None:
        if isinstance(event, ev.CallAnnounced | ev.CallReady) and call.origin == "text":
            return
        begun = call.id in self._told
        if not begun and not isinstance(event, ev.CallLog | ev.CallProgress | ev.CallOutput):
            self.begin(call)
        match event:
            case ev.CallReady() if begun:
                self._update(
                    call.id,
                    **tool_calls.shape(call, self._spec_of(call), self._folder),
                    content=self._edits(call) or None,
                )
            case ev.ApprovalResolved(arguments=dict()) | ev.CallRestarted():
                shape = tool_calls.shape(call, self._spec_of(call), self._folder)
                self._update(call.id, status="pending", **shape, content=self._edits(call) or None)
            case ev.CallStarted():
                self._update(call.id, status="in_progress")
            case ev.CallProgress() | ev.CallLog(sure=True) | ev.CallOutput():
                self._news[call.id] = None
            case ev.CallFinished():
                self._end(call)
            case _:
                pass

    def begin(self, call: CallView) -> None:
        self._told.add(call.id)
        self._tell(schema.ToolCallStart(
            session_update="tool_call", tool_call_id=call.id, status="pending", content=self._edits(call) or None,
            **tool_calls.shape(call, self._spec_of(call), self._folder),
        ))  # fmt: skip

    def diffs(self, call_id: str) -> tool_calls.Contents:
        return self._diffs.get(call_id, [])

    def keep_diffs(self, call_id: str, diffs: tool_calls.Contents) -> None:
        self._diffs[call_id] = diffs

    def _edits(self, call: CallView) -> tool_calls.Contents:
        if call.arguments is not None:
            self._diffs[call.id] = tool_calls.edits(call.arguments, self._folder)
        return self.diffs(call.id)

    def _end(self, call: CallView) -> None:
        self._news.pop(call.id, None)
        self._told.discard(call.id)
        self._update(call.id, **tool_calls.ending(call, self._diffs.pop(call.id, [])))

    def _drop(self, call_id: str) -> None:
        if call_id in self._told:
            self._told.discard(call_id)
            self._update(call_id, status="failed", content=[tool_calls.content("This was no call, and did not run.")])

    def _update(self, call_id: str, **fields: Any) -> None:
        self._tell(schema.ToolCallProgress(session_update="tool_call_update", tool_call_id=call_id, **fields))

    # -- what was said before

    def replay(self, transcript: Transcript) -> Iterator[None]:
        """Tell a whole conversation, a step at a time; it is the one that goes on from here."""
        self.transcript = transcript
        for turn in transcript.turns:
            yield from self._replay_turn(turn)
        if transcript.todo:
            self._tell(plan(transcript.todo))
        self._usage()

    def _replay_turn(self, turn: TurnView) -> Iterator[None]:
        self._asked(turn.prompt)
        for step in turn.steps:
            self.new_message()
            self.think(step.reasoning)
            for thought in step.thoughts:
                self.think(f"{thought.text}\n\n")
            for part in step.parts:
                self.say(part.text)
                for call in part.calls:
                    self.begin(call)
                    self._end(call)
            for message in step.steered:
                self._asked(message.source or message.content)
            yield
        for event in self.transcript.compactions:
            if event.turn == turn.number:
                self._compacted(event)
        if turn.error and turn.outcome == "failed":
            self.note(turn.error, grave=True)

    def _asked(self, words: str) -> None:
        self.new_message()
        self._tell(schema.UserMessageChunk(
            session_update="user_message_chunk", content=tool_calls.text(words), message_id=f"u{self._message}"
        ))  # fmt: skip


def plan(items: tuple[ev.TodoItem, ...]) -> schema.AgentPlanUpdate:
    entries = [
        schema.PlanEntry(content=one_line(item.content), priority="medium", status=item.status.value) for item in items
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)
