"""A request as a model reads it that has no tools of its own: tools, calls and results are all in the text.

The history is written again in the dialect that the model writes, so that it reads its own habit back. Results carry
no ids there: the results of one answer are one user turn, in call order, each with its number and its tool's name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import Sampling
from console_app.domain.tools import ToolCall, ToolSpec
from console_app.textcalls import ToolSignature, render_calls, render_results, stop_strings, system_section

MUST_CALL = "Every answer of yours has to call at least one tool."

AnyMessage = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Result:
    index: int
    name: str
    status: str
    content: str


def as_text(request: ModelRequest, dialect: str) -> ModelRequest:
    """`request` without tools: they are described in the system prompt, and calls and results are text."""
    system = request.system
    if request.tools and request.tool_choice != "none":
        tools = [_Tool(spec.name, spec.description, spec.input_schema) for spec in request.tools]
        section = system_section(dialect, tools, parallel=request.parallel)
        if request.tool_choice == "required":
            section = f"{section}\n\n{MUST_CALL}"
        system = f"{system}\n\n{section}" if system else section
    stops = Sampling(stop=tuple(stop_strings(dialect)) if request.tools else None)
    return replace(
        request,
        system=system,
        messages=_messages(request, dialect),
        tools=(),
        tool_choice="auto",
        parallel=True,
        sampling=Sampling.merged(request.sampling, stops),
    )


def _messages(request: ModelRequest, dialect: str) -> tuple[AnyMessage, ...]:
    out: list[AnyMessage] = []
    results: list[_Result] = []
    images: list[str] = []

    def flush() -> None:
        if results:
            out.append(UserMessage(content=render_results(dialect, list(results)), images=tuple(images)))
            results.clear()
            images.clear()

    for message in request.messages:
        if isinstance(message, ToolMessage):
            status = "ok" if message.outcome == "succeeded" else message.outcome.replace("_", " ")
            results.append(_Result(len(results), message.name, status, message.content))
            images.extend(message.images)
            continue
        flush()
        out.append(_assistant(message, dialect, request.tools) if isinstance(message, AssistantMessage) else message)
    flush()
    return tuple(_joined(out))


def _joined(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """A prompt that follows results is the same user turn: chat templates want the roles to alternate."""
    out: list[AnyMessage] = []
    for message in messages:
        last = out[-1] if out else None
        if isinstance(last, UserMessage) and isinstance(message, UserMessage):
            out[-1] = UserMessage(
                content=f"{last.content}\n\n{message.content}",
                origin=message.origin,
                images=(*last.images, *message.images),
            )
        else:
            out.append(message)
    return out


def _assistant(message: AssistantMessage, dialect: str, tools: Sequence[ToolSpec]) -> AssistantMessage:
    if not message.tool_calls:
        return message
    calls = _written(message.tool_calls, dialect, [ToolSignature(spec.name, spec.input_schema) for spec in tools])
    content = f"{message.content}\n{calls}" if message.content else calls
    return message.model_copy(update={"content": content, "tool_calls": ()})


def _written(calls: Sequence[ToolCall], dialect: str, tools: Sequence[ToolSignature]) -> str:
    """The calls of one answer in the dialect, together as a model writes them; one that could not be read stays the
    text that it was, between the others.
    """
    written: list[str] = []
    for readable, group in groupby(map(_readable, calls), key=lambda call: isinstance(call, _Call)):
        if readable:
            written.append(render_calls(dialect, [call for call in group if isinstance(call, _Call)], tools))
        else:
            written += [call for call in group if isinstance(call, str)]
    return "\n".join(written)


def _readable(call: ToolCall) -> _Call | str:
    """A call with its arguments, or its text where they could not be read."""
    try:
        arguments: Any = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict) or (not call.arguments and call.raw):
        return call.raw or call.arguments
    return _Call(call.name, arguments)  # pyright: ignore[reportUnknownArgumentType]
