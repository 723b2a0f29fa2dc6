"""Makes room in a model's window: a summary of the older turns takes their place in every request from then on.

A turn does it by itself between two requests, when the newest one nearly filled the window, and before anything else
after one that was too large, so that the same request is never sent again. By hand it is done between turns. What the
summary stands for stays in the history, on screen and on disk, and an event takes it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console_app.domain import events as ev
from console_app.domain.errors import FanoutError, UsageError
from console_app.engine.activity import Activity
from console_app.engine.context import NEARLY_FULL, RECENT_TURNS, covered, summarise, summary_message
from console_app.engine.session import Session

FULL = "The context is nearly full: the model is asked for a summary of the older turns first."
ASKED = "Asking the model for a summary of the older turns."

Emit = Callable[[ev.Event], None]


def is_needed(session: Session) -> bool:
    """Whether the next request could be too large for the model."""
    window = session.window()
    overflowed = session.transcript.overflowed and not session.other_model
    return overflowed or (window is not None and session.transcript.usage.known_context > NEARLY_FULL * window)


def coverable(session: Session, *, automatic: bool = False) -> int:
    """How many of the oldest messages a new summary would stand for; 0 when none more than now."""
    transcript = session.transcript
    already = transcript.compaction.covers if transcript.compaction else 0
    if not automatic:
        return covered(transcript.history, already)
    # The turn that runs comes on top. Only what was too large already leaves no whole turn before it.
    return covered(transcript.history, already, most=RECENT_TURNS + 1, least=1 if transcript.overflowed else 2)


async def compact(session: Session, emit: Emit, *, automatic: bool) -> bool:
    """Puts a summary in place of the older turns, and tells of it; False when there is none to be had."""
    covers, before = coverable(session, automatic=automatic), session.transcript.compaction
    if not covers:
        return False
    emit(ev.Notice(level="info", text=FULL if automatic else ASKED))
    older = session.transcript.history[before.covers if before else 0 : covers]
    if before is not None:
        older.insert(0, summary_message(before))
    session.compacting = True
    try:
        text, usage = await summarise(session.provider, older, session.window())
    except FanoutError as error:
        emit(ev.Notice(level="warning", text=f"Not compacted. {error.line}"))
        return False
    finally:
        session.compacting = False
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
    emit(ev.HistoryCompacted(summary=text, covers=covers, automatic=automatic))
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
