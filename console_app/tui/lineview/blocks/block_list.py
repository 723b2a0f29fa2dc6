"""Keep the blocks of a conversation and where each stands: heights, changes, and the painted lines that are kept.

This is no widget: the view asks for the lines on screen, and gets them. A block that was never on screen has an
estimated height; `measure` corrects it when it comes into view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import Palette


class HeightIndex:
    """Heights by position. Changing one, the sum before one, and finding a line are each O(log n)."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self.before(len(self._heights))

    def reset(self, heights: Iterable[int]) -> None:
        self._heights = list(heights)
        tree = [0, *self._heights]
        for node in range(1, len(tree)):
            parent = node + (node & -node)
            if parent < len(tree):
                tree[parent] += tree[node]
        self._tree = tree

    def append(self, height: int) -> None:
        node = len(self._tree)
        total = height
        child = node - 1
        while child > node - (node & -node):
            total += self._tree[child]
            child -= child & -child
        self._heights.append(height)
        self._tree.append(total)

    def set(self, index: int, height: int) -> None:
        delta = height - self._heights[index]
        self._heights[index] = height
        node = index + 1
        while node < len(self._tree):
            self._tree[node] += delta
            node += node & -node

    def insert(self, index: int, height: int) -> None:
        """Costs what stands behind it, which is little near the end."""
        self._replace(index, [height, *self._heights[index:]])

    def remove(self, index: int) -> None:
        self._replace(index, self._heights[index + 1 :])

    def _replace(self, index: int, heights: list[int]) -> None:
        del self._heights[index:]
        del self._tree[index + 1 :]
        for height in heights:
            self.append(height)

    def before(self, index: int) -> int:
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    def find(self, line: int) -> tuple[int, int]:
        """The position that holds `line`, and the line's place inside it; a line past the end is at (count, rest)."""
        index = 0
        step = 1 << len(self._heights).bit_length()
        rest = max(line, 0)
        while step:
            after = index + step
            if after < len(self._tree) and self._tree[after] <= rest:
                index = after
                rest -= self._tree[after]
            step >>= 1
        return index, rest

    def with_lines(self, index: int) -> int:
        """The first position from `index` on that has a line: thousands of folded rows have none."""
        return self.find(self.before(index))[0] if index < len(self) and not self[index] else index


MOST_PAINTED = 1000  # painted lines kept, on screen and off; each takes about 7 KB


class BlockList:
    def __init__(
        self,
        unfinished: Callable[[Block], None] = lambda block: None,
        hold: Callable[[Block], Callable[[], None]] = lambda block: lambda: None,
    ) -> None:
        """`unfinished` is told of each block that was painted only in part. `hold` is told of each whose lines may now
        be at other places, and the function that it returns is called when they are."""
        self._hold = hold
        self._unfinished = unfinished
        self.blocks: list[Block] = []
        self.dirty: dict[Block, None] = {}
        self.width = 0  # 0: not laid out yet
        self._heights = HeightIndex()
        self._warm: dict[Block, int] = {}  # painted, the least recently painted first, with their lines
        self._warm_lines = 0  # of all of them

    def take_dirty(self) -> dict[Block, None]:
        """Hand over the changed blocks, for a frame. A batch is among them once, however many calls moved."""
        dirty, self.dirty = self.dirty, {}
        for block in list(dirty):
            dirty.update(dict.fromkeys(block.changed_too()))
        return dirty

    @property
    def total(self) -> int:
        return self._heights.total

    def top_of(self, block: Block) -> int:
        return self._heights.before(block.index)

    def height_of(self, block: Block) -> int:
        return self._heights[block.index]

    def find(self, line: int) -> tuple[int, int]:
        return self._heights.find(line)

    def add(self, block: Block, before: Block | None = None) -> None:
        """Add a block at the end, or before another. It takes no room until a frame has painted it: empty lines would
        push others down."""
        block.measured = False
        if before is None or before.index < 0:
            height = block.estimate(self.width) if self.width else 1
            block.index = len(self.blocks)
            self.blocks.append(block)
            self._heights.append(height)
        else:
            at = before.index
            self.blocks.insert(at, block)
            self._heights.insert(at, 0 if self.width else 1)
            self._renumber(at)

    def remove(self, block: Block) -> None:
        at = block.index
        del self.blocks[at]
        self._heights.remove(at)
        block.index = -1
        self.dirty.pop(block, None)
        self._cool(block)
        self._renumber(at)

    def clear(self) -> None:
        for block in self.blocks:
            block.index = -1
        self.blocks.clear()
        self.dirty.clear()
        self._warm.clear()
        self._warm_lines = 0
        self._heights.reset(())

    def resize(self, width: int, top: int, height: int, palette: Palette, now: float) -> int:
        """Take another width: heights are estimates again, except near the line `top`. Return by how many lines that
        line moved."""
        index, inside = self.find(top)
        block = self.blocks[index] if index < len(self.blocks) else None
        mark = None if block is None else block.mark(inside)
        self.width = width
        self.unmeasure()
        self._heights.reset([block.estimate(width) for block in self.blocks])
        if block is None:
            return 0
        if block.estimates:
            self.measure(block, palette, now)
            if block.come_into_view(line := block.line_of(mark), line + height):
                self.measure(block, palette, now)
        return self.top_of(block) + min(block.line_of(mark), max(self.height_of(block) - 1, 0)) - top

    def place(self, block: Block | None, top: int) -> tuple[int, object]:
        """The first line from `top` on that is a block's, by number and as a place in the block."""
        if block is None:
            return 0, None
        begin = self.top_of(block)
        return max(begin, top), block.mark(max(top - begin, 0))

    def moved(self, block: Block | None, place: tuple[int, object]) -> int:
        """The number of lines by which that line has moved since."""
        return 0 if block is None else self.top_of(block) + block.line_of(place[1]) - place[0]

    def unmeasure(self) -> None:
        for block in self.blocks:
            block.measured = False

    def visible(self, top: int, height: int) -> list[Block]:
        """The blocks that have a line among `height` lines from `top` on, by the heights known."""
        heights = self._heights
        index, inside = heights.find(top)
        room = height + inside
        found: list[Block] = []
        while index < len(self.blocks) and room > 0:
            found.append(self.blocks[index])
            room -= heights[index]
            index = heights.with_lines(index + 1)
        return found

    def paint(self, block: Block, palette: Palette, now: float) -> Sequence[Line]:
        """The block's lines, painted now if something of it changed. Its height may change with it: see `measure`."""
        lines = block.render(self.width, palette, now)
        self._cool(block)
        self._warm[block] = block.kept
        self._warm_lines += block.kept
        if block.unfinished:
            self._unfinished(block)
        return lines

    def measure(self, block: Block, palette: Palette, now: float) -> int:
        """Paint a block and set its height; return by how many lines that changed."""
        put = self._hold(block) if block.estimates else None
        height = len(self.paint(block, palette, now))
        if put is not None:
            put()
        block.measured = True
        return self._set_height(block, height)

    def whole(self, block: Block, palette: Palette, now: float) -> Sequence[Line]:
        if not block.measured or not block.lines or block.unfinished:
            put = self._hold(block)
            self.paint(block, palette, now)
            while block.unfinished:
                block.lay_out()
            self.paint(block, palette, now)
            put()
            self.dirty[block] = None
        return block.lines

    def measure_seen(
        self, top: int, height: int, palette: Palette, now: float, whole: bool = False
    ) -> tuple[int, bool]:
        """Measure the blocks on screen: how far that pushed the line at `top`, and whether any height changed. With
        `whole`, a block reached from below is laid out to its end."""
        pushed = 0
        changed = False
        for block in self.visible(top, height):
            begin, delta = self.top_of(block), 0
            if not block.measured:
                delta = self.measure(block, palette, now)
                if whole and begin < top and block.unfinished and not block.estimates:
                    while block.unfinished:
                        block.lay_out()
                    delta += self.measure(block, palette, now)
            first = max(top - begin + delta, 0) if begin < top else 0
            mark = block.mark(first)
            if block.come_into_view(first, first + height):
                changed = True
                self.measure(block, palette, now)
                delta += block.line_of(mark) - first
            changed = changed or delta != 0
            pushed += delta if begin < top else 0
        return pushed, changed

    def reestimate(self, block: Block) -> int:
        """Take a change of a block off screen: by how many lines, as far as can be told without painting it."""
        block.measured = False
        return self._set_height(block, block.estimate(self.width))

    def lines(self, y: int, count: int, palette: Palette, now: float) -> list[tuple[Line, int, int]]:
        """Return `count` painted lines from line `y` on, each with its block's position and its place in the block.

        Lines past the end are empty and at position -1. So is a block that is new since the last frame. Painted here,
        outside the lines that the screen takes, it would look unchanged to the frame that has to show it.
        """
        index, inside = self._heights.find(y)
        blank = Line.fit([], max(self.width, 1), palette.base)
        out: list[tuple[Line, int, int]] = []
        while len(out) < count and index < len(self.blocks):
            block = self.blocks[index]
            height = self._heights[index]
            painted = block.lines
            if block not in self.dirty:
                painted = painted or self.paint(block, palette, now)
                if not block.measured and len(painted) != height:
                    self.dirty[block] = None  # it came into view unmeasured: the next frame sets its height
            for place in range(inside, min(height, inside + count - len(out))):
                out.append((painted[place] if place < len(painted) else blank, index, place))
            index = self._heights.with_lines(index + 1)
            inside = 0
        out.extend((blank, -1, 0) for _ in range(count - len(out)))
        return out

    def drop_cold(self, keep: Sequence[Block]) -> None:
        """Forget painted lines once there are many, the longest unseen first, but never those of `keep`."""
        if self._warm_lines <= MOST_PAINTED:
            return
        kept = set(keep)
        for block in [block for block in self._warm if block not in kept]:
            if self._warm_lines <= MOST_PAINTED // 2:
                break
            self._cool(block)
            block.forget()

    def _cool(self, block: Block) -> None:
        self._warm_lines -= self._warm.pop(block, 0)

    def _set_height(self, block: Block, height: int) -> int:
        delta = height - self._heights[block.index]
        if delta:
            self._heights.set(block.index, height)
        return delta

    def _renumber(self, begin: int) -> None:
        for index in range(begin, len(self.blocks)):
            self.blocks[index].index = index
