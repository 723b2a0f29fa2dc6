"""Anthropic's Messages API, and the servers that speak it."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from console_app.domain.ports import ModelRequest
from console_app.providers.anthropic.answer import AnthropicAnswer
from console_app.providers.anthropic.request import anthropic_body
from console_app.providers.concessions.learnt import Concession
from console_app.providers.concessions.optional_fields import refused_field, without
from console_app.providers.endpoint.headers import headers_left_out, headers_sent
from console_app.providers.endpoint.http_client import make_http_client
from console_app.providers.faults.fault import Fault
from console_app.providers.faults.wordings import allowed_values
from console_app.providers.requests.cache_marks import mark_anthropic, with_mark
from console_app.providers.requests.sampling_parameters import with_budget
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import obj
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
    "output_config": ("effort",),
    "thinking": (),
}
# They think by a budget of tokens; later ones adapt, and refuse a budget.
_BUDGETED = re.compile(r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-5])?([-@]\d{8}|-latest|$)")


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
        body = anthropic_body(
            request,
            self._config,
            source=self._source,
            max_tokens=MAX_TOKENS,
            eager=self._where.is_vendor,
            images=self._sees,
        )
        if "cache_control" not in self._dropped and request.sampling.cache != "off":
            mark_anthropic(body)
        self._think(body, request)
        return without(body, self._dropped)

    def _think(self, body: dict[str, Any], request: ModelRequest) -> None:
        """Thinking in the words that the model knows; none beside a call that it is made to give."""
        effort = request.sampling.effort
        if effort in (None, "none") or "thinking" not in body:
            return
        body["max_tokens"] = min(body["max_tokens"], self._conceded.largest or body["max_tokens"])
        if obj(body.get("tool_choice")).get("type") == "any":
            del body["thinking"]
        elif self._budgeted:
            with_budget(body, effort)

    @property
    def _budgeted(self) -> bool:
        """Whether its model thinks by a budget: by its name, until it was refused."""
        return bool(self._dropped.get("thinking by", _BUDGETED.search(self.model) is not None))

    def _answer(self, request: ModelRequest) -> WireAnswer:
        return AnthropicAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str | Concession:
        field = refused_field(fault, with_mark(body), _OPTIONAL)
        if field == "output_config" and allowed_values(fault.message):
            return "effort"  # this much of it, and not effort as such
        if field in ("output_config", "thinking"):
            if obj(body.get("thinking")).get("type") == "adaptive" and "thinking by" not in self._dropped:
                self._dropped["thinking by"] = True
                return Concession("adaptive thinking", "with a budget of tokens for it")
            if obj(body.get("thinking")).get("type") == "enabled" and "thinking by" not in self._dropped:
                self._dropped["thinking by"] = False
                return Concession("a budget of tokens for thinking", "with adaptive thinking")
            return "effort"
        if field:
            self._dropped[field] = None
        return field
