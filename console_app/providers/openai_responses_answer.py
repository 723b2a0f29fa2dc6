"""Reads a streamed answer of OpenAI's Responses API, whose events name the output item that they belong to."""

from __future__ import annotations

from typing import Any

from console_app.domain.messages import Reasoning
from console_app.domain.ports.provider import ReasoningFinished
from console_app.providers.answer import ServerFault, WireAnswer, error_message, raise_for_error
from console_app.providers.call_accumulator import Label
from console_app.providers.loose_json import arr, count, obj, text

FORMAT = "openai-responses"


class ResponsesAnswer(WireAnswer):
    """One response. A reasoning item is kept with the calls and text before it, so that its place can be restored."""

    def __init__(self, tool_names: Any = (), source: str = "") -> None:
        super().__init__()
        self._source = source
        self._thinking: list[str] = []  # of the reasoning item that is open
        self._part: tuple[Any, Any] | None = None

    def event(self, name: str, data: dict[str, Any]) -> None:
        """One event; `type` says which, and what isn't known is passed over."""
        kind = text(data.get("type")) or name
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self.add_text(text(data.get("delta")))
            case "response.function_call_arguments.delta":
                self.calls.fragment(_label(data), data.get("delta"))
            case "response.function_call_arguments.done":
                self.calls.close(_label(data), text(data.get("arguments")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._reasoning_delta(data)
            case "response.output_item.added":
                self._item_added(data.get("output_index"), obj(data.get("item")))
            case "response.output_item.done":
                self._item_done(data.get("output_index"), obj(data.get("item")))
            case "response.completed" | "response.incomplete" | "response.done":
                self._completed(kind, obj(data.get("response")))
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
                self.add_text(text(part.get("text")) or text(part.get("refusal")))
            self._item_added(index, item)
            self._item_done(index, item)
        self._completed("response.completed", body)
        return True

    def _item_added(self, index: Any, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            call_id = text(item.get("call_id")) or text(item.get("id"))
            label = _label({"output_index": index, "item_id": item.get("id")})
            self.calls.begin(label, call_id, text(item.get("name")), text(item.get("arguments")))

    def _item_done(self, index: Any, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            if item.get("status") != "incomplete":
                label = _label({"output_index": index, "item_id": item.get("id")})
                self.calls.close(label, text(item.get("arguments")))
        elif item.get("type") == "reasoning":
            fields = {name: item[name] for name in ("type", "id", "encrypted_content") if item.get(name)}
            self._keep({**fields, "summary": arr(item.get("summary"))})

    def _reasoning_delta(self, data: dict[str, Any]) -> None:
        part = (data.get("output_index"), data.get("summary_index", data.get("content_index")))
        if self._thinking and part != self._part:
            self._thinking.append(self.think("\n\n"))  # parts of a summary are paragraphs
        self._part = part
        self._thinking.append(self.think(text(data.get("delta"))))

    def _completed(self, kind: str, response: dict[str, Any]) -> None:
        self.usage = obj(response.get("usage"))
        status = text(response.get("status")) or ("incomplete" if kind == "response.incomplete" else "completed")
        if status == "failed":
            raise ServerFault(response)
        reason = text(obj(response.get("incomplete_details")).get("reason"))
        self.finish(status if status == "completed" else reason or status)
        self.over = True

    def _keep(self, item: dict[str, Any]) -> None:
        shown = "".join(self._thinking)
        self._thinking.clear()
        if not shown:
            shown = "\n\n".join(text(obj(part).get("text")) for part in arr(item.get("summary")))
        data = {"source": self._source, "block": item, "calls_before": len(self.calls), "text_before": self.text_length}
        self.chunks.append(ReasoningFinished(Reasoning(provider=FORMAT, text=shown, data=data if item else {})))

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


def _label(data: dict[str, Any]) -> Label:
    index = data.get("output_index")
    return Label(index if isinstance(index, int) else None, text(data.get("item_id")))
