"""The settings of a request in the words of the three wire formats: one row a field of `Sampling`, so that none is
forgotten. `parallel_tool_calls` goes with the tools and `extra_body` over everything, where a body is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from console_app.domain.endpoint import Api
from console_app.domain.sampling import Sampling

# None: the format has no such parameter.
PARAMETERS: Mapping[str, Mapping[Api, str | None]] = {
    "max_tokens": {"openai-chat": "max_tokens", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"},
    "temperature": {"openai-chat": "temperature", "openai-responses": "temperature", "anthropic": "temperature"},
    "stop": {"openai-chat": "stop", "openai-responses": None, "anthropic": "stop_sequences"},
}
# What a format takes of a value; of what is empty then, nothing is sent.
_FITTED: Mapping[tuple[Api, str], Callable[[Any], Any]] = {
    ("openai-responses", "max_tokens"): lambda limit: max(limit, 16),
    ("anthropic", "temperature"): lambda temperature: min(temperature, 1.0),
    ("openai-chat", "stop"): lambda texts: texts[:4],
    ("anthropic", "stop"): lambda texts: tuple(text for text in texts if text.strip()),
}


def parameters(sampling: Sampling, api: Api) -> dict[str, Any]:
    """The fields of a body that say how to write."""
    body: dict[str, Any] = {}
    for field, names in PARAMETERS.items():
        value = getattr(sampling, field)
        if value is not None and (fitted := _FITTED.get((api, field))):
            value = fitted(value)
        if (name := names[api]) and value not in (None, ()):
            body[name] = value
    return body
