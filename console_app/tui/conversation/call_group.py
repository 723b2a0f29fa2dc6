"""What the panels of one answer share: one scale for their lanes, one set of columns, and whether they are framed."""

from __future__ import annotations

from typing import Any, cast

from rich.cells import cell_len

from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallState
from console_app.domain.transcript_parts import Batch, Call
from console_app.tui.conversation.block import Block
from console_app.tui.conversation.json_view import brief_arguments
from console_app.tui.conversation.wording import state_of

FRAMED_HEIGHT = 3  # lines of a folded framed panel
MAX_LABEL = 36
MAX_BRIEF = 44


class CallGroup:
    """The calls of one answer as their panels see them."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.room = 0  # lines of the view, 0 while unknown
        self.settled = False  # a later turn has begun: panels fold to a line
        self.version = 0
        self.members: list[Block] = []  # its header, then its panels in call order
        self._columns: tuple[int, tuple[int, int, int]] | None = None
        self._known: tuple[int, float, float, bool] | None = None  # version, begin, end, open

    @property
    def calls(self) -> list[Call]:
        """The calls, in call order."""
        return self.batch.calls

    @property
    def is_open(self) -> bool:
        """Whether a call has not ended yet."""
        return self._facts()[3]

    @property
    def has_header(self) -> bool:
        """Whether a line above the panels counts them."""
        return len(self.batch.calls) > 1

    @property
    def compact(self) -> bool:
        """Whether panels are a line each: framed, they would fill more than the view; or their turn is over."""
        return self.settled or (self.room > 0 and len(self.batch.calls) * FRAMED_HEIGHT + 3 > self.room)

    def room_changed(self, height: int) -> bool:
        """The view is so many lines high: whether its panels look different for that."""
        self.room = height
        return not self.settled

    def changed(self) -> None:
        """A call was announced or changed its state: columns and scale may move."""
        self.version += 1

    def scale(self, now: float) -> tuple[float, float]:
        """When the lanes of the batch begin and end, in seconds since the epoch."""
        _, begin, end, is_open = self._facts()
        return begin, max(now if is_open else end, begin + 0.001)

    def _facts(self) -> tuple[int, float, float, bool]:
        """What holds until a call changes its state; hundreds of panels ask for it each frame."""
        if self._known is None or self._known[0] != self.version:
            begin = min((born(call) for call in self.calls), default=0.0)
            end = max((call.finished_at or begin for call in self.calls), default=begin)
            self._known = (self.version, begin, end, self.batch.is_open)
        return self._known

    def columns(self) -> tuple[int, int, int]:
        """Cells for the words, the labels and the arguments of one-line panels."""
        if self._columns is None or self._columns[0] != self.version:
            self._columns = (self.version, self._measured_columns())
        return self._columns[1]

    def _measured_columns(self) -> tuple[int, int, int]:
        words = max((cell_len(state_of(call, 0.0)[1]) for call in self.calls), default=4)
        labels = max((cell_len(one_line(call.label, MAX_LABEL)) for call in self.calls), default=4)
        briefs = max((cell_len(brief_of(call, MAX_BRIEF)) for call in self.calls), default=0)
        return max(words, 7), min(labels, MAX_LABEL), min(briefs, MAX_BRIEF)


def born(call: Call) -> float:
    """Where a call's lane begins: when its arguments were complete, or when it was announced."""
    return call.announced_at if call.ready_at is None else call.ready_at


def brief_of(call: Call, limit: int) -> str:
    """The arguments of a call in brief; while they arrive, as far as they can be read."""
    if call.arguments is not None:
        return brief_arguments(call.arguments, limit)
    text = call.arguments_text
    if not text or call.state is CallState.FINISHED or len(text) > 4096:
        return one_line(text[:200], limit)
    # Already loaded: the domain's models stand on it.
    from pydantic_core import from_json

    try:
        partial: object = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return one_line(text, limit)
    return (
        brief_arguments(cast("dict[str, Any]", partial), limit) if isinstance(partial, dict) else one_line(text, limit)
    )
