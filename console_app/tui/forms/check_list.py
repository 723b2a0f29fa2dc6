"""Any of a few values, a line each with a box to tick: what a form has for several choices at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from console_app.domain.safe_text import one_line

MOST_LINES = 8  # that are shown at once


class CheckList(Widget, can_focus=True):
    """`checked` are the places of those that are ticked, in order."""

    DEFAULT_CSS = """
    CheckList { height: auto; margin: 0 1; padding: 0 1; background: $surface; color: $foreground; }
    CheckList:focus { background: $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "next", id="checks.next", show=False),
        Binding("up,k", "move(-1)", "previous", id="checks.previous", show=False),
        Binding("space", "tick", "tick", id="checks.toggle", show=False),
    ]

    class Changed(Message):
        """One was ticked, or no longer is."""

    def __init__(self, labels: Sequence[str], checked: Iterable[int] = ()) -> None:
        super().__init__()
        self.labels = [one_line(label, 60) for label in labels]
        self._checked = set(checked)
        self._at = 0
        self._first = 0  # line at the top

    @property
    def checked(self) -> list[int]:
        """The places that are ticked."""
        return sorted(self._checked)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line each, as far as they are shown."""
        return min(len(self.labels), MOST_LINES)

    def render(self) -> Content:
        """The lines around the cursor."""
        lines = [self._line(at) for at in range(self._first, min(self._first + MOST_LINES, len(self.labels)))]
        return Content("\n").join(lines)

    def _line(self, at: int) -> Content:
        ticked, here = at in self._checked, at == self._at and self.has_focus
        mark = Content.styled("▸ " if here else "  ", "bold $primary")
        line = mark + Content.styled("☒ " if ticked else "☐ ", "bold $primary" if ticked else "$muted")
        line += Content.styled(self.labels[at], "bold $foreground" if ticked or here else "$foreground")
        if here and len(self.labels) > MOST_LINES:
            line += Content.styled(f"  {at + 1} of {len(self.labels)}", "$muted")
        return line

    def action_move(self, delta: int) -> None:
        """Up and down, round the ends."""
        self._at = (self._at + delta) % max(len(self.labels), 1)
        self._first = max(min(self._first, self._at), self._at - MOST_LINES + 1)
        self.refresh()

    def action_tick(self) -> None:
        """Space."""
        if not self.labels:
            return
        self._checked ^= {self._at}
        self.refresh()
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        """A click on a line ticks it."""
        at = self._first + event.y - self.gutter.top
        if 0 <= at < len(self.labels):
            self._at = at
            self.action_tick()
