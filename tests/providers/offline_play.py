"""Asks the offline model and gathers its answer, for its tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from console_app.domain.chunks import CallClosed, CallOpened, Chunk, FinishChunk, TextChunk
from console_app.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import Outcome, ToolCall, ToolSpec
from console_app.providers import OfflineProvider


@dataclass
class Reply:
    """An answer, gathered."""

    chunks: list[Chunk] = field(default_factory=list[Chunk])
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finish: str = ""

    @property
    def named(self) -> list[tuple[str, dict[str, Any]]]:
        """Wire name and arguments of every call."""
        return [(call.name, json.loads(call.arguments)) for call in self.calls]

    @property
    def message(self) -> AssistantMessage:
        """The answer as it joins the history."""
        return AssistantMessage(content=self.text, tool_calls=tuple(self.calls))


async def ask(
    messages: str | Sequence[Message],
    tools: Sequence[ToolSpec],
    *,
    tool_choice: Literal["auto", "none", "required"] = "auto",
    parallel: bool = True,
) -> Reply:
    """The offline model's whole answer, at no pace."""
    history = (UserMessage(content=messages),) if isinstance(messages, str) else tuple(messages)
    request = ModelRequest(history, tools=tuple(tools), tool_choice=tool_choice, parallel=parallel)
    reply = Reply()
    opened: dict[int, CallOpened] = {}
    async with OfflineProvider(pace=0).stream(request) as chunks:
        async for chunk in chunks:
            reply.chunks.append(chunk)
            match chunk:
                case TextChunk(text):
                    reply.text += text
                case CallOpened():
                    opened[chunk.index] = chunk
                case CallClosed():
                    call = opened[chunk.index]
                    reply.calls.append(ToolCall(id=call.id, name=call.name, arguments=chunk.arguments))
                case FinishChunk(reason):
                    reply.finish = reason
                case _:
                    pass
    return reply


def results(reply: Reply, *contents: str | tuple[Outcome, str]) -> list[ToolMessage]:
    """Return one tool message a call of `reply`, in order: text of a success, or an outcome with its text."""
    messages: list[ToolMessage] = []
    for call, content in zip(reply.calls, contents, strict=True):
        outcome, text = (Outcome.SUCCEEDED, content) if isinstance(content, str) else content
        messages.append(ToolMessage(tool_call_id=call.id, content=text, name=call.name, outcome=outcome))
    return messages
