"""Colour the syntax of code in slices: text that only grows is coloured once, but for the slice still open.

A slice is closed after `SLICE` lines, wherever the text was cut while it streamed, and the lexer's state is carried
into the next. So the colours depend on the code alone, and a long block costs a frame no more than a short one. A
construct without a state of its own (a block comment of some lexers) may lose its colour at a border.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from rich.style import Style

from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette

logger = logging.getLogger(__name__)

SLICE = 24  # lines coloured together; the open slice is coloured again each frame
LONGEST = 2000  # characters of a line beyond which it is shown plain
RUN_UP = 8  # slices above one that is come to from far away, from which its colours are found
MOST_SLICES = 100  # that are kept coloured
_ROOT = ("root",)
_Inks = list[tuple[str, str]]  # pieces of one line: text, name of its ink


@lru_cache(maxsize=64)
def find_lexer(language: str) -> Any:
    if not language:
        return None
    # 25 ms for pygments, then a few for the language's module: only once code is shown.
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def ink_of(token: Any) -> str:
    """The name of the ink of a pygments token type; "" is plain."""
    from pygments.token import Comment, Error, Generic, Keyword, Literal, Name, Number, Operator, String

    inks = (
        (Comment, "comment"),
        (Keyword.Type, "type"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (Operator, "operator"),
        (String, "string"),
        (Number, "number"),
        (Literal, "string"),
        (Name.Tag, "key"),
        (Name.Attribute, "type"),
        (Name.Class, "type"),
        (Name.Builtin, "type"),
        (Name.Decorator, "name"),
        (Name.Function, "name"),
        (Name.Namespace, "name"),
        (Generic.Inserted, "added"),
        (Generic.Deleted, "removed"),
        (Generic.Heading, "keyword"),
        (Generic.Subheading, "keyword"),
        (Error, ""),
    )
    return next((ink for kind, ink in inks if token in kind), "")


class Code:
    """Code that grows: `add` whole lines, set `tail` to the line not yet ended, then ask for the pieces."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.tail = ""
        self._slices: list[list[_Inks]] = []
        self._open: list[str] = []
        self._state: tuple[str, ...] = _ROOT

    def add(self, lines: list[str]) -> None:
        for line in lines:
            self._open.append(Line.clean(line))
            if len(self._open) >= SLICE:
                self.close()

    @property
    def closed_slices(self) -> int:
        return len(self._slices)

    def close(self) -> None:
        if self._open:
            inks, self._state = coloured(self.language, self._open, self._state)
            self._slices.append(inks)
            self._open = []

    def estimate(self, number: int, width: int) -> int:
        """About how many rows a closed slice takes at a width, or with -1 the open one."""
        if number < 0:
            return len(self._open) + 1
        return sum(-(-sum(len(text) for text, _ in line) // width) or 1 for line in self._slices[number])

    def slice_pieces(self, number: int, palette: Palette) -> list[list[Piece]]:
        return [paint_inks(line, palette) for line in self._slices[number]]

    def open_pieces(self, palette: Palette) -> list[list[Piece]]:
        lines = [*self._open, Line.clean(self.tail)] if self.tail else self._open
        if not lines:
            return []
        inks, _ = coloured(self.language, lines, self._state)
        return [paint_inks(line, palette) for line in inks]


class CodeLines:
    """Lines coloured by the slice when asked for. A far slice is read from some slices above it on: an older construct
    still open there loses its colour."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._lines: list[str] = []
        self._slices: dict[int, list[_Inks]] = {}
        self._states: dict[int, tuple[str, ...]] = {0: _ROOT}  # before a slice, as far as they are known

    def extend(self, lines: Sequence[str]) -> None:
        last = len(self._lines) // SLICE  # not whole so far, perhaps
        self._slices.pop(last, None)
        self._states.pop(last + 1, None)
        self._lines += lines

    def pieces(self, number: int, palette: Palette) -> list[Piece]:
        at, inside = divmod(number, SLICE)
        if at not in self._slices:
            self._colour(at)
        return paint_inks(self._slices[at][inside], palette)

    def _colour(self, wanted: int) -> None:
        first = next((at for at in range(wanted, max(wanted - RUN_UP, 0) - 1, -1) if at in self._states), None)
        if len(self._slices) >= MOST_SLICES:
            self._slices.clear()
        for at in range(max(wanted - RUN_UP, 0) if first is None else first, wanted + 1):
            lines = [Line.clean(line) for line in self._lines[at * SLICE : (at + 1) * SLICE]]
            self._slices[at], after = coloured(self._language, lines, self._states.get(at, _ROOT))
            self._states.setdefault(at + 1, after)


def coloured(language: str, lines: list[str], state: tuple[str, ...]) -> tuple[list[_Inks], tuple[str, ...]]:
    lexer = find_lexer(language)
    if lexer is None or any(len(line) > LONGEST for line in lines):
        return [[(line, "")] if line else [] for line in lines], state
    text = "\n".join(lines) + "\n"
    try:
        tokens, state = _lex(lexer, text, state)
    except Exception as error:  # a lexer's bug costs the colours, nothing else
        logger.warning("could not colour %s: %r", language, error)
        return [[(line, "")] if line else [] for line in lines], state
    split: list[_Inks] = [[]]
    for kind, value in tokens:
        ink = ink_of(kind)
        first, *others = value.split("\n")
        if first:
            split[-1].append((first, ink))
        split += [[(part, ink)] if part else [] for part in others]
    split.extend([] for _ in range(len(lines) - len(split)))
    return split[: len(lines)], state


def _lex(lexer: Any, text: str, state: tuple[str, ...]) -> tuple[list[tuple[Any, str]], tuple[str, ...]]:
    from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

    if isinstance(lexer, RegexLexer) and type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
        context: Any = LexerContext(text, 0, list(state), len(text))
        try:
            # The plain lexer keeps its state to itself; this sibling runs the same rules and hands it over.
            found: Iterator[Any] = ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context)  # pyright: ignore[reportUnknownMemberType, reportArgumentType]
            tokens = [(kind, value) for _, kind, value in found]
            return tokens, tuple(context.stack) or _ROOT
        except TypeError:  # a callback that takes no context
            pass
    return [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)], state


def paint_inks(line: _Inks, palette: Palette) -> list[Piece]:
    inks, plain = palette.syntax, palette.base
    pieces: list[Piece] = []
    previous: Style | None = None
    for text, ink in line:
        style = inks[ink] if ink else plain
        if style is previous:
            pieces[-1] = (pieces[-1][0] + text, style)
        else:
            pieces.append((text, style))
        previous = style
    return pieces
