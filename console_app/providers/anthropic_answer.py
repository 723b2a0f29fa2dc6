"""Reads a streamed answer of Anthropic's Messages API: content blocks by index, each started, filled and stopped."""

from __future__ import annotations

from typing import Any

from console_app.domain.messages import Reasoning
from console_app.domain.ports.provider import NoticeChunk, ReasoningFinished
from console_app.providers.answer import WireAnswer, raise_for_error
from console_app.providers.call_accumulator import Label, arguments_text
from console_app.providers.loose_json import arr, count, obj, text

FORMAT = "anthropic"


class AnthropicAnswer(WireAnswer):
    """One message. Thinking blocks are kept whole, with their signature and the calls and text before them."""

    def __init__(self, tool_names: Any = (), source: str = "") -> None:
        super().__init__()
        self._source = source
        self._block: dict[str, Any] = {}  # the thinking block that is open
        self._counted: dict[str, Any] = {}

    def event(self, name: str, data: dict[str, Any]) -> None:
        """One event; `ping` and what isn't known are passed over."""
        match text(data.get("type")) or name:
            case "content_block_delta":
                self._delta(_label(data), obj(data.get("delta")))
            case "content_block_start":
                self._start(_label(data), obj(data.get("content_block")))
            case "content_block_stop":
                self.close_reasoning(complete=True)
                self.calls.close(_label(data))
            case "message_start":
                self._count(obj(obj(data.get("message")).get("usage")))
            case "message_delta":
                self._count(obj(data.get("usage")))
                self._stopped(obj(data.get("delta")))
            case "message_stop":
                self.over = True
            case _:
                raise_for_error(name, data)

    def whole(self, body: dict[str, Any]) -> bool:
        """A whole message, from a server that doesn't stream."""
        if body.get("type") != "message" or "content" not in body:
            return False
        self._count(obj(body.get("usage")))
        for index, block in enumerate(map(obj, arr(body["content"]))):
            self._start(Label(index), block)
            self.close_reasoning(complete=True)
            self.calls.close(Label(index))
        self._stopped({"stop_reason": "end_turn"} | {k: body[k] for k in ("stop_reason",) if body.get(k)})
        self.over = True
        return True

    def _start(self, label: Label, block: dict[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self.add_text(text(block.get("text")))
            case "tool_use":
                # `{}` stands for what is still to be streamed.
                arguments = arguments_text(obj(block.get("input")) or None)
                self.calls.begin(label, text(block.get("id")), text(block.get("name")), arguments)
            case "thinking":
                thought = self.think(text(block.get("thinking")))
                self._block = {"type": "thinking", "thinking": thought, "signature": text(block.get("signature"))}
            case "redacted_thinking":
                self._block = {"type": "redacted_thinking", "data": text(block.get("data"))}
            case _:
                pass  # a server tool's block: none was asked for

    def _delta(self, label: Label, delta: dict[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self.add_text(text(delta.get("text")))
            case "input_json_delta":
                self.calls.fragment(label, delta.get("partial_json"))
            case "thinking_delta":
                self._block = self._block or {"type": "thinking", "thinking": "", "signature": ""}
                self._block["thinking"] += self.think(text(delta.get("thinking")))
            case "signature_delta":
                self._block["signature"] = text(self._block.get("signature")) + text(delta.get("signature"))
            case _:
                pass  # citations of server tools

    def _stopped(self, delta: dict[str, Any]) -> None:
        reason = text(delta.get("stop_reason"))
        if not reason:
            return
        if reason == "model_context_window_exceeded":
            self.chunks.append(NoticeChunk("The answer reached the end of the model's context window.", "warning"))
        if why := text(obj(delta.get("stop_details")).get("explanation")):
            self.chunks.append(NoticeChunk(f"The model declined: {why}", "warning"))
        self.finish(reason)

    def close_reasoning(self, *, complete: bool = False) -> None:
        """Keeps the open thinking block; one that was cut off is kept for people only, since it has no signature."""
        block, self._block = self._block, {}
        if not block:
            return
        data: dict[str, Any] = {}
        if complete:
            data = {"source": self._source, "block": block}
            data |= {"calls_before": len(self.calls), "text_before": self.text_length}
        shown = text(block.get("thinking"))
        self.chunks.append(ReasoningFinished(Reasoning(provider=FORMAT, text=shown, data=data)))

    def _count(self, usage: dict[str, Any]) -> None:
        self._counted |= {name: value for name, value in usage.items() if value is not None}

    def tokens(self) -> tuple[int, int, int | None] | None:
        """Input counts what was read from and written to the cache too, as the other formats do."""
        if not self._counted:
            return None
        cached = count(self._counted.get("cache_read_input_tokens"))
        written = count(self._counted.get("cache_creation_input_tokens"))
        fresh = count(self._counted.get("input_tokens"))
        output = count(self._counted.get("output_tokens"))
        return (fresh or 0) + (cached or 0) + (written or 0), output or 0, cached


def _label(data: dict[str, Any]) -> Label:
    index = data.get("index")
    return Label(index if isinstance(index, int) else None)
