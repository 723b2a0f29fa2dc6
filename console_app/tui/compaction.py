"""/compact and /context: what the model reads of the conversation, and a summary of its older turns when it gets long.

Also done by itself before a prompt that would find the window nearly full, or after a request that was too large, so
that the same request is never sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_app.domain import events as ev
from console_app.domain.errors import ContextOverflow, FanoutError
from console_app.domain.safe_text import one_line
from console_app.engine.context import CHARACTERS_A_TOKEN, NEARLY_FULL, breakdown, covered, summarise

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen

_BAR = 30  # cells of the meter


class Compaction:
    """The context of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    async def before_turn(self) -> None:
        """Brings the engine up to date, and makes room when there is too little. Raises nothing but CancelledError."""
        if self._is_needed():
            self._screen.toast("The context is nearly full: a summary of older turns is made first.")
            await self.compact(automatic=True)
        self._screen.services.engine.compaction = self._screen.transcript.compaction

    async def compact(self, *, automatic: bool = False) -> None:
        """Puts a summary in place of the older turns, as an event; says why when it can't."""
        screen, engine = self._screen, self._screen.services.engine
        history, before = screen.transcript.history, screen.transcript.compaction
        covers = covered(history, before.covers if before else 0)
        if not covers:
            if not automatic:
                screen.toast("There is nothing to compact: only the newest turns are left.")
            return
        older = list(history[before.covers if before else 0 : covers])
        try:
            text, usage = await summarise(engine.provider, older, screen.services.context_window())
        except FanoutError as error:
            screen.tell("warning", f"Not compacted. {error.line}")
            return
        if usage is not None:
            counted = ev.UsageReported(
                call_id="compaction",  # it counts with the session, and says nothing of the conversation's context
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                cost=usage.cost,
            )
            await screen.driver.deliver(engine.stamp(counted))
        if not text:
            screen.tell("warning", "Not compacted: the model wrote no summary.")
            return
        summary = f"{before.summary}\n\n{text}" if before else text
        event = ev.HistoryCompacted(summary=summary, covers=covers, automatic=automatic)
        await screen.driver.deliver(engine.stamp(event))
        engine.compaction = screen.transcript.compaction
        screen.refresh_status()

    async def take_back(self) -> None:
        """The newest compaction no longer counts."""
        screen, engine = self._screen, self._screen.services.engine
        if screen.transcript.compaction is None:
            screen.toast("There is no compaction to take back.")
            return
        await screen.driver.deliver(engine.stamp(ev.HistoryCompacted(summary="", covers=0)))
        engine.compaction = screen.transcript.compaction

    def report(self) -> str:
        """What /context shows: a meter, and what the next request would be made of."""
        screen, engine = self._screen, self._screen.services.engine
        used, window = screen.transcript.usage.context, screen.services.context_window()
        lines: list[str] = []
        if window:
            share = min(used / window, 1.0)
            filled = round(share * _BAR)
            lines.append(f"{'█' * filled}{'░' * (_BAR - filled)}  {used:,} of {window:,} tokens ({share:.0%})")
            lines.append(f"Compacted by itself from {NEARLY_FULL:.0%} on, with the next prompt.")
        else:
            lines.append(f"{used:,} tokens in the newest request; how many fit is not known (context_window says).")
        settings = engine.settings
        parts = breakdown(
            settings.system_prompt,
            engine.toolset.tools(),
            screen.transcript.history,
            screen.transcript.compaction,
            settings.max_result_chars,
        )
        lines += ["", f"The next request, counted at {CHARACTERS_A_TOKEN} characters a token:"]
        lines += [f"  {part.name:<13} {part.tokens:>9,} tokens   {part.messages:>5,} parts" for part in parts]
        if (most := settings.max_result_chars) is not None:
            lines += ["", f"Results of more than {most:,} characters lose their middle (max_result_chars)."]
        if (compaction := screen.transcript.compaction) is not None:
            lines += ["", f"A summary stands for the oldest {compaction.covers:,} messages:", "", compaction.summary]
        return "\n".join(lines)

    def _is_needed(self) -> bool:
        transcript, window = self._screen.transcript, self._screen.services.context_window()
        turn = transcript.turn
        if turn is not None and turn.error is not None and turn.error.startswith(f"{ContextOverflow.title}:"):
            return True
        # Once compacted, what the newest request held says nothing until another was answered.
        newest = transcript.compaction
        stale = newest is not None and turn is not None and newest.at > turn.started_at
        return bool(window) and not stale and transcript.usage.context > NEARLY_FULL * (window or 0)


def compact(screen: ChatScreen, rest: str) -> None:
    """/compact [undo]."""
    if screen.driver.busy:
        screen.toast("A turn is running. Esc stops it; then /compact.")
    elif rest == "undo":
        screen.open_dialog(screen.compaction.take_back)
    elif rest:
        screen.toast(f"/compact takes nothing, or undo; not {one_line(rest, 40)}.")
    else:
        screen.toast("Asking the model for a summary ...")
        screen.open_dialog(screen.compaction.compact)


def context(screen: ChatScreen, _rest: str) -> None:
    """/context."""
    screen.open_dialog(_show, screen)


async def _show(screen: ChatScreen) -> None:
    from console_app.tui.screens.text_dialog import TextDialog

    await screen.app.push_screen_wait(TextDialog("Context", screen.compaction.report))
