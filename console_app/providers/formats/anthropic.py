"""Requests to Anthropic's Messages API, and to the servers that speak it: turns alternate, and all results open ONE
user message."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from console_app.domain import AssistantMessage, Message, Outcome, ToolCall, ToolMessage, ToolSpec, UserMessage, ports
from console_app.domain import schema as json_schema
from console_app.domain.settings import ProviderConfig
from console_app.providers.faults.concessions import Concession, refused_field, without
from console_app.providers.faults.fault import Fault
from console_app.providers.faults.wordings import allowed_values
from console_app.providers.formats.anthropic_answer import FORMAT, THINKING, AnthropicAnswer, seconds_left
from console_app.providers.formats.cache_marks import mark_anthropic, with_mark
from console_app.providers.formats.placed_blocks import in_order
from console_app.providers.formats.request_parts import (
    allowed_callers,
    arguments_object,
    call_fields,
    call_ids,
    parameters,
    reasoning_blocks,
    tool_schema,
    wire_name,
    with_budget,
    with_extra,
)
from console_app.providers.pictures import Picture, pictures_of
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import obj, text
from console_app.providers.wire_provider import DEFERRED, PROGRAMS, WireProvider

TOOL_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
CODE_EXECUTION = {"type": "code_execution_20260521", "name": "code_execution"}
_NO_FIELDS: Mapping[str, Any] = {}
BLANK_TEXT = "(nothing)"  # the API takes no blank text
OF_FAILED = "[Fanout: the pictures that a failed result above names, in their order.]"


def anthropic_body(
    request: ports.ModelRequest,
    config: ProviderConfig,
    *,
    source: str,
    max_tokens: int,
    eager: bool,
    images: bool = True,
    gone: object = None,
) -> dict[str, Any]:
    """Return the JSON body. `max_tokens` is used where nothing sets a limit, since the API wants one.

    `eager` asks for arguments to be streamed as they are written, in place of whole values. `gone` is the id of a
    container that the endpoint no longer has.
    """
    container = _container(request, config.identity)
    lasts = seconds_left(container, time.time()) > 0 and (not container or container.get("id") != gone)
    body: dict[str, Any] = {
        "model": config.model,
        "max_tokens": max_tokens,
        "messages": anthropic_messages(request, source, config.identity, images=images, lasts=lasts),
        "stream": True,
    }
    if lasts and container:
        body["container"] = text(container.get("id"))
    if request.system.strip():
        body["system"] = request.system
    if request.tools:
        # Those that are deferred stand first: the last one takes the mark of the cache, and they may take none.
        later = [
            _tool(spec, request, eager) | {"defer_loading": True}
            for spec in request.tools
            if spec.name in request.deferred
        ]
        listed = [_tool(spec, request, eager) for spec in request.tools if spec.name not in request.deferred]
        run = [CODE_EXECUTION] if request.programs != "off" else []
        body["tools"] = [*later, *listed, *([TOOL_SEARCH] if later else []), *run]
        body["tool_choice"] = _tool_choice(request)
    elif names := _called_names(request):
        # Calls in the history want their tools named, even where none may be called any more.
        body["tools"] = [{"name": name, "input_schema": json_schema.object_of({})} for name in names]
        body["tool_choice"] = {"type": "none"}
    return with_extra(body | parameters(request.sampling, "anthropic"), request.sampling.extra_body)


def _container(request: ports.ModelRequest, endpoint: str) -> dict[str, Any]:
    """Return the container that its programs ran in last: they go on there as long as it is kept."""
    own = (one for one in request.messages if isinstance(one, AssistantMessage) and one.endpoint == endpoint)
    given = [obj(one.provider_data.get("container")) for one in own]
    return next(filter(None, reversed(given)), dict[str, Any]())


def _called_names(request: ports.ModelRequest) -> list[str]:
    answers = (message for message in request.messages if isinstance(message, AssistantMessage))
    return sorted({wire_name(call.name) for answer in answers for call in answer.tool_calls})


def _tool_choice(request: ports.ModelRequest) -> dict[str, Any]:
    kind = {"auto": "auto", "none": "none", "required": "any"}[request.tool_choice]
    several = request.sampling.parallel_tool_calls
    one = not request.parallel or several == "refuse"
    if kind == "none" or not one or several == "omit":
        return {"type": kind}
    return {"type": kind, "disable_parallel_tool_use": True}


def anthropic_messages(
    request: ports.ModelRequest, source: str = "", endpoint: str = "", *, images: bool = True, lasts: bool = False
) -> list[dict[str, Any]]:
    """Return the history as turns that begin with the user and alternate; with `images` the pictures of messages
    too. A program waits for results where its container `lasts`."""
    out: list[dict[str, Any]] = []
    ids = call_ids(request.messages, endpoint)
    answers = [
        _written(message, source, ids, own=message.endpoint == endpoint)
        for message in request.messages
        if isinstance(message, AssistantMessage)
    ]
    answered = iter(_answered(answers, request.messages[-1:], lasts=lasts))
    for message in request.messages:
        match message:
            case UserMessage():
                shown = [_image(one) for one in pictures_of(message)] if images else []
                text = _text(message.content if message.content.strip() else BLANK_TEXT)
                _append(out, "user", [*shown, text])
            case AssistantMessage():
                _append(out, "assistant", next(answered))
            case ToolMessage():
                shown = pictures_of(message) if images else ()
                failed = message.outcome is not Outcome.SUCCEEDED  # whose content may be text alone
                _append(out, "user", [_result(message, ids, () if failed else shown)])
                if failed and shown:
                    _append(out, "user", [_text(OF_FAILED), *map(_image, shown)])
    for turn in out:
        if turn["role"] == "user":  # results open their turn: the pictures of failed ones stand behind them all
            content: list[dict[str, Any]] = turn["content"]
            content.sort(key=lambda block: block["type"] != "tool_result")
    if out and out[0]["role"] != "user":
        out.insert(0, {"role": "user", "content": [_text(BLANK_TEXT)]})
    return out


def _append(out: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Add blocks as a turn of `role`, or to the open turn of the same role; a turn of nothing is left out."""
    if not blocks:
        return
    if out and out[-1]["role"] == role:
        content: list[dict[str, Any]] = out[-1]["content"]
        content += blocks
    else:
        out.append({"role": role, "content": blocks})


def _written(message: AssistantMessage, source: str, ids: Callable[[str], str], *, own: bool) -> list[dict[str, Any]]:
    kept = reasoning_blocks(message, FORMAT, source)
    return list(in_order(message, kept, _text, lambda call: _call(call, ids, own)))


def _answered(
    answers: list[list[dict[str, Any]]], last: Sequence[Message], *, lasts: bool
) -> list[list[dict[str, Any]]]:
    """Leave out the provider's own calls that have no result, results without their call, and what thinks behind all
    else: an answer was cut there. The last answer goes on where it was paused, or its program waits for results,
    if the `last` message is one; a call of a program that is left out is one of the model's."""
    blocks = [block for answer in answers for block in answer]
    results = {block.get("tool_use_id") for block in blocks}
    paused = any(isinstance(one, AssistantMessage) and one.paused for one in last)
    if lasts and any(isinstance(one, ToolMessage) for one in last):
        results |= {obj(block.get("caller")).get("tool_id") for block in answers[-1]}
    uses = {block.get("id") for block in blocks if _is_server_use(block) and block.get("id") in results}
    for answer in answers[:-1] if paused else answers:
        answer[:] = [
            {name: value for name, value in block.items() if name != "caller"}
            if obj(block.get("caller")).get("tool_id", "") not in {"", *uses}
            else block
            for block in answer
            if (block.get("id") in uses if _is_server_use(block) else block.get("tool_use_id") in {None, *uses})
        ]
        # A turn may not end with thinking, nor be nothing else.
        while answer and answer[-1].get("type") in THINKING:
            answer.pop()
    return answers


def _is_server_use(block: dict[str, Any]) -> bool:
    return str(block.get("type")).endswith("_tool_use")


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": picture.mime, "data": picture.data}}


def _text(text: str, fields: Mapping[str, Any] = _NO_FIELDS) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def _call(call: ToolCall, ids: Callable[[str], str], own: bool) -> dict[str, Any]:
    block = {"type": "tool_use", "id": ids(call.id), "name": wire_name(call.name)}
    return block | {"input": arguments_object(call.arguments)} | call_fields(call, own=own)


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


def _tool(spec: ToolSpec, request: ports.ModelRequest, eager: bool) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": spec.name, "input_schema": tool_schema(spec)}
    if spec.description:
        tool["description"] = spec.description
    if eager:
        tool["eager_input_streaming"] = True
    if callers := allowed_callers(spec, request, CODE_EXECUTION["type"]):
        tool |= callers
        if spec.output_schema:  # which the format has no field for, and programs read
            gives = f"It gives JSON of this schema: {json.dumps(spec.output_schema, ensure_ascii=False)}"
            tool["description"] = f"{spec.description}\n\n{gives}".strip()
    return tool


MAX_TOKENS = 32_000  # where nothing else is said; a model that allows less says how much
_OPTIONAL: dict[str, tuple[str, ...]] = {
    DEFERRED: (TOOL_SEARCH["type"], TOOL_SEARCH["name"], "tool_search", "tool search"),
    PROGRAMS: (CODE_EXECUTION["type"], CODE_EXECUTION["name"], "code execution", "Programmatic", "programmatic"),
    "tools.eager_input_streaming": (),
    "tool_choice.disable_parallel_tool_use": ("parallel_tool_use",),
    "tool_choice": (),  # demanding a call goes with no thinking
    "temperature": (),
    "stop_sequences": (),
    "cache_control": ("system",),  # with the marks the system prompt is a list
    "output_config": ("effort",),
    "thinking": (),
}
# They think by a budget of tokens; later ones adapt, and refuse a budget.
_BUDGETED = re.compile(r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-5])?([-@]\d{8}|-latest|$)")


_CONTAINER, _GONE = re.compile(r"\bcontainer\b", re.IGNORECASE), "container gone"
_PROGRAMMERS = re.compile(r"claude-((opus|sonnet)-(4-[5-9]|[5-9])|(fable|mythos)-)")  # models that write programs


class AnthropicMessagesProvider(WireProvider):
    """A model behind `/v1/messages`; the base URL is without `/v1`."""

    path: ClassVar[str] = "/v1/messages"
    has_tool_search: ClassVar[bool] = True
    programmers: ClassVar[re.Pattern[str] | None] = _PROGRAMMERS
    models_path: ClassVar[str] = "/v1/models?limit=1000"

    def _body(self, request: ports.ModelRequest) -> dict[str, Any]:
        body = anthropic_body(
            self._possible(request),
            self._config,
            source=self._source,
            max_tokens=MAX_TOKENS,
            eager=self._where.is_vendor,
            images=self._conceded.refused.sees,
            gone=self._dropped.get(_GONE),
        )
        if "cache_control" not in self._dropped and request.sampling.cache != "off":
            mark_anthropic(body)
        self._think(body, request)
        return without(body, self._dropped)

    def _think(self, body: dict[str, Any], request: ports.ModelRequest) -> None:
        """Thinking in the words that the model knows; none beside a call that it is made to give."""
        effort = request.sampling.effort
        if effort in (None, "none") or "thinking" not in body:
            return
        body["max_tokens"] = min(body["max_tokens"], self._conceded.largest or body["max_tokens"])
        if obj(body.get("tool_choice")).get("type") == "any":
            del body["thinking"]
        elif self._dropped.get("thinking by", _BUDGETED.search(self.model)):  # by its name, until that was refused
            with_budget(body, effort)

    def _answer(self, request: ports.ModelRequest) -> WireAnswer:
        return AnthropicAnswer(request.tools, self._source)

    def _relax(self, body: dict[str, Any], fault: Fault) -> str | Concession:
        if _CONTAINER.search(fault.message) and (gone := body.get("container")) not in (None, self._dropped.get(_GONE)):
            self._dropped[_GONE] = gone
            return Concession("a container that it no longer has", "for a new one")
        field = refused_field(fault, with_mark(body), _OPTIONAL)
        if field == "output_config" and allowed_values(fault.message):
            return "effort"  # this much of it, and not effort as such
        if field in ("output_config", "thinking"):
            if obj(body.get("thinking")).get("type") == "adaptive" and "thinking by" not in self._dropped:
                self._dropped["thinking by"] = True
                return Concession("adaptive thinking", "with a budget of tokens for it")
            if obj(body.get("thinking")).get("type") == "enabled" and "thinking by" not in self._dropped:
                self._dropped["thinking by"] = False
                return Concession("a budget of tokens for thinking", "with adaptive thinking")
            return "effort"
        if field:
            self._dropped[field] = None
        return field
