"""What the requests of all three wire formats share: legal ids and names, schemas, and where reasoning goes.

A history may come from another provider, or hold names that a model invented, and every API refuses the whole request
for one character of them; so ids and names are made legal here, in every request alike, and nowhere else.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.tools import ToolCall, ToolSpec

LONGEST_ID = 40  # OpenAI's limit; the others allow more
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def wire_id(call_id: str) -> str:
    """`call_id` as every API takes it. The same id always gives the same one, and different ids different ones."""
    if 0 < len(call_id) <= LONGEST_ID and _ILLEGAL.search(call_id) is None:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_ILLEGAL.sub('_', call_id)[: LONGEST_ID - 13]}_{digest}"


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
) -> dict[str, str]:
    """What the id of each call is in a request to `endpoint`: as it gave it, once; legal where it is another's or ours.

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
    return ids


def _given_id(call: ToolCall) -> str:
    given: Any = call.provider_data.get("id")
    return given if isinstance(given, str) else ""


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


def in_order(
    message: AssistantMessage,
    reasoning: Sequence[Reasoning],
    text_block: Callable[[str], dict[str, Any]],
    call_block: Callable[[ToolCall], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Blocks of an assistant message in the order in which they were written: its text, its calls, its reasoning.

    Reasoning says how much text and how many calls came before it. Text is put before the calls of its stretch, and
    blank text is left out.
    """
    text_at = calls_at = 0
    for block in reasoning:
        text_end = max(text_at, min(int(block.data.get("text_before", 0)), len(message.content)))
        calls_end = max(calls_at, min(int(block.data.get("calls_before", 0)), len(message.tool_calls)))
        yield from _stretch(message, (text_at, text_end), (calls_at, calls_end), text_block, call_block)
        yield dict(block.data.get("block") or block.data)
        text_at, calls_at = text_end, calls_end
    rest = len(message.content), len(message.tool_calls)
    yield from _stretch(message, (text_at, rest[0]), (calls_at, rest[1]), text_block, call_block)


def _stretch(
    message: AssistantMessage,
    text: tuple[int, int],
    calls: tuple[int, int],
    text_block: Callable[[str], dict[str, Any]],
    call_block: Callable[[ToolCall], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    piece = message.content[slice(*text)]
    if piece.strip():
        yield text_block(piece)
    for call in message.tool_calls[slice(*calls)]:
        yield call_block(call)
