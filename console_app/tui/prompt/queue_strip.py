"""Show the messages that wait to be sent while a turn runs: a line each above the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from console_app.domain import one_line

MOST_LINES = 3


class QueueStrip(Widget):
    """Shows `messages`, oldest first; hidden while there are none."""

    DEFAULT_CSS = """
    QueueStrip { height: auto; padding: 0 2; color: $muted; text-wrap: nowrap; display: none; }
    QueueStrip.-waiting { display: block; }
    """

    messages: reactive[tuple[str, ...]] = reactive((), layout=True)
    paused: reactive[bool] = reactive(False)

    def show(self, messages: Sequence[str], paused: bool) -> None:
        """Show the messages that wait now; `paused` when a stopped turn holds them back."""
        self.set_class(bool(messages), "-waiting")
        self.paused = paused
        self.messages = tuple(messages)

    def render(self) -> Content:
        """The oldest messages, how many more there are, and which key does what."""
        width = max(self.content_size.width - 2, 10)
        lines = [
            Content.styled("▸ ", "$primary") + Content.styled(one_line(text, width), "$foreground")
            for text in self.messages[:MOST_LINES]
        ]
        more = len(self.messages) - MOST_LINES
        count = f"and {more} more · " if more > 0 else ""
        how = "paused: enter to send · ↑ to edit" if self.paused else "queued · ↑ to edit"
        lines.append(Content.styled(f"  {count}{how}", "$muted"))
        return Content("\n").join(lines)
