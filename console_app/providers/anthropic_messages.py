"""Anthropic's Messages API, and the servers that speak it."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from console_app.domain.ports.provider import ModelRequest
from console_app.providers.answer import WireAnswer
from console_app.providers.anthropic_answer import AnthropicAnswer
from console_app.providers.anthropic_request import anthropic_body
from console_app.providers.cache_marks import MARK, mark_anthropic
from console_app.providers.endpoint_headers import headers_left_out, headers_sent
from console_app.providers.faults import Fault
from console_app.providers.http_client import make_http_client
from console_app.providers.optional_fields import refused_field, without
from console_app.providers.wire_provider import WireProvider

MAX_TOKENS = 32_000  # where nothing else is said; a model that allows less says how much
COMPATIBLE_VERSION = "2023-06-01"  # what other servers know
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "tools.eager_input_streaming": (),
    "tool_choice.disable_parallel_tool_use": ("parallel_tool_use",),
    "tool_choice": (),  # demanding a call goes with no thinking
    "temperature": (),
    "stop_sequences": (),
    "cache_control": ("system",),  # with the marks the system prompt is a list
}
_TOO_MANY = re.compile(r"max_tokens\D{0,20}[\d,]+ ?> ?([\d,]+)")


class AnthropicMessagesProvider(WireProvider):
    """A model behind `/v1/messages`; the base URL is without `/v1`."""

    path: ClassVar[str] = "/v1/messages"
    models_path: ClassVar[str] = "/v1/models?limit=1000"

    def _make_client(self) -> Any:
        from anthropic import AsyncAnthropic  # 1.2 s: the caller is in a thread

        config = self._config
        http_client = make_http_client(config, self._where)
        return AsyncAnthropic(
            api_key=config.api_key or "none",  # None would have it look for credentials in the environment and on disk
            base_url=self._where.url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=http_client.timeout,
            default_headers={**self._compatible_headers(), **headers_sent(config, self._where, "ANTHROPIC")},
            http_client=http_client,
        )

    def _compatible_headers(self) -> dict[str, str]:
        """What servers other than the vendor's expect, where the configuration doesn't say otherwise."""
        if self._where.is_vendor:
            return {}
        configured = {name.lower() for name in self._config.headers}
        wanted = {"anthropic-version": COMPATIBLE_VERSION, "x-api-key": self._config.api_key or ""}
        return {name: value for name, value in wanted.items() if value and name not in configured}

    def _stream_class(self) -> Any:
        from anthropic import AsyncStream

        return AsyncStream[object]

    def _headers(self) -> dict[str, Any]:
        from anthropic import Omit

        return {name: Omit() for name in headers_left_out(self._config, self._where, "ANTHROPIC")}

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        limit = self._dropped.get("largest", MAX_TOKENS)
        body = anthropic_body(
            request,
            self._config,
            source=self._source,
            max_tokens=limit,
            eager=self._where.is_vendor,
            images=self._sees,
        )
        if "cache_control" not in self._dropped:
            mark_anthropic(body)
        if "largest" in self._dropped:
            body["max_tokens"] = min(body["max_tokens"], limit)
        return without(body, self._dropped)

    def _answer(self, request: ModelRequest) -> WireAnswer:
        return AnthropicAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str:
        if (found := _TOO_MANY.search(fault.message)) and "largest" not in self._dropped:
            self._dropped["largest"] = int(found[1].replace(",", ""))
            return f"max_tokens {body['max_tokens']:,}"
        marked = body if "cache_control" in self._dropped else {**body, "cache_control": MARK}
        if field := refused_field(fault, marked, _OPTIONAL):
            self._dropped[field] = None
        return field
