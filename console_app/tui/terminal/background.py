"""Whether the terminal is light or dark: it is asked (OSC 11), and its answer taken out of what is typed.

The question goes out with the modes, so most terminals have answered before the first paint; nothing waits for it. One
that never answers (and tmux, where it doesn't know) leaves what COLORFGBG says, else dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

QUESTION = "\x1b]11;?\x1b\\"
_PART = "([0-9a-fA-F]{1,4})"
_ANSWER = re.compile(rf"\x1b\]11;rgba?:{_PART}/{_PART}/{_PART}(?:/[0-9a-fA-F]{{1,4}})?(?:\x07|\x1b\\)")
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;[rgba:0-9A-Fa-f/]{0,32}\x1b?)?)?)?)?\Z")
_PATIENCE = 5  # ticks (a tenth of a second) for the rest of an answer that came in pieces


class BackgroundAnswer:
    """Takes the one answer out of the input; before and behind it everything is passed on as it came."""

    def __init__(self) -> None:
        self.is_light: bool | None = None  # once it came
        self._held = ""
        self._ticks = 0

    def without(self, text: str) -> str:
        """What of `text` is the user's; a piece that may begin the answer is held back."""
        if self.is_light is not None:
            return text
        text, self._held, self._ticks = self._held + text, "", 0
        if (answer := _ANSWER.search(text)) is not None:
            self.is_light = _is_light(answer)
            return text[: answer.start()] + text[answer.end() :]
        # A lone Escape is a key: only more than that is held.
        if (begun := _BEGINNING.search(text)) is not None and len(begun[0]) > 1:
            text, self._held = text[: begun.start()], begun[0]
        return text

    def tick(self) -> str:
        """What was held and is no answer, since nothing followed."""
        if not self._held:
            return ""
        self._ticks += 1
        if self._ticks < _PATIENCE:
            return ""
        text, self._held = self._held, ""
        return text


def is_light_by_environment(environ: Mapping[str, str]) -> bool:
    """As COLORFGBG has it (`FG;BG` or `FG;default;BG`, of the sixteen colours): 7 and 15 are light."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _is_light(answer: re.Match[str]) -> bool:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in answer.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
