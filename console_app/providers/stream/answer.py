"""Holds one answer while it is read, in any of the three wire formats: its chunks, and how it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from typing import Any

from console_app.domain import ToolSpec, one_line
from console_app.domain import chunks as ch
from console_app.providers.faults.wordings import FAILED_CALL
from console_app.providers.stream.calls_in_pieces import CallsInPieces, ChunkBuffer
from console_app.providers.stream.loose_json import may_hold_arguments, obj
from console_app.providers.stream.offered_tools import OfferedTools

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


class WireAnswer(ABC):
    """An answer that is read: `event` takes an event's JSON, `chunks` is what came of it since it was last emptied.

    `finished` says that the model said it was done; `over` that nothing more can come.
    """

    calls: CallsInPieces  # which append their chunks to `chunks`

    def __init__(self, tools: Sequence[ToolSpec] = ()) -> None:
        self.chunks = ChunkBuffer()
        self.offered = OfferedTools(tools)
        self.finished = False
        self.over = False
        self.text_length = 0
        self.usage: dict[str, Any] = {}
        self.said = ""  # why the model stopped, in the endpoint's words
        self._reason: ch.FinishReason = "stop"

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
        to have none. With `objects` any object may be: where no call is near, it is metadata more often than not."""
        for name, value in (obj(given) or {"": given}).items():
            if value and name not in read and may_hold_arguments(name, value, objects=objects):
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
        if end is None and known not in _CUTS and not FAILED_CALL.search(known):
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
