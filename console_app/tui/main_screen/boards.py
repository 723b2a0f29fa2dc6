"""Which calls wait for you or ask you, and when their boards take the focus: never from somebody who is typing."""

from __future__ import annotations

from dataclasses import dataclass

from console_app.console.permissions import helpful_rules, misfit
from console_app.console.talk.question_queue import PendingQuestion, QuestionQueue
from console_app.console.timing import Later, Timing
from console_app.domain.risk import risk_of
from console_app.domain.tools import CallState, ToolSpec
from console_app.domain.transcript import Transcript
from console_app.domain.transcript_parts import CallView
from console_app.engine.engine import Engine
from console_app.tui.approvals.board import ApprovalBoard
from console_app.tui.approvals.selection import PendingApproval
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.questions.board import HumanBoard
from console_app.tui.questions.question_board import QuestionBoard

UNTOUCHED = 1.0  # seconds without a key in an empty prompt, after which the board takes the focus
LOOK_EVERY = 0.25  # seconds between looks at that


@dataclass(frozen=True, slots=True)
class Boards:
    """What may stand above the prompt, one at a time: calls to approve, what servers ask, what the model asks."""

    approvals: ApprovalBoard
    human: HumanBoard
    questions: QuestionBoard


Board = ApprovalBoard | HumanBoard | QuestionBoard


class WaitingBoards:
    """Keeps the boards in step with the transcript and with what servers ask: approvals first, the model's questions
    last, and what a server asks in its place for as long as you are at it."""

    def __init__(
        self,
        boards: Boards,
        questions: QuestionQueue,
        prompt: Prompt,
        transcript: Transcript,
        engine: Engine,
        timing: Timing,
    ) -> None:
        self._board = boards.approvals
        self._human = boards.human
        self._questions = boards.questions
        self._queue = questions
        self._prompt = prompt
        self._transcript = transcript
        self._engine = engine
        self._timing = timing
        self._waiting: dict[str, PendingApproval] = {}
        self._asking: set[str | PendingQuestion] = set()
        self._put_off = False  # you left the board: it waits until a new call comes
        self._timer: Later | None = None

    def sync(self) -> None:
        """Called when a call may have begun or ceased to wait."""
        waiting = [call for call in self._transcript.open_calls.values() if call.state is CallState.WAITING]
        asking = [call for call in self._transcript.open_calls.values() if call.asks]
        fresh: set[str | PendingQuestion] = {*(call.id for call in asking), *self._queue.open}
        if any(call.id not in self._waiting for call in waiting) or fresh - self._asking:
            self._put_off = False
        self._asking = fresh
        specs = {spec.name: spec for spec in self._engine.toolset.tools()} if waiting else {}
        self._waiting = {
            call.id: self._approval(call, specs.get(call.name) or self._own(call.name)) for call in waiting
        }
        here = next((board for board in (self._board, self._human, self._questions) if _is_at(board)), None)
        self._human.show(self._queue.open, self._label, hidden=bool(waiting) and here is not self._human)
        in_place = here is self._human and self._human.is_asking
        self._board.show(() if in_place else list(self._waiting.values()))
        self._questions.show(() if waiting or self._human.is_asking else asking)
        if wanted := self.wanted:
            self._watch()
        else:
            self._stop()
        if here is not None and wanted is not here:
            (wanted or self._prompt).focus()

    @property
    def wanted(self) -> Board | None:
        """The board that something waits on."""
        if self._board.is_waiting:
            return self._board
        if self._human.is_asking:
            return self._human
        return self._questions if self._questions.is_asking else None

    def put_off(self) -> None:
        """Escape on the board."""
        self._put_off = True
        self._prompt.screen.set_focus(self._prompt)
        self.sync()  # another board may have waited for this one

    def _label(self, call_id: str) -> str:
        call = self._transcript.calls.get(call_id)
        return call.label if call is not None else ""

    def _own(self, name: str) -> ToolSpec | None:
        """The tool of Fanout's own under that name; one of a server that lists it no more is gone."""
        spec = self._engine.spec(name)
        return spec if spec is not None and spec.builtin else None

    def _approval(self, call: CallView, spec: ToolSpec | None) -> PendingApproval:
        """What is shown of it; as before while its tool is what it was."""
        known, fingerprint = self._waiting.get(call.id), spec.fingerprint if spec else None
        if known is not None and (fingerprint is None or known.fingerprint == fingerprint):
            return known
        limit = self._engine.settings.approval_timeout
        until = None if limit is None else call.news_at + limit
        return PendingApproval(
            call,
            risk_of(spec, call.arguments or {}),
            helpful_rules(self._engine.gate, spec, call.arguments or {}) if spec and not call.always_asks else (),
            until if known is None else known.until,
            spec.changed if spec else "",
            self._engine.runs(spec, call.arguments or {}) if spec else "",
            tuple(self._engine.gate.other_servers(spec, call.arguments or {})) if spec else (),
            fingerprint,
            self._number(call),
            misfit(spec, call) if spec else "",
        )

    def _number(self, call: CallView) -> int:
        """By which its panel is known: the place in the newest batch."""
        batches = [step.batch.calls for turn in self._transcript.turns[-1:] for step in turn.steps if step.batch.calls]
        return next((n for n, one in enumerate(batches[-1] if batches else (), 1) if one is call), 0)

    def _watch(self) -> None:
        if self._timer is None:
            self._look_later()
        self._take_focus()

    def _look_later(self) -> None:
        self._timer = self._timing.later(self._board, LOOK_EVERY, self._look)

    def _look(self) -> None:
        self._look_later()
        self._take_focus()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _take_focus(self) -> None:
        """Takes the focus once the prompt is empty and was left alone for a second."""
        idle = self._timing.now() - self._prompt.touched_at >= UNTOUCHED
        wanted = self.wanted
        if wanted and self._prompt.has_focus and not self._prompt.text and idle and not self._put_off:
            wanted.focus()
            self._board.selection.keys.brought()


def _is_at(board: Board) -> bool:
    focused = board.screen.focused
    return focused is not None and (focused is board or board in focused.ancestors)
