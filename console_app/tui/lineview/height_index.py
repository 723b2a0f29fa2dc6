"""Where each block begins, for thousands of blocks of changing height: a Fenwick tree over their heights."""

from __future__ import annotations

from collections.abc import Iterable


class HeightIndex:
    """Heights by position. Changing one, the sum before one, and finding a line are each O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        self.reset(heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """The height of everything."""
        return self.before(len(self._heights))

    def reset(self, heights: Iterable[int]) -> None:
        """Other heights in place of all."""
        self._heights = list(heights)
        tree = [0, *self._heights]
        for node in range(1, len(tree)):
            parent = node + (node & -node)
            if parent < len(tree):
                tree[parent] += tree[node]
        self._tree = tree

    def append(self, height: int) -> None:
        """One more at the end."""
        node = len(self._tree)
        total = height
        child = node - 1
        while child > node - (node & -node):
            total += self._tree[child]
            child -= child & -child
        self._heights.append(height)
        self._tree.append(total)

    def set(self, index: int, height: int) -> None:
        """Changes one height."""
        delta = height - self._heights[index]
        self._heights[index] = height
        node = index + 1
        while node < len(self._tree):
            self._tree[node] += delta
            node += node & -node

    def insert(self, index: int, height: int) -> None:
        """One more in the middle. Costs what stands behind it, which is little near the end."""
        self._replace(index, [height, *self._heights[index:]])

    def remove(self, index: int) -> None:
        """One less. Costs what stands behind it."""
        self._replace(index, self._heights[index + 1 :])

    def _replace(self, index: int, heights: list[int]) -> None:
        del self._heights[index:]
        del self._tree[index + 1 :]
        for height in heights:
            self.append(height)

    def before(self, index: int) -> int:
        """The sum of the heights before `index`."""
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
