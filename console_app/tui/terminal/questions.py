"""Ask the terminal, when the console takes it, whether it is light and which pictures it draws.

All is asked at once, with a last question behind that every terminal answers, in order. Two more follow where the
answers say that they are understood. What is answered is taken out of what is typed.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from operator import mul

# Asked behind all other questions (what kind of terminal are you): every terminal answers it, and in order, so that
# behind its answer none is still to come.
LAST_QUESTION = "\x1b[0c"
BACKGROUND_QUESTION = "\x1b]11;?\x1b\\"
NAME_QUESTION = "\x1b[>q"
PICTURES_QUESTION = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
# How many colours at once, and how many pixels a cell has: asked only of who takes sixels, others might scroll.
DETAILS_QUESTION = "\x1b[?1;1;0S\x1b[16t"
_PART, _PAIR = "([0-9a-fA-F]{1,4})", "([0-9a-fA-F]{2})"
_COLOUR = rf"rgba?:{_PART}/{_PART}/{_PART}(?:/[0-9a-fA-F]{{1,4}})?|#{_PAIR}{_PAIR}{_PAIR}"
# Each answer: a pattern of it whose groups say something, and one of its beginning. The groups are: of the last, the
# kind of terminal; of the name, the name; of pictures, OK or an error; of colours, their number, not of an error; of
# the cell, its height and width in pixels. A background without a colour is one too: as keys, its end is Ctrl+G.
_LAST = r"\x1b\[\?([0-9;]*)c", r"\x1b(?:\[(?:\?[0-9;]{0,32})?)?\Z"
_BACKGROUND = (
    rf"\x1b\]11;(?:{_COLOUR}|[^\x00-\x1f]{{0,64}})(?:\x07|\x1b\\)",
    r"\x1b(?:\](?:1(?:1(?:;[^\x00-\x1f]{0,64}\x1b?)?)?)?)?\Z",
)
NAME_ANSWER = r"\x1bP>\|([^\x00-\x1f]{0,200})\x1b\\", r"\x1b(?:P(?:>(?:\|[^\x00-\x1f]{0,200}\x1b?)?)?)?\Z"
PICTURES_ANSWER = (
    r"\x1b_G[^\x00-\x1f;]{0,64}(?:;([^\x00-\x1f]{0,200}))?\x1b\\",
    r"\x1b(?:_(?:G[^\x00-\x1f]{0,265}\x1b?)?)?\Z",
)
COLOURS_ANSWER = r"\x1b\[\?1;[0-9](?:;([0-9]{1,9}))?(?:;[0-9;]{0,32})?S", r"\x1b(?:\[(?:\?[0-9;]{0,48})?)?\Z"
CELL_ANSWER = r"\x1b\[6;([0-9]{1,4});([0-9]{1,4})t", r"\x1b(?:\[(?:6(?:;[0-9;]{0,9})?)?)?\Z"
USUAL_COLOURS = 256
_SIXELS = "4"  # among what a terminal says that it is
_FIRST_KITTY = (0, 28)  # that draws pictures in place of cells
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
_PATIENCE = 5  # ticks (a tenth of a second) for the rest of an answer that came in pieces


def is_shared(environ: Mapping[str, str]) -> bool:
    """Tell whether a multiplexer has the terminal: it paints its own screen with nothing that it doesn't know."""
    return bool(environ.get("TMUX") or environ.get("STY"))


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Tell whether the terminal may be asked its name: those meant call themselves xterm-something, also over ssh."""
    return environ.get("TERM", "").startswith("xterm") and not is_shared(environ)


def draws_cells(name: str) -> bool:
    """Tell whether a terminal of that name and version can put pictures in place of cells."""
    if (kitty := _KITTY.match(name)) is not None:
        return (int(kitty[1]), int(kitty[2])) >= _FIRST_KITTY
    return name.startswith("ghostty ")


def takes_sixels(kind: str) -> bool:
    """Tell whether a terminal names sixels in its answer to DA1 (`?63;1;2;4;6`)."""
    return _SIXELS in kind.lstrip("?").split(";")[1:]


class ExpectedAnswer:
    """Takes one answer, which `whole` finds, out of the input. `beginning`, anchored at the end, finds what may be one
    that is not whole yet."""

    def __init__(self, whole: str, beginning: str) -> None:
        self.found: re.Match[str] | None = None  # once it came
        self._whole, self._beginning = re.compile(whole), re.compile(beginning)
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


# Seconds that the end waits for answers, and how long after the questions there is still hope of any.
ANSWERS, HOPE = 1.5, 10.0


class TerminalQuestions:
    """Asks one terminal. The thread that reads hands over its text, and any thread may wait for the answers."""

    def __init__(
        self, write: Callable[[str], None], *, is_light: Callable[[bool], None], known: Callable[[], None]
    ) -> None:
        """`write` takes questions; `is_light` is told of the background, `known` when more is known of pictures."""
        self._write, self._is_light, self._known = write, is_light, known
        self._background: ExpectedAnswer | None = None
        self._name: ExpectedAnswer | None = None
        self._pictures: ExpectedAnswer | None = None  # from one that may draw them among text
        self._colours: ExpectedAnswer | None = None  # from one that takes sixels
        self._cell = ExpectedAnswer(*CELL_ANSWER)
        self._may_draw = False  # sixels, if it takes them
        self._last = ExpectedAnswer(*_LAST)
        self._lasts = 0  # of these answers that are still to come
        self._all_answered = False  # once at least
        self._asked = 0.0  # when, as `time.monotonic` has it
        self._answered = threading.Event()  # all that was asked, or nobody will

    def begin(self, *, background: bool, name: bool, sixels: bool) -> str:
        """Return the questions to ask now. Those that were asked before are answered or never will be."""
        questions = ""
        if background and self._background is None:
            self._background = ExpectedAnswer(*_BACKGROUND)
            questions += BACKGROUND_QUESTION
        if name and self._name is None:
            self._name = ExpectedAnswer(*NAME_ANSWER)
            questions += NAME_QUESTION
        self._may_draw = sixels
        self._last, self._lasts, self._asked = ExpectedAnswer(*_LAST), 1, time.monotonic()
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
            said: list[str] = [*filter(None, self._background.found.groups())] if self._background.found else []
            if shades := [int(part, 16) / (16 ** len(part) - 1) for part in said]:
                self._is_light(sum(map(mul, (0.299, 0.587, 0.114), shades)) > 0.5)
        if self._name is not None and self._name.found is None:
            text = self._name.without(text)
            if self._name.found is not None and draws_cells(self._name.found[1]):
                self._pictures = self._ask(PICTURES_QUESTION, ExpectedAnswer(*PICTURES_ANSWER))
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
                self._colours = self._ask(DETAILS_QUESTION, ExpectedAnswer(*COLOURS_ANSWER))
            if self._lasts:
                self._last = ExpectedAnswer(*_LAST)
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
