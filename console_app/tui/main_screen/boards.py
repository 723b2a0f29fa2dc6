"""Decide which calls wait for you or ask you, and when their boards take the focus: never from somebody who is
typing."""

from __future__ import annotations

from dataclasses import dataclass

from console_app.console import Console, Later, PendingQuestion
from console_app.domain.transcript import Transcript
from console_app.tui.approvals.board import ApprovalBoard
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.questions.board import HumanBoard
from console_app.tui.questions.question_board import QuestionBoard

UNTOUCHED = 1.0  # seconds without a key in an empty prompt, after which the board takes the focus
LOOK_EVERY = 0.25  # seconds between looks at that


@dataclass(frozen=True, slots=True)
class Boards:
    """Holds the boards above the prompt, of which one is shown: calls to approve, questions of servers and of the
    model."""

    approvals: ApprovalBoard
    human: HumanBoard
    questions: QuestionBoard


Board = ApprovalBoard | HumanBoard | QuestionBoard


class WaitingBoards:
    """Keeps the boards in step with the transcript and with the questions of servers.

    Approvals come first, then servers, and the model's questions last. A server's question stays in its place for as
    long as you are at it.
    """

    def __init__(self, boards: Boards, prompt: Prompt, transcript: Transcript, console: Console) -> None:
        self._board = boards.approvals
        self._human = boards.human
        self._questions = boards.questions
        self._queue = console.services.human
        self._prompt = prompt
        self._transcript = transcript
        self._pending = console.pending
        self._timing = console.services.timing
        self._waiting: set[str] = set()
        self._asking: set[str | PendingQuestion] = set()
        self._put_off = False  # you left the board: it waits until a new call comes
        self._timer: Later | None = None

    def sync(self) -> None:
        """Called when a call may have begun or ceased to wait."""
        calls = [*self._transcript.open_calls.values()] if self._transcript.waiting else []
        waiting = self._pending.of(calls)
        asking = [call for call in calls if call.asks]
        ids, fresh = {one.call.id for one in waiting}, {*(call.id for call in asking), *self._queue.open}
        if ids - self._waiting or fresh - self._asking:
            self._put_off = False
        self._waiting, self._asking = ids, fresh
        here = next((board for board in (self._board, self._human, self._questions) if _is_at(board)), None)
        self._human.show(self._queue.open, self._label, hidden=bool(waiting) and here is not self._human)
        in_place = here is self._human and self._human.is_asking
        self._board.show(() if in_place else waiting)
        self._questions.show(() if waiting or self._human.is_asking else asking)
        if wanted := self.wanted:
            self._watch()
        else:
            self._stop()
        if here is not None and wanted is not here:
            (wanted or self._prompt).focus()

    @property
    def wanted(self) -> Board | None:
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
