"""Makes what the requests of all three wire formats share: legal ids and names, schemas, settings, reasoning that goes
back.

A history may come from another provider, or hold names that a model invented, and every API refuses the whole request
for one character of them. So ids and names are made legal here, in every request alike, and nowhere else. Settings are
one row a field of `Sampling`, so that none is forgotten. `parallel_tool_calls` goes with the tools, `cache` marks what
is built (`cache_marks`), and `extra_body` goes over everything.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from console_app.domain import AssistantMessage, Message, Reasoning, ToolCall, ToolSpec, ports, safe_text
from console_app.domain import schema as json_schema
from console_app.domain.settings import Api, Effort, Sampling
from console_app.providers.stream.loose_json import arr, obj

_NINE = re.compile(r"[A-Za-z0-9]{9}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def with_extra(body: dict[str, Any], extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return `body` with `extra_body` over it. Its tools, which the provider runs itself, come behind the request's."""
    if not extra:
        return body
    tools = [*arr(body.get("tools")), *arr(extra.get("tools"))]
    return {**body, **extra, **({"tools": tools} if tools else {})}


@lru_cache(maxsize=65_536)
def legal_id(call_id: str) -> str:
    """Return `call_id` as every endpoint takes it, always the same: nine letters and digits, as Mistral's do."""
    if _NINE.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode()[:9].lower()


def call_ids(messages: Iterable[Message], endpoint: str, model: str = "") -> Callable[[str], str]:
    """Return what makes the id of a call in a request to `endpoint`: as it gave it, once; legal where it is another's
    or ours.

    Kimi's models read the tool's name and a running number in an id.
    """
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    own = {message.endpoint for message in answers} & {endpoint} - {""}
    given = [_given_id(call) if message.endpoint in own else "" for message in answers for call in message.tool_calls]
    taken = set(given)
    ids: dict[str, str] = {}
    unused = set(given) - {""}
    for call, as_given in zip((call for message in answers for call in message.tool_calls), given, strict=True):
        wired = as_given
        if wired in unused:
            unused.discard(wired)
        else:
            wired = next(one for one in _made_ids(call, len(ids), model) if one not in taken)
            taken.add(wired)
        ids[call.id] = wired
    return lambda call_id: ids.get(call_id) or legal_id(call_id)


def _given_id(call: ToolCall) -> str:
    given: Any = call.provider_data.get("id")
    return given if isinstance(given, str) and given.strip() else ""


def _made_ids(call: ToolCall, number: int, model: str) -> Iterator[str]:
    if "kimi" in model.lower():
        yield from (f"functions.{wire_name(call.name)}:{n}" for n in itertools.count(number))
    yield from (legal_id(call.id + " " * n) for n in itertools.count())


def call_fields(call: ToolCall, *, own: bool) -> dict[str, Any]:
    """Return the fields of a call that its endpoint wants back; none for any other endpoint."""
    return obj(call.provider_data.get("fields")) if own else {}


def wire_name(name: str) -> str:
    """Return the name of a tool as every API takes it; a model may have called one that can't exist."""
    return _ILLEGAL.sub("_", name)[:64] or "unnamed"


def arguments_object(arguments: str) -> dict[str, Any]:
    """Return the recorded arguments as an object; `{}` where they could not be read (that call never ran)."""
    try:
        value: Any = json.loads(arguments, parse_constant=safe_text.no_constant) if arguments.strip() else {}
        # Escaped halves of surrogate pairs can't be sent either, nor what is larger than any number.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {}
    return safe_text.as_object(value)


def arguments_text(arguments: str) -> str:
    """Return the recorded arguments as the text of an object; `{}` where they are none (several servers parse them)."""
    return arguments if arguments_object(arguments) else "{}"


def allowed_callers(spec: ToolSpec, request: ports.ModelRequest, program: str) -> dict[str, Any]:
    """Return who may call a tool, where programs that the endpoint runs are offered the servers' tools."""
    if request.programs == "off" or spec.builtin:
        return {}
    return {"allowed_callers": [program] if request.programs == "only" else ["direct", program]}


_ALTERNATIVES = ("oneOf", "anyOf", "allOf", "enum", "not")


def tool_schema(spec: ToolSpec) -> dict[str, Any]:
    """Return the input schema, as an object with properties at its top: the APIs take no alternatives there."""
    schema = {name: value for name, value in spec.input_schema.items() if name not in _ALTERNATIVES}
    return {**schema, **json_schema.object_of(json_schema.properties(schema))}


def reasoning_blocks(message: AssistantMessage, wire_format: str, source: str) -> list[Reasoning]:
    """Return the reasoning that may go back: whole, and written by this endpoint in this format."""
    return [
        block
        for block in message.reasoning
        if block.provider == wire_format and block.data and block.data.get("source", source) == source
    ]


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
# Fits a value to what a format takes; a value that is empty then is not sent.
_FITTED: Mapping[tuple[Api, str], Callable[[Any], Any]] = {
    ("openai-responses", "max_tokens"): lambda limit: max(limit, 16),
    ("anthropic", "temperature"): lambda temperature: min(temperature, 1.0),
    ("openai-chat", "stop"): lambda texts: texts[:4],
    ("openai-responses", "effort"): lambda effort: {"effort": effort},
    ("anthropic", "effort"): lambda effort: {"type": "disabled" if effort == "none" else "adaptive"},
    ("anthropic", "stop"): lambda texts: tuple(text for text in texts if text.strip()),
}


def parameters(sampling: Sampling, api: Api) -> dict[str, Any]:
    """Return the fields of a body that say how to write."""
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
    """Put a budget of tokens in place of adaptive thinking, for the models that know only that; changes `body`."""
    body.pop("output_config", None)
    budget = min(BUDGETS.get(effort, LARGEST_BUDGET), body["max_tokens"] - LEAST_ANSWER)
    if budget >= BUDGETS["minimal"]:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    else:
        del body["thinking"]
