"""JSON as a tree that folds: laid out as JSON is, each object and list with a mark that opens or closes it.

How deep it is open at first is chosen so that it can be overlooked; only lines that are not folded away are made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from rich.style import Style

from console_app.domain import amounts, plural
from console_app.records import dataclass
from console_app.tui.lineview.lines import Line, Row
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text import json_view
from console_app.tui.lineview.text.text_page import LONGEST_LINE

OVERSEEN = 60  # lines up to which one more level is open from the beginning
DEEPEST = 32
FOLD_META = "fold"  # name in a style's meta data under which a line tells the tree and the node that it turns
_MARKS = {True: "▾ ", False: "▸ "}
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of the tree. `path` leads to the object or list that it folds; None where it folds none."""

    text: str
    path: Path | None = None
    open: bool = True


class JsonTree:
    def __init__(self, value: Any, name: str = "") -> None:
        self.name = name
        self._value = value
        self._turned: set[Path] = set()  # nodes that are not as their depth says
        self._depth = self._fitting_depth()
        self._lines: list[TreeLine] | None = None
        self.version = 0

    @property
    def lines(self) -> list[TreeLine]:
        if self._lines is None:
            self._lines = list(self._walk(self._value, (), "", ""))
        return self._lines

    def turn(self, path: Path) -> None:
        self._turned ^= {path}
        self._changed()

    def deepen(self, delta: int) -> bool:
        """Open so many levels more, or fewer; tell whether that changed anything."""
        before = self.lines
        depth, turned = self._depth, self._turned
        self._depth, self._turned = min(max(self._depth + delta, 0), DEEPEST), set()
        self._changed()
        if self.lines != before:
            return True
        self._depth, self._turned = depth, turned
        return False

    def _changed(self) -> None:
        self._lines = None
        self.version += 1

    def _fitting_depth(self) -> int:
        """The depth to which it can be open and still be overlooked; the first level always is."""
        level: list[Any] = [self._value]
        lines, depth = 1, 0
        while depth < DEEPEST:
            inside = [one for node in level for one in _children(node)]
            lines += len(inside) + sum(1 for node in level if _children(node))
            if not inside or (depth and lines > OVERSEEN):
                break
            depth += 1
            level = inside
        return depth

    def _walk(self, value: Any, path: Path, name: str, comma: str) -> Iterator[TreeLine]:
        lead = "  " * len(path) + name
        inside = _children(value)
        if not inside:
            yield TreeLine(f"{lead}{_scalar(value)}{comma}")
            return
        is_object = isinstance(value, dict)
        begin, end = ("{", "}") if is_object else ("[", "]")
        if (len(path) < self._depth) is (path in self._turned):
            count = plural(len(inside), "key" if is_object else "item")
            yield TreeLine(f"{lead}{begin} {count} {end}{comma}", path, open=False)
            return
        yield TreeLine(f"{lead}{begin}", path)
        names = list(cast("dict[str, Any]", value)) if is_object else range(len(inside))
        last = len(inside) - 1
        for place, (key, one) in enumerate(zip(names, inside, strict=True)):
            label = f"{json.dumps(key, ensure_ascii=False)}: " if is_object else ""
            yield from self._walk(one, (*path, key), label, "," if place < last else "")
        yield TreeLine(f"{'  ' * len(path)}{end}{comma}")


def shown_text(line: TreeLine) -> str:
    text = line.text
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]} … {amounts.size(len(text) - LONGEST_LINE)} more on this line"


def tree_rows(tree: JsonTree, line: TreeLine, width: int, palette: Palette) -> list[Row]:
    """A line of a tree as rows. The mark left of it is not copied; a click on a line that has one turns it."""
    pieces = json_view.paint(shown_text(line), palette)
    mark, ink = "  ", palette.muted
    if line.path is not None:
        mark = _MARKS[line.open]
        meta = Style(meta={FOLD_META: (tree.name, line.path)})
        ink = palette.accent + meta
        pieces = [(part, style + meta) for part, style in pieces]
    return [
        Row([(mark if place == 0 else "  ", ink), *row.pieces], row.joint, 2)
        for place, row in enumerate(Line.chop(pieces, max(width - 2, 1)))
    ]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
