"""Reads a streamed answer of OpenAI Chat Completions, and of the many servers that speak it almost alike."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from console_app.domain.messages import Reasoning
from console_app.domain.ports.provider import ReasoningFinished
from console_app.providers.answer import ServerFault, WireAnswer, raise_for_error
from console_app.providers.call_accumulator import CallAccumulator, Label
from console_app.providers.loose_json import arr, count, obj, text
from console_app.providers.openai_chat_calls import ChatCalls

FORMAT = "openai-chat"
TEXT_FIELDS = ("reasoning_content", "reasoning")


class ChatAnswer(WireAnswer):
    """One chat completion. `source` names the endpoint, the only one that gets its reasoning back."""

    def __init__(self, tool_names: Collection[str] = (), source: str = "") -> None:
        super().__init__()
        self._calls = CallAccumulator(self.chunks)
        self._fragments = ChatCalls(self._calls, tool_names)
        self._source = source
        self._field = ""  # the reasoning field this server writes; some write the same text into two
        self._reasoning: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._choice: Any = None  # the index of the first choice: only that is the answer

    @property
    def calls(self) -> CallAccumulator:
        """The calls, by what each fragment says of its own."""
        return self._calls

    def event(self, name: str, data: dict[str, Any]) -> None:
        """One `chat.completion.chunk`."""
        choices = arr(data.get("choices"))
        if choices:
            ours: dict[str, Any] = {}
            choice = next((one for one in map(obj, choices) if self._is_ours(one)), ours)
            self._message(obj(choice.get("delta")) or obj(choice.get("message")))
            # Routers send an error together with a finish reason: no call is whole then.
            if data.get("error") or choice.get("error"):
                raise ServerFault(data if data.get("error") else choice)
            reason = choice.get("finish_reason")
            if reason and isinstance(reason, str):
                self.finish(reason)
        else:
            raise_for_error(name, data)
        usage = data.get("usage")
        if usage:
            self.usage = obj(usage)

    def _is_ours(self, choice: dict[str, Any]) -> bool:
        """Whether a choice is the one being read: an endpoint told to write several streams them side by side."""
        index = choice.get("index")
        if self._choice is None:
            self._choice = index
        return index is None or index == self._choice

    def whole(self, body: dict[str, Any]) -> bool:
        """A `chat.completion`, from a server that doesn't stream."""
        if not arr(body.get("choices")):
            return False
        self.event("", body)
        if not self.finished:
            self.finish("stop")
        return True

    def _message(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content:
            self.add_text(content if isinstance(content, str) else _parts_text(content))
        if len(delta) == 1 and content is not None:
            return  # the common case: text and nothing else
        if refusal := text(delta.get("refusal")):
            self.add_text(refusal)
        self._reason_delta(delta)
        calls = arr(delta.get("tool_calls"))
        for fragment in map(obj, calls):
            function = obj(fragment.get("function"))
            key = fragment.get("index")
            label = Label(key if isinstance(key, int) else None, text(fragment.get("id")))
            self._fragments.fragment(label, text(function.get("name")), function.get("arguments"))
        if not calls and (function := obj(delta.get("function_call"))):
            self._fragments.fragment(Label(0), text(function.get("name")), function.get("arguments"))

    def _reason_delta(self, delta: dict[str, Any]) -> None:
        details = [dict(detail) for detail in map(obj, arr(delta.get("reasoning_details"))) if detail]
        for detail in details:
            _merge_detail(self._details, detail)
        for field in (self._field,) if self._field else TEXT_FIELDS:
            if piece := text(delta.get(field)):
                self._field = field
                self._reasoning.append(self.think(piece))
                return
        if not self._field:
            for detail in details:
                self._reasoning.append(self.think(text(detail.get("text")) or text(detail.get("summary"))))

    def close_reasoning(self) -> None:
        """All reasoning of the answer, with the field it has to be sent back in."""
        if not self._reasoning and not self._details:
            return
        data: dict[str, Any] = {"source": self._source}
        if self._details:
            data |= {"field": "reasoning_details", "value": list(self._details)}
        else:
            data["field"] = self._field
        self.chunks.append(ReasoningFinished(Reasoning(provider=FORMAT, text="".join(self._reasoning), data=data)))
        self._reasoning.clear()
        self._details.clear()

    def tokens(self) -> tuple[int, int, int | None] | None:
        """From `usage`; servers that count no cache, or count it elsewhere, give None for it."""
        sent, written = count(self.usage.get("prompt_tokens")), count(self.usage.get("completion_tokens"))
        if sent is None and written is None:
            return None
        cached = count(obj(self.usage.get("prompt_tokens_details")).get("cached_tokens"))
        if cached is None:
            cached = count(self.usage.get("prompt_cache_hit_tokens"))  # DeepSeek
        return sent or 0, written or 0, cached


def _parts_text(content: Any) -> str:
    """The text of content given as parts, as Mistral streams it."""
    return "".join(text(obj(part).get("text")) for part in arr(content))


def _merge_detail(details: list[dict[str, Any]], detail: dict[str, Any]) -> None:
    """OpenRouter streams each detail in pieces: the same index and type belong together."""
    last = details[-1] if details else {}
    if not details or (last.get("type"), last.get("index")) != (detail.get("type"), detail.get("index")):
        details.append(detail)
        return
    for key, value in detail.items():
        if key in ("text", "summary", "data") and isinstance(value, str):
            last[key] = text(last.get(key)) + value
        elif value is not None:
            last[key] = value
