"""Reads a streamed answer of OpenAI's Responses API, whose events name the output item that they belong to."""

from __future__ import annotations

from typing import Any

from console_app.domain.messages import Reasoning
from console_app.domain.ports import NoticeChunk, ReasoningKept
from console_app.providers.answer import Answer, ServerFault, error_message, raise_for_error
from console_app.providers.loose_json import arr, count, obj, text

FORMAT = "openai-responses"


class ResponsesAnswer(Answer):
    """One response. A reasoning item is kept with the calls and text before it, so that its place can be restored."""

    def __init__(self, tool_names: Any = (), source: str = "") -> None:
        super().__init__(tool_names)
        self._source = source
        self._thinking: list[str] = []  # of the reasoning item that is open
        self._part: tuple[Any, Any] | None = None

    def event(self, name: str, data: dict[str, Any]) -> None:
        """One event; `type` says which, and what isn't known is passed over."""
        kind = text(data.get("type")) or name
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self.say(text(data.get("delta")))
            case "response.function_call_arguments.delta":
                self.calls.fragment(_key(data), arguments=data.get("delta"))
            case "response.function_call_arguments.done":
                self.calls.close(_key(data), text(data.get("arguments")) or None)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._reasoning_delta(data)
            case "response.output_item.added":
                self._item_added(_key(data), obj(data.get("item")))
            case "response.output_item.done":
                self._item_done(_key(data), obj(data.get("item")))
            case "response.completed" | "response.incomplete" | "response.done":
                self._completed(obj(data.get("response")))
            case "response.failed":
                raise ServerFault(obj(data.get("response")))
            case _:
                raise_for_error(name, data)

    def whole(self, body: dict[str, Any]) -> bool:
        """A whole `response`, from a server that doesn't stream."""
        if "output" not in body:
            return False
        if error_message(body)[0] and body.get("status") == "failed":
            raise ServerFault(body)
        for index, item in enumerate(map(obj, arr(body["output"]))):
            for part in map(obj, arr(item.get("content"))) if item.get("type") == "message" else ():
                self.say(text(part.get("text")) or text(part.get("refusal")))
            self._item_added(index, item)
            self._item_done(index, item)
        self._completed(body)
        return True

    def _item_added(self, key: int | None, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            call_id = text(item.get("call_id")) or text(item.get("id"))
            self.calls.fragment(key, call_id, text(item.get("name")))

    def _item_done(self, key: int | None, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            self.calls.close(key, text(item.get("arguments")) or None)
        elif item.get("type") == "reasoning":
            kept = {name: item[name] for name in ("type", "id", "encrypted_content") if item.get(name)}
            self._keep({**kept, "summary": arr(item.get("summary"))})

    def _reasoning_delta(self, data: dict[str, Any]) -> None:
        part = (data.get("output_index"), data.get("summary_index", data.get("content_index")))
        if self._thinking and part != self._part:
            self._thinking.append(self.think("\n\n"))  # parts of a summary are paragraphs
        self._part = part
        self._thinking.append(self.think(text(data.get("delta"))))

    def _completed(self, response: dict[str, Any]) -> None:
        self.usage = obj(response.get("usage"))
        reason = text(obj(response.get("incomplete_details")).get("reason"))
        if response.get("status") == "incomplete" and reason not in ("max_output_tokens", "content_filter"):
            self.chunks.append(NoticeChunk(f"The response is incomplete: {reason or 'no reason given'}.", "warning"))
        self.finish(reason or "stop")
        self.over = True

    def _keep(self, item: dict[str, Any]) -> None:
        shown = "".join(self._thinking)
        self._thinking.clear()
        if not shown:
            shown = "\n\n".join(text(obj(part).get("text")) for part in arr(item.get("summary")))
        data = {"source": self._source, "block": item, "calls_before": len(self.calls), "text_before": self.text_length}
        self.chunks.append(ReasoningKept(Reasoning(provider=FORMAT, text=shown, data=data if item else {})))

    def close_reasoning(self) -> None:
        """An item that never ended is kept for people only: without its encrypted content it can't be sent back."""
        if self._thinking:
            self._keep({})

    def tokens(self) -> tuple[int, int, int | None] | None:
        """From the `usage` of the completed response."""
        sent, written = count(self.usage.get("input_tokens")), count(self.usage.get("output_tokens"))
        if sent is None and written is None:
            return None
        return sent or 0, written or 0, count(obj(self.usage.get("input_tokens_details")).get("cached_tokens"))


def _key(data: dict[str, Any]) -> int | None:
    index = data.get("output_index")
    return index if isinstance(index, int) else None
