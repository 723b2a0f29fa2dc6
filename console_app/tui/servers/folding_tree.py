"""Show a tree of rows that fold.

The rows below a node are made when it is opened, so a tree of any size or depth opens at once. Only the rows on screen
are painted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType

from console_app.records import dataclass, field
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.widgets.row_list import RowList

MOST_ROWS = 20_000  # that are open at once
MOST_WRAPPED = 200  # rows of one node's text
INDENT = 2

Paint = Callable[[Palette], Sequence[Piece]]


@dataclass(eq=False, slots=True)
class Node:
    """A node of the tree: `paint` gives its text, safe to show, `below` makes those below, and `key` identifies it."""

    paint: Paint
    below: Callable[[], Sequence[Node]] | None = None
    open: bool = False
    key: object = None
    made: Sequence[Node] | None = field(default=None, repr=False)

    @property
    def nodes(self) -> Sequence[Node]:
        if self.made is None:
            self.made = self.below() if self.below is not None else ()
        return self.made


_MORE = Node(lambda palette: [("… more is not shown; fold something", palette.warning)])


class FoldingTree(RowList):
    """Nodes with all that is open below them; long text goes on in rows below, its node still the one meant."""

    DEFAULT_CSS = "FoldingTree { scrollbar-gutter: stable; }"  # laid without its scroll bar, rows would end below it

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "fold", "fold", tooltip="open or fold", id="tree.fold"),
        Binding("right", "open(True)", "open", id="tree.open", show=False),
        Binding("left", "open(False)", "fold", id="tree.close", show=False),
        Binding("o", "open_all", "open all", tooltip="open all, or fold all", id="tree.open_all"),
    ]

    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        super().__init__()
        self._top = nodes
        self._rows: list[tuple[Node, int, Sequence[Piece], bool]] = []  # with depth; the last: it is the first of its
        self._laid_for = 0

    def show(self, nodes: Sequence[Node]) -> None:
        """Show other nodes. Those with a key that was open stay open, and the cursor stays on its key."""
        before = {node.key: node.open for node in self._top if node.key is not None}
        for node in nodes:
            node.open = before.get(node.key, node.open)
        self._top = nodes
        self._lay()

    @property
    def node(self) -> Node | None:
        return self._rows[self.cursor][0] if 0 <= self.cursor < len(self._rows) else None

    def _lay(self) -> None:
        """Rows anew for the width there is; the cursor stays on its node, or on its row."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        self._laid_for = width
        on = self.node
        self._rows = []
        for node, depth in _open(self._top):
            if len(self._rows) >= MOST_ROWS:
                self._rows.append((_MORE, 0, _MORE.paint(self.palette), True))
                break
            pieces = [piece for piece in node.paint(self.palette) if piece[0]]
            room = max(width - 3 - _indent(depth, width), 8)
            for at, row in enumerate(islice(_wrapped(pieces, room), MOST_WRAPPED)):
                self._rows.append((node, depth, row, at == 0))
        place = next((at for at, row in enumerate(self._rows) if on is not None and same(row[0], on)), None)
        self.set_count(len(self._rows), self.cursor if place is None else place)

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._laid_for:
            self._lay()

    def _theme_changed(self, _theme: object) -> None:
        super()._theme_changed(_theme)
        self._lay()

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        node, depth, pieces, first = self._rows[row]
        edge: Piece = ("▌" if row == self.cursor else " ", palette.primary)
        sign = "  "
        if first and node.below is not None:
            sign = "▾ " if node.open else "▸ "
        if palette is not self.palette:  # the ground of the cursor
            ground = Style(bgcolor=palette.base.bgcolor)
            pieces = [(text, style + ground) for text, style in pieces]
        left: list[Piece] = [edge, (" " * _indent(depth, width), palette.base), (sign, palette.muted)]
        return Line.fit(Line.trim([*left, *pieces], width), width, palette.base)

    def fold(self, node: Node, open: bool) -> None:
        if node.below is not None and node.open is not open:
            node.open = open
            self._lay()

    def action_fold(self) -> None:
        if (node := self.node) is not None:
            self.fold(node, not node.open)

    def action_open(self, open: bool) -> None:
        node = self.node
        if node is None:
            return
        if open or (node.open and node.below is not None):
            self.fold(node, open)
            return
        depth = self._rows[self.cursor][1]
        above = (at for at in range(self.cursor - 1, -1, -1) if self._rows[at][1] < depth)
        self.move_to(next((at for at in above if self._rows[at][3]), self.cursor))

    def action_open_all(self) -> None:
        if any(node.below is not None and not node.open for node, _ in _open(self._top)):
            waiting, left = [*reversed(self._top)], MOST_ROWS
            while waiting and left > 0:
                node = waiting.pop()
                left -= 1
                if node.below is not None:
                    node.open = True
                    waiting += reversed(node.nodes)
        else:
            for node, depth in list(_open(self._top)):
                node.open = node.open and depth == 0
        self._lay()


def same(one: Node, other: Node) -> bool:
    return one is other or (one.key is not None and one.key == other.key)


def _wrapped(pieces: Sequence[Piece], room: int) -> Iterator[Sequence[Piece]]:
    """The pieces on as many rows as they need; a line break begins another."""
    rows: list[list[Piece]] = [[]]
    for text, style in pieces:
        first, *others = text.split("\n")
        rows[-1].append((first, style))
        rows += [[(other, style)] for other in others]
    for row in rows:
        if Line.cells(row) <= room:
            yield row
        else:
            yield from (one.pieces for one in Line.wrap(row, room))


def _indent(depth: int, width: int) -> int:
    """Deep nodes stop moving to the right where a third of the width is left to them."""
    return min(depth * INDENT, max(width * 2 // 3, 0))


def _open(nodes: Sequence[Node]) -> Iterator[tuple[Node, int]]:
    """The nodes that are seen, with their depth, in order; without recursion, as they may be nested deeply."""
    waiting = [(node, 0) for node in reversed(nodes)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        if node.open:
            waiting += [(child, depth + 1) for child in reversed(node.nodes)]
