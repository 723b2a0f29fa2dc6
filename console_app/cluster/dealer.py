"""Which worker gets the next item: the one with the most room."""

from __future__ import annotations

import heapq


class Dealer:
    """Rooms of workers, by name. All members take a time that grows with the logarithm of their number."""

    def __init__(self) -> None:
        self._room: dict[str, int] = {}
        self._size: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []  # (-room, worker); entries that are no longer true are dropped when met

    @property
    def capacity(self) -> int:
        """Items that all of them take at once."""
        return sum(self._size.values())

    def resize(self, worker: str, size: int) -> None:
        """A worker takes `size` items at once; it may be new."""
        grown = size - self._size.get(worker, 0)
        self._size[worker] = size
        if grown or worker not in self._room:
            self._change(worker, grown)

    def leave(self, worker: str) -> None:
        """A worker is gone."""
        self._size.pop(worker, None)
        self._room.pop(worker, None)

    def take(self) -> str | None:
        """Room for one item, at this worker; None where there is no room."""
        while self._heap:
            negative, worker = self._heap[0]
            if self._room.get(worker) != -negative or negative >= 0:
                heapq.heappop(self._heap)
            else:
                heapq.heappop(self._heap)
                self._change(worker, -1)
                return worker
        return None

    def fill(self, worker: str) -> None:
        """A worker has an item that it wasn't dealt here."""
        self._change(worker, -1)

    def free(self, worker: str) -> None:
        """A worker has ended an item."""
        if worker in self._room:
            self._change(worker, 1)

    def _change(self, worker: str, by: int) -> None:
        self._room[worker] = room = self._room.get(worker, 0) + by
        if room > 0:
            heapq.heappush(self._heap, (-room, worker))
