"""The first lines of a text that may be huge: nothing beyond them is read, split or laid out."""

from __future__ import annotations

from console_app.tui.transcript_view.wording import plural, size

FIRST_PAGE = 200  # lines of a result when it is opened
LONGEST_LINE = 4000  # characters of one line that are shown
LONGEST_OF_ALL = 2_000_000  # and of one that is looked into: some 20,000 rows


class TextPage:
    """A text, how much of it there is, and its first lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.longest = LONGEST_LINE
        body = text[:-1] if text.endswith("\n") else text
        self.count = body.count("\n") + 1 if body else 0
        self.bytes = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))

    @property
    def measure(self) -> str:
        """How much there is, in words: `3 lines · 1.2 KB`."""
        return f"{plural(self.count, 'line')} · {size(self.bytes)}"

    def show_longer(self) -> bool:
        """Much more of the lines that are cut; False where none is, or no more can be shown of any."""
        if self.longest >= LONGEST_OF_ALL or all(len(line) <= self.longest for line in self.text.split("\n")):
            return False
        self.longest = min(self.longest * 32, LONGEST_OF_ALL)
        return True

    def first(self, limit: int) -> tuple[list[str], int]:
        """The first `limit` lines, each cut to a length that can be shown, and how many lines are left."""
        if limit >= self.count > FIRST_PAGE:
            lines = self.text.removesuffix("\n").split("\n")
            if "\r" not in self.text and max(map(len, lines)) <= self.longest:
                return lines, 0
        lines = list[str]()
        at = 0
        while len(lines) < min(limit, self.count):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at : min(end, at + self.longest)].rstrip("\r")
            if end - at > self.longest:
                line += f" … {size(end - at - self.longest)} more on this line"
            lines.append(line)
            at = end + 1
        return lines, self.count - len(lines)
