"""Tells what happens, an event after the other: each thing once, as a line, in its order. Floods are counted, not told.

An answer is printed line by line as its lines are whole. The log of a call is printed only when it is asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from console_app.console import UiPort
from console_app.domain import Level, amounts, call_description, event_news, one_line, plural
from console_app.domain import events as ev
from console_app.domain.transcript import GO_ON, CallView, Transcript
from console_app.line_console.approvals import LineApprovals, LineQuestions
from console_app.line_console.dialogue import Dialogue
from console_app.line_console.wording import CallNumbers, brief_arguments, came_of, label_of, turn_lines

LAST_LINES = 40  # of a text that is read at its end

_QUARTERS = 4  # of a call's progress that are told
_ENDINGS = {
    "completed": "Done",
    "cancelled": "Stopped",
    "failed": "Failed",
    "step_limit": "Stopped at the step limit",
}

log = logging.getLogger(__name__)


class LineUi(UiPort):
    """Folds events into the transcript of `numbers` and says them; choices are numbered lists, and nothing disappears.
    `draft` is a message that was given back, for /draft and /editor."""

    approvals: LineApprovals  # these two are there once the console is
    questions: LineQuestions

    def __init__(self, dialogue: Dialogue, numbers: CallNumbers, on_change: Callable[[], None]) -> None:
        self.draft = ""
        self.dialogue = dialogue
        self._say = dialogue.say
        self._numbers = numbers
        self._on_change = on_change
        self._forget()

    def _forget(self) -> None:
        self._answer = ""  # as far as it came
        self._said = 0  # characters of it
        self._thinks = False
        self._asked: set[str] = set()  # calls whose approval was asked for
        self._answered = "", ""  # the question that was answered last, and how
        self._quarter: dict[str, int] = {}

    @property
    def transcript(self) -> Transcript:
        return self._numbers.transcript

    def call(self, name: str) -> CallView:
        return self._numbers.call(name)

    def tell_whole(self, text: str, at_end: bool) -> None:
        """Says of a text that grows at its end the newest lines."""
        self._say("\n".join(text.splitlines()[-LAST_LINES:]) if at_end else text)

    def show(self, event: ev.Event) -> None:
        """Tells an event; one that can't be told becomes an error, since the turn goes on and the session is whole."""
        try:
            self._tell(event)
        except Exception as error:
            log.exception("an event could not be told")
            self.tell("error", f"An event could not be told: {error!r}. /log has the details.")

    async def next_slice(self) -> None:
        """Waits for room: a terminal that takes no more slows the turn and doesn't fill the memory."""
        await self.approvals.say_due()
        await self.dialogue.output.drain()

    async def show_stored(self, events: Sequence[ev.Event]) -> None:
        """Says the end of a long conversation; /read says any turn."""
        self._numbers.another_session(Transcript.of(events))
        self._forget()
        turns = self.transcript.turns
        self._say(f"A session of {plural(len(turns), 'turn')} is open. /read reads one.")
        if turns:
            self._say("It ended so:")
            self.read(turns[-1].number)

    def read(self, turn: int) -> bool:
        found = next((one for one in self.transcript.turns if one.number == turn), None)
        if found is None:
            return False
        numbers = {call.id: self._numbers.of(call.id) for step in found.steps for call in step.batch.calls}
        for line in turn_lines(found, numbers):
            self._say(line)
        return True

    def show_new(self) -> None:
        self._numbers.another_session(Transcript())
        self._forget()
        self._say("A new session begins.")

    def changed(self) -> None:
        self._on_change()

    def tell(self, level: Level, text: str) -> None:
        self._say(text if level in ("info", "debug") else f"{level.capitalize()}: {text}")

    def toast(self, text: str, seconds: float = 4) -> None:
        self._say(text)

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        return await self.dialogue.choose(title, options)

    async def ask(self, title: str, hint: str = "") -> str | None:
        words = ", ".join(part for part in (title, hint) if part)
        return await self.dialogue.ask(f"{one_line(words, 300)}. A full stop alone leaves.")

    async def trusts(self, text: str) -> bool:
        self._say(text)
        return await self.dialogue.agrees("Trust these files as they are now?")

    def give_back(self, text: str) -> bool:
        if self.draft:
            return False
        self.draft = text
        self._say(f"Yours again, not sent: {text}\n/draft sends it, /editor changes it first.")
        return True

    # An event

    def _tell(self, event: ev.Event) -> None:
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
                    self._say(f"{event.level.capitalize()}: {event.to_user()}")
            case ev.TodoChanged():
                self._todo(event)
            case ev.HistoryCompacted():
                self._say(event.line)
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
            case ev.Untold() | ev.UsageReported() | ev.TurnUndone():
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
            case ev.CallAnnounced() | ev.CallReady() if call.is_agent is isinstance(event, ev.CallReady):
                # an agent's call is said once it is ready: before that nobody knows which agent
                self._say_answer(len(self._answer))
                self._say(f"{name}: {label_of(call)}.")
            case ev.ApprovalRequested():
                self._asked.add(call.id)
                self.approvals.ask(call)
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
                self.questions.say(call)
            case ev.CallAnswered() if self._answered != (event.what, event.how):  # else each call that may ask says it
                self._answered = event.what, event.how
                self._say(f"{name}, {one_line(event.what, 160)}: {event.how}.")
            case ev.CallFinished():
                self._answered = "", ""
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
