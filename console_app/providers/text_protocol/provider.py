"""A provider around another that gives tools to models which can only write them as text.

- `text` and `xml` describe the tools in the prompt from the start, in a dialect.
- `auto` offers the API's own tools, with every request; when the endpoint refuses them it goes over to text, and says
  so. It reads no text once the model has made a call of its own in the conversation, or where the endpoint is the
  vendor's own.
- `native` reads no calls from text.

Text is a call by a licence: the form that the model was asked for, and the one that it is known to write. That is
known from the configuration, from your word (`known` keeps it, until a native call or `choose_protocol` drops it),
from the model's name or from the template that its endpoint shows, which is asked for once a call is in doubt. A call
in any other form asks, and its approval may license it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from console_app.config.models import KnownDialects
from console_app.domain import AssistantMessage, Message, ToolCall, ToolMessage, ToolSpec, UserMessage, errors, ports
from console_app.domain import chunks as ch
from console_app.domain.settings import Sampling
from console_app.providers.text_protocol.forms import (
    XML,
    ReadingRule,
    form_of_model,
    level_of,
    usual_dialect,
)
from console_app.textcalls import ToolSignature
from console_app.textcalls.model import WrittenCall

if TYPE_CHECKING:
    from console_app.providers.text_protocol.reading import AnswerReader

MUST_CALL = "Every answer of yours has to call at least one tool."


def as_text(request: ports.ModelRequest, dialect: str) -> ports.ModelRequest:
    """Return `request` without tools: they are described in the system prompt, and calls and results are text."""
    from console_app.textcalls.prompting import Prompting

    system = request.system
    if request.tools and request.tool_choice != "none":
        tools = [ToolSignature(spec.name, spec.input_schema, spec.description) for spec in request.tools]
        section = Prompting(dialect).section(tools, parallel=request.parallel)
        if request.tool_choice == "required":
            section = f"{section}\n\n{MUST_CALL}"
        system = f"{system}\n\n{section}" if system else section
    stops = Sampling(stop=tuple(Prompting(dialect).stops()) if request.tools else None)
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
    from console_app.textcalls.prompting import Prompting

    out: list[Message] = []
    results: list[tuple[str, str, str]] = []
    images: list[str] = []

    def flush() -> None:
        if results:
            out.append(UserMessage(content=Prompting(dialect).results(results), images=tuple(images)))
            results.clear()
            images.clear()

    for message in request.messages:
        if isinstance(message, ToolMessage):
            status = "ok" if message.outcome == "succeeded" else message.outcome.replace("_", " ")
            results.append((message.name, status, message.content))
            images.extend(message.images)
            continue
        flush()
        out.append(_assistant(message, dialect, request.tools) if isinstance(message, AssistantMessage) else message)
    flush()
    return tuple(_joined(out))


def _joined(messages: Sequence[Message]) -> list[Message]:
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
    for readable, group in groupby(map(_readable, calls), key=lambda call: isinstance(call, WrittenCall)):
        if readable:
            written.append(render_calls(dialect, [call for call in group if isinstance(call, WrittenCall)], tools))
        else:
            written += [call for call in group if isinstance(call, str)]
    return "\n".join(written)


def _readable(call: ToolCall) -> WrittenCall | str:
    try:
        arguments: Any = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict) or (not call.arguments and call.raw):
        return call.raw or call.arguments
    return WrittenCall(call.name, arguments)  # pyright: ignore[reportUnknownArgumentType]


BY_NAME, BY_TEMPLATE = "by the model's name", "from the endpoint's template"
NATIVELY = "Call tools by the API's own tool calls: what you write as text is not run."
BY_TEXT = "Write a call as you were told to ({dialect}), at the end of your answer and with nothing behind it."
AT_ONCE = 64  # chunks of an answer's end that are handed on without a turn for others


class TextProtocol(ports.Forwarding):
    """A provider of text calls, in one of the modes above. `dialect` is the one to ask for; None: by the model's name
    and its tools (or Roo's XML). `official`: the endpoint is that of a vendor whose models call natively. `at` is where
    the endpoint is.
    """

    has_protocols = True

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
        super().__init__(inner)
        self._official = official
        self._known = known
        self._at = at
        self._configured = dialect
        self._looked = False  # at the template that the endpoint shows
        self._without: Sampling | None = None  # with which the prompt is seen to open no reasoning
        self._conversation = ""  # the id of the one that is going on
        self._called_natively = False  # in it
        self._licence: ports.Licence | None = None
        self._begin(mode)

    def _begin(self, mode: ports.ProtocolMode) -> None:
        self._mode: ports.ProtocolMode = mode
        self._by_text = mode in ("text", "xml")
        self._dialect = self._configured or (XML if mode == "xml" else None)
        kept = self._known.get(self._place) if self._known is not None else None
        if not self._reads_text:
            self._licence = None
        elif self._configured is not None:
            self._licence = ports.Licence(self._configured, "from the configuration")
        elif kept is not None:
            self._licence = ports.Licence(kept, "as you said")
        elif (named := form_of_model(self.model)) is not None:
            self._licence = ports.Licence(named, BY_NAME)
        else:
            self._licence = None

    @property
    def _reads_text(self) -> bool:
        return self._mode in ("text", "xml") or (self._mode == "auto" and (self._by_text or not self._official))

    def choose_protocol(self, mode: ports.ProtocolMode) -> None:
        self._inner.forget_refusals()
        if self._known is not None:
            self._known.drop(self._place)
        self._begin(mode)

    @property
    def licence(self) -> ports.Licence | None:
        """Return the form that the model is known to write, None where nothing is known or no text is read."""
        return self._licence if self._by_text or not self._called_natively else None

    def license(self, form: str) -> None:
        self._licence = ports.Licence(form, "as you said")
        if self._known is not None:
            self._known.keep(self._place, form)

    async def _learn(self) -> list[ch.NoticeChunk]:
        """Say once how calls are written, by the model's name or, where nothing else says it, by the template that the
        endpoint shows: return notices."""
        if not self._reads_text or (self._called_natively and not self._by_text):
            return []
        looked, self._looked = self._looked, True
        if not looked and not self._official and self._licence is None:
            form = await self._inner.shown_form()
            self._licence = self._licence or (ports.Licence(form, BY_TEMPLATE) if form is not None else None)
        if looked or self._licence is None or self._licence.source not in (BY_NAME, BY_TEMPLATE):
            return []
        return [ch.NoticeChunk(f"{self._key} writes calls as {self._licence.form}: {self._licence.source}.")]

    def _called(self) -> None:
        """Note that the model made a native call: it has no need of text."""
        self._called_natively = True
        if self._licence is not None and not self._by_text and self._configured is None:
            self._licence = None
            if self._known is not None:
                self._known.drop(self._place)

    @property
    def _place(self) -> str:
        return f"{self._key} at {self._at}"

    @property
    def searches_tools(self) -> bool:
        """Tell whether calls are native, and the endpoint searches among tools itself."""
        return self.protocol == "native" and self._inner.searches_tools

    @property
    def runs_programs(self) -> bool:
        return self.protocol == "native" and self._inner.runs_programs

    @property
    def protocol(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return `native` unless the endpoint refused tools, then `text`; `xml` where that was asked for."""
        if not self._by_text:
            return self._inner.protocol
        return "xml" if self._mode == "xml" else "text"

    @property
    def dialect(self) -> str | None:
        return self._dialect if self._by_text else None

    def _dialect_for(self, tools: Sequence[ToolSpec]) -> str:
        """Return the dialect to ask for; of an unknown model by its name and by what its tools take."""
        if self._dialect is None:
            from console_app.textcalls import FAMILIES

            known = self._licence.form if self._licence is not None and self._licence.form in FAMILIES else None
            self._dialect = known or usual_dialect(self.model, (spec.input_schema for spec in tools))
        return self._dialect

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        async with aclosing(self._chunks(request)) as chunks:
            yield chunks

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
                for told in await self._learn():
                    yield told
                dialect = self._dialect_for(request.tools)
                yield ch.NoticeChunk(f"{self._key} takes no tools: they are offered as text ({dialect}) from now on.")
        async with aclosing(self._read(request, self._dialect_for(request.tools))) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _read(self, request: ports.ModelRequest, dialect: str | None) -> AsyncGenerator[ch.Chunk]:
        """Send one request, natively when `dialect` is None; calls are read from the text while no native one came."""
        rule = self._rule(request, dialect)
        sent = as_text(request, dialect) if dialect is not None else request
        finished, begun = False, 0
        reader = pace = None
        try:
            async with self._inner.stream(sent) as chunks:
                async for chunk in chunks:
                    if rule is not None:  # imported meanwhile: no request waits for it
                        from console_app.providers.text_protocol.reading import AnswerReader, ReadingPace

                        reader, rule = AnswerReader(request.tools, rule), None
                        pace = ReadingPace(reader)
                    if reader is None or pace is None:
                        yield _numbered(chunk, begun)
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
                            begun, reader = reader.begun, None
                            yield _numbered(chunk, begun)
                        case ch.FinishChunk():
                            finished = True
                            read_out = await self._end(reader, chunk)
                            if chunk.reason in ("stop", "tool_calls") and reader.raw.strip():
                                self._without = None if reader.thought else request.sampling
                            for count, read in enumerate(read_out, 1):
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

    def _rule(self, request: ports.ModelRequest, dialect: str | None) -> ReadingRule | None:
        """Return how the answer is read: where tools are offered in a `dialect`, that is licensed too."""
        if not request.tools or request.tool_choice == "none":
            return None
        if request.conversation != self._conversation:
            self._conversation = request.conversation
            self._called_natively = False  # as far as is known: the requests of a conversation say the rest
        if not request.conversation and not any(map(_goes_on, request.messages)):
            self._called_natively = False
        known = self._licence.form if self._licence is not None else None
        asked = dialect
        if known == self._configured:
            asked, known = asked or known, None  # which may run, but nothing has shown that the model writes so
        thinks = self._without is None or self._without != request.sampling
        if dialect is not None:
            advice = BY_TEXT.format(dialect=dialect)
            return ReadingRule("all", asked, known, self.model, advice, thinks=thinks)
        self._called_natively = self._called_natively or self._stands_called(request)
        as_is = self._official or self._mode == "native"
        if as_is or self._called_natively:
            return ReadingRule("none", advice=NATIVELY, as_is=as_is)
        return ReadingRule(level_of("auto", known or asked), asked, known, self.model, NATIVELY, thinks=thinks)

    def _stands_called(self, request: ports.ModelRequest) -> bool:
        """Tell whether the history holds a native call of this model, or of an old session, that names none."""
        return not request.called_before.isdisjoint(("", self._key)) or any(
            call.origin == "native" and call.model in ("", self._key)
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        )

    async def _end(self, reader: AnswerReader, finish: ch.FinishChunk) -> list[ch.Chunk]:
        chunks, asked = await _finished(reader, finish.reason)
        named = asked and self._licence is not None and self._licence.source == BY_NAME
        learnt = await self._learn() if reader.in_doubt or named else []
        return [*learnt, *chunks, ch.FinishChunk("tool_calls" if asked and finish.reason == "stop" else finish.reason)]


def _goes_on(message: Message) -> bool:
    """Tell whether something went before a message: an answer, or what a summary stands for."""
    return isinstance(message, AssistantMessage) or (isinstance(message, UserMessage) and message.origin == "fanout")


def _numbered(chunk: ch.Chunk, begun: int) -> ch.Chunk:
    """Return a chunk of a native call numbered behind the `begun` ones that were read from the text before it."""
    match chunk:
        case ch.CallOpened() | ch.CallDelta() | ch.CallClosed() | ch.CallBroken() | ch.CallWithdrawn():
            return replace(chunk, index=chunk.index + begun)
        case ch.ProviderData(index=int(index)):
            return replace(chunk, index=index + begun)
        case _:
            return chunk


async def _finished(reader: AnswerReader, reason: ch.FinishReason | None) -> tuple[list[ch.Chunk], bool]:
    from console_app.providers.text_protocol.reading import LONG

    if reader.length > LONG:
        return await asyncio.to_thread(reader.finish, reason)
    return reader.finish(reason)
