"""A text that has only so many lines: what is cut off is seen to be cut off."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Shortened(Static):
    """Shows at most `most` lines, the last with an ellipsis where there is more."""

    def __init__(self, text: str, most: int, *, classes: str = "", id: str | None = None) -> None:
        super().__init__(Content(text), classes=classes, id=id)
        self._text, self._most = Content(text), most

    def render(self) -> Content:
        """The text as far as there is room."""
        width = self.content_size.width
        if width <= 0:
            return self._text
        lines = self._text.wrap(width)
        if len(lines) <= self._most:
            return self._text
        last = Content(" ").join(line.rstrip() for line in lines[self._most - 1 : self._most + 1])
        return Content("\n").join([*lines[: self._most - 1], last.truncate(width, ellipsis=True)])
