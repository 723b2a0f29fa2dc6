"""A request in the words of OpenAI Chat Completions. One `tool` message a call, in the order of the calls."""

from __future__ import annotations

from typing import Any

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import ToolSpec
from console_app.providers.openai_chat_answer import FORMAT
from console_app.providers.pictures import pictures_of
from console_app.providers.provider_config import ProviderConfig
from console_app.providers.wire_parts import (
    arguments_text,
    reasoning_blocks,
    tool_schema,
    wire_id,
    wire_name,
    wire_text,
)


def chat_body(
    request: ModelRequest, config: ProviderConfig, *, source: str, limit_field: str, images: bool = True
) -> dict[str, Any]:
    """The JSON body. `limit_field` is what the endpoint calls the token limit; `source` whose reasoning it may get."""
    body: dict[str, Any] = {
        "model": config.model,
        "messages": chat_messages(request, source, images=images),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
        if config.parallel_tool_calls != "omit":
            body["parallel_tool_calls"] = request.parallel and config.parallel_tool_calls == "send"
    limit = request.max_tokens or config.max_tokens
    if limit is not None:
        body[limit_field] = limit
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop"] = list(request.stop[:4])  # the API takes four
    return body | dict(config.extra_body)


def _content(message: UserMessage, images: bool) -> str | list[dict[str, Any]]:
    """A text, as every server takes it; parts only where there are pictures."""
    pictures = pictures_of(message) if images else ()
    if not pictures:
        return wire_text(message.content)
    shown = [{"type": "image_url", "image_url": {"url": picture.url}} for picture in pictures]
    return [{"type": "text", "text": wire_text(message.content)}, *shown]


def chat_messages(request: ModelRequest, source: str = "", *, images: bool = True) -> list[dict[str, Any]]:
    """System prompt and history; with `images` the pictures of messages too."""
    out: list[dict[str, Any]] = []
    if request.system.strip():
        out.append({"role": "system", "content": wire_text(request.system)})
    for message in request.messages:
        match message:
            case UserMessage():
                out.append({"role": "user", "content": _content(message, images)})
            case AssistantMessage():
                if assistant := _assistant(message, source):
                    out.append(assistant)
            case ToolMessage():
                out.append(
                    {
                        "role": "tool",
                        "tool_call_id": wire_id(message.tool_call_id),
                        "content": wire_text(message.content),
                    }
                )
    return out


def _assistant(message: AssistantMessage, source: str) -> dict[str, Any]:
    """None of it when it says nothing; `content` is null beside calls, as the API writes it itself."""
    if not message.content and not message.tool_calls:
        return {}
    out: dict[str, Any] = {"role": "assistant", "content": wire_text(message.content) or None}
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "id": wire_id(call.id),
                "type": "function",
                "function": {"name": wire_name(call.name), "arguments": arguments_text(call.arguments)},
            }
            for call in message.tool_calls
        ]
        # Endpoints that want their reasoning back want it with the calls that came of it (DeepSeek, Kimi, OpenRouter).
        for kept in reasoning_blocks(message, FORMAT, source):
            if field := kept.data.get("field"):
                out[field] = kept.data.get("value", kept.text)
    return out


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name, "parameters": tool_schema(spec)}
    if spec.description:
        function["description"] = wire_text(spec.description)
    return {"type": "function", "function": function}
