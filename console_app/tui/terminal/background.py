"""Whether the terminal is light or dark: it is asked (OSC 11), and its answer taken out of what is typed.

The question goes out with the modes, so most terminals have answered before the first paint; nothing waits for it. One
that never answers (and tmux, where it doesn't know) leaves what COLORFGBG says, else dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from console_app.tui.terminal.answers import ExpectedAnswer

QUESTION = "\x1b]11;?\x1b\\"
_PART, _PAIR = "([0-9a-fA-F]{1,4})", "([0-9a-fA-F]{2})"
_COLOUR = rf"rgba?:{_PART}/{_PART}/{_PART}(?:/[0-9a-fA-F]{{1,4}})?|#{_PAIR}{_PAIR}{_PAIR}"
# One that says no colour is an answer all the same: as keys, its end would be Ctrl+G.
_ANSWER = re.compile(rf"\x1b\]11;(?:{_COLOUR}|[^\x00-\x1f]{{0,64}})(?:\x07|\x1b\\)")
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x00-\x1f]{0,64}\x1b?)?)?)?)?\Z")


class BackgroundAnswer(ExpectedAnswer):
    """The answer to `QUESTION`."""

    def __init__(self) -> None:
        super().__init__(_ANSWER, _BEGINNING)

    @property
    def is_light(self) -> bool | None:
        """None until the answer came, and where it says no colour."""
        return None if self.found is None else _is_light(self.found)


def is_light_by_environment(environ: Mapping[str, str]) -> bool:
    """As COLORFGBG has it (`FG;BG` or `FG;default;BG`, of the sixteen colours): 7 and 15 are light."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _is_light(answer: re.Match[str]) -> bool | None:
    parts = [int(part, 16) / (16 ** len(part) - 1) for part in answer.groups() if part]
    return (
        sum(weight * part for weight, part in zip((0.299, 0.587, 0.114), parts, strict=True)) > 0.5 if parts else None
    )
