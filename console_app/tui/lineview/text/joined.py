"""Sequences whose items are asked for only when they are looked at, and several of them seen as one."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Lookup(Sequence[T], Generic[T]):
    """A sequence that makes or finds each item when it is asked for."""

    @abstractmethod
    def item(self, index: int) -> T:
        """The one at an index from 0 on that is below the length."""

    def __iter__(self) -> Iterator[T]:
        return map(self.item, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        size = len(self)
        if isinstance(index, slice):
            return [self.item(at) for at in range(*index.indices(size))]
        at = index + size if index < 0 else index
        if not 0 <= at < size:
            raise IndexError(index)
        return self.item(at)


class Joined(Lookup[T]):
    """The items of all parts. A part that is such a sequence itself is taken apart."""

    def __init__(self, parts: Iterable[Sequence[T]]) -> None:
        flat: list[Sequence[T]] = []
        for part in parts:
            flat += part.parts if isinstance(part, Joined) else [part] if len(part) else []
        self.parts = flat
        self._begins = [0, *accumulate(map(len, flat))]

    def __len__(self) -> int:
        return self._begins[-1]

    def __iter__(self) -> Iterator[T]:
        for part in self.parts:
            yield from part

    def item(self, index: int) -> T:
        part, place = self.part_at(index)
        return part[place]

    def part_at(self, index: int) -> tuple[Sequence[T], int]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = bisect_right(self._begins, index) - 1
        return self.parts[number], index - self._begins[number]

    def begins(self) -> Iterator[tuple[int, Sequence[T]]]:
        return zip(self._begins, self.parts, strict=False)
