"""The chunks of an answer that nobody took yet, where what is more of the same becomes one chunk.

A token is a piece in a list until it is taken: an object each would cost as much as reading its JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console_app.domain.chunks import CallDelta, Chunk, ReasoningChunk, TextChunk


class ChunkBuffer:
    """Of one answer, in the order in which its chunks came. `urgent`: it holds more than pieces of what grows. `grown`:
    how many characters of what grows were added, taken or not.
    """

    def __init__(self) -> None:
        self.urgent = False
        self.grown = 0
        self._chunks: list[Chunk] = []
        self._pieces: list[str] = []  # of what grows at the end
        self._grows: type[TextChunk | ReasoningChunk] | int | None = None  # a number: the arguments of that call

    def __iter__(self) -> Iterator[Chunk]:
        self._join()
        return iter(self._chunks)

    def add_text(self, piece: str) -> None:
        """More visible text."""
        if self._grows is not TextChunk:
            self._join()
            self._grows = TextChunk
        self._pieces.append(piece)
        self.grown += len(piece)

    def add_reasoning(self, piece: str) -> None:
        """More reasoning."""
        if self._grows is not ReasoningChunk:
            self._join()
            self._grows = ReasoningChunk
        self._pieces.append(piece)
        self.grown += len(piece)

    def add_arguments(self, index: int, piece: str) -> None:
        """More of the arguments of the call `index`."""
        if self._grows != index:
            self._join()
            self._grows = index
        self._pieces.append(piece)
        self.grown += len(piece)

    def append(self, chunk: Chunk) -> None:
        """A chunk that is more of nothing."""
        self._join()
        self._chunks.append(chunk)
        self.urgent = True

    def extend(self, chunks: Iterable[Chunk]) -> None:
        """Several of those."""
        for chunk in chunks:
            self.append(chunk)

    def take(self) -> list[Chunk]:
        """The chunks since the last time."""
        self._join()
        chunks, self._chunks, self.urgent = self._chunks, [], False
        return chunks

    def _join(self) -> None:
        grows = self._grows
        if grows is None:
            return
        whole, self._grows = "".join(self._pieces), None
        self._pieces.clear()
        self._chunks.append(CallDelta(grows, whole) if isinstance(grows, int) else grows(whole))
