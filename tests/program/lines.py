"""The line console in a real terminal: each line is typed once what came before it is over, and what comes of it is
looked for below it, as the same words may stand further up.

What was typed before a question is not its answer, and a list is said before the question that it is for: so a list is
answered by what waited for `PICK`, and anything else by what waited for the question itself.
"""

from __future__ import annotations

import re

from tests.program.terminal import NotSeen, Terminal

PICK = "^Type a number"
OVER = "^Done"


def typed(terminal: Terminal, line: str, *patterns: str) -> str:
    """Types a line, and waits for what comes of it below, in this order; returns that. The terminal shows the line
    where it is written: also in the middle of a long answer, behind words of it and wrapped.
    """
    echo = re.compile(r"\n?".join(map(re.escape, line)) + "$", re.MULTILINE)
    above = len(terminal.text().rstrip())
    wanted = re.compile("(?s:.*?)".join(patterns), re.MULTILINE)
    terminal.type(f"{line}\n")

    def below(text: str) -> str:
        shown = echo.search(text, above)
        return text[shown.end() :] if shown is not None else ""

    if (text := terminal.first(lambda text: wanted.search(below(text)))) is None:
        raise NotSeen(f"{line}: {patterns} never came\n{terminal.text()}")
    return below(text)


def ended(terminal: Terminal) -> None:
    """Leaves the console, which gives the terminal back."""
    terminal.type("/quit\n")
    assert terminal.wait_exit() == 0
    assert terminal.left_changed() == []
