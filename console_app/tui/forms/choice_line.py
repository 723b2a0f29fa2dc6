"""One of a few values on one line, moved through with the arrows: what a form has for yes or no and for enums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from console_app.domain.safe_text import one_line

GAP = "   "
MOST_SIDE_BY_SIDE = 60  # more never fit, and measuring thousands would take a while


class ChoiceLine(Widget, can_focus=True):
    """Shows every label with a mark at the chosen one; where they don't fit, the chosen one and its place."""

    DEFAULT_CSS = """
    ChoiceLine { height: 1; margin: 0 1; padding: 0 1; background: $surface; color: $foreground; }
    ChoiceLine:focus { background: $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "move(1)", "next", id="choice.next", show=False),
        Binding("left", "move(-1)", "previous", id="choice.previous", show=False),
        Binding("home", "move(-10000)", "first", id="choice.first", show=False),
        Binding("end", "move(10000)", "last", id="choice.last", show=False),
    ]

    class Changed(Message):
        """Another one is chosen."""

    def __init__(self, labels: Sequence[str], chosen: int = 0) -> None:
        super().__init__()
        self.labels = [one_line(label, 60) for label in labels]
        self.chosen = chosen

    def _all(self) -> Content:
        parts = [
            Content.styled(f"● {label}", "bold $primary")
            if at == self.chosen
            else Content.styled(f"○ {label}", "$muted")
            for at, label in enumerate(self.labels)
        ]
        return Content(GAP).join(parts)

    @property
    def _fits(self) -> bool:
        return len(self.labels) <= MOST_SIDE_BY_SIDE and self._all().cell_length <= self.content_size.width

    def render(self) -> Content:
        """All of them, or the one that is chosen."""
        if self._fits:
            return self._all()
        place = f"  {self.chosen + 1} of {len(self.labels)}"
        return (
            Content.styled("‹ ", "$primary")
            + Content.styled(self.labels[self.chosen], "bold $primary")
            + Content.styled(" ›", "$primary")
            + Content.styled(place, "$muted")
        )

    def choose(self, at: int) -> None:
        """Chooses by place."""
        at = min(max(at, 0), len(self.labels) - 1)
        if at != self.chosen:
            self.chosen = at
            self.refresh()
            self.post_message(self.Changed())

    def action_move(self, delta: int) -> None:
        """The arrows; single steps go round the ends."""
        self.choose((self.chosen + delta) % len(self.labels) if abs(delta) == 1 else self.chosen + delta)

    def on_click(self, event: events.Click) -> None:
        """A click on a label chooses it; where only one is shown, the next."""
        if not self._fits:
            self.action_move(1)
            return
        at = event.x - self.gutter.left
        for place, label in enumerate(self.labels):
            size = Content(f"● {label}").cell_length
            if at < size + len(GAP):
                self.choose(place)
                return
            at -= size + len(GAP)
