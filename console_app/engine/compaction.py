"""Makes room in a model's window: a summary of the older turns takes their place in every request from then on.

A turn does it by itself between two requests, when the newest one nearly filled the window, and when one was refused as
too large, which is then sent again once; where that did not help, before anything else of the next turn. So the same
request is never sent twice. By hand it is done between turns. What the summary stands for stays in the history, on
screen and on disk, and an event takes it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console_app.domain import events as ev
from console_app.domain.errors import FanoutError, UsageError
from console_app.engine.activity import Activity
from console_app.engine.context import NEARLY_FULL, RECENT_TURNS, characters, covered, summarise, summary_message
from console_app.engine.session import Session

FULL = "The context is nearly full: the model is asked for a summary of the older turns first."
REFUSED = (
    "The request was too large for the model: it is asked for a summary of the older turns, then the request goes out "
    "again."
)
ASKED = "Asking the model for a summary of the older turns."

Emit = Callable[[ev.Event], None]


def is_needed(session: Session) -> bool:
    """Whether the next request could be too large for the model."""
    window = session.window()
    overflowed = session.transcript.overflowed and not session.other_model
    return overflowed or (window is not None and session.transcript.usage.known_context > NEARLY_FULL * window)


def coverable(session: Session, *, automatic: bool = False, refused: bool = False) -> int:
    """How many of the oldest messages a new summary would stand for; 0 when none more than now.

    Before a request that was `refused` as too large is sent again, what stays whole is at most half of it.
    """
    transcript = session.transcript
    already = transcript.compaction.covers if transcript.compaction else 0
    if not automatic:
        return covered(transcript.history, already)
    recent = RECENT_TURNS + 1  # the turn that runs comes on top
    if not refused and not transcript.overflowed:
        return covered(transcript.history, already, most=recent, least=2)
    half = sum(map(characters, transcript.history[already:])) // 2
    for whole in range(recent, 1, -1):
        covers = covered(transcript.history, already, most=whole, least=whole)
        if covers and sum(map(characters, transcript.history[covers:])) <= half:
            return covers
    return covered(transcript.history, already, most=1)


async def compact(session: Session, emit: Emit, *, automatic: bool, refused: bool = False) -> bool:
    """Puts a summary in place of the older turns, and tells of it; False when there is none to be had."""
    covers = coverable(session, automatic=automatic, refused=refused)
    before = session.transcript.compaction
    if not covers:
        return False
    emit(ev.Notice(level="info", text=REFUSED if refused else FULL if automatic else ASKED))
    older = session.transcript.history[before.covers if before else 0 : covers]
    if before is not None:
        older.insert(0, summary_message(before))
    session.compacting_since = session.stamper.clock()
    try:
        text, usage = await summarise(session.provider, older, session.window())
    except FanoutError as error:
        emit(ev.Notice(level="warning", text=f"Not compacted. {error.line}"))
        return False
    finally:
        session.compacting_since = None
    if usage is not None:
        emit(
            ev.UsageReported(
                call_id="compaction",  # it counts with the session, and says nothing of the conversation's context
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                cost=usage.cost,
            )
        )
    if not text:
        emit(ev.Notice(level="warning", text="Not compacted: the model wrote no summary."))
        return False
    emit(ev.HistoryCompacted(summary=text, covers=covers, automatic=automatic, refused=refused))
    return True


class Compacting(Activity):
    """A compaction by hand, between turns: entered and read like a Turn."""

    def cancel(self, why: str = "") -> None:
        """Leaves everything as it was."""
        if self._main is not None and self.running:
            self.emit(ev.Notice(level="info", text="Not compacted: you stopped it."))
            self._stopped = True
            self._outbox.close()
            self._main.cancel()

    def _begin(self) -> None:
        pass

    async def _run(self) -> None:
        try:
            await compact(self._session, self.emit, automatic=False)
        finally:
            self._outbox.close()

    def _main_is_done(self, task: asyncio.Task[None]) -> None:
        self._outbox.close()


def by_hand(session: Session, turn: int) -> Compacting:
    """A compaction by hand. Raises UsageError when there is nothing that a summary could stand for."""
    if not coverable(session):
        raise UsageError("there is nothing to compact: only the newest turns are left.")
    return Compacting(session, turn)
