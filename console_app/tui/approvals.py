"""Which calls wait for you or ask you, and when their boards take the focus: never from somebody who is typing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from textual.timer import Timer

from console_app.domain.tools import CallState
from console_app.domain.transcript import Call, Transcript
from console_app.engine.engine import Engine
from console_app.tui.approval_desk import Case
from console_app.tui.approval_rules import helpful_rules, traits
from console_app.tui.widgets.approval_board import ApprovalBoard
from console_app.tui.widgets.prompt import Prompt
from console_app.tui.widgets.question_board import QuestionBoard

UNTOUCHED = 1.0  # seconds without a key in an empty prompt, after which the board takes the focus
LOOK_EVERY = 0.25  # seconds between looks at that


class Approvals:
    """Keeps the two boards in step with the transcript: approvals first, questions when none is left."""

    def __init__(
        self,
        board: ApprovalBoard,
        questions: QuestionBoard,
        prompt: Prompt,
        transcript: Transcript,
        engine: Engine,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._board = board
        self._questions = questions
        self._prompt = prompt
        self._transcript = transcript
        self._engine = engine
        self._clock = clock
        self._cases: dict[str, Case] = {}
        self._asking: set[str] = set()
        self._put_off = False  # you left the board: it waits until a new call comes
        self._timer: Timer | None = None

    def sync(self) -> None:
        """Called when a call may have begun or ceased to wait."""
        waiting = [call for call in self._transcript.open_calls.values() if call.state is CallState.WAITING]
        asking = [call for call in self._transcript.open_calls.values() if call.asks]
        fresh = {call.id for call in asking}
        if any(call.id not in self._cases for call in waiting) or fresh - self._asking:
            self._put_off = False
        self._asking = fresh
        self._cases = {call.id: self._cases.get(call.id) or self._case(call) for call in waiting}
        here = [board for board in (self._board, self._questions) if board.has_focus_within or board.has_focus]
        self._board.show(list(self._cases.values()))
        self._questions.show(() if waiting else asking)
        if waiting or asking:
            self._watch()
        else:
            self._stop()
        if here and self.wanted is not here[0]:
            (self.wanted or self._prompt).focus()

    @property
    def wanted(self) -> ApprovalBoard | QuestionBoard | None:
        """The board that something waits on."""
        if self._board.is_waiting:
            return self._board
        return self._questions if self._questions.is_asking else None

    def put_off(self) -> None:
        """Escape on the board."""
        self._put_off = True
        self._prompt.focus()

    def _case(self, call: Call) -> Case:
        spec = next((spec for spec in self._engine.toolset.tools() if spec.name == call.name), None)
        limit = self._engine.settings.approval_timeout
        return Case(
            call,
            self._before(call),
            traits(spec) if spec else "",
            helpful_rules(self._engine.gate, spec, call.arguments or {}) if spec else (),
            None if limit is None else call.news_at + limit,
        )

    def _before(self, call: Call) -> Mapping[str, Any] | None:
        """The arguments of the same tool's last call before this one."""
        last: Mapping[str, Any] | None = None
        for other in self._transcript.calls.values():
            if other is call:
                break
            if other.name == call.name and other.arguments is not None:
                last = other.arguments
        return last

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = self._board.set_interval(LOOK_EVERY, self._take_focus)
        self._take_focus()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _take_focus(self) -> None:
        """Takes the focus once the prompt is empty and was left alone for a second."""
        idle = self._clock() - self._prompt.touched_at >= UNTOUCHED
        wanted = self.wanted
        if wanted and self._prompt.has_focus and not self._prompt.text and idle and not self._put_off:
            wanted.focus()
