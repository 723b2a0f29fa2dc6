"""What both formats of OpenAI share: the SDK's client, its headers and its stream."""

from __future__ import annotations

from typing import Any, ClassVar

from console_app.providers.endpoint.headers import headers_left_out, headers_sent
from console_app.providers.endpoint.http_client import make_http_client
from console_app.providers.wire_provider import WireProvider


class OpenAIWireProvider(WireProvider):
    """A model that is reached by the OpenAI SDK, in one of its formats."""

    models_path: ClassVar[str] = "/models"

    def _make_client(self) -> Any:
        """A client without retries and without redirects, which could carry the key to another host."""
        from openai import AsyncOpenAI  # 0.5 s: the caller is in a thread

        http_client = make_http_client(self._config, self._where)
        return AsyncOpenAI(
            api_key=self._config.api_key or "",
            base_url=self._where.url,
            max_retries=0,
            timeout=http_client.timeout,
            default_headers=headers_sent(self._config, self._where, "OPENAI"),
            http_client=http_client,
            _enforce_credentials=False,
        )

    def _stream_class(self) -> Any:
        from openai import AsyncStream

        return AsyncStream[object]

    def _headers(self) -> dict[str, Any]:
        """Headers that a request leaves out, in the SDK's way of saying so."""
        from openai import Omit

        return {name: Omit() for name in headers_left_out(self._config, self._where, "OPENAI")}
