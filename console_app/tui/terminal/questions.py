"""Ask the terminal, when the console takes it, whether it is light and which pictures it draws.

All is asked at once, with a last question behind that every terminal answers, in order. Two more follow where the
answers say that they are understood. What is answered is taken out of what is typed.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping

from console_app.tui.terminal.answers import LAST_QUESTION, ExpectedAnswer, last_answer
from console_app.tui.terminal.canvas import (
    NAME_QUESTION,
    PICTURES_QUESTION,
    draws_cells,
    name_answer,
    pictures_answer,
)
from console_app.tui.terminal.sixels import DETAILS_QUESTION, USUAL_COLOURS, cell_answer, colours_answer, takes_sixels

QUESTION = "\x1b]11;?\x1b\\"
_PART, _PAIR = "([0-9a-fA-F]{1,4})", "([0-9a-fA-F]{2})"
_COLOUR = rf"rgba?:{_PART}/{_PART}/{_PART}(?:/[0-9a-fA-F]{{1,4}})?|#{_PAIR}{_PAIR}{_PAIR}"
# One that says no colour is an answer all the same: as keys, its end would be Ctrl+G.
_ANSWER = re.compile(rf"\x1b\]11;(?:{_COLOUR}|[^\x00-\x1f]{{0,64}})(?:\x07|\x1b\\)")
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x00-\x1f]{0,64}\x1b?)?)?)?)?\Z")


class BackgroundAnswer(ExpectedAnswer):
    def __init__(self) -> None:
        super().__init__(_ANSWER, _BEGINNING)

    @property
    def is_light(self) -> bool | None:
        """None until the answer came, and where it says no colour."""
        return None if self.found is None else _is_light(self.found)


def is_light_by_environment(environ: Mapping[str, str]) -> bool:
    """Read COLORFGBG (`FG;BG` or `FG;default;BG`, of the sixteen colours): 7 and 15 are light."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _is_light(answer: re.Match[str]) -> bool | None:
    parts = [int(part, 16) / (16 ** len(part) - 1) for part in answer.groups() if part]
    return (
        sum(weight * part for weight, part in zip((0.299, 0.587, 0.114), parts, strict=True)) > 0.5 if parts else None
    )


# Seconds that the end waits for answers, and how long after the questions there is still hope of any.
ANSWERS, HOPE = 1.5, 10.0


class TerminalQuestions:
    """Asks one terminal. The thread that reads hands over its text, and any thread may wait for the answers."""

    def __init__(
        self, write: Callable[[str], None], *, is_light: Callable[[bool], None], known: Callable[[], None]
    ) -> None:
        """`write` takes questions; `is_light` is told of the background, `known` when more is known of pictures."""
        self._write, self._is_light, self._known = write, is_light, known
        self._background: BackgroundAnswer | None = None
        self._name: ExpectedAnswer | None = None
        self._pictures: ExpectedAnswer | None = None  # from one that may draw them among text
        self._colours: ExpectedAnswer | None = None  # from one that takes sixels
        self._cell = cell_answer()
        self._may_draw = False  # sixels, if it takes them
        self._last = last_answer()
        self._lasts = 0  # of these answers that are still to come
        self._all_answered = False  # once at least
        self._asked = 0.0  # when, as `time.monotonic` has it
        self._answered = threading.Event()  # all that was asked, or nobody will

    def begin(self, *, background: bool, name: bool, sixels: bool) -> str:
        """Return the questions to ask now. Those that were asked before are answered or never will be."""
        questions = ""
        if background and self._background is None:
            self._background = BackgroundAnswer()
            questions += QUESTION
        if name and self._name is None:
            self._name = name_answer()
            questions += NAME_QUESTION
        self._may_draw = sixels
        self._last, self._lasts, self._asked = last_answer(), 1, time.monotonic()
        self._answered.clear()
        return questions + LAST_QUESTION

    @property
    def draws_cells(self) -> bool:
        return self._pictures is not None and self._pictures.found is not None and self._pictures.found[1] == "OK"

    @property
    def sixels(self) -> int:
        """The colours of sixels that it takes at once; 0 until all was answered once, and where it takes none."""
        if self._colours is None or not self._all_answered:
            return 0
        return int((self._colours.found and self._colours.found[1]) or USUAL_COLOURS)

    @property
    def cell(self) -> tuple[int, int] | None:
        """The pixels of a cell, side by side and in height, of a terminal that takes sixels and says so."""
        found = self._cell.found
        return (int(found[2]), int(found[1])) if found and int(found[2]) and int(found[1]) else None

    def without(self, text: str) -> str:
        """Return `text` without the terminal's answers, which are noted."""
        if self._background is not None and self._background.found is None:
            text = self._background.without(text)
            if self._background.is_light is not None:
                self._is_light(self._background.is_light)
        if self._name is not None and self._name.found is None:
            text = self._name.without(text)
            if self._name.found is not None and draws_cells(self._name.found[1]):
                self._pictures = self._ask(PICTURES_QUESTION, pictures_answer())
        if self._pictures is not None and self._pictures.found is None:
            text = self._pictures.without(text)
            self._known()
        if self._colours is not None and self._colours.found is None:
            text = self._colours.without(text)
        if self._colours is not None:
            text = self._cell.without(text)
        while self._lasts:
            text = self._last.without(text)
            if self._last.found is None:
                break
            self._lasts -= 1
            if self._may_draw and not (self._pictures or self._colours) and takes_sixels(self._last.found[1]):
                self._colours = self._ask(DETAILS_QUESTION, colours_answer())
            if self._lasts:
                self._last = last_answer()
            else:
                self._all_answered = True
                self._answered.set()
                self._known()
        return text

    def held(self) -> str:
        """Text that looked like the beginning of an answer and is none: nothing followed for a while."""
        answers = (self._background, self._name, self._pictures, self._colours, self._cell, self._last)
        return "".join(answer.tick() for answer in answers if answer is not None)

    @property
    def are_open(self) -> bool:
        return not self._answered.is_set() and time.monotonic() < self._asked + HOPE

    def wait(self) -> None:
        self._answered.wait(ANSWERS)

    def close(self) -> None:
        self._answered.set()

    def _ask(self, question: str, answer: ExpectedAnswer) -> ExpectedAnswer:
        self._lasts += 1
        self._write(question + LAST_QUESTION)
        return answer
