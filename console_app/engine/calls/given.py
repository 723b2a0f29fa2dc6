"""Knows the texts that the model was given to read, and asks of each call whether it is from there: a call as text may
be a quotation, and any call that changes, runs or sends something may have been dictated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from console_app.domain import AssistantMessage, Message, Outcome, ToolMessage, ToolSpec, UserMessage, ports, safe_text
from console_app.domain import events as ev
from console_app.domain import schema as json_schema
from console_app.domain.tools import FAILED
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.results import AVAILABLE, UNKNOWN_TOOL
from console_app.textcalls.provenance import GivenText, Provenance

MAYBE = "maybe quoted: "
QUOTED = f"{MAYBE}it stands in"
DICTATED = "maybe dictated: told in"
_BY_PROVIDER = "a result of the provider's own tool"
_SAID = frozenset({"description", "title", "examples", "example", "default", "$comment", "pattern"})
"""Keys of a schema whose values are words, however short; what a value has to be, as in `enum`, mostly isn't."""
_OF_SERVERS = '<server name="'
"""The words that introduce what a server says in the instructions."""
_FOUND = ("content", "output", "outputs", "results", "tools", "citations", "annotations")
"""Where the blocks that an endpoint wants back hold what a tool of its own found, and what a text cites of it."""
_WORDS = 30  # characters from which on a name or a value of a schema may say more than what it is,
_FEW = 8  # and from which on it may name a tool and what that is called with
_MUCH = 20_000  # characters from which on a call is compared in a thread


class GivenToModel:
    """The texts given in a session's conversation, as far as its history and the newest request hold them."""

    def __init__(self) -> None:
        self._provenance = Provenance()
        self._tools: dict[int, tuple[ToolSpec, list[GivenText]]] = {}
        self._given: dict[GivenText, None] = {}
        self._conversation = ""
        self._size = 0  # characters of it
        self._found: list[GivenText] = []  # by tools of the provider
        self._turn = asyncio.Lock()

    def found(self, content: str) -> None:
        """Take what came of a tool that the provider runs itself, which the model reads in the same answer."""
        self._found.append(GivenText(_BY_PROVIDER, content))
        self._given[self._found[-1]] = None
        self._size = self._provenance.give(tuple(self._given))

    def read(self, request: ports.ModelRequest, history: Sequence[Message]) -> None:
        """Take a request and the history it is made of. Earlier ones stay known: an undone turn was read, too."""
        if request.conversation != self._conversation:
            self._conversation, self._given = request.conversation, {}
        said = (*self._of_tools(request.tools), *_instructions(request.system), *_inputs(history), *self._found)
        now = dict.fromkeys(said)
        self._given = {**dict.fromkeys(one for one in self._given if one not in now), **now}
        self._size = self._provenance.give(tuple(self._given))

    async def judge(self, call: CallExecution, spec: ToolSpec) -> None:
        """Have a call ask that may be quoted or dictated, and keep the passage for whoever is asked."""
        async with self._turn:
            if self._size > _MUCH or len(call.written) > _MUCH:
                await asyncio.to_thread(self._judge, call, spec)
            else:
                self._judge(call, spec)

    def _judge(self, call: CallExecution, spec: ToolSpec) -> None:
        self._provenance.prepare()
        arguments, why = call.arguments or {}, QUOTED
        finding = None
        if call.origin == "text":
            finding = self._provenance.quoted(spec.name, spec.tool, spec.server, arguments, call.raw)
        if finding is None and not spec.builtin:
            why, schema = DICTATED, spec.input_schema
            needed = json_schema.required(schema) or json_schema.properties(schema)
            reads = spec.annotations.read_only
            finding = self._provenance.dictated(spec.name, spec.tool, arguments, list(needed), reads=reads)
        if finding is not None:
            call.must_ask = "; ".join(filter(None, (f"{why} {finding.place}", call.must_ask.removeprefix(MAYBE))))
            call.passage, call.unlicensed, call.advice = finding.passage, "", ""

    def _of_tools(self, tools: Sequence[ToolSpec]) -> list[GivenText]:
        self._tools = {id(spec): self._tools.get(id(spec)) or (spec, _of_tool(spec)) for spec in tools}
        return [text for _, texts in self._tools.values() for text in texts]


def _instructions(system: str) -> Iterator[GivenText]:
    """The project's own instructions, and behind them those of servers."""
    at = system.find(_OF_SERVERS)
    own, others = (system, "") if at < 0 else (system[:at], system[at:])
    if own:
        yield GivenText("the instructions", own, own=True)
    if others:
        yield GivenText("the instructions of a server", others)


def _inputs(history: Sequence[Message]) -> Iterator[GivenText]:
    """Yield results, also the provider's, attached or pasted texts, and the user's words. A result on what was wrong
    with a call holds the model's own words, but for why there is no such tool, which may be its server's."""
    for message in history:
        match message:
            case AssistantMessage():
                if found := "\n".join(_found(message)):
                    yield GivenText(_BY_PROVIDER, found)
            case ToolMessage(outcome=Outcome.INVALID):
                if message.content.startswith(UNKNOWN_TOOL):
                    yield GivenText(_source(message), message.content.rpartition(AVAILABLE)[0])
            case ToolMessage():
                yield GivenText(_source(message), message.content.removeprefix(FAILED))
            case UserMessage():
                yield GivenText(_source(message), message.content, own=not message.source)
                for one in message.attachments:
                    name = one.uri if one.server else one.name
                    yield GivenText(
                        f"the attachment {name.splitlines()[0][:80] if name else ''}", f"{one.text}\n{name}"
                    )


def _found(message: AssistantMessage) -> Iterator[str]:
    for one in message.reasoning:
        block, cited = safe_text.as_object(one.data.get("block")), safe_text.as_object(one.data.get("text"))
        ran = str(block.get("type", "")).endswith(("_result", "_call", "_list_tools"))
        for key in _FOUND:
            yield from (one for one, said in _strings(block.get(key) if ran else cited.get(key), said=True) if said)


def _of_tool(spec: ToolSpec) -> list[GivenText]:
    """Return what is said in words, and apart from that each short name or value that could be more than one: only in
    one that names a tool may what follows be its arguments."""
    source = f"the description of {spec.label}"
    strings = list(_strings(spec.input_schema, said=False))
    short = dict.fromkeys(one for one, said in strings if not said and len(one) >= _FEW and not one.isidentifier())
    texts = ["\n".join([spec.description, *(one for one, said in strings if said)]), *short]
    own = spec.builtin and spec.tool != ev.PROGRAM  # which quotes what servers say of their tools
    return [GivenText(source, text, own=own) for text in texts if text]


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
    return "what Fanout said" if isinstance(message, UserMessage) and message.origin == "fanout" else "what you sent"
