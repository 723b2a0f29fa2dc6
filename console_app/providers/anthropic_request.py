"""A request in the words of Anthropic's Messages API: turns alternate, and all results open ONE user message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console_app.domain.endpoint import ProviderConfig
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports.provider import ModelRequest
from console_app.domain.tools import Outcome, ToolCall, ToolSpec
from console_app.providers.anthropic_answer import FORMAT
from console_app.providers.pictures import Picture, pictures_of
from console_app.providers.sampling_parameters import parameters
from console_app.providers.wire_parts import (
    arguments_object,
    in_order,
    reasoning_blocks,
    tool_schema,
    wire_id,
    wire_name,
)

BLANK_TEXT = "(nothing)"  # the API takes no blank text


def anthropic_body(
    request: ModelRequest, config: ProviderConfig, *, source: str, max_tokens: int, eager: bool, images: bool = True
) -> dict[str, Any]:
    """The JSON body. `max_tokens` is used where nothing sets a limit, since the API wants one.

    `eager` asks for arguments to be streamed as they are written, in place of whole values.
    """
    body: dict[str, Any] = {
        "model": config.model,
        "max_tokens": max_tokens,
        "messages": anthropic_messages(request, source, images=images),
        "stream": True,
    }
    if request.system.strip():
        body["system"] = request.system
    if request.tools:
        body["tools"] = [_tool(spec, eager) for spec in request.tools]
        body["tool_choice"] = _tool_choice(request)
    elif names := _called_names(request):
        # Calls in the history want their tools named, even where none may be called any more.
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        body["tools"] = [{"name": name, "input_schema": schema} for name in names]
        body["tool_choice"] = {"type": "none"}
    return body | parameters(request.sampling, "anthropic") | (request.sampling.extra_body or {})


def _called_names(request: ModelRequest) -> list[str]:
    """The tools that the history calls, by the names that go out."""
    answers = (message for message in request.messages if isinstance(message, AssistantMessage))
    return sorted({wire_name(call.name) for answer in answers for call in answer.tool_calls})


def _tool_choice(request: ModelRequest) -> dict[str, Any]:
    kind = {"auto": "auto", "none": "none", "required": "any"}[request.tool_choice]
    several = request.sampling.parallel_tool_calls
    one = not request.parallel or several == "refuse"
    if kind == "none" or not one or several == "omit":
        return {"type": kind}
    return {"type": kind, "disable_parallel_tool_use": True}


def anthropic_messages(request: ModelRequest, source: str = "", *, images: bool = True) -> list[dict[str, Any]]:
    """The history as turns that begin with the user and alternate; with `images` the pictures of messages too."""
    out: list[dict[str, Any]] = []
    for message in request.messages:
        match message:
            case UserMessage():
                shown = [_image(one) for one in pictures_of(message)] if images else []
                text = _text(message.content if message.content.strip() else BLANK_TEXT)
                _append(out, "user", [*shown, text])
            case AssistantMessage():
                _append(out, "assistant", _assistant(message, source))
            case ToolMessage():
                _append(out, "user", [_result(message, pictures_of(message) if images else ())])
    if out and out[0]["role"] != "user":
        out.insert(0, {"role": "user", "content": [_text(BLANK_TEXT)]})
    return out


def _append(out: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Adds blocks as a turn of `role`, or to the open turn of the same role; a turn of nothing is left out."""
    if not blocks:
        return
    if out and out[-1]["role"] == role:
        content: list[dict[str, Any]] = out[-1]["content"]
        content += blocks
    else:
        out.append({"role": role, "content": blocks})


def _assistant(message: AssistantMessage, source: str) -> list[dict[str, Any]]:
    blocks = list(in_order(message, reasoning_blocks(message, FORMAT, source), _text, _call))
    # A turn may not end with thinking, nor be nothing else.
    while blocks and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
        blocks.pop()
    return blocks


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": picture.mime, "data": picture.data}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = arguments_object(call.arguments)
    return {"type": "tool_use", "id": wire_id(call.id), "name": wire_name(call.name), "input": arguments}


def _result(message: ToolMessage, pictures: Sequence[Picture]) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(message.tool_call_id)}
    if message.content.strip():
        result["content"] = message.content
    if message.outcome is not Outcome.SUCCEEDED:
        result["is_error"] = True
        result.setdefault("content", str(message.outcome))  # an error without content is refused
    if pictures:
        words = [_text(result["content"])] if "content" in result else []
        result["content"] = [*words, *map(_image, pictures)]
    return result


def _tool(spec: ToolSpec, eager: bool) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": spec.name, "input_schema": tool_schema(spec)}
    if spec.description:
        tool["description"] = spec.description
    if eager:
        tool["eager_input_streaming"] = True
    return tool
