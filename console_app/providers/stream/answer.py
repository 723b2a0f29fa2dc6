"""Holds one answer while it is read, in any of the three wire formats: its chunks, and how it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, Protocol

from console_app.domain import ToolSpec, one_line
from console_app.domain import chunks as ch
from console_app.providers.faults.wordings import is_failed_call
from console_app.providers.stream.loose_json import may_hold_arguments, obj
from console_app.providers.stream.offered_tools import OfferedTools


class ChunkBuffer:
    """The chunks of one answer that nobody took yet, in the order in which they came. More of the same becomes one
    chunk.

    `urgent`: it holds more than pieces of what grows. `grown`: how many characters of what grows were added, taken or
    not. A token is a piece in a list until it is taken: an object each would cost as much as reading its JSON.
    """

    def __init__(self) -> None:
        self.urgent = False
        self.grown = 0
        self._chunks: list[ch.Chunk] = []
        self._pieces: list[str] = []  # of what grows at the end
        self._grows: type[ch.TextChunk | ch.ReasoningChunk] | int | None = None  # a number: the arguments of that call

    def __iter__(self) -> Iterator[ch.Chunk]:
        self._join()
        return iter(self._chunks)

    def add(self, to: type[ch.TextChunk | ch.ReasoningChunk] | int, piece: str) -> None:
        """Add to what grows: text, reasoning, or the arguments of the call of a number."""
        if self._grows != to:
            self._join()
            self._grows = to
        self._pieces.append(piece)
        self.grown += len(piece)

    def append(self, chunk: ch.Chunk) -> None:
        """Add a chunk that is more of nothing."""
        self._join()
        self._chunks.append(chunk)
        self.urgent = True

    def extend(self, chunks: Iterable[ch.Chunk]) -> None:
        for chunk in chunks:
            self.append(chunk)

    def take(self) -> list[ch.Chunk]:
        """Return the chunks since the last time."""
        self._join()
        chunks, self._chunks, self.urgent = self._chunks, [], False
        return chunks

    def _join(self) -> None:
        grows = self._grows
        if grows is None:
            return
        whole, self._grows = "".join(self._pieces), None
        self._pieces.clear()
        self._chunks.append(ch.CallDelta(grows, whole) if isinstance(grows, int) else grows(whole))


# A normal end: what the model has begun, it has finished.
_ENDS: dict[str, ch.FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "completed": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
}
_CUTS: dict[str, ch.FinishReason] = {
    "stop_sequence": "stop",  # it may stand inside of a call
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filtered",
    "refusal": "filtered",
    "safety": "filtered",
    "sensitive": "filtered",
    "pause_turn": "paused",
    "compaction": "paused",
    "max_messages": "length",
    "steered": "stop",  # somebody else's word came between, which only a WebSocket brings
}


class AnswerCalls(Protocol):
    """The calls of an answer, whatever their wire."""

    known_to_pair: bool  # arguments under a label of no call are the only call's that has none, as a test has shown

    def __len__(self) -> int: ...

    def finish(self, cut: str = "") -> None:
        """Note that the model stopped. `cut` says by what it was cut off, "" for a normal end."""
        ...

    def over(self) -> None:
        """End the calls that are still open, as the stream is over after a finish."""
        ...

    def stray(self, place: str) -> None:
        """Note that `place`, which nobody reads, holds something that may be arguments."""
        ...


class WireAnswer(ABC):
    """An answer that is read: `event` takes an event's JSON, `chunks` is what came of it since it was last emptied.

    `finished` says that the model said it was done; `over` that nothing more can come.
    """

    def __init__(self, tools: Sequence[ToolSpec] = ()) -> None:
        self.chunks = ChunkBuffer()
        self.offered = OfferedTools(tools)
        self.finished = False
        self.over = False
        self.text_length = 0
        self.usage: dict[str, Any] = {}
        self.said = ""  # why the model stopped, in the endpoint's words
        self._reason: ch.FinishReason = "stop"

    @property
    @abstractmethod
    def calls(self) -> AnswerCalls:
        """Return the calls of the answer, which append their chunks to `chunks`."""

    @abstractmethod
    def event(self, name: str, data: dict[str, Any]) -> None:
        """Take one event. Raises ServerFault when it reports an error."""

    @abstractmethod
    def whole(self, body: dict[str, Any]) -> bool:
        """Take an answer that came as one JSON body; False when `body` is none."""

    @abstractmethod
    def tokens(self) -> tuple[int, int, int | None] | None:
        """Input, output and cached tokens, None when the endpoint counted none."""

    @abstractmethod
    def take_usage(self, event: dict[str, Any]) -> None:
        """Take the usage of an event, if it has one, and nothing else of it."""

    @property
    def cache_written(self) -> int:
        """Input tokens that were written to the provider's cache, which some charge more for."""
        return 0

    @abstractmethod
    def close_reasoning(self) -> None:
        """Append the reasoning that is to be kept, as far as it came."""

    def take(self) -> list[ch.Chunk]:
        return self.chunks.take()

    def done_marker(self) -> None:
        """Take the stream's own end mark, `[DONE]`."""
        self.over = True

    def account(self, given: Any, read: Set[str] = frozenset(), *, at: str, objects: bool = True) -> None:
        """Account for what `given` holds beside the fields that are `read`, as it may be arguments of a call that seems
        to have none. With `objects` an object may, too: where no call is near, it is metadata more often than not."""
        for name, value in (obj(given) or {"": given}).items():
            if value and name not in read and may_hold_arguments(value, objects=objects):
                self.calls.stray(f"{at}.{name}".strip("."))

    def add_text(self, piece: str) -> None:
        if piece:
            self.text_length += len(piece)
            self.chunks.add(ch.TextChunk, piece)

    def think(self, piece: str) -> str:
        """Add reasoning; returns it as it was shown."""
        if piece:
            self.chunks.add(ch.ReasoningChunk, piece)
        return piece

    def finish(self, reason: str) -> None:
        """Take the reason to stop. Calls end here, and run only at a normal end; usage may still come."""
        self.said = known = reason.lower()
        shown = one_line(reason, 60)
        end = _ENDS.get(known)
        self._reason = end or _CUTS.get(known, "stop")
        self.finished = True
        if end is None and known not in _CUTS and not is_failed_call(known):
            self.chunks.append(ch.NoticeChunk(f"The model stopped for a reason that is not known: {shown}.", "warning"))
        if end is not None:
            self.calls.finish()
        else:
            self.calls.finish("the token limit" if self._reason == "length" else f"the finish reason “{shown}”")

    def end(self) -> ch.FinishChunk:
        """Append what was still open, as the stream is over after a finish, and return the last chunk."""
        self.calls.over()
        self.close_reasoning()
        reason = self._reason
        if reason == "tool_calls" and not len(self.calls):
            self.chunks.append(ch.NoticeChunk("The model said that it calls tools, but named none.", "warning"))
            reason = "stop"
        elif reason == "stop" and len(self.calls):
            reason = "tool_calls"
        return ch.FinishChunk(reason)

    def cut(self, why: str) -> None:
        """Break open calls, as the stream broke off; reasoning is kept as far as it came."""
        self.calls.finish(why)
        self.close_reasoning()
