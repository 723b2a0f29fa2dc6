"""Take the terminal's answers to the console's questions out of what is typed."""

from __future__ import annotations

import re
from typing import Final

# Asked behind all other questions (what kind of terminal are you): every terminal answers it, and in order, so that
# behind its answer none is still to come.
LAST_QUESTION: Final = "\x1b[0c"
_PATIENCE = 5  # ticks (a tenth of a second) for the rest of an answer that came in pieces


class ExpectedAnswer:
    """Takes one answer, which `whole` finds, out of the input. `beginning`, anchored at the end, finds what may be one
    that is not whole yet."""

    def __init__(self, whole: re.Pattern[str], beginning: re.Pattern[str]) -> None:
        self.found: re.Match[str] | None = None  # once it came
        self._whole, self._beginning = whole, beginning
        self._held = ""
        self._ticks = 0

    def without(self, text: str) -> str:
        """Return the user's part of `text`. A piece that may begin the answer is held back."""
        if self.found is not None:
            return text
        text, self._held, self._ticks = self._held + text, "", 0
        if (answer := self._whole.search(text)) is not None:
            self.found = answer
            return text[: answer.start()] + text[answer.end() :]
        # A lone Escape is a key: only more than that is held.
        if (begun := self._beginning.search(text)) is not None and len(begun[0]) > 1:
            text, self._held = text[: begun.start()], begun[0]
        return text

    def tick(self) -> str:
        """Return what was held back and is no answer, since nothing followed."""
        if not self._held:
            return ""
        self._ticks += 1
        if self._ticks < _PATIENCE:
            return ""
        text, self._held = self._held, ""
        return text


def last_answer() -> ExpectedAnswer:
    """The answer to `LAST_QUESTION`: its only group is what the terminal says that it is."""
    return ExpectedAnswer(re.compile(r"\x1b\[\?([0-9;]*)c"), re.compile(r"\x1b(?:\[(?:\?[0-9;]{0,32})?)?\Z"))
