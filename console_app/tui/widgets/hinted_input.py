"""A field for one line whose hint, where it has no room, is seen to be cut."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.widgets import Input

from console_app.domain import one_line


class HintedInput(Input):
    """`hint` stands in it while it is empty, with an ellipsis at its end where there is more of it."""

    def __init__(self, value: str = "", *, hint: str, **options: Any) -> None:
        super().__init__(value, placeholder=hint, **options)
        self._hint = hint

    def begin(self, hint: str, words: str) -> None:
        """Takes the focus with another hint and these words, to go on behind them."""
        self.hinted(hint)
        self.value, self.cursor_position = words, len(words)
        self.focus()

    def hinted(self, hint: str) -> None:
        self._hint = hint
        self._fit()

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        width = self.content_size.width
        self.placeholder = self._hint if len(self._hint) <= width else one_line(self._hint, max(width, 1))
