"""/compact and /context: what the model reads of the conversation, and a summary of its older turns when it gets long.

The engine makes the summaries, by itself too; here is what you ask for and what is told of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_app.domain import events as ev
from console_app.domain.errors import UsageError
from console_app.domain.safe_text import one_line
from console_app.engine.context import CHARACTERS_A_TOKEN, NEARLY_FULL, breakdown
from console_app.tui.session_actions import READ_ONLY

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen

_BAR = 30  # cells of the meter


class Compaction:
    """The context of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        screen.services.engine.window = screen.services.context_window

    async def take_back(self) -> None:
        """The newest compaction no longer counts."""
        screen, engine = self._screen, self._screen.services.engine
        if screen.transcript.compaction is None:
            screen.toast("There is no compaction to take back.")
            return
        await screen.driver.deliver(engine.stamp(ev.HistoryCompacted(summary="", covers=0)))
        engine.take_back(screen.transcript)
        screen.refresh_status()

    def report(self) -> str:
        """What /context shows: a meter, and what the next request would be made of."""
        screen, engine = self._screen, self._screen.services.engine
        used, window = screen.transcript.usage.context, screen.services.context_window()
        lines: list[str] = []
        if window:
            share = min(used / window, 1.0)
            filled = round(share * _BAR)
            lines.append(f"{'█' * filled}{'░' * (_BAR - filled)}  {used:,} of {window:,} tokens ({share:.0%})")
            lines.append(f"Compacted by itself from {NEARLY_FULL:.0%} on, before the next request.")
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


def compact(screen: ChatScreen, rest: str) -> None:
    """/compact [undo]."""
    if screen.sessions.read_only:
        screen.toast(READ_ONLY)
    elif screen.driver.busy:
        screen.toast("A turn is running. Esc stops it; then /compact.")
    elif rest == "undo":
        screen.open_dialog(screen.compaction.take_back)
    elif rest:
        screen.toast(f"/compact takes nothing, or undo; not {one_line(rest, 40)}.")
    else:
        try:
            screen.driver.compact()
        except UsageError:
            screen.toast("There is nothing to compact: only the newest turns are left.")


def context(screen: ChatScreen, _rest: str) -> None:
    """/context."""
    screen.open_dialog(_show, screen)


async def _show(screen: ChatScreen) -> None:
    from console_app.tui.screens.text_dialog import TextDialog

    await screen.app.push_screen_wait(TextDialog("Context", screen.compaction.report))
