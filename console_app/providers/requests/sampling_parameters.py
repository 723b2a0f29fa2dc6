"""The settings of a request in the words of the three wire formats: one row a field of `Sampling`, so that none is
forgotten. `parallel_tool_calls` goes with the tools, `cache` marks what is built (`cache_marks`), and `extra_body`
goes over everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from console_app.domain.settings import Api, Effort, Sampling

# None: the format has no such parameter.
PARAMETERS: Mapping[str, Mapping[Api, str | None]] = {
    "max_tokens": {"openai-chat": "max_tokens", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"},
    "temperature": {"openai-chat": "temperature", "openai-responses": "temperature", "anthropic": "temperature"},
    "stop": {"openai-chat": "stop", "openai-responses": None, "anthropic": "stop_sequences"},
    "effort": {"openai-chat": "reasoning_effort", "openai-responses": "reasoning", "anthropic": "thinking"},
}
# Tokens of thought for models that want a budget, and an answer's least beside them.
BUDGETS: Mapping[Effort, int] = {"minimal": 1_024, "low": 4_096, "medium": 10_000, "high": 20_000, "xhigh": 32_000}
LARGEST_BUDGET = 63_000
LEAST_ANSWER = 1_024
# What a format takes of a value; of what is empty then, nothing is sent.
_FITTED: Mapping[tuple[Api, str], Callable[[Any], Any]] = {
    ("openai-responses", "max_tokens"): lambda limit: max(limit, 16),
    ("anthropic", "temperature"): lambda temperature: min(temperature, 1.0),
    ("openai-chat", "stop"): lambda texts: texts[:4],
    ("openai-responses", "effort"): lambda effort: {"effort": effort},
    ("anthropic", "effort"): lambda effort: {"type": "disabled" if effort == "none" else "adaptive"},
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
    if api == "anthropic" and sampling.effort not in (None, "none"):
        body["output_config"] = {"effort": "low" if sampling.effort == "minimal" else sampling.effort}
        body.pop("temperature", None)  # beside thinking, the API takes none
    return body


def with_budget(body: dict[str, Any], effort: Effort) -> None:
    """Puts a budget of tokens in place of adaptive thinking, for the models that know only that; changes `body`."""
    body.pop("output_config", None)
    budget = min(BUDGETS.get(effort, LARGEST_BUDGET), body["max_tokens"] - LEAST_ANSWER)
    if budget >= BUDGETS["minimal"]:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    else:
        del body["thinking"]
