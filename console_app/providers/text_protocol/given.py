"""Lists what a request gives the model to read that others may have written, text by text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from console_app.domain import AssistantMessage, Message, Outcome, ToolMessage, ToolSpec, UserMessage, ports
from console_app.domain.tools import AVAILABLE, FAILED, UNKNOWN_TOOL
from console_app.providers.stream.loose_json import obj, text
from console_app.textcalls import GivenText

_SEAM = 4_000  # characters of two results that follow one another which are looked at together
_LITTLE = 200  # characters of a result from which on it is looked at with its neighbours alone
_SAID = frozenset({"description", "title", "examples", "example", "default", "$comment", "pattern"})
"""Keys of a schema whose values are words, however short; what a value has to be, as in `enum`, mostly isn't."""
_OF_SERVERS = '<server name="'
"""The words that introduce what a server says in the instructions, and an attachment in a message:"""
_ATTACHED = "<attachment "
_OF_PROVIDER = "a result of the provider's own tool"
_FOUND = ("content", "output", "outputs", "results", "tools", "citations", "annotations")
"""Where the blocks that an endpoint wants back hold what a tool of its own found, and what a text cites of it."""
_WORDS = 30  # characters from which on a name or a value of a schema may say more than what it is,
_FEW = 8  # and from which on it may name a tool and what that is called with


class SaidOfTools:
    """The texts in which servers speak of their tools; each tool is gone through once."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[ToolSpec, list[GivenText]]] = {}

    def of(self, tools: Sequence[ToolSpec]) -> list[GivenText]:
        """Return the texts of each of the tools."""
        known = self._texts
        self._texts = {id(spec): known.get(id(spec)) or (spec, _of_tool(spec)) for spec in tools}
        return [text for _, texts in self._texts.values() for text in texts]


def inputs(request: ports.ModelRequest) -> list[GivenText]:
    """Return the instructions, what tools returned, also those of the provider, what was attached or pasted, what the
    user wrote.

    A result that says what was wrong with a call holds the model's own words, but for why there is no such tool: that
    may be what its server said. Where a tool gives a long text in parts, a call may stand in two.
    """
    given = [GivenText("the instructions", request.system, own=_begins(_OF_SERVERS, request.system))]
    before, name, several = "", "", False  # what the results before it said last, and of which tool the last one is
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            given += [found_by_provider(found)] if (found := "\n".join(_found(message))) else []
            continue
        if isinstance(message, ToolMessage) and message.outcome is Outcome.INVALID:
            said = message.content.rpartition(AVAILABLE)[0] if message.content.startswith(UNKNOWN_TOOL) else ""
            given += [GivenText(_source(message), said)] if said else []
            continue
        parts = (message.parts if isinstance(message, UserMessage) else ()) or (message,)
        given += [_of_message(part) for part in parts]
        if isinstance(message, ToolMessage):
            said = message.content.removeprefix(FAILED)
            if before:
                of = f" of {message.name}" if name == message.name else ""
                count = "several" if several else "two"
                given.append(GivenText(f"{count} results{of}", before + said[:_SEAM], again=True))
            several = bool(before) and len(said) < _LITTLE
            before, name = (before + said if several else said)[-_SEAM:], message.name
    return given


def found_by_provider(content: str) -> GivenText:
    """Return what came of a tool that the provider runs itself, which the model reads in the same answer."""
    return GivenText(_OF_PROVIDER, content)


def known_of_before(request: ports.ModelRequest) -> list[GivenText]:
    """Return what the model was given in a conversation that goes on and a summary stands for, and what it has said: it
    may have quoted a text that a shorter one has taken the place of since. Whoever reads its next answer has seen
    neither."""
    said = (message for message in (*request.summed_up, *request.messages) if isinstance(message, AssistantMessage))
    answers = [
        GivenText("an earlier answer", message.content, own=len(message.content)) for message in said if message.content
    ]
    return [*answers, *inputs(replace(request, system="", messages=request.summed_up))]


def stands_for_more(message: Message) -> bool:
    """Tell whether it may be the summary of a conversation that went before."""
    return isinstance(message, UserMessage) and message.origin == "fanout"


def _of_message(message: Message) -> GivenText:
    """Return what a message gives, with its attachments, which one that a summary stands for still has beside its
    text."""
    if not isinstance(message, UserMessage):
        return GivenText(_source(message), message.content)
    said = message.whole
    return GivenText(_source(message), said, framed=True, own=0 if message.source else _begins(_ATTACHED, said))


def _begins(frame: str, text: str) -> int:
    return at if (at := text.find(frame)) >= 0 else len(text)


def _found(message: AssistantMessage) -> Iterator[str]:
    for one in message.reasoning:
        block, cited = obj(one.data.get("block")), obj(one.data.get("text"))
        ran = text(block.get("type")).endswith(("_result", "_call", "_list_tools"))
        for key in _FOUND:
            yield from (one for one, said in _strings(block.get(key) if ran else cited.get(key), said=True) if said)


def _of_tool(spec: ToolSpec) -> list[GivenText]:
    """Return what is said in words, and apart from that each short name or value that could be more than one: only in
    one that names a tool may what follows be its arguments."""
    source = f"the description of {spec.label}"
    strings = list(_strings(spec.input_schema, said=False))
    short = dict.fromkeys(one for one, said in strings if not said and len(one) >= _FEW and not one.isidentifier())
    texts = ["\n".join([spec.description, *(one for one, said in strings if said)]), *short]
    return [GivenText(source, text) for text in texts]


def _strings(schema: Any, *, said: bool) -> Iterator[tuple[str, bool]]:
    """Return each text in a schema, and whether it says more than what it is."""
    if isinstance(schema, str):
        yield schema, said or len(schema) >= _WORDS
    elif isinstance(schema, list):
        for one in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(one, said=said)
    elif isinstance(schema, dict):
        for key, one in schema.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(key), len(key) >= _WORDS  # pyright: ignore[reportUnknownArgumentType]
            yield from _strings(one, said=said or key in _SAID)


def _source(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return f"the result of {message.name}" if message.name else "a result"
    if isinstance(message, UserMessage) and message.source:
        return f"what the server wrote for {message.source.split(maxsplit=1)[0]}"
    return "what you sent" if not stands_for_more(message) else "what Fanout said"
