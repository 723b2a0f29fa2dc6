"""Shared by the tests of provenance: why a call asks, of what the model was given."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence
from typing import Any, Literal

from console_app.domain.messages import Message, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import ToolSpec
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.given import GivenToModel

_LOOP = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # one for thousands of calls
atexit.register(_LOOP.close)


def results(*contents: str, name: str = "web_fetch") -> list[Message]:
    """A history in which tools returned these texts."""
    told = [ToolMessage(tool_call_id=str(n), name=name, content=content) for n, content in enumerate(contents)]
    return [UserMessage(content="What does it say?"), *told]


def judged(
    history: Sequence[Message],
    spec: ToolSpec,
    arguments: dict[str, Any],
    *,
    origin: Literal["native", "text"] = "native",
    raw: str = "",
    tools: Sequence[ToolSpec] = (),
    system: str = "",
    given: GivenToModel | None = None,
) -> CallExecution:
    """The call after it was compared with all that was given."""
    call = CallExecution("c", 0, spec.name, spec, origin, arguments=arguments, raw=raw)
    request = ModelRequest(tuple(history), system, tuple(tools) or (spec,))
    given = GivenToModel() if given is None else given
    given.read(request, history)
    _LOOP.run(given.judge(call, spec))
    return call


def why(history: Sequence[Message], spec: ToolSpec, arguments: dict[str, Any], **more: Any) -> str:
    """Why it asks, "" where it doesn't."""
    return judged(history, spec, arguments, **more).must_ask
