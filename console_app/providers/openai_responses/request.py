"""A request in the words of OpenAI's Responses API, without any state kept at the endpoint (`store` false).

So the history goes along each time: calls as `function_call` items, results as `function_call_output`, and reasoning
items with their encrypted content, each in front of what came of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig, identity
from console_app.domain.tools import ToolCall, ToolSpec
from console_app.providers.openai_responses.answer import FORMAT
from console_app.providers.requests.pictures import pictures_of
from console_app.providers.requests.sampling_parameters import parameters
from console_app.providers.requests.wire_parts import (
    arguments_text,
    call_ids,
    reasoning_blocks,
    tool_schema,
    wire_name,
    with_extra,
)
from console_app.providers.stream.placed_blocks import in_order
from console_app.providers.stream.server_tools import RESPONSES_CALLS

_REASONING_FIELDS = ("type", "id", "summary", "encrypted_content", "content")
ENCRYPTED = "reasoning.encrypted_content"


def responses_body(
    request: ModelRequest, config: ProviderConfig, *, source: str, images: bool = True
) -> dict[str, Any]:
    """The JSON body."""
    body: dict[str, Any] = {
        "model": config.model,
        "input": responses_input(request, source, identity(config), images=images),
        "stream": True,
        "store": False,
        "include": [ENCRYPTED],
    }
    if request.system.strip():
        body["instructions"] = request.system
    if request.conversation:
        body["prompt_cache_key"] = request.conversation  # a request is sent to where its beginning was read before
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
        if (several := request.sampling.parallel_tool_calls) != "omit":
            body["parallel_tool_calls"] = request.parallel and several != "refuse"
    return with_extra(body | parameters(request.sampling, "openai-responses"), request.sampling.extra_body)


def _content(message: UserMessage | ToolMessage, images: bool) -> str | list[dict[str, Any]]:
    pictures = pictures_of(message) if images else ()
    if not pictures:
        return message.content
    shown = [{"type": "input_image", "image_url": picture.url} for picture in pictures]
    return [{"type": "input_text", "text": message.content}, *shown]


def responses_input(
    request: ModelRequest, source: str = "", endpoint: str = "", *, images: bool = True
) -> list[dict[str, Any]]:
    """The history as input items; with `images` the pictures of messages too."""
    ids = call_ids(request.messages, endpoint)
    out: list[dict[str, Any]] = []
    for message in request.messages:
        match message:
            case UserMessage():
                out.append({"role": "user", "content": _content(message, images)})
            case AssistantMessage():
                out += _assistant(message, source, ids)
            case ToolMessage():
                call_id = ids(message.tool_call_id)
                out.append({"type": "function_call_output", "call_id": call_id, "output": _content(message, images)})
    return out


def _assistant(message: AssistantMessage, source: str, ids: Callable[[str], str]) -> list[dict[str, Any]]:
    written = in_order(message, reasoning_blocks(message, FORMAT, source), _text, lambda call: _call(call, ids))
    items = [_sendable(item) for item in written]
    if not all(items):
        # What the provider did itself is refused without the reasoning that led to it.
        items = [item for item in items if item and item.get("type") not in RESPONSES_CALLS]
    # A reasoning item is refused unless something of the same answer follows it.
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _sendable(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it may go back; an empty one for reasoning that only its endpoint could look up, and didn't keep."""
    if item.get("type") != "reasoning":
        return item
    if not item.get("encrypted_content") and not item.get("content"):
        return {}
    return {name: item[name] for name in _REASONING_FIELDS if item.get(name) or name == "summary"}


def _text(text: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **fields}


def _call(call: ToolCall, ids: Callable[[str], str]) -> dict[str, Any]:
    # Without the item's own id: with it, the API wants the reasoning of the same response beside it.
    name, arguments = wire_name(call.name), arguments_text(call.arguments)
    return {"type": "function_call", "call_id": ids(call.id), "name": name, "arguments": arguments}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    # `strict` is the API's default, and refuses most schemas that were not written for it.
    tool: dict[str, Any] = {"type": "function", "name": spec.name, "parameters": tool_schema(spec), "strict": False}
    if spec.description:
        tool["description"] = spec.description
    return tool
