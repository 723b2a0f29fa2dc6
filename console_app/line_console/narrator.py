"""Tells what happens, an event after the other: each thing once, as a line, in its order. Floods are counted, not told.

An answer is printed line by line as its lines are whole. The log of a call is printed only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from console_app.domain import amounts, call_description, event_news, one_line
from console_app.domain import events as ev
from console_app.domain.transcript import GO_ON, CallView
from console_app.headless import compaction_line
from console_app.line_console.call_numbers import CallNumbers
from console_app.line_console.wording import brief_arguments, came_of, label_of

_QUARTERS = 4  # of a call's progress that are told
_ENDINGS = {
    "completed": "Done",
    "cancelled": "Stopped",
    "failed": "Failed",
    "step_limit": "Stopped at the step limit",
}


class Narrator:
    """Folds events into the transcript of `numbers` and prints them. `approval` asks for a call, `question` prints its
    question."""

    def __init__(
        self,
        numbers: CallNumbers,
        say: Callable[[str], None],
        approval: Callable[[CallView], None],
        question: Callable[[CallView], None],
    ) -> None:
        self._numbers = numbers
        self._say = say
        self._approval = approval
        self._question = question
        self.forget()

    def forget(self) -> None:
        """Another conversation is told of."""
        self._answer = ""  # as far as it came
        self._said = 0  # characters of it
        self._thinks = False
        self._asked: set[str] = set()  # calls whose approval was asked for
        self._quarter: dict[str, int] = {}

    def tell(self, event: ev.Event) -> None:
        """One event, in order."""
        self._numbers.transcript.apply(event)
        if event_news.is_inside(event):
            return
        match event:
            case ev.TurnStarted():
                self._say(f"Turn {self._numbers.transcript.turns[-1].number} begins.")
            case ev.StepStarted():
                self._thinks = False
            case ev.ReasoningDelta() | ev.ThoughtDelta():
                if not self._thinks:
                    self._thinks = True
                    self._say("Thinking.")
            case ev.TextDelta():
                self._answer += event.text
                self._say_answer(self._answer.rfind("\n") + 1)
            case ev.TextRevised():
                self._revised(event.text)
            case ev.MessageAdded():
                self._message(event)
            case ev.Thought():
                self._say(f"{event.label}: {event.text}")
            case ev.RetryScheduled():
                of = f" of {event.most}" if event.most else ""
                self._say(f"Retrying in {event.delay:.0f} seconds, {event.attempt}{of}: {one_line(event.why, 300)}")
            case ev.Notice():
                if event.level != "debug":
                    self._say(f"{event.level.capitalize()}: {event.to_user}")
            case ev.TodoChanged():
                self._todo(event)
            case ev.HistoryCompacted():
                self._say(compaction_line(event))
            case ev.BatchFinished():
                self._batch(event)
            case ev.TurnFinished():
                self._turn_finished(event)
            case (
                ev.CallAnnounced() | ev.CallArguments() | ev.CallDropped() | ev.CallReady() | ev.ApprovalRequested()
                | ev.ApprovalResolved() | ev.CallQueued() | ev.CallStarted() | ev.CallProgress() | ev.CallLog()
                | ev.CallOutput() | ev.CallExtended()
                | ev.CallDetached() | ev.CallRestarted() | ev.QuestionAsked() | ev.CallAsked()
                | ev.CallAnswered() | ev.CallFinished()
            ):  # fmt: skip
                self._call(event)
            case ev.SessionStarted() | ev.UsageReported() | ev.TurnUndone() | ev.AnswerKept():
                pass
            case _:
                assert_never(event)

    # An answer

    def _say_answer(self, up_to: int) -> None:
        if up_to > self._said:
            if text := self._answer[self._said : up_to].strip("\n"):
                self._say(text)
            self._said = up_to

    def _revised(self, text: str) -> None:
        if not text.startswith(self._answer[: self._said]):
            self._said = 0  # what was said can't be taken back: the mended text follows it
        self._answer = text
        self._say_answer(text.rfind("\n") + 1)

    def _message(self, event: ev.MessageAdded) -> None:
        if event.role != "assistant":
            return
        if event.label is None:
            self._answer = self._answer or event.content
            self._say_answer(len(self._answer))
        if event.interrupted:
            self._say("The answer was cut off here.")
        self._answer, self._said = "", 0

    # Calls

    def _call(self, event: ev.Event) -> None:
        transcript = self._numbers.transcript
        call = transcript.calls.get(getattr(event, "call_id", ""))
        if isinstance(event, ev.CallDropped):
            self._say(f"Call {self._numbers.of(event.call_id)} was none: the answer only looked like a call.")
        if call is None:
            return
        name = f"{call.indent}Call {self._numbers.of(call.id)}"
        match event:
            case ev.CallAnnounced() if not call.is_agent:
                self._say_answer(len(self._answer))
                self._say(f"{name}: {label_of(call)}.")
            case ev.CallReady() if call.is_agent:  # before that nobody knows which agent
                self._say_answer(len(self._answer))
                self._say(f"{name}: {label_of(call)}.")
            case ev.ApprovalRequested():
                self._asked.add(call.id)
                self._approval(call)
            case ev.ApprovalResolved():
                self._resolved(name, call, event)
            case ev.CallQueued():
                self._say(f"{name} is queued: {one_line(event.why, 120)}.")
            case ev.CallStarted():
                arguments = "" if call.id in self._asked else brief_arguments(call.arguments)
                again = f" again, attempt {call.attempt}" if call.attempt > 1 else ""
                self._say(f"{name} runs{again}{f': {arguments}' if arguments else ''}.")
            case ev.CallProgress():
                self._progress(name, event)
            case ev.CallExtended():
                waits = f"waits {event.limit:.0f} seconds more for the results of its calls" if event.limit else ""
                self._say(f"{name} {waits or 'has its whole time again'}.")
            case ev.CallDetached():
                self._say(f"{name} goes on in the background.")
            case ev.CallRestarted():
                self._quarter.pop(call.id, None)
                self._asked.discard(call.id)  # it is said to run again once it does
            case ev.QuestionAsked():
                self._question(call)
            case ev.CallAnswered():
                self._say(f"{name}, {one_line(event.what, 160)}: {event.how}.")
            case ev.CallFinished():
                self._say(f"{name}, {label_of(call)}, {came_of(call)}")
            case _:
                pass

    def _resolved(self, name: str, call: CallView, event: ev.ApprovalResolved) -> None:
        allowed = event.decision is ev.Decision.ALLOW
        if allowed and event.by is not ev.DecidedBy.USER and call.id not in self._asked:
            return  # it simply runs
        self._say(f"{name} is {call_description.decided_in_words(event)}.")

    def _progress(self, name: str, event: ev.CallProgress) -> None:
        if not event.total or event.total <= 0 or event.progress >= event.total:
            return
        quarter = int(event.progress / event.total * _QUARTERS)
        if quarter > self._quarter.get(event.call_id, 0):
            self._quarter[event.call_id] = quarter
            self._say(f"{name} is at {event.progress / event.total:.0%}. {one_line(event.message or '', 120)}".rstrip())

    def _batch(self, event: ev.BatchFinished) -> None:
        if event.calls > 1:
            saved = (event.summed_ms - event.wall_ms) / 1000
            faster = f", {saved:.1f} s faster than sequential" if saved >= 0.1 else ""
            self._say(f"All {event.calls} calls have ended after {amounts.measured(event.wall_ms / 1000)}{faster}.")

    # A turn

    def _todo(self, event: ev.TodoChanged) -> None:
        done = sum(item.status is ev.TodoStatus.COMPLETED for item in event.items)
        now = next((item.content for item in event.items if item.status is ev.TodoStatus.IN_PROGRESS), "")
        doing = f" Now: {one_line(now, 160)}." if now else ""
        self._say(f"To-do list: {done} of {len(event.items)} done.{doing} /todo lists it.")

    def _turn_finished(self, event: ev.TurnFinished) -> None:
        turn = self._numbers.transcript.turn
        cost = ""
        if turn is not None and turn.tokens:
            cost = f" {turn.tokens:,} tokens" + (f", {turn.cost:.4f} dollars." if turn.cost is not None else ".")
        why = f": {one_line(event.error, 600)}" if event.error else "."
        ending = _ENDINGS[event.outcome]
        if event.outcome == "completed" and turn is not None and (failed := turn.without_success):
            ending = f"Ended without success: {self._numbers.named(failed)}"
        self._say(f"{ending}{why}{cost}")
        if turn is not None and turn.cut_off:
            self._say(f"Cut off: {self._numbers.named(turn.cut_off)}. /retry runs what was cut off again.")
        if self._numbers.transcript.unanswered is not None:
            self._say("No answer: /retry sends your message again, else it goes along with the next one.")
        elif turn is not None and turn.broke_off:
            self._say(GO_ON)
