"""Requests to OpenAI Chat Completions, and to every server that speaks it: the format with the most dialects of all.

One `tool` message a call, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from console_app.domain import AssistantMessage, ToolMessage, ToolSpec, UserMessage, ports
from console_app.domain.settings import ProviderConfig
from console_app.providers.faults.concessions import refused_field, without
from console_app.providers.faults.fault import Fault
from console_app.providers.formats.cache_marks import forwards_marks, mark_chat, with_mark
from console_app.providers.formats.openai_chat_answer import FORMAT, OPAQUE, TEXT_FIELDS, ChatAnswer, content_of
from console_app.providers.formats.request_parts import (
    arguments_text,
    call_fields,
    call_ids,
    parameters,
    reasoning_blocks,
    tool_schema,
    wire_name,
)
from console_app.providers.pictures import Picture, pictures_of
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import arr, obj
from console_app.providers.wire_provider import WireProvider

NO_THOUGHT = " "  # of an answer that another model wrote, or that had none: Kimi takes an empty one for missing
OF_RESULTS = "[Fanout: the pictures that the results above name, in their order.]"


def chat_body(
    request: ports.ModelRequest,
    config: ProviderConfig,
    *,
    source: str,
    limit_field: str,
    endpoint: str = "",
    images: bool = True,
    thoughts: bool = False,
) -> dict[str, Any]:
    """Return the JSON body. `limit_field` is what the endpoint calls the token limit; `source` whose reasoning it may
    get, and `endpoint` whose ids and fields. With `thoughts` every answer goes with reasoning."""
    body: dict[str, Any] = {
        "model": config.model,
        "messages": chat_messages(
            request, source, endpoint=endpoint, model=config.model, images=images, thoughts=thoughts
        ),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
        if (several := request.sampling.parallel_tool_calls) != "omit":
            body["parallel_tool_calls"] = request.parallel and several != "refuse"
    body |= parameters(request.sampling, "openai-chat")
    if "max_tokens" in body:
        body[limit_field] = body.pop("max_tokens")
    return body | (request.sampling.extra_body or {})


def _content(
    message: UserMessage, pictures: Sequence[Picture], of_results: Sequence[Picture]
) -> str | list[dict[str, Any]]:
    """Return a text, as every server takes it; parts only where there are pictures."""
    if not pictures and not of_results:
        return message.content
    own = [{"type": "text", "text": message.content}, *map(_image, pictures)]
    return [*_of_results(of_results), *own] if of_results else own


def _of_results(pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """Return parts of a user's message for the pictures of results before it, as results are text in this format."""
    return [{"type": "text", "text": OF_RESULTS}, *map(_image, pictures)]


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": picture.url}}


def chat_messages(
    request: ports.ModelRequest,
    source: str = "",
    *,
    endpoint: str = "",
    model: str = "",
    images: bool = True,
    thoughts: bool = False,
) -> list[dict[str, Any]]:
    """Write system prompt and history; with `images` also the pictures of messages, with `thoughts` all reasoning."""
    out: list[dict[str, Any]] = []
    ids = call_ids(request.messages, endpoint, model)
    if request.system.strip():
        out.append({"role": "system", "content": request.system})
    of_results: list[Picture] = []
    for message in request.messages:
        if of_results and isinstance(message, AssistantMessage):
            out.append({"role": "user", "content": _of_results(of_results)})
            of_results = []
        match message:
            case UserMessage():
                pictures = pictures_of(message) if images else ()
                out.append({"role": "user", "content": _content(message, pictures, of_results)})
                of_results = []
            case AssistantMessage():
                if assistant := _assistant(message, source, endpoint, ids, thoughts=thoughts):
                    out.append(assistant)
            case ToolMessage():
                out.append(
                    {
                        "role": "tool",
                        "tool_call_id": ids(message.tool_call_id),
                        "content": message.content,
                    }
                )
                of_results += pictures_of(message) if images else ()
    if of_results:
        out.append({"role": "user", "content": _of_results(of_results)})
    return out


def _assistant(
    message: AssistantMessage, source: str, endpoint: str, ids: Callable[[str], str], *, thoughts: bool
) -> dict[str, Any]:
    """Write an answer; {} for one that says nothing. `content` is null beside calls, as the API writes it itself."""
    if not message.content and not message.tool_calls:
        return {}
    own = message.endpoint == endpoint
    given = message.provider_data if own else {}
    out: dict[str, Any] = {
        **obj(given.get("fields")),
        "role": "assistant",
        "content": content_of(message.content, arr(given.get("parts"))) or None,
    }
    if message.tool_calls:
        out["tool_calls"] = [
            {
                **call_fields(call, own=own),
                "id": ids(call.id),
                "type": "function",
                "function": {"name": wire_name(call.name), "arguments": arguments_text(call.arguments)},
            }
            for call in message.tool_calls
        ]
    # Endpoints that want their reasoning back want it with the calls that came of it (DeepSeek, Kimi, OpenRouter).
    if message.tool_calls or thoughts:
        for block in reasoning_blocks(message, FORMAT, source):
            if field := block.data.get("field"):
                out[field] = block.data.get("value", block.text)
    if thoughts:
        out[TEXT_FIELDS[0]] = out.get(TEXT_FIELDS[0]) or NO_THOUGHT
    return out


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name, "parameters": tool_schema(spec)}
    if spec.description:
        function["description"] = spec.description
    return {"type": "function", "function": function}


_LIMITS = ("max_completion_tokens", "max_tokens")
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "stream_options": ("include_usage",),
    "parallel_tool_calls": ("disable_parallel_tool_use",),
    "reasoning_effort": ("effort", "reasoning.effort"),
    **dict.fromkeys(("temperature", "stop", "tool_choice"), ()),
    **dict.fromkeys(
        (f"messages.{field}" for field in (*TEXT_FIELDS, OPAQUE, "reasoning_details", "extra_content")), ()
    ),
    "cache_control": ("content",),  # with the marks it is a list
}


class OpenAIChatProvider(WireProvider):
    """A model behind `/chat/completions`."""

    path: ClassVar[str] = "/chat/completions"

    def _body(self, request: ports.ModelRequest) -> dict[str, Any]:
        # OpenAI's newer models take only the longer name, most other servers only the shorter one.
        limit_field = str(self._dropped.get("limit") or _LIMITS[0 if self._where.is_vendor else 1])
        body = chat_body(
            request,
            self._config,
            source=self._source,
            endpoint=self.endpoint,
            limit_field=limit_field,
            images=self._conceded.refused.sees,
            thoughts=self._conceded.refused.thoughts_wanted,
        )
        known = request.sampling.cache != "off" and forwards_marks(self._where.url, self.model)
        if (known or request.sampling.cache == "on") and "cache_control" not in self._dropped:
            mark_chat(body)
        return without(body, self._dropped)

    def _answer(self, request: ports.ModelRequest) -> WireAnswer:
        return ChatAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str:
        if "limit" not in self._dropped and (limit := refused_field(fault, body, dict.fromkeys(_LIMITS, ()))):
            self._dropped["limit"] = _LIMITS[1 - _LIMITS.index(limit)]
            return limit
        if field := refused_field(fault, with_mark(body), _OPTIONAL):
            self._dropped[field] = None
        return field
