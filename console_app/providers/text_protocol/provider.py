"""A provider around another that gives tools to models which can only write them as text.

- `text` and `xml` describe the tools in the prompt from the start, in a dialect.
- `auto` offers the API's own tools, with every request; when the endpoint refuses them it goes over to text, and says
  so. Of the text it reads calls in marked dialects, and none at all once the model has made a call of its own in the
  conversation, or where the endpoint is the vendor's own. Once a person approved a call that it read, the model at that
  endpoint is known to write that dialect: `known` keeps it, until a native call or `choose` drops it.
- `native` reads no calls from text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from console_app.config.models import KnownDialects
from console_app.domain import AssistantMessage, Message, ToolCall, ToolMessage, ToolSpec, UserMessage, errors, ports
from console_app.domain import chunks as ch
from console_app.domain import schema as json_schema
from console_app.domain.settings import Effort, Sampling
from console_app.providers.text_protocol.given import (
    SaidOfTools,
    found_by_provider,
    inputs,
    known_of_before,
    stands_for_more,
)
from console_app.textcalls import Provenance, ReadingLevel, ToolSignature

if TYPE_CHECKING:
    from console_app.providers.text_protocol.reading import AnswerReader

MUST_CALL = "Every answer of yours has to call at least one tool."


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


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the text of an answer is to be read."""

    tools: Sequence[ToolSpec]
    dialect: str | None
    level: ReadingLevel = "all"
    as_is: bool = False

    @property
    def reads_calls(self) -> bool:
        """Tell whether any call can come of it."""
        return self.level != "none"

    def open(self, provenance: Provenance) -> AnswerReader:
        """Return the reader of one answer."""
        from console_app.providers.text_protocol.reading import AnswerReader

        return AnswerReader(self.tools, self.dialect, self.level, provenance=provenance, as_is=self.as_is)


def as_text(request: ports.ModelRequest, dialect: str) -> ports.ModelRequest:
    """Return `request` without tools: they are described in the system prompt, and calls and results are text."""
    from console_app.textcalls import stop_strings, system_section

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


def _messages(request: ports.ModelRequest, dialect: str) -> tuple[Message, ...]:
    from console_app.textcalls import render_results

    out: list[Message] = []
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


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Join a prompt to the results before it, as one user turn: chat templates want the roles to alternate."""
    out: list[Message] = []
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
    """Return the calls of one answer in the dialect, together as a model writes them; one that could not be read stays
    the text that it was, between the others."""
    from console_app.textcalls import render_calls

    written: list[str] = []
    for readable, group in groupby(map(_readable, calls), key=lambda call: isinstance(call, _Call)):
        if readable:
            written.append(render_calls(dialect, [call for call in group if isinstance(call, _Call)], tools))
        else:
            written += [call for call in group if isinstance(call, str)]
    return "\n".join(written)


def _readable(call: ToolCall) -> _Call | str:
    """Return a call with its arguments, or its text where they could not be read."""
    try:
        arguments: Any = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict) or (not call.arguments and call.raw):
        return call.raw or call.arguments
    return _Call(call.name, arguments)  # pyright: ignore[reportUnknownArgumentType]


DEFAULT = "hermes_json"
CODE = "qwen3_coder_xml"  # values as they are: code needs no JSON escapes, which small models get wrong
XML = "roo_xml"
MUCH = 20_000  # characters that were given since, from which on they are compared in a thread
AT_ONCE = 64  # chunks of an answer's end that are handed on without a turn for others


class TextProtocol:
    """A provider of text calls, in one of the modes above. `dialect` is the one to ask for; None: by the model's name
    and its tools (or Roo's XML). `official`: the endpoint is that of a vendor whose models call natively. `at` is where
    the endpoint is.
    """

    def __init__(
        self,
        inner: ports.Provider,
        mode: ports.ProtocolMode = "auto",
        *,
        dialect: str | None = None,
        official: bool = False,
        known: KnownDialects | None = None,
        at: str = "",
    ) -> None:
        self._inner = inner
        self._official = official
        self._known = known
        self._at = at
        self._configured = dialect
        self._conversation = ""  # the id of the one that is going on
        self._called_natively = False  # in it
        self._provenance = Provenance()
        self._said_of_tools = SaidOfTools()
        self._unheard = ""  # why the last answer called nothing, where it seemed to
        self._first = ""  # the first message of the request for it
        self._begin(mode)
        learnt = known.get(self._place) if known is not None and mode == "auto" and not official else None
        if learnt is not None and _writable(learnt):
            self._by_text = self._learnt = True
            self._dialect = learnt

    def _begin(self, mode: ports.ProtocolMode) -> None:
        self._mode: ports.ProtocolMode = mode
        self._by_text = mode in ("text", "xml")
        self._learnt = False  # it goes by text because a call of its dialect was approved
        self._dialect = self._configured or (XML if mode == "xml" else None)

    def choose(self, mode: ports.ProtocolMode) -> None:
        """Choose another protocol from the next request on; what was known of the model is forgotten."""
        if ports.speaks(self._inner, ports.LearnsRefusals):
            self._inner.forget_refusals()
        self._rewrite(mode)

    def _rewrite(self, mode: ports.ProtocolMode) -> None:
        if self._known is not None:
            self._known.drop(self._place)
        self._begin(mode)

    def approved(self, dialect: str) -> None:
        """Note that a person approved a call that was written in `dialect`: the model is known by it from now on."""
        if self._mode != "auto" or self._by_text or self._official or self._called_natively:
            return
        if not _writable(dialect):
            return
        self._by_text = self._learnt = True
        self._dialect = dialect
        if self._known is not None:
            self._known.keep(self._place, dialect)

    def _called(self) -> None:
        """Note that the model made a native call: it has no need of text."""
        self._called_natively = True
        if self._learnt:
            self._rewrite("auto")

    @property
    def _place(self) -> str:
        return f"{self._key} at {self._at}"

    @property
    def inner(self) -> ports.Provider:
        return self._inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def endpoint(self) -> str:
        return ports.endpoint_of(self._inner)

    @property
    def no_pictures(self) -> str:
        return ports.no_pictures(self._inner)

    def effort_for(self, asked: Effort | None) -> str:
        return ports.effort_for(self._inner, asked)

    @property
    def protocol(self) -> str:
        """Return `native` unless the endpoint refused tools, then `text`; `xml` where that was asked for."""
        if not self._by_text:
            return self._inner.protocol
        return "xml" if self._mode == "xml" else "text"

    @property
    def dialect(self) -> str | None:
        """Return the dialect that tools are offered in, or None while the API's own tools are used."""
        return self._dialect if self._by_text else None

    def _dialect_for(self, tools: Sequence[ToolSpec]) -> str:
        """Return the dialect to ask for; where nothing is known of the model, by its name and by what its tools
        take."""
        if self._dialect is None:
            self._dialect = CODE if "coder" in self.model.lower() or any(map(_takes_code, tools)) else DEFAULT
        return self._dialect

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        """Send `request`; leaving the context closes the connection at once."""
        async with aclosing(self._chunks(request)) as chunks:
            yield chunks

    async def close(self) -> None:
        await self._inner.close()

    @property
    def _key(self) -> str:
        return f"{self._inner.name}/{self._inner.model}"

    async def _chunks(self, request: ports.ModelRequest) -> AsyncGenerator[ch.Chunk]:
        if not self._by_text:
            try:
                async with aclosing(self._read(request, None)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except errors.ToolsRefused:
                if self._mode == "native":
                    raise
                self._by_text = True
                dialect = self._dialect_for(request.tools)
                yield ch.NoticeChunk(f"{self._key} takes no tools: they are offered as text ({dialect}) from now on.")
        async with aclosing(self._read(request, self._dialect_for(request.tools))) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _read(self, request: ports.ModelRequest, dialect: str | None) -> AsyncGenerator[ch.Chunk]:
        """Send one request, natively when `dialect` is None; calls are read from the text while no native one came."""
        reading = self._reading(request, dialect)
        if reading is not None and reading.reads_calls and self._provenance.new() > MUCH:
            await asyncio.to_thread(self._provenance.prepare)
        if reading is not None:
            first = request.messages[0].content if request.messages else ""
            if self._unheard:
                request = _told(request, self._unheard, self._first)
            self._first = first
        sent = as_text(request, dialect) if dialect is not None else request
        finished = False
        reader = pace = None
        try:
            async with self._inner.stream(sent) as chunks:
                async for chunk in chunks:
                    if reading is not None:  # imported meanwhile: no request waits for it
                        from console_app.providers.text_protocol.reading import ReadingPace

                        reader, reading = reading.open(self._provenance), None
                        pace = ReadingPace(reader)
                    if reader is None or pace is None:
                        yield chunk
                        continue
                    if not isinstance(chunk, ch.TextChunk):
                        for read in await pace.rest():
                            yield read
                    match chunk:
                        case ch.TextChunk(text):
                            async for read in pace.feed(text):
                                yield read
                        case ch.ReasoningChunk(text):
                            reader.reasoned(text)
                            yield chunk
                        case ch.CallOpened() | ch.CallDelta() | ch.CallClosed() | ch.CallBroken():
                            # The API's own calls count, and then none that is only written.
                            self._called()
                            for read in reader.withdraw():
                                yield read
                            reader = None
                            yield chunk
                        case ch.ProviderCallFinished():
                            self._provenance.add(found_by_provider(chunk.content))
                            yield chunk
                        case ch.FinishChunk():
                            finished = True
                            for count, read in enumerate(await self._end(reader, chunk), 1):
                                yield read
                                if count % AT_ONCE == 0:
                                    await asyncio.sleep(0)
                        case _:
                            yield chunk
        except errors.ProviderError:
            if reader is not None and pace is not None and not finished:
                for read in [*await pace.rest(), *(await _finished(reader, None))[0]]:
                    yield read
            raise

    def _reading(self, request: ports.ModelRequest, dialect: str | None) -> _Reading | None:
        if not request.tools or request.tool_choice == "none":
            return None
        if request.conversation != self._conversation:
            self._conversation, self._unheard = request.conversation, ""
            self._forget()
            for said in known_of_before(request):
                self._provenance.add(said)
        if not request.conversation and not any(
            isinstance(message, AssistantMessage) or stands_for_more(message) for message in request.messages
        ):
            self._forget()
        self._provenance.give([*self._said_of_tools.of(request.tools), *inputs(request)], request.tools)
        if dialect is not None:
            return _Reading(request.tools, dialect)
        self._called_natively = self._called_natively or self._stands_called(request)
        as_is = self._official or self._mode == "native"
        level: ReadingLevel = "none" if as_is or self._called_natively else "marked"
        return _Reading(request.tools, None, level, as_is)

    def _forget(self) -> None:
        """Forget what is known of the conversation, as another begins: its requests say the rest."""
        self._called_natively = False
        self._provenance.forget()

    def _stands_called(self, request: ports.ModelRequest) -> bool:
        """Tell whether the history holds a native call of this model; one of an old session, that names none, is its
        own."""
        return not request.called_before.isdisjoint(("", self._key)) or any(
            call.origin == "native" and call.model in ("", self._key)
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        )

    async def _end(self, reader: AnswerReader, finish: ch.FinishChunk) -> list[ch.Chunk]:
        chunks, asked = await _finished(reader, finish.reason)
        self._unheard = reader.unheard
        return [*chunks, ch.FinishChunk("tool_calls" if asked and finish.reason == "stop" else finish.reason)]


async def _finished(reader: AnswerReader, reason: ch.FinishReason | None) -> tuple[list[ch.Chunk], bool]:
    from console_app.providers.text_protocol.reading import LONG

    if reader.length > LONG:
        return await asyncio.to_thread(reader.finish, reason)
    return reader.finish(reason)


def _told(request: ports.ModelRequest, unheard: str, first: str) -> ports.ModelRequest:
    """Return the request, with a note behind the newest prompt that says why the answer before it called nothing.
    `first`: how the request for that answer began."""
    messages = list(request.messages)
    for place in reversed(range(len(messages))):
        message = messages[place]
        if isinstance(message, UserMessage) and (
            any(isinstance(one, AssistantMessage) for one in messages[:place])
            or (message.content != first and message.content.startswith(first))  # an empty answer is no message
        ):
            note = f"(Of your last answer: {unheard})"
            messages[place] = message.model_copy(update={"content": f"{message.content}\n\n{note}"})
            break
    return replace(request, messages=tuple(messages))


def _writable(dialect: str) -> bool:
    """Tell whether tools can be offered in this dialect."""
    from console_app.textcalls import FAMILIES

    return dialect in FAMILIES


def _takes_code(spec: ToolSpec) -> bool:
    return not _CODE_PARAMETERS.isdisjoint(json_schema.properties(spec.input_schema))


_CODE_PARAMETERS = frozenset({"code", "new_string", "old_string", "new_text", "old_text", "patch", "diff", "script"})
