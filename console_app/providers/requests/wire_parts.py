"""What the requests of all three wire formats share: legal ids and names, schemas, and the reasoning that goes back.

A history may come from another provider, or hold names that a model invented, and every API refuses the whole request
for one character of them; so ids and names are made legal here, in every request alike, and nowhere else.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.schema import object_of, properties
from console_app.domain.tools import ToolCall, ToolSpec
from console_app.providers.stream.loose_json import arr

AnyMessage = UserMessage | AssistantMessage | ToolMessage
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def with_extra(body: dict[str, Any], extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """`body` with `extra_body` over it. Its tools, which the provider runs itself, come behind the request's."""
    if not extra:
        return body
    tools = [*arr(body.get("tools")), *arr(extra.get("tools"))]
    return {**body, **extra, **({"tools": tools} if tools else {})}


@lru_cache(maxsize=65_536)
def legal_id(call_id: str) -> str:
    """`call_id` as every endpoint takes it, whoever gave it: nine letters and digits, as Mistral's do. The same always
    gives the same."""
    if _NINE.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode()[:9].lower()


def call_ids(
    messages: Iterable[UserMessage | AssistantMessage | ToolMessage], endpoint: str, model: str = ""
) -> Callable[[str], str]:
    """What the id of a call is in a request to `endpoint`: as it gave it, once; legal where it is another's or ours.

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


def wire_name(name: str) -> str:
    """The name of a tool as every API takes it; a model may have called one that can't exist."""
    return _ILLEGAL.sub("_", name)[:64] or "unnamed"


def arguments_object(arguments: str) -> dict[str, Any]:
    """The recorded arguments as an object; `{}` where they could not be read (that call never ran)."""
    try:
        value: Any = json.loads(arguments, parse_constant=_no_constant) if arguments.strip() else {}
        # Escaped halves of surrogate pairs can't be sent either, nor what is larger than any number.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
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
    return {**schema, **object_of(properties(schema))}


def reasoning_blocks(message: AssistantMessage, wire_format: str, source: str) -> list[Reasoning]:
    """The reasoning that may go back: whole, and written by this endpoint in this format."""
    return [
        block
        for block in message.reasoning
        if block.provider == wire_format and block.data and block.data.get("source", source) == source
    ]
