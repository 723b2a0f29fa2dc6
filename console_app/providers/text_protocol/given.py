"""What a request gives the model to read that others may have written, text by text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports.provider import ModelRequest
from console_app.domain.tools import Outcome, ToolSpec
from console_app.providers.text_protocol.provenance import GivenText

_SEAM = 4_000  # characters of two results that follow one another which are looked at together
_SAID = frozenset({"description", "title", "examples", "example", "default", "$comment", "pattern"})
"""Keys of a schema whose values are words; what a value has to be, as in `enum`, leads no model astray."""

Message = UserMessage | AssistantMessage | ToolMessage


class SaidOfTools:
    """What servers say of their tools; each tool is gone through once."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[ToolSpec, GivenText]] = {}

    def of(self, tools: Sequence[ToolSpec]) -> list[GivenText]:
        """A text for each of the tools."""
        known = self._texts
        self._texts = {id(spec): known.get(id(spec)) or (spec, _of_tool(spec)) for spec in tools}
        return [text for _, text in self._texts.values()]


def inputs(request: ModelRequest) -> list[GivenText]:
    """The instructions, what tools returned, what was attached or pasted, what the user wrote. A result that says what
    was wrong with a call holds the model's own words. Where a tool gives a long text in parts, a call may stand in two.
    """
    given = [GivenText("the instructions", request.system)]
    before: ToolMessage | None = None
    for message in request.messages:
        if isinstance(message, AssistantMessage) or _is_its_own(message):
            continue
        given.append(GivenText(_source(message), message.content))
        if isinstance(message, ToolMessage):
            if before is not None and before.name == message.name:
                seam = before.content[-_SEAM:] + message.content[:_SEAM]
                given.append(GivenText(f"two results of {message.name}", seam))
            before = message
    return given


def stands_for_more(message: Message) -> bool:
    """Whether it may be the summary of a conversation that went before."""
    return isinstance(message, UserMessage) and message.origin == "fanout"


def _of_tool(spec: ToolSpec) -> GivenText:
    said = "\n".join([spec.description, *_strings(spec.input_schema, said=False)])
    return GivenText(f"the description of {spec.label}", said)


def _strings(schema: Any, *, said: bool) -> Iterator[str]:
    if isinstance(schema, str):
        if said:
            yield schema
    elif isinstance(schema, list):
        for one in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(one, said=said)
    elif isinstance(schema, dict):
        for key, one in schema.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(one, said=said or key in _SAID)


def _source(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return f"the result of {message.name}" if message.name else "a result"
    return "what you sent" if not stands_for_more(message) else "what Fanout said"


def _is_its_own(message: Message) -> bool:
    return isinstance(message, ToolMessage) and message.outcome is Outcome.INVALID
