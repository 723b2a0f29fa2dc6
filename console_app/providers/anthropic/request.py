"""A request in the words of Anthropic's Messages API: turns alternate, and all results open ONE user message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.schema import object_of
from console_app.domain.settings import ProviderConfig, identity
from console_app.domain.tools import Outcome, ToolCall, ToolSpec
from console_app.providers.anthropic.answer import FORMAT, THINKING
from console_app.providers.requests.pictures import Picture, pictures_of
from console_app.providers.requests.sampling_parameters import parameters
from console_app.providers.requests.wire_parts import (
    arguments_object,
    call_ids,
    reasoning_blocks,
    tool_schema,
    wire_name,
    with_extra,
)
from console_app.providers.stream.placed_blocks import in_order

_NO_FIELDS: Mapping[str, Any] = {}
BLANK_TEXT = "(nothing)"  # the API takes no blank text
OF_FAILED = "[Fanout: the pictures that a failed result above names, in their order.]"


def anthropic_body(
    request: ModelRequest, config: ProviderConfig, *, source: str, max_tokens: int, eager: bool, images: bool = True
) -> dict[str, Any]:
    """The JSON body. `max_tokens` is used where nothing sets a limit, since the API wants one.

    `eager` asks for arguments to be streamed as they are written, in place of whole values.
    """
    body: dict[str, Any] = {
        "model": config.model,
        "max_tokens": max_tokens,
        "messages": anthropic_messages(request, source, identity(config), images=images),
        "stream": True,
    }
    if request.system.strip():
        body["system"] = request.system
    if request.tools:
        body["tools"] = [_tool(spec, eager) for spec in request.tools]
        body["tool_choice"] = _tool_choice(request)
    elif names := _called_names(request):
        # Calls in the history want their tools named, even where none may be called any more.
        body["tools"] = [{"name": name, "input_schema": object_of({})} for name in names]
        body["tool_choice"] = {"type": "none"}
    return with_extra(body | parameters(request.sampling, "anthropic"), request.sampling.extra_body)


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


def anthropic_messages(
    request: ModelRequest, source: str = "", endpoint: str = "", *, images: bool = True
) -> list[dict[str, Any]]:
    """The history as turns that begin with the user and alternate; with `images` the pictures of messages too."""
    out: list[dict[str, Any]] = []
    ids = call_ids(request.messages, endpoint)
    for message in request.messages:
        match message:
            case UserMessage():
                shown = [_image(one) for one in pictures_of(message)] if images else []
                text = _text(message.content if message.content.strip() else BLANK_TEXT)
                _append(out, "user", [*shown, text])
            case AssistantMessage():
                goes_on = message.paused and message is request.messages[-1]
                _append(out, "assistant", _assistant(message, source, ids, goes_on=goes_on))
            case ToolMessage():
                shown = pictures_of(message) if images else ()
                failed = message.outcome is not Outcome.SUCCEEDED  # whose content may be text alone
                _append(out, "user", [_result(message, ids, () if failed else shown)])
                if failed and shown:
                    _append(out, "user", [_text(OF_FAILED), *map(_image, shown)])
    for turn in out:
        if turn["role"] == "user":  # results open their turn: the pictures of failed ones stand behind them all
            turn["content"].sort(key=_is_behind_results)
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


def _assistant(
    message: AssistantMessage, source: str, ids: Callable[[str], str], *, goes_on: bool
) -> list[dict[str, Any]]:
    written = in_order(message, reasoning_blocks(message, FORMAT, source), _text, lambda call: _call(call, ids))
    blocks = list(written)
    if goes_on:
        return blocks
    blocks = _answered(blocks)
    # A turn may not end with thinking, nor be nothing else.
    while blocks and blocks[-1].get("type") in THINKING:
        blocks.pop()
    return blocks


def _answered(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the provider's own calls that have no result, and results without their call: an answer was cut there."""
    uses = {block.get("id") for block in blocks if _is_server_use(block)}
    results = {block.get("tool_use_id") for block in blocks}
    return [
        block
        for block in blocks
        if (block.get("id") in results if _is_server_use(block) else block.get("tool_use_id") in {None, *uses})
    ]


def _is_behind_results(block: dict[str, Any]) -> bool:
    return block["type"] != "tool_result"


def _is_server_use(block: dict[str, Any]) -> bool:
    return str(block.get("type")).endswith("_tool_use")


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": picture.mime, "data": picture.data}}


def _text(text: str, fields: Mapping[str, Any] = _NO_FIELDS) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def _call(call: ToolCall, ids: Callable[[str], str]) -> dict[str, Any]:
    arguments = arguments_object(call.arguments)
    return {"type": "tool_use", "id": ids(call.id), "name": wire_name(call.name), "input": arguments}


def _result(message: ToolMessage, ids: Callable[[str], str], pictures: Sequence[Picture]) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": ids(message.tool_call_id)}
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
