"""Markdown in units that are laid out each by itself, when it is seen: until then its height is an estimate."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from console_app.records import dataclass, field
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.markdown.code import Code
from console_app.tui.lineview.markdown.rows import MIN_WIDTH, MarkdownRows, code_head, code_rows
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text.joined import Lookup

_MARK = re.compile(r"[\n\\`~*_\[<&]")  # what may begin more than text


@lru_cache(maxsize=1)
def parser() -> Any:
    """The one parser: CommonMark, tables and strikethrough; HTML is text."""
    # 20 ms: only once an answer is shown.
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

    def read_lines(state: StateCore) -> None:
        """Read the marks in lines. Most cells of tables hold none: they are plain text."""
        for token in state.tokens:
            if token.type == "inline" and _MARK.search(token.content):
                token.children = state.md.inline.parse(token.content, state.md, state.env, [])
            elif token.type == "inline":
                token.children = [Token("text", "", 0, content=token.content)] if token.content else []

    class Reader(MarkdownIt):
        def begin(self, text: str, references: References) -> StateCore:
            return StateCore(text, self, {"references": references})

    made = Reader("commonmark", {"html": False, "maxNesting": 12}).enable(["table", "strikethrough"])
    made.core.ruler.at("inline", read_lines)
    return made


_BLOCKS = 2  # rules of the parser that find blocks; the others read what stands in their lines
Frame = Callable[[Row], Line]  # gives a row its place on screen
References = dict[str, Any]
MOST_MADE = 1000  # lines of one text that are kept once they were made


@dataclass(frozen=True, slots=True)
class TextLook:
    """Decides how lines are made. `key` names all that `frame` depends on beside the row, width and palette too."""

    width: int
    palette: Palette
    frame: Frame
    key: object
    references: References = field(default_factory=dict[str, Any])


class Said:
    """The text of a unit's rows at one width: of each its gutter, its joint to the row above, and the text."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = [(row.gutter, row.joint, "".join(text for text, _ in row.pieces)[row.gutter :]) for row in rows]
        self.begins = [
            *accumulate((len(self.rows[at][2]) + len(row[1]) for at, row in enumerate(self.rows[1:])), initial=0)
        ]

    def row_at(self, character: int) -> int:
        return max(bisect_right(self.begins, character) - 1, 0)


class Unit:
    def __init__(self, *, gap: bool) -> None:
        self._gap = gap  # whether an empty line is above it
        self._known: tuple[int, Said] | None = None  # at the width last laid out
        self._about = (-1, 0)  # a width, and its estimate in that

    def rows(self, look: TextLook) -> list[Row]:
        raise NotImplementedError

    def estimate(self, width: int) -> int:
        """About how many these are, without making any."""
        raise NotImplementedError

    def said(self, width: int) -> Said | None:
        """Return the text of its lines at a width; None where it is not laid out in that."""
        return self._known[1] if self._known is not None and self._known[0] == width else None

    def height(self, width: int) -> int:
        """Its rows at a width, or about how many, with the empty one above."""
        if (said := self.said(width)) is not None:
            return len(said.rows)
        if self._about[0] != width:
            self._about = (width, self.estimate(width) + self._gap)
        return self._about[1]

    def lay_out(self, look: TextLook) -> list[Row]:
        rows = self.rows(look)
        rows = [Row([]), *rows] if rows and self._gap else rows
        if self.said(look.width) is None:
            self._known = (look.width, Said(rows))
        return rows

    def forget(self) -> None:
        """Take no width as laid out any more."""
        self._known = None


class ClosedBlocks(Unit):
    def __init__(self, source: str, number: int | None, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self.source = source
        self._number = number  # of its first item, when it goes on with a list

    def rows(self, look: TextLook) -> list[Row]:
        tokens = BlocksRead(self.source, look.references).tokens()
        return MarkdownRows(look.width, look.palette, self._number).render(tokens)

    def estimate(self, width: int) -> int:
        return estimate_rows(self.source.strip("\n"), width)


class BlocksRead:
    """Reads the blocks of a text, and the marks in their lines only when they are asked for."""

    def __init__(self, text: str, references: References) -> None:
        reader = parser()
        self._known, self.references = references, dict(references)  # the second: with those that the text defines
        self._state = reader.begin(text, self.references)
        rules: list[Any] = reader.core.ruler.getRules("")
        self._left = rules[_BLOCKS:]
        for rule in rules[:_BLOCKS]:
            rule(self._state)
        self.blocks: Sequence[Any] = self._state.tokens  # without what stands in lines

    def tokens(self) -> Sequence[Any]:
        """All tokens. Links know the references that were given: which are here depends on where the text was cut."""
        self._state.env["references"] = self._known
        rules, self._left = self._left, []
        for rule in rules:
            rule(self._state)
        return self._state.tokens


class Tail(Unit):
    def __init__(self, read: BlocksRead, number: int | None, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._read, self._number = read, number

    def rows(self, look: TextLook) -> list[Row]:
        return MarkdownRows(look.width, look.palette, self._number).render(self._read.tokens())

    def estimate(self, width: int) -> int:
        return 0  # it is laid out whenever it is asked for


class AsWritten(Unit):
    def __init__(self, text: str) -> None:
        super().__init__(gap=False)
        self._text = text

    def rows(self, look: TextLook) -> list[Row]:
        base = look.palette.base
        return [row for line in self._text.split("\n") for row in Line.wrap([(Line.clean(line), base)], look.width)]

    def estimate(self, width: int) -> int:
        return estimate_rows(self._text, width)


class CodeHead(Unit):
    def __init__(self, language: str, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._language = language

    def rows(self, look: TextLook) -> list[Row]:
        return code_head(self._language, look.palette)

    def estimate(self, width: int) -> int:
        return 1


class CodeSlice(Unit):
    """A slice of code by its number; -1 is the part that is still open."""

    def __init__(self, code: Code, number: int, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._code, self._number = code, number

    def rows(self, look: TextLook) -> list[Row]:
        code, ground = self._code, look.palette.on_sunken
        pieces: list[list[Piece]] = (
            code.open_pieces(ground) if self._number < 0 else code.slice_pieces(self._number, ground)
        )
        if not (pieces or code.language or code.closed_slices):
            pieces = [[]]  # a block with nothing in it
        return code_rows(pieces, max(look.width, MIN_WIDTH), look.palette)

    def estimate(self, width: int) -> int:
        return self._code.estimate(self._number, max(width, MIN_WIDTH) - 2)


def estimate_rows(text: str, width: int) -> int:
    return sum(-(-len(line) // width) or 1 for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text that is the same when parts of it become longer or shorter, as they are laid out."""

    unit: int  # its number; -1: behind all of them
    character: int  # of the unit's text; -1 where that isn't laid out
    share: float  # how far in the unit it is
    left: int  # rows of the unit, or of the text, from it on


class Laid(Lookup[Line]):
    """The lines of a text in one look, the units `now` laid out, and `rest` empty ones for text not taken in yet. With
    `keep_all` all of them are kept."""

    def __init__(
        self,
        units: Sequence[Unit],
        look: TextLook,
        rest: int,
        before: Laid | None,
        now: Sequence[Unit] = (),
        *,
        keep_all: bool = False,
    ) -> None:
        self.look = look
        self._keep_all = keep_all
        self._units = [*units]
        self._rest = rest
        self._made: dict[Unit, tuple[list[Row], dict[int, Line]]] = {}  # rows, and the lines of those that were seen
        if before is not None and before.look.key == look.key:
            self._made = {unit: made for unit in units if (made := before._made.get(unit)) is not None}
        for unit in now:
            self._made_of(unit)
        self._tops = [*accumulate((unit.height(look.width) for unit in units), initial=0)]

    def __len__(self) -> int:
        return self._tops[-1] + self._rest

    def item(self, index: int) -> Line:
        number, place = self._unit_at(index)
        rows, lines = self._made_of(self._units[number]) if number >= 0 else ([], {})
        return self._line(rows, lines, place) if place < len(rows) else self.look.frame(Row([]))

    def all_of(self, unit: Unit) -> list[Line]:
        rows, lines = self._made_of(unit)
        return [self._line(rows, lines, at) for at in range(len(rows))]

    def _line(self, rows: list[Row], lines: dict[int, Line], at: int) -> Line:
        if at not in lines:
            lines[at] = self.look.frame(rows[at])
        return lines[at]

    def _made_of(self, unit: Unit) -> tuple[list[Row], dict[int, Line]]:
        made = self._made.get(unit)
        if made is None:
            if not self._keep_all and self.kept > MOST_MADE:
                self._made.clear()
            made = self._made[unit] = (unit.lay_out(self.look), {})
        return made

    @property
    def kept(self) -> int:
        return sum(len(rows) for rows, _ in self._made.values())

    def show(self, first: int, past: int) -> bool:
        """Lay out the units that have a line among these, and tell whether any was not laid out before."""
        width, new = self.look.width, False
        number, _ = self._unit_at(max(first, 0))
        while 0 <= number < len(self._units) and self._tops[number] < past:
            new = new or self._units[number].said(width) is None
            self._made_of(self._units[number])
            number += 1
        return new

    def texts(self) -> Sequence[tuple[int, int, str, str]]:
        """Return (line, characters of the frame before it, text, joint) for each line that is laid out."""
        out: list[tuple[int, int, str, str]] = []
        for unit, top in zip(self._units, self._tops, strict=False):
            if (said := unit.said(self.look.width)) is not None:
                out += [(top + at, gutter, text, joint) for at, (gutter, joint, text) in enumerate(said.rows)]
        return out

    def said(self, index: int) -> tuple[str, str] | None:
        """The text of a line and what stands before it when lines are copied, where that is known."""
        number, place = self._unit_at(index)
        said = self._units[number].said(self.look.width) if number >= 0 else None
        if said is None or place >= len(said.rows):
            return None
        _, joint, text = said.rows[place]
        return text, joint

    def mark(self, line: int) -> Mark:
        number, place = self._unit_at(line)
        if number < 0:
            return Mark(-1, -1, 0.0, len(self) - line)
        height = self._tops[number + 1] - self._tops[number]
        said = self._units[number].said(self.look.width)
        known = said is not None and place < len(said.rows)
        return Mark(number, said.begins[place] if said is not None and known else -1, place / height, height - place)

    def line_of(self, mark: Mark) -> int:
        if not 0 <= mark.unit < len(self._units):
            return max(len(self) - mark.left, 0)
        top = self._tops[mark.unit]
        height = self._tops[mark.unit + 1] - top
        if mark.character < 0:
            return top + max(height - mark.left, 0)
        said = self._units[mark.unit].said(self.look.width)
        return top + (int(mark.share * height) if said is None else said.row_at(mark.character))

    def _unit_at(self, line: int) -> tuple[int, int]:
        if line >= self._tops[-1]:
            return -1, line - self._tops[-1]
        number = bisect_right(self._tops, line) - 1
        return number, line - self._tops[number]
