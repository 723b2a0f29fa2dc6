"""Say in a terminal without room how much is needed, in place of a broken picture."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

LEAST_COLUMNS, LEAST_ROWS = 60, 15


class TooSmall(Widget):
    """Says how much room is needed. The stylesheet of the screen decides when it shows."""

    DEFAULT_CSS = """
    TooSmall {
        width: 100vw; height: 100vh; background: $background; content-align: center middle; text-align: center;
    }
    """

    ROOMY = 20  # rows below which what is not needed just now gives its room away
    BREAKPOINTS_ACROSS: ClassVar[list[tuple[int, str]]] = [(0, "-too-narrow"), (LEAST_COLUMNS, "-wide-enough")]
    BREAKPOINTS_DOWN: ClassVar[list[tuple[int, str]]] = [(0, "-too-low"), (LEAST_ROWS, "-low"), (ROOMY, "-high-enough")]

    @staticmethod
    def covers(screen: Screen[Any]) -> bool:
        return screen.has_class("-too-narrow") or screen.has_class("-too-low")

    def render(self) -> Content:
        width, height = self.screen.size
        return Content(f"Fanout needs {LEAST_COLUMNS}x{LEAST_ROWS}.\nThis is {width}x{height}.")
