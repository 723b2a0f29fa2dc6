"""What was sent before there is a conversation to show it in: painted as that will paint it, in its place.

It has a few lines of its own for that, since the blocks of a conversation take longer to import than the first paint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import getters
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from console_app.tui.widgets.typed_app import typed_app

if TYPE_CHECKING:
    from console_app.tui.lineview.lines import Line, Piece

MOST_LINES = 12
BEFORE, BEHIND, SCROLL_BAR = 3, 2, 1  # cells beside the text, as a conversation leaves them
STARTING = "Starting · esc take back"


class SentPreview(Widget):
    """Shows `message`, and that it waits for everything to be loaded."""

    DEFAULT_CSS = "SentPreview { height: 1fr; background: $background; }"

    app = getters.app(typed_app)
    message: reactive[str] = reactive("")

    def render_line(self, y: int) -> Strip:
        """A line of it; the first is empty."""
        lines = self._lines()
        return lines[y - 1] if 1 <= y <= len(lines) else Strip.blank(self.size.width, self.rich_style)

    def _lines(self) -> Sequence[Line]:
        # Not before something is sent: the first paint waits for what it imports.
        from console_app.tui.lineview.lines import clean, fit, wrap
        from console_app.tui.lineview.palette import palette_of

        palette = palette_of(self.app)
        ground, width = palette.on_raised, self.size.width - SCROLL_BAR
        left: list[Piece] = [(" ", ground.base), ("▌", ground.primary), (" ", ground.base)]
        room = max(width - BEFORE - BEHIND - 1, 1)
        lines: list[Line] = []
        for text in self.message.split("\n"):
            rows = wrap([(clean(text), ground.base)], room) if text else []
            for pieces in [row.pieces for row in rows] or [[]]:
                inner = fit([*left, *pieces], max(width - BEHIND, 1), ground.base)
                painted = [(segment.text, segment.style or ground.base) for segment in inner]
                lines.append(fit(painted, self.size.width, palette.base))
        waits: list[Piece] = [(" ", palette.base), ("·", palette.muted), (f" {STARTING}", palette.muted)]
        return [*lines[:MOST_LINES], fit(waits, self.size.width, palette.base)]
