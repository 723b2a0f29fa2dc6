"""A provider around another that gives tools to models which can only write them as text.

- `text` and `xml` describe the tools in the prompt from the start, in a dialect.
- `auto` offers the API's own tools first. When the endpoint refuses them, or the model writes calls into its text and
  none of its own, it goes over to text by itself, in the dialect that the model wrote, says so, and remembers it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Literal

from console_app.dialects import DIALECTS
from console_app.domain.errors import ProviderError, ToolsRefused
from console_app.domain.ports import (
    CallBroken,
    CallClosed,
    CallDelta,
    CallOpened,
    Chunk,
    FinishChunk,
    ModelRequest,
    NoticeChunk,
    Provider,
    TextChunk,
)
from console_app.domain.tools import ToolSpec
from console_app.providers.text_protocol.memory import ProtocolMemory
from console_app.providers.text_protocol.reading import AnswerReader
from console_app.providers.text_protocol.rendering import as_text

Mode = Literal["auto", "text", "xml"]
DEFAULT = "hermes_json"
CODE = "qwen3_coder_xml"  # values as they are: code needs no JSON escapes, which small models get wrong
XML = "roo_xml"


class TextProtocol:
    """See the module. `dialect` is the one to ask for; None: the remembered one, else Hermes JSON (or Roo's XML)."""

    def __init__(
        self, inner: Provider, mode: Mode = "auto", *, dialect: str | None = None, memory: ProtocolMemory | None = None
    ) -> None:
        self._inner = inner
        self._mode = mode
        self._memory = memory or ProtocolMemory()
        remembered = self._memory.recall(self._key) if mode == "auto" else None
        self._by_text = mode != "auto" or remembered is not None
        self._dialect = dialect or remembered or (XML if mode == "xml" else None)

    @property
    def inner(self) -> Provider:
        """The provider that is wrapped."""
        return self._inner

    @property
    def name(self) -> str:
        """The wrapped provider's name."""
        return self._inner.name

    @property
    def model(self) -> str:
        """The wrapped provider's model."""
        return self._inner.model

    @property
    def protocol(self) -> str:
        """`native` until text is needed, then `text`; `xml` where that was asked for."""
        if not self._by_text:
            return self._inner.protocol
        return "xml" if self._mode == "xml" else "text"

    @property
    def dialect(self) -> str | None:
        """The dialect that tools are offered in, or None while the API's own tools are used."""
        return self._dialect if self._by_text else None

    def _dialect_for(self, tools: Sequence[ToolSpec]) -> str:
        """The dialect to ask for; where nothing is known of the model, by its name and by what its tools take."""
        if self._dialect is None:
            self._dialect = CODE if "coder" in self.model.lower() or any(map(_takes_code, tools)) else DEFAULT
        return self._dialect

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Sends `request`; leaving the context closes the connection at once."""
        async with aclosing(self._chunks(request)) as chunks:
            yield chunks

    async def close(self) -> None:
        """Closes the wrapped provider."""
        await self._inner.close()

    @property
    def _key(self) -> str:
        return f"{self._inner.name}/{self._inner.model}"

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        if not self._by_text:
            try:
                async with aclosing(self._read(request, None)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except ToolsRefused:
                self._go_over(self._dialect_for(request.tools))
                yield NoticeChunk(
                    f"{self._key} takes no tools: they are offered as text ({self._dialect}) from now on."
                )
        async with aclosing(self._read(request, self._dialect_for(request.tools))) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _read(self, request: ModelRequest, dialect: str | None) -> AsyncGenerator[Chunk]:
        """One request, natively when `dialect` is None; calls are read from the text while no native one came."""
        reader = AnswerReader(request.tools, dialect) if request.tools and request.tool_choice != "none" else None
        sent = as_text(request, dialect) if dialect is not None else request
        finished = False
        try:
            async with self._inner.stream(sent) as chunks:
                async for chunk in chunks:
                    if reader is None:
                        yield chunk
                        continue
                    match chunk:
                        case TextChunk(text):
                            for read in reader.feed(text):
                                yield read
                        case CallOpened() | CallDelta() | CallClosed() | CallBroken():
                            # The API's own calls count, and then none that is only written.
                            for read in reader.withdraw():
                                yield read
                            reader = None
                            yield chunk
                        case FinishChunk():
                            finished = True
                            for read in self._end(reader, chunk, dialect):
                                yield read
                        case _:
                            yield chunk
        except ProviderError:
            if reader is not None and not finished:
                for read in reader.finish(None)[0]:
                    yield read
            raise

    def _end(self, reader: AnswerReader, finish: FinishChunk, dialect: str | None) -> list[Chunk]:
        chunks, asked = reader.finish(finish.reason)
        if reader.meant and dialect is None:
            self._go_over(reader.dialect or DEFAULT)
            chunks.append(
                NoticeChunk(f"{self._key} writes its tool calls as text ({self._dialect}): they are read from there.")
            )
        return [*chunks, FinishChunk("tool_calls" if asked and finish.reason == "stop" else finish.reason)]

    def _go_over(self, dialect: str) -> None:
        self._by_text = True
        self._dialect = dialect if dialect in _WRITABLE else DEFAULT
        self._memory.remember(self._key, self._dialect)


def _takes_code(spec: ToolSpec) -> bool:
    properties: object = spec.input_schema.get("properties")
    return isinstance(properties, dict) and not _CODE_PARAMETERS.isdisjoint(properties)  # pyright: ignore[reportUnknownArgumentType]


_CODE_PARAMETERS = frozenset({"code", "new_string", "old_string", "new_text", "old_text", "patch", "diff", "script"})
_WRITABLE = frozenset(row.name for row in DIALECTS if row.form is not None)
