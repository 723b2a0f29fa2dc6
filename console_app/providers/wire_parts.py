"""What the requests of all three wire formats share: legal ids and names, schemas, and the reasoning that goes back.

A history may come from another provider, or hold names that a model invented, and every API refuses the whole request
for one character of them; so ids and names are made legal here, in every request alike, and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.tools import ToolSpec
from console_app.providers.loose_json import arr

AnyMessage = UserMessage | AssistantMessage | ToolMessage
LONGEST_ID = 40  # OpenAI's limit; the others allow more
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def wire_id(call_id: str) -> str:
    """`call_id` as every API takes it. The same id always gives the same one, and different ids different ones."""
    if 0 < len(call_id) <= LONGEST_ID and _ILLEGAL.search(call_id) is None:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_ILLEGAL.sub('_', call_id)[: LONGEST_ID - 13]}_{digest}"


def ids_for(messages: Iterable[AnyMessage], endpoint: str) -> Callable[[str], str]:
    """How ids go out to `endpoint`: those that it gave itself as they came, those of others as every API takes them."""
    answers = (one for one in messages if isinstance(one, AssistantMessage) and one.endpoint == endpoint != "")
    given = {call.id for answer in answers for call in answer.tool_calls if call.id}
    return lambda call_id: call_id if call_id in given else wire_id(call_id)


def with_extra(body: dict[str, Any], extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """`body` with `extra_body` over it. Its tools, which the provider runs itself, come behind the request's."""
    if not extra:
        return body
    tools = [*arr(body.get("tools")), *arr(extra.get("tools"))]
    return {**body, **extra, **({"tools": tools} if tools else {})}


def wire_name(name: str) -> str:
    """The name of a tool as every API takes it; a model may have called one that can't exist."""
    return _ILLEGAL.sub("_", name)[:64] or "unnamed"


def arguments_object(arguments: str) -> dict[str, Any]:
    """The recorded arguments as an object; `{}` where they could not be read (that call never ran)."""
    try:
        value: Any = json.loads(arguments, parse_constant=_no_constant) if arguments.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()  # escaped halves of surrogate pairs can't be sent either
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def arguments_text(arguments: str) -> str:
    """The recorded arguments as the text of an object; `{}` where they are none (several servers parse them)."""
    return arguments if arguments_object(arguments) else "{}"


_ALTERNATIVES = ("oneOf", "anyOf", "allOf", "enum", "not")


def tool_schema(spec: ToolSpec) -> dict[str, Any]:
    """The input schema, as an object with properties at its top: the APIs take no alternatives there."""
    schema = {name: value for name, value in spec.input_schema.items() if name not in _ALTERNATIVES}
    return {**schema, "type": "object", "properties": schema.get("properties") or {}}


def reasoning_blocks(message: AssistantMessage, wire_format: str, source: str) -> list[Reasoning]:
    """The reasoning that may go back: whole, and written by this endpoint in this format."""
    return [
        block
        for block in message.reasoning
        if block.provider == wire_format and block.data and block.data.get("source", source) == source
    ]
