"""What the decoders of the three wire formats share: the chunks of one answer, and how an answer ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from console_app.domain.chunks import Chunk, FinishChunk, FinishReason, NoticeChunk
from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.providers.faults.error_bodies import error_message as error_message
from console_app.providers.faults.wordings import is_failed_call
from console_app.providers.stream.chunk_buffer import ChunkBuffer
from console_app.providers.stream.offered_tools import OfferedTools

# A normal end: what the model has begun, it has finished.
_ENDS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "completed": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
}
_CUTS: dict[str, FinishReason] = {
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
}


class ServerFault(Exception):
    """The endpoint reported an error inside its stream. `body` is the error as it wrote it."""

    def __init__(self, body: Any) -> None:
        super().__init__("error event")
        self.body = body


class AnswerCalls(Protocol):
    """What an answer knows of its calls, whatever their wire."""

    def __len__(self) -> int: ...

    def finish(self, cut: str = "") -> None:
        """The model stopped. `cut` says by what it was cut off, "" for a normal end."""
        ...

    def over(self) -> None:
        """The stream is over after a finish: no call stays open."""
        ...


class WireAnswer(ABC):
    """One answer being read: `event` takes an event's JSON, `chunks` is what came of it since it was last emptied.

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
        self._reason: FinishReason = "stop"

    @property
    @abstractmethod
    def calls(self) -> AnswerCalls:
        """The calls of the answer, which append their chunks to `chunks`."""

    @abstractmethod
    def event(self, name: str, data: dict[str, Any]) -> None:
        """Takes one event. Raises ServerFault when it reports an error."""

    @abstractmethod
    def whole(self, body: dict[str, Any]) -> bool:
        """Takes an answer that came as one JSON body; False when `body` is none."""

    @abstractmethod
    def tokens(self) -> tuple[int, int, int | None] | None:
        """Input, output and cached tokens, None when the endpoint counted none."""

    @abstractmethod
    def take_usage(self, event: dict[str, Any]) -> None:
        """Takes the usage of an event, if it has one, and nothing else of it."""

    @property
    def cache_written(self) -> int:
        """Input tokens that were written to the provider's cache, which some charge more for."""
        return 0

    @abstractmethod
    def close_reasoning(self) -> None:
        """Appends the reasoning that is to be kept, as far as it came."""

    def take(self) -> list[Chunk]:
        """The chunks since the last time."""
        return self.chunks.take()

    def done_marker(self) -> None:
        """The stream's own end mark, `[DONE]`."""
        self.over = True

    def add_text(self, piece: str) -> None:
        """More visible text."""
        if piece:
            self.text_length += len(piece)
            self.chunks.add_text(piece)

    def think(self, piece: str) -> str:
        """More reasoning; returns it as it was shown."""
        if piece:
            self.chunks.add_reasoning(piece)
        return piece

    def finish(self, reason: str) -> None:
        """The model said why it stopped. Calls end here, and run only if that is a normal end; usage may still come."""
        self.said = known = reason.lower()
        shown = one_line(reason, 60)
        end = _ENDS.get(known)
        self._reason = end or _CUTS.get(known, "stop")
        self.finished = True
        if end is None and known not in _CUTS and not is_failed_call(known):
            self.chunks.append(NoticeChunk(f"The model stopped for a reason that is not known: {shown}.", "warning"))
        if end is not None:
            self.calls.finish()
        else:
            self.calls.finish("the token limit" if self._reason == "length" else f"the finish reason “{shown}”")

    def end(self) -> FinishChunk:
        """The stream is over after a finish: appends what was still open, and returns the last chunk."""
        self.calls.over()
        self.close_reasoning()
        reason = self._reason
        if reason == "tool_calls" and not len(self.calls):
            self.chunks.append(NoticeChunk("The model said that it calls tools, but named none.", "warning"))
            reason = "stop"
        elif reason == "stop" and len(self.calls):
            reason = "tool_calls"
        return FinishChunk(reason)

    def cut(self, why: str) -> None:
        """The stream broke off: open calls are broken, and reasoning is kept as far as it came."""
        self.calls.finish(why)
        self.close_reasoning()


def raise_for_error(name: str, data: dict[str, Any]) -> None:
    """Raises ServerFault when an event is an error, in any of the shapes that servers use."""
    if name == "error" or "error" in (data.get("type"), data.get("object")) or data.get("error"):
        raise ServerFault(data)
