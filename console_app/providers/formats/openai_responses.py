"""A request in the words of OpenAI's Responses API, without any state kept at the endpoint (`store` false).

So the history goes along each time: calls as `function_call` items, results as `function_call_output`, and reasoning
items with their encrypted content, each in front of what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from typing import Any, ClassVar

from console_app.domain import AssistantMessage, ToolCall, ToolMessage, ToolSpec, UserMessage, ports
from console_app.domain.settings import ProviderConfig
from console_app.domain.transcript import ToModel
from console_app.providers.faults.concessions import refused_field, without
from console_app.providers.faults.fault import Fault
from console_app.providers.formats.openai_responses_answer import FORMAT, ResponsesAnswer
from console_app.providers.formats.placed_blocks import in_order
from console_app.providers.formats.request_parts import (
    allowed_callers,
    arguments_text,
    call_fields,
    call_ids,
    parameters,
    reasoning_blocks,
    tool_schema,
    wire_name,
    with_extra,
)
from console_app.providers.pictures import pictures_of
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import obj
from console_app.providers.wire_provider import DEFERRED, LATE, PROGRAMS, WireProvider

# Items that stand alone; all others are refused without the reasoning that led to them.
_ALONE = ("", "compaction", "function_call", "reasoning")
_REASONING_FIELDS = ("type", "id", "summary", "encrypted_content", "content")
ENCRYPTED = "reasoning.encrypted_content"


def responses_body(
    request: ports.ModelRequest, config: ProviderConfig, *, source: str, images: bool = True
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": config.model,
        "input": responses_input(request, source, config.identity, images=images),
        "stream": True,
        "store": False,
        "include": [ENCRYPTED],
    }
    if request.system.strip():
        body["instructions"] = request.system
    if request.conversation:
        body["prompt_cache_key"] = request.conversation  # a request is sent to where its beginning was read before
    if request.tools:
        body["tools"] = [_tool(spec, request) for spec in request.tools]
        body["tools"] += [{"type": "tool_search"}] if request.deferred else []
        body["tools"] += [{"type": "programmatic_tool_calling"}] if request.programs != "off" else []
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
        if (several := request.sampling.parallel_tool_calls) != "omit":
            body["parallel_tool_calls"] = request.parallel and several != "refuse"
    return with_extra(body | parameters(request.sampling, "openai-responses"), request.sampling.extra_body)


def _content(message: UserMessage | ToolMessage, images: bool) -> str | list[dict[str, Any]]:
    if not (pictures := pictures_of(message) if images else ()):
        return message.content
    shown = [{"type": "input_image", "image_url": picture.url} for picture in pictures]
    return [{"type": "input_text", "text": message.content}, *shown]


def responses_input(
    request: ports.ModelRequest, source: str = "", endpoint: str = "", *, images: bool = True
) -> list[dict[str, Any]]:
    """Return the history as input items; with `images` the pictures of messages too."""
    ids = call_ids(request.messages, endpoint)
    out: list[dict[str, Any]] = []
    late: set[str] = set()  # calls that wait for their output, and may
    answered = 0  # items before the results of the newest answer
    for place, message in enumerate(request.messages, 1):
        match message:
            case UserMessage():
                for part in _apart(message, late):
                    if part.tells in late:
                        late.discard(part.tells)
                        out.append(_output(ids(part.tells), part.content))
                    else:
                        out.append({"role": "user", "content": _content(part, images)})
            case AssistantMessage():
                own = message.endpoint == endpoint
                out += _assistant(message, source, ids, own=own)
                late |= {call.id for call in message.tool_calls if call_fields(call, own=own).get("async") is True}
                answered = len(out)
            case ToolMessage():
                if message.content != ToModel.IN_BACKGROUND or message.tool_call_id not in late:
                    late.discard(message.tool_call_id)
                    out.append(_output(ids(message.tool_call_id), _content(message, images)))
                elif answered == len(out) and all(
                    one.role == "assistant" for one in request.messages[place : place + 1]
                ):
                    out.append({"role": "user", "content": message.content})  # else the model had nothing to answer
    return _with_callers(out)


def _output(call_id: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": content}


def _apart(message: UserMessage, late: Set[str]) -> Iterable[UserMessage]:
    """Return a message as it is, or the ones that were joined to it where one of them is an output."""
    if late.isdisjoint(part.tells for part in message.parts):
        return (message,)
    shown = set(message.images)
    return (
        part.model_copy(update={"images": tuple(path for path in part.images if path in shown)})
        for part in message.parts
    )


def _with_callers(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Have each output name the program that made its call; a call whose program doesn't go along names none."""
    programs = {item["call_id"] for item in items if item.get("type") == "program"}
    callers: dict[str, Any] = {}
    for item in items:
        if obj(item.get("caller")).get("caller_id", "") not in {"", *programs}:
            del item["caller"]
        if caller := item.get("caller"):
            callers[item["call_id"]] = caller
        elif item.get("type") == "function_call_output" and item["call_id"] in callers:
            item["caller"] = callers[item["call_id"]]
    return items


def _assistant(message: AssistantMessage, source: str, ids: Callable[[str], str], *, own: bool) -> list[dict[str, Any]]:
    written = in_order(message, reasoning_blocks(message, FORMAT, source), _text, lambda call: _call(call, ids, own))
    items = [_sendable(item) for item in written]
    if not all(items):
        items = [item for item in items if item and item.get("type", "") in _ALONE]
    # A reasoning item is refused unless something of the same answer follows it.
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _sendable(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as it may go back; {} for reasoning that only its endpoint could look up, and didn't keep."""
    if item.get("type") != "reasoning":
        return item
    if not item.get("encrypted_content") and not item.get("content"):
        return {}
    return {name: item[name] for name in _REASONING_FIELDS if item.get(name) or name == "summary"}


def _text(text: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **fields}


def _call(call: ToolCall, ids: Callable[[str], str], own: bool) -> dict[str, Any]:
    # Without the item's own id: with it, the API wants the reasoning of the same response beside it.
    name, arguments = wire_name(call.name), arguments_text(call.arguments)
    fields = call_fields(call, own=own)
    return {"type": "function_call", "call_id": ids(call.id), "name": name, "arguments": arguments, **fields}


def _tool(spec: ToolSpec, request: ports.ModelRequest) -> dict[str, Any]:
    # `strict` is the API's default, and refuses most schemas that were not written for it.
    tool: dict[str, Any] = {"type": "function", "name": spec.name, "parameters": tool_schema(spec), "strict": False}
    if spec.description:
        tool["description"] = spec.description
    if spec.name in request.deferred:
        tool["defer_loading"] = True
    if callers := allowed_callers(spec, request, "programmatic"):
        tool |= callers | ({"output_schema": spec.output_schema} if spec.output_schema else {})
    elif spec.name in request.late:
        tool["async"] = True  # which a tool that programs call can't be
    return tool


_REASONS = re.compile(r"^(o\d|gpt-[5-9]|codex)")
_OPTIONAL: dict[str, tuple[str, ...]] = {
    DEFERRED: ("tool_search", "tool search"),
    "tools.output_schema": (),
    LATE: (),
    PROGRAMS: ("programmatic_tool_calling", "programmatic", "Programmatic Tool Calling", "Programmatic tool calling"),
    "include": ("encrypted_content", "Encrypted content"),
    **dict.fromkeys(("reasoning.summary", "reasoning.effort", "reasoning", "parallel_tool_calls", "temperature"), ()),
    **dict.fromkeys(("tool_choice", "store", "prompt_cache_key"), ()),
}


class OpenAIResponsesProvider(WireProvider):
    """A model behind `/responses`."""

    path: ClassVar[str] = "/responses"
    has_tool_search: ClassVar[bool] = True
    programmers: ClassVar[re.Pattern[str] | None] = re.compile(r"^gpt-(5\.[6-9]|[6-9])")
    patient: ClassVar[re.Pattern[str] | None] = re.compile(r"^gpt-[6-9]")

    def _body(self, request: ports.ModelRequest) -> dict[str, Any]:
        body = responses_body(
            self._possible(request), self._config, source=self._source, images=self._conceded.refused.sees
        )
        if self._where.is_vendor and _REASONS.match(self.model):
            # Without it nothing of the reasoning is shown.
            body["reasoning"] = {"summary": "auto"} | obj(body.get("reasoning"))
        body = without(body, self._dropped)
        if request.sampling.cache == "off":
            body.pop("prompt_cache_key", None)
        return body if body.get("reasoning", True) else without(body, ("reasoning",))

    def _answer(self, request: ports.ModelRequest) -> WireAnswer:
        return ResponsesAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str:
        if field := refused_field(fault, body, _OPTIONAL):
            self._dropped[field] = None
        return field
