"""Show above the prompt what runs, and what it took so far."""

from __future__ import annotations

from collections.abc import Callable

from textual import getters
from textual.content import Content
from textual.widget import Widget

from console_app.console import Doing
from console_app.domain import amounts
from console_app.tui.lineview import spinner
from console_app.tui.widgets.motion import is_still
from console_app.tui.widgets.typed_app import typed_app

LATE = "taking longer than expected"


class ActivityLine(Widget):
    """Paints what `at` gives. It has no clock: `look` is called by the one of the conversation, and where something
    begins or ends. It takes a line only while something runs, so that a small terminal loses none to it at rest."""

    DEFAULT_CSS = """
    ActivityLine {
        height: auto; max-height: 1;  /* beside a fixed height, a container has the prompt below as high as its text */
        padding: 0 2; color: $foreground; text-wrap: nowrap; display: none;
    }
    ActivityLine.-busy { display: block; }
    """

    app = getters.app(typed_app)

    def __init__(self, at: Callable[[float], Doing | None]) -> None:
        super().__init__()
        self._at = at
        self._doing: Doing | None = None
        self._glyph = ""
        self._second = -1  # at which it was made anew

    def look(self, now: float) -> bool:
        """Show what runs at `now`, and tell whether that changes with time alone."""
        doing = self._at(now)
        still = is_still(self.app)
        if still and int(now) == self._second and _kind(doing) == _kind(self._doing):
            return doing is not None and doing.moves
        self._second = int(now)
        glyph = "" if doing is None else spinner(None if still else now) if doing.moves else "?"
        if (doing, glyph) != (self._doing, self._glyph):
            if (doing is None) is not (self._doing is None):
                self.set_class(doing is not None, "-busy")
            self._doing, self._glyph = doing, glyph
            self.refresh()
        return doing is not None and doing.moves

    def render(self) -> Content:
        """Fit the parts into the line by importance: what runs, that it is late, then tokens, then the price."""
        doing, width = self._doing, self.content_size.width
        if doing is None:
            return Content("")
        mark = "$secondary" if doing.moves else "$warning"
        line = Content.styled(f"{self._glyph} ", mark) + Content.styled(
            doing.what, "$foreground" if doing.moves else mark
        )
        line = line.truncate(width, ellipsis=True)
        parts: list[Content] = []
        if doing.late:
            parts.append(Content.styled(f" · {LATE}", "$warning"))
        if doing.tokens:
            parts.append(Content.styled(f"   {amounts.tokens(doing.tokens)} tokens", "$muted"))
            if doing.cost:
                cost = f"{doing.cost:.3f}" if doing.cost < 1 else f"{doing.cost:.2f}"
                parts.append(Content.styled(f" · ${cost}", "$muted"))
        for part in parts:
            if line.cell_length + part.cell_length > width:
                break
            line += part
        return line


def _kind(doing: Doing | None) -> str:
    """Name what is done, without the figures that change meanwhile."""
    return "" if doing is None else f"{doing.moves}{doing.what.split(' ')[0]}"
