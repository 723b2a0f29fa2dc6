"""OpenAI Chat Completions, and every server that speaks it: the format with the most dialects of all."""

from __future__ import annotations

from typing import Any, ClassVar

from console_app.domain.ports import ModelRequest
from console_app.providers.concessions.optional_fields import refused_field, without
from console_app.providers.endpoint.openai_client import OpenAIWireProvider
from console_app.providers.faults.fault import Fault
from console_app.providers.openai_chat.answer import ChatAnswer
from console_app.providers.openai_chat.request import chat_body
from console_app.providers.requests.cache_marks import forwards_marks, mark_chat, with_mark
from console_app.providers.stream.answer import WireAnswer

_LIMITS = ("max_completion_tokens", "max_tokens")
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "stream_options": ("include_usage",),
    "parallel_tool_calls": ("disable_parallel_tool_use",),
    "reasoning_effort": ("effort", "reasoning.effort"),
    "temperature": (),
    "stop": (),
    "tool_choice": (),
    "messages.reasoning_content": (),
    "messages.reasoning_details": (),
    "messages.reasoning": (),
    "messages.extra_content": (),
    "cache_control": ("content",),  # with the marks it is a list
}


class OpenAIChatProvider(OpenAIWireProvider):
    """A model behind `/chat/completions`."""

    path: ClassVar[str] = "/chat/completions"

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        # OpenAI's newer models take only the longer name, most other servers only the shorter one.
        limit_field = str(self._dropped.get("limit") or _LIMITS[0 if self._where.is_vendor else 1])
        body = chat_body(
            request,
            self._config,
            source=self._source,
            endpoint=self.endpoint,
            limit_field=limit_field,
            images=self._sees,
            thoughts=self._conceded.refused.thoughts_wanted,
        )
        known = request.sampling.cache != "off" and forwards_marks(self._where.url, self.model)
        if (known or request.sampling.cache == "on") and "cache_control" not in self._dropped:
            mark_chat(body)
        return without(body, self._dropped)

    def _answer(self, request: ModelRequest) -> WireAnswer:
        return ChatAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str:
        if "limit" not in self._dropped and (limit := refused_field(fault, body, dict.fromkeys(_LIMITS, ()))):
            self._dropped["limit"] = _LIMITS[1 - _LIMITS.index(limit)]
            return limit
        if field := refused_field(fault, with_mark(body), _OPTIONAL):
            self._dropped[field] = None
        return field
