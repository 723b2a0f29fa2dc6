"""The one fold from events to state. `Transcript.apply` touches only what an event names, so a thousand calls cost no
more an event than one. The state is plain and mutable; blocks read it when they paint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from console_app.domain import events as ev
from console_app.domain.errors import ContextOverflow
from console_app.domain.events import TodoItem
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallState
from console_app.domain.transcript import results
from console_app.domain.transcript.views import (
    AgentWork,
    CallView,
    LogLine,
    OutputTail,
    SessionUsage,
    StepView,
    SupersededRun,
    TurnView,
)

CallChange = (
    ev.CallArguments
    | ev.CallReady
    | ev.ApprovalRequested
    | ev.ApprovalResolved
    | ev.CallQueued
    | ev.CallStarted
    | ev.CallProgress
    | ev.CallLog
    | ev.CallOutput
    | ev.CallExtended
    | ev.CallDetached
    | ev.CallRestarted
    | ev.QuestionAsked
    | ev.CallAsked
    | ev.CallAnswered
    | ev.CallFinished
)  # what happens to a call that is there

_MOST_NAMED = 8  # agents
_TAIL = 200  # characters of the newest words of an agent
MOST_LOG_LINES = 500  # of a call, on screen; the newest


class Transcript:
    """State folded from events. Unknown call ids are ignored: a late event of a call can't break the screen."""

    def __init__(self) -> None:
        self.turns: list[TurnView] = []
        self.calls: dict[str, CallView] = {}
        self.open_calls: dict[str, CallView] = {}  # those without a result
        self.waiting: set[str] = set()  # of them, those that need the user: few, where others may be thousands
        self.history: list[UserMessage | AssistantMessage | ToolMessage] = []
        self.usage = SessionUsage()
        self.session: ev.SessionStarted | None = None
        self.todo: tuple[TodoItem, ...] = ()
        self.overflowed = False  # the newest request was too large for its model, and nothing was taken out since
        self.shortened: dict[str, int] = {}  # call id -> characters of its result that requests carry
        self.shown_call: ev.ShownCall | None = None  # the newest call that an answer showed and did not make
        self.call_ids: set[str] = set()  # every id that was ever used, also of calls that were undone
        self.native_callers: set[str] = set()  # models that made native calls, undone or not; "" for one not named
        self.last_turn = self.last_seq = 0  # the highest numbers that events carried
        self.agents: dict[str, Transcript] = {}  # the conversation of each agent, by its path
        self._sent_by: dict[str, CallView] = {}  # the call whose work an agent is, by its path
        self.compactions: list[ev.HistoryCompacted] = []

    @classmethod
    def of(cls, events: Iterable[ev.Event]) -> Transcript:
        transcript = cls()
        for event in events:
            transcript.apply(event)
        return transcript

    @classmethod
    def after(cls, earlier: Transcript) -> Transcript:
        transcript = cls()
        transcript.history.extend(earlier.history)
        transcript.compactions = earlier.compactions[-1:]
        transcript.shortened.update(earlier.shortened)
        transcript.native_callers |= earlier.native_callers
        return transcript

    @property
    def compaction(self) -> ev.HistoryCompacted | None:
        """The summary that the model reads in place of older messages, if there is one."""
        return self.compactions[-1] if self.compactions else None

    @property
    def summed_up(self) -> tuple[UserMessage | AssistantMessage | ToolMessage, ...]:
        return tuple(self.history[: self.compaction.covers]) if self.compaction else ()

    @property
    def turn(self) -> TurnView | None:
        return self.turns[-1] if self.turns else None

    @property
    def unanswered(self) -> UserMessage | None:
        """The message of the newest turn, where that ended with nothing else said in it; a note of Fanout's is none."""
        turn = self.turn
        if turn is None or turn.outcome is None or turn.message is None:
            return None
        said = [one for one in self.history[turn.begins :] if not isinstance(one, UserMessage) or one.origin == "user"]
        return turn.message if said == [turn.message] else None

    @property
    def step(self) -> StepView | None:
        return self.turns[-1].steps[-1] if self.turns and self.turns[-1].steps else None

    def agent(self, path: str) -> Transcript:
        if path not in self.agents:
            self.agents[path] = child = Transcript()
            child.call_ids = self.call_ids
        return self.agents[path]

    def apply(self, event: ev.Event) -> None:
        if event.seq > self.last_seq:
            self.last_seq = event.seq
        if event.turn > self.last_turn:
            self.last_turn = event.turn
        if event.agent:
            self._of_agent(event)
        else:
            self._fold(event)

    def _of_agent(self, event: ev.Event) -> None:
        """Fold an agent's event into its conversation. Its calls stand below the one that made them, in each
        conversation above."""
        child = self.agent(event.agent)
        self._works(event)
        match event:
            case ev.SessionStarted():
                if (call := self.calls.get(event.parent)) is not None:
                    call.runs, call.work = event.agent, call.work or AgentWork()
                    call.work.turns = child.turns
                    self._sent_by[event.agent] = call
                child._fold(event)
            case ev.CallAnnounced():
                made_by = self.calls.get(event.parent)
                known = event.call_id in self.calls
                child._fold(event if made_by is None else event.model_copy(update={"index": made_by.index}))
                call = child.calls.get(event.call_id)
                if call is None or made_by is None or known:
                    return
                call.agent, call.depth = event.agent, made_by.depth + 1
                call.folder = child.session.folder if child.session is not None else ""
                for holder in self._above(event.agent):
                    holder._stands_below(call)
            case ev.CallDropped():
                for holder in (child, *self._above(event.agent)):
                    holder._fold(event)
            case ev.UsageReported():
                child._fold(event)
                for holder in self._above(event.agent):
                    holder._usage(event, of_agent=True)
            case _:
                child._fold(event)
                if (call := child.calls.get(getattr(event, "call_id", ""))) is not None:
                    for holder in self._above(event.agent):
                        holder._keep_if_open(call)

    def _works(self, event: ev.Event) -> None:
        """Keep the figures and newest words of an agent, as its call and those above tell them."""
        names = event.agent.split("/")
        for deep in range(len(names), 0, -1):
            call = self._sent_by.get("/".join(names[:deep]))
            if call is None or (work := call.work) is None:
                continue
            call.news_at = max(call.news_at, event.at)
            match event:
                case ev.UsageReported():
                    work.tokens += event.input_tokens + event.output_tokens
                    work.cost = work.cost if event.cost is None else (work.cost or 0.0) + event.cost
                case ev.StepStarted() if deep == len(names):
                    work.steps, work.tail = work.steps + 1, ""
                case ev.CallAnnounced():
                    work.calls += 1
                case ev.Notice() if deep == len(names) and event.level in ("warning", "error"):
                    call.message = one_line(event.to_user(), _TAIL)
                case ev.TextDelta() | ev.ReasoningDelta() if deep == len(names):
                    work.tail = (work.tail + event.text)[-_TAIL:]
                    call.message = results.MARKS.sub("", work.tail.rstrip().rpartition("\n")[2])
                case ev.ApprovalRequested():
                    work.waiting.add(event.call_id)
                case ev.ApprovalResolved() | ev.CallFinished():
                    work.waiting.discard(event.call_id)
                case ev.CallStarted() if (of := self.calls.get(event.call_id)) is not None:
                    main = (of.arguments or {}).values()
                    words = next((value for value in main if isinstance(value, str)), "")
                    call.message = f"{of.tool or of.name} {words}"[:_TAIL]
                case _:
                    pass

    def _above(self, path: str) -> list[Transcript]:
        names = path.split("/")
        return [self, *(self.agent("/".join(names[:deep])) for deep in range(1, len(names)))]

    def _stands_below(self, call: CallView) -> None:
        if call.id in self.calls:
            return
        self.calls[call.id] = self.open_calls[call.id] = call
        for turn in reversed(self.turns):
            for step in reversed(turn.steps):
                calls = step.batch.calls
                for place in range(len(calls), 0, -1):
                    if calls[place - 1].id == call.parent or self.is_below(calls[place - 1], call.parent):
                        calls.insert(place, call)
                        return

    def what_is_cut(self) -> str:
        """Say which calls and agents are cut off if all ends now; "" for none."""
        runs = [call.id for call in self.open_calls.values() if call.state is not CallState.FINISHED]
        count = sum(self.calls[one].joins and not self.calls[one].agent for one in runs)
        if not count:
            return ""
        calls, them = ("1 call was", "it") if count == 1 else (f"{count} calls were", "them")
        sent = [call for call in self.calls.values() if call.runs and not call.agent]
        cut = [one_line(call.runs, 40) for call in sent if call.id in runs]
        ended = [one_line(call.runs, 40) for call in sent if call.id not in runs]
        agents = f" Agents that were cut off: {', '.join(cut[-_MOST_NAMED:])}." if cut else ""
        finished = f" Agents that had finished: {', '.join(ended[-_MOST_NAMED:])}." if cut and ended else ""
        return f"{calls} cut off: /retry runs {them} again.{agents}{finished}"

    def call_of_agent(self, path: str) -> str:
        """Return the id of the call whose work the agent is; "" where none is known."""
        return call.id if (call := self._sent_by.get(path)) is not None else ""

    def _top(self, call: CallView) -> CallView:
        while (above := self.calls.get(call.parent)) is not None:
            call = above
        return call

    def is_below(self, call: CallView, above: str) -> bool:
        while call.parent and call.parent != above and call.parent in self.calls:
            call = self.calls[call.parent]
        return call.parent == above

    def _fold(self, event: ev.Event) -> None:
        match event:
            case ev.TextDelta():  # by far the most, so first
                if step := self.step:
                    step.visible.add(event.text)
            case ev.SessionStarted():
                self.session = event
                self.native_callers.update(event.native_callers)
            case ev.TurnStarted():
                self.turns.append(TurnView(event.turn, event.prompt, event.at, len(self.history)))
            case ev.StepStarted():
                if self.turns:
                    self.turns[-1].steps.append(StepView(event.step))
            case ev.ReasoningDelta():
                if step := self.step:
                    step.reasoned.add(event.text)
            case ev.TextRevised():
                if step := self.step:
                    step.visible.set(event.text)
            case ev.ThoughtDelta():
                if step := self.step:
                    step.thinking_aloud.add(event.text)
                    step.thinking_label = event.label
            case ev.Thought():
                if step := self.step:
                    step.thoughts.append(event)
                    step.thinking_label = None
                    step.thinking_aloud.set("")
            case ev.TodoChanged():
                self.todo = event.items
            case ev.AnswerKept():
                self._kept(event)
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
                if (event.error or "").startswith(f"{ContextOverflow.title}:"):
                    self.overflowed = True
            case ev.TurnUndone():
                self._undone(event)
            case ev.HistoryCompacted():
                self.usage.stale, self.overflowed = True, False
                if event.covers:
                    self.compactions.append(event)
                elif self.compactions:
                    self.compactions.pop()
            case ev.Notice():
                self.shown_call = event.shown or self.shown_call
                if event.shortened:
                    self.shortened.update(event.shortened)
                    self.usage.stale, self.overflowed = True, False
                if not (source := event.without_reasoning_of):
                    return
                for place, message in enumerate(self.history):
                    if isinstance(message, AssistantMessage) and message.reasoning:
                        kept = tuple(block for block in message.reasoning if block.data.get("source", source) != source)
                        self.history[place] = message.model_copy(update={"reasoning": kept})
            case ev.RetryScheduled():
                pass
            case ev.CallAnnounced():
                self._announced(event)
            case ev.CallDropped():
                if (call := self._forget(event.call_id)) and (step := self.step):
                    step.batch.calls[:] = [other for other in step.batch.calls if other is not call]
            case _:
                if call := self.calls.get(event.call_id):
                    _apply_to_call(call, event)
                    self._keep_if_open(call)

    def _keep_if_open(self, call: CallView) -> None:
        if call.state is CallState.FINISHED:
            self.open_calls.pop(call.id, None)
        else:
            self.open_calls[call.id] = call
        if call.waits_for_you:
            self.waiting.add(call.id)
        else:
            self.waiting.discard(call.id)

    def _kept(self, event: ev.AnswerKept) -> None:
        if (step := self.step) is None:
            return
        step.endpoint = event.endpoint or step.endpoint
        if event.reasoning is not None:
            if step.kept_partial:
                step.kept.pop()
            step.kept.append(event.reasoning)
            step.kept_partial = event.partial
        elif not event.call_id:
            step.provider_data = event.provider_data
        elif call := self.calls.get(event.call_id):
            call.provider_data = event.provider_data

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
        self.call_ids.update(call.id for call in message.tool_calls)
        self.native_callers.update(call.model for call in message.tool_calls if call.origin == "native")
        if message.content and not message.interrupted:
            self.overflowed = False
        step = self.step
        if step is not None:
            if step.done:
                # A second message of one answer: what the model gave to `finished`, after the calls beside it.
                step = StepView(step.number)
                self.turns[-1].steps.append(step)
            # The stored message is the truth; the deltas before it were only for the eyes.
            if message.label is None:
                step.visible.set(message.content)
            step.interrupted, step.done = message.interrupted, True
            step.kept.clear()  # the message has them
            step.kept_partial = False
            if not step.reasoning:
                step.reasoned.set("\n\n".join(part.text for part in message.reasoning if part.text))

    def _undone(self, event: ev.TurnUndone) -> None:
        turn = self.turn
        if turn is None or turn.number != event.undone:
            return
        self.turns.pop()
        self.usage.stale, self.overflowed = True, False
        del self.history[turn.begins :]
        self.compactions = [one for one in self.compactions if one.covers <= len(self.history)]
        for call in turn.calls:
            self._forget(call.id)
            self.agents.pop(call.runs, None)

    def _usage(self, event: ev.UsageReported, *, of_agent: bool = False) -> None:
        usage = self.usage
        usage.input_tokens += event.input_tokens
        usage.output_tokens += event.output_tokens
        usage.cached_tokens += event.cached_tokens or 0
        if not event.call_id and not of_agent:
            usage.context, usage.stale, self.overflowed = event.input_tokens + event.output_tokens, False, False
        if event.cost is not None:
            usage.cost = (usage.cost or 0.0) + event.cost
        if (turn := self.turn) is not None and turn.outcome is None:
            turn.tokens += event.input_tokens + event.output_tokens
            if event.cost is not None:
                turn.cost = (turn.cost or 0.0) + event.cost

    def _announced(self, event: ev.CallAnnounced) -> None:
        step = self.step
        if step is None or event.call_id in self.calls:
            return
        call = CallView(
            event.call_id,
            event.index,
            event.name,
            event.server,
            event.tool,
            event.origin,
            event.at,
            dialect=event.dialect,
            parent=event.parent,
            step=step.number,
            behind=event.behind,
            joins=event.origin != "provider",
            news_at=event.at,
        )
        self.call_ids.add(event.call_id)
        if (above := self.calls.get(event.parent)) is not None:
            call.depth = above.depth + 1
            call.joins = call.joins and above.origin == "provider"
            self._stands_below(call)
            return
        self.calls[event.call_id] = call
        self.open_calls[event.call_id] = call
        calls = step.batch.calls
        place = len(calls)
        while (  # those that the provider runs are counted by themselves, and are told of as they come
            place
            and (other := self._top(calls[place - 1])).index > call.index
            and (call.origin == "provider") == (other.origin == "provider")
        ):
            place -= 1
        calls.insert(place, call)
        for other in calls[place + 1 :]:  # calls that were typed are told of as their servers come up
            self.calls[other.id] = self.calls.pop(other.id)

    def _forget(self, call_id: str) -> CallView | None:
        self.open_calls.pop(call_id, None)
        self.waiting.discard(call_id)
        self.shortened.pop(call_id, None)
        return self.calls.pop(call_id, None)


def _apply_to_call(call: CallView, event: CallChange) -> None:
    if not isinstance(event, ev.CallProgress | ev.CallLog | ev.CallOutput):
        call.news_at = call.counts_from = event.at
    elif event.news:
        call.news_at = event.at
    match event:
        case ev.CallArguments():
            call.arriving.add(event.delta)
        case ev.CallReady():
            call.arguments = call.written = event.arguments
            call.ready_at = event.at
            call.raw, call.repaired, call.hooked = event.raw, event.repaired, event.hooked
        case ev.ApprovalRequested():
            call.state, call.why, call.always_asks = CallState.WAITING, event.why, event.always
            call.form, call.passage = event.form, event.passage
            if not call.waits or call.waits[-1][1] is not None:  # else it is asked anew while it waits
                call.waits.append((event.at, None))
        case ev.ApprovalResolved():
            call.decided.append(event)
            call.state, call.why = CallState.ANNOUNCED, ""
            _waited(call, event.at)
            if event.arguments is not None:
                call.arguments, call.edited = event.arguments, True
        case ev.CallQueued():
            call.state, call.why = CallState.QUEUED, event.why
        case ev.CallStarted():
            call.state, call.why, call.started_at, call.limit = CallState.RUNNING, "", event.at, event.limit
        case ev.CallProgress():
            call.progress, call.total = event.progress, event.total
            if event.message is not None:
                call.message = event.message
        case ev.CallLog():
            if not event.sure:
                return
            call.log.append(LogLine(event.at, event.level, event.text, event.dropped))
            call.logged += 1 + event.dropped
            call.dropped += event.dropped
            call.message = event.text
            if len(call.log) > MOST_LOG_LINES:
                del call.log[: MOST_LOG_LINES // 5]
        case ev.CallOutput():
            call.output = call.output or OutputTail()
            call.output.add(event.stream, event.text, event.offset)
        case ev.CallExtended():  # it is news, as all of these are but progress and lines that say nothing new
            call.limit = call.limit if event.limit is None else event.limit
        case ev.CallDetached():
            call.detached = True
        case ev.CallRestarted():
            _restarted(call, event)
        case ev.QuestionAsked():
            call.question, call.options = event.question, event.options
        case ev.CallAsked():
            if not event.sure:
                return
            if not call.asked:
                call.waits.append((event.at, None))
            call.asked.append(event.what)
        case ev.CallAnswered():
            if event.what in call.asked:
                call.asked.remove(event.what)
            if not call.asked:
                _waited(call, event.at)
        case ev.CallFinished():
            _finished(call, event)
        case _:
            assert_never(event)


def _waited(call: CallView, until: float) -> None:
    if call.waits and call.waits[-1][1] is None:
        call.waits[-1] = (call.waits[-1][0], until)


def _restarted(call: CallView, event: ev.CallRestarted) -> None:
    call.superseded.append(
        SupersededRun(
            call.arguments,
            call.outcome,
            call.content,
            call.error,
            call.started_at,
            call.finished_at,
            call.duration_ms,
        )
    )
    call.attempt, call.state, call.why = event.attempt, CallState.ANNOUNCED, ""
    if event.arguments is not None:
        call.arguments, call.edited = event.arguments, True
    call.started_at = call.finished_at = call.progress = call.total = None
    call.outcome = call.error = call.output = None
    call.message, call.content, call.artifacts, call.duration_ms, call.question = "", "", (), 0, ""
    call.asked.clear()
    call.detached = call.by_user = False
    _waited(call, event.at)


def _finished(call: CallView, event: ev.CallFinished) -> None:
    if call.state is CallState.FINISHED:
        return  # one result a run: the first stands
    _waited(call, event.at)
    call.state, call.outcome, call.finished_at = CallState.FINISHED, event.outcome, event.at
    call.content, call.error, call.artifacts = event.content, event.error, event.artifacts
    call.duration_ms, call.structured, call.by_user = event.duration_ms, event.structured, event.by_user
    if call.output is not None:
        call.output.cut()
    if call.arguments is not None:
        call.arriving.set("")  # read, they are kept as `arguments`
