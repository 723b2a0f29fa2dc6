"""OpenAI's Responses API, without state at the endpoint: reasoning comes back encrypted, and goes along again."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from console_app.domain.ports import ModelRequest
from console_app.providers.concessions.optional_fields import refused_field, without
from console_app.providers.endpoint.openai_client import OpenAIWireProvider
from console_app.providers.faults.fault import Fault
from console_app.providers.openai_responses.answer import ResponsesAnswer
from console_app.providers.openai_responses.request import responses_body
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import obj

_REASONS = re.compile(r"^(o\d|gpt-[5-9]|codex)")
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "include": ("encrypted_content", "Encrypted content"),
    "reasoning.summary": (),
    "reasoning.effort": (),
    "reasoning": (),
    "parallel_tool_calls": (),
    "temperature": (),
    "tool_choice": (),
    "store": (),
    "prompt_cache_key": (),
}


class OpenAIResponsesProvider(OpenAIWireProvider):
    """A model behind `/responses`."""

    path: ClassVar[str] = "/responses"

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body = responses_body(request, self._config, source=self._source, images=self._sees)
        if self._where.is_vendor and _REASONS.match(self.model):
            # Without it nothing of the reasoning is shown.
            body["reasoning"] = {"summary": "auto"} | obj(body.get("reasoning"))
        body = without(body, self._dropped)
        if request.sampling.cache == "off":
            body.pop("prompt_cache_key", None)
        return body if body.get("reasoning", True) else without(body, ("reasoning",))

    def _answer(self, request: ModelRequest) -> WireAnswer:
        return ResponsesAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str:
        if field := refused_field(fault, body, _OPTIONAL):
            self._dropped[field] = None
        return field
