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
    """Types a line, and waits for what comes of it below, in this order; returns that. It is typed when nothing more is
    said: the terminal shows it where it is written, in the middle of a long answer too.
    """
    terminal.at_rest()
    echo = re.compile(rf"^{re.escape(line)}$", re.MULTILINE)
    before = len(echo.findall(terminal.text()))
    wanted = re.compile("(?s:.*?)".join(patterns), re.MULTILINE)
    terminal.type(f"{line}\n")

    def below(text: str) -> str:
        found = list(echo.finditer(text))
        return text[found[before].end() :] if len(found) > before else ""

    if not terminal.wait_until(lambda text: wanted.search(below(text))):
        raise NotSeen(f"{line}: {patterns} never came\n{terminal.text()}")
    return below(terminal.text())


def ended(terminal: Terminal) -> None:
    """Leaves the console, which gives the terminal back."""
    terminal.type("/quit\n")
    assert terminal.wait_exit() == 0
    assert terminal.left_changed() == []
