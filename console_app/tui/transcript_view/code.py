"""Code with its syntax coloured, in slices: text that only grows is coloured once, but for the slice still open.

A slice is closed after `SLICE` lines, with the lexer's state carried into the next, wherever the text was cut while
it streamed: so the colours depend on the code alone, and a block of thousands of lines costs a frame no more than a
short one. A construct without a state of its own (a block comment of some lexers) may lose its colour at a border.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from rich.style import Style

from console_app.tui.widgets.lines import Piece, clean
from console_app.tui.widgets.palette import Palette

logger = logging.getLogger(__name__)

SLICE = 24  # lines coloured together; the open slice is coloured again each frame
LONGEST = 2000  # characters of a line beyond which it is shown plain
_Inks = list[tuple[str, str]]  # pieces of one line: text, name of its ink


@lru_cache(maxsize=64)
def find_lexer(language: str) -> Any:
    """The pygments lexer of a fence's language, or None where there is none."""
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
        self._state: tuple[str, ...] = ("root",)
        self.version = 0

    def add(self, lines: list[str]) -> None:
        """More lines, each without its newline."""
        for line in lines:
            self._open.append(clean(line))
            if len(self._open) >= SLICE:
                inks, self._state = self._colour(self._open)
                self._slices.append(inks)
                self._open = []
        self.version += 1

    @property
    def closed_slices(self) -> int:
        """How many slices will not change any more."""
        return len(self._slices)

    def slice_pieces(self, number: int, palette: Palette) -> list[list[Piece]]:
        """The lines of a closed slice, as pieces."""
        return [_paint(line, palette) for line in self._slices[number]]

    def open_pieces(self, palette: Palette) -> list[list[Piece]]:
        """The lines that are not yet part of a closed slice, and the line still being written."""
        lines = [*self._open, clean(self.tail)] if self.tail else self._open
        if not lines:
            return []
        inks, _ = self._colour(lines)
        return [_paint(line, palette) for line in inks]

    def _colour(self, lines: list[str]) -> tuple[list[_Inks], tuple[str, ...]]:
        lexer = find_lexer(self.language)
        if lexer is None or any(len(line) > LONGEST for line in lines):
            return [[(line, "")] if line else [] for line in lines], self._state
        text = "\n".join(lines) + "\n"
        try:
            tokens, state = _lex(lexer, text, self._state)
        except Exception as error:  # a lexer's bug costs the colours, nothing else
            logger.warning("could not colour %s: %r", self.language, error)
            return [[(line, "")] if line else [] for line in lines], self._state
        return _split_lines(tokens, len(lines)), state


def _lex(lexer: Any, text: str, state: tuple[str, ...]) -> tuple[list[tuple[Any, str]], tuple[str, ...]]:
    from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

    if isinstance(lexer, RegexLexer) and type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
        context: Any = LexerContext(text, 0, list(state), len(text))
        try:
            # The plain lexer keeps its state to itself; this sibling runs the same rules and hands it over.
            found: Iterator[Any] = ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context)  # pyright: ignore[reportUnknownMemberType, reportArgumentType]
            tokens = [(kind, value) for _, kind, value in found]
            return tokens, tuple(context.stack) or ("root",)
        except TypeError:  # a callback that takes no context
            pass
    return [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)], state


def _split_lines(tokens: list[tuple[Any, str]], count: int) -> list[_Inks]:
    lines: list[_Inks] = [[]]
    for kind, value in tokens:
        ink = ink_of(kind)
        first, *others = value.split("\n")
        if first:
            lines[-1].append((first, ink))
        for part in others:
            lines.append([(part, ink)] if part else [])
    lines.extend([] for _ in range(count - len(lines)))
    return lines[:count]


def _paint(line: _Inks, palette: Palette) -> list[Piece]:
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
