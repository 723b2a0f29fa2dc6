"""What a provider needs to know to reach its model: plain data, so that configuration and SDKs stay strangers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Api = Literal["openai-chat", "openai-responses", "anthropic"]


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One model behind one endpoint.

    `base_url` is as the SDK of the format has it: with `/v1` for the OpenAI formats, without for Anthropic; None is
    the vendor's own. `api_key` None sends no credentials. Times are seconds.
    """

    name: str
    api: Api
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str = ""  # named in the hint when the key is missing
    needs_key: bool = True  # False: an endpoint without keys (a local server) is asked without one
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    parallel_tool_calls: Literal["send", "refuse", "omit"] = "send"
    max_tokens: int | None = None
    context_window: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    max_tries: int = 5
    connect_timeout: float = 15.0
    read_timeout: float = 600.0  # longest silence between two pieces of an answer
