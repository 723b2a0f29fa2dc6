"""The first lines of a text that may be huge: nothing beyond them is read, split or laid out."""

from __future__ import annotations

from console_app.domain import amounts, plural

FIRST_PAGE = 200  # lines of a result when it is opened
LONGEST_LINE = 4000  # characters of one line that are shown
LONGEST_OF_ALL = 1_000_000  # and of one that is looked into: some 10,000 rows


class TextPage:
    def __init__(self, text: str) -> None:
        self.text = text
        self.longest = LONGEST_LINE
        body = text[:-1] if text.endswith("\n") else text
        self.count = body.count("\n") + 1 if body else 0
        self.bytes = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))

    @property
    def measure(self) -> str:
        return f"{plural(self.count, 'line')} · {amounts.size(self.bytes)}"

    def show_longer(self) -> bool:
        """Much more of the lines that are cut; False where none is, or no more can be shown of any."""
        if self.longest >= LONGEST_OF_ALL or all(len(line) <= self.longest for line in self.text.split("\n")):
            return False
        self.longest = min(self.longest * 32, LONGEST_OF_ALL)
        return True

    def first(self, limit: int) -> tuple[list[str], int]:
        """The first `limit` lines, each cut to a length that can be shown, and how many lines are left."""
        lines, _ = self.read(0, limit)
        return lines, self.count - len(lines)

    def read(self, at: int, limit: int, most: int = 0) -> tuple[list[str], int]:
        """The next `limit` lines at most from character `at` on, each cut to a length that can be shown, and where the
        one behind begins. With `most`, only lines that begin in so many characters."""
        past = len(self.text) - self.text.endswith("\n")
        last = at + most if most else past
        if limit > FIRST_PAGE and most:
            end = self.text.find("\n", last, past)
            end = past if end < 0 else end
            part = self.text[at:end]
            lines = part.split("\n")
            if len(lines) <= limit and "\r" not in part and max(map(len, lines)) <= self.longest:
                return lines, end + 1
        lines = list[str]()
        while len(lines) < limit and at <= min(last, past) and past:
            end = self.text.find("\n", at, past)
            end = past if end < 0 else end
            line = self.text[at : min(end, at + self.longest)].rstrip("\r")
            if end - at > self.longest:
                line += f" … {amounts.size(end - at - self.longest)} more on this line"
            lines.append(line)
            at = end + 1
        return lines, at
