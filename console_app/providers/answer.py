"""What the decoders of the three wire formats share: the chunks of one answer, and how an answer ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from console_app.domain.ports import Chunk, FinishChunk, FinishReason, NoticeChunk, ReasoningChunk, TextChunk
from console_app.providers.call_accumulator import CallAccumulator
from console_app.providers.loose_json import SurrogateMender, obj, text

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filtered",
    "refusal": "filtered",
    "safety": "filtered",
    "sensitive": "filtered",
}


class ServerFault(Exception):
    """The endpoint reported an error inside its stream. `body` is the error as it wrote it."""

    def __init__(self, body: Any) -> None:
        super().__init__("error event")
        self.body = body


class Answer(ABC):
    """One answer being read: `event` takes an event's JSON, `chunks` is what came of it since it was last emptied.

    `finished` says that the model said it was done; `over` that nothing more can come.
    """

    def __init__(self, tool_names: Collection[str] = ()) -> None:
        self.chunks: list[Chunk] = []
        self.calls = CallAccumulator(self.chunks, tool_names)
        self.finished = False
        self.over = False
        self.text_length = 0
        self.usage: dict[str, Any] = {}
        self._reason: FinishReason = "stop"
        self._text_mender = SurrogateMender()
        self._reasoning_mender = SurrogateMender()

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
    def close_reasoning(self) -> None:
        """Appends the reasoning that is to be kept, as far as it came."""

    def take(self) -> list[Chunk]:
        """The chunks since the last time."""
        chunks = self.chunks.copy()
        self.chunks.clear()
        return chunks

    def done_marker(self) -> None:
        """The stream's own end mark, `[DONE]`."""
        self.over = True

    def say(self, piece: str) -> None:
        """More visible text."""
        piece = self._text_mender.mend(piece)
        if piece:
            self.text_length += len(piece)
            self.chunks.append(TextChunk(piece))

    def think(self, piece: str) -> str:
        """More reasoning; returns it as it was shown."""
        piece = self._reasoning_mender.mend(piece)
        if piece:
            self.chunks.append(ReasoningChunk(piece))
        return piece

    def finish(self, reason: str) -> None:
        """The model said why it stopped. Calls end here; usage may still come."""
        self._reason = _REASONS.get(reason.lower(), "stop")
        self.finished = True
        self.calls.finish("length" if self._reason == "length" else "finished")

    def end(self) -> FinishChunk:
        """The stream is over after a finish: appends what was still open, and returns the last chunk."""
        self.calls.finish("length" if self._reason == "length" else "finished")
        self.close_reasoning()
        reason = self._reason
        if reason == "tool_calls" and not len(self.calls):
            self.chunks.append(NoticeChunk("The model said that it calls tools, but named none.", "warning"))
            reason = "stop"
        elif reason == "stop" and len(self.calls):
            reason = "tool_calls"
        return FinishChunk(reason)

    def cut(self) -> None:
        """The stream broke off: open calls are broken, and reasoning is kept as far as it came."""
        self.calls.finish("cut")
        self.close_reasoning()


def raise_for_error(name: str, data: dict[str, Any]) -> None:
    """Raises ServerFault when an event is an error, in any of the shapes that servers use."""
    if name == "error" or data.get("type") == "error" or data.get("error"):
        raise ServerFault(data)


def error_message(body: Any) -> tuple[str, str]:
    """Message and code (or type) of an error body: `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}`, ..."""
    top = obj(body)
    inner = top.get("error")
    if isinstance(inner, str):
        return inner, text(top.get("code")) or text(top.get("type"))
    fields = obj(inner) or obj(top.get("response")).get("error") or top
    fields = obj(fields)
    message = fields.get("message") or fields.get("detail") or fields.get("msg") or fields.get("error_message")
    if not isinstance(message, str):
        message = "" if message is None else str(message)
    code = fields.get("code") or fields.get("type") or ""
    return message or (body if isinstance(body, str) else ""), str(code)
