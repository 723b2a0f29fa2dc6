"""The traffic of items with models and servers, a file each, played back without either: a line is offered tools, an
answer's chunks or a call's result. Answers play in order where the request is the same; results are found by tool and
arguments."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.domain import AssistantMessage, ConfigError, FanoutError, ToolResult, ToolSpec, errors, ports
from console_app.domain import chunks as ch

_KINDS: dict[str, type[ch.Chunk]] = {one.__name__: one for one in get_args(ch.Chunk)}
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
_AGAIN = "Record it anew with --record."


class ItemRecording:
    def __init__(self, path: Path, toolset: ports.Toolset, redactor: Redactor) -> None:
        self.lines: list[dict[str, Any]] = []
        self.toolset = _RecordedTools(toolset, self.lines)
        self._path, self._redactor = path, redactor

    def of(self, provider: ports.Provider) -> ports.Provider:
        """Return the provider that is recorded. Raises ConfigError for an agent of others, which is no model."""
        if provider.agent is not None:
            raise ConfigError(f"{provider.model} is an agent, whose own traffic is not recorded", "Leave out --record.")
        self.lines.append({"model": [provider.name, provider.model, provider.protocol]})
        return _RecordedModel(provider, self.lines, self._redactor)

    def write(self) -> None:
        """Write it to a file, without known secrets. Raises ConfigError."""
        specs = [spec.model_dump(mode="json") for spec in self.toolset.tools()]
        lines = map(self._redactor.without_known_in, ({"tools": specs}, *map(_in_one, self.lines)))
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        try:
            disk.replace_private(self._path, text.encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise ConfigError(f"--record {self._path}: {error.strerror or error}") from None


class ItemPlayback(ports.Provider):
    def __init__(self, path: Path, redactor: Redactor) -> None:
        """Raise ConfigError where there is no recording of it."""
        self._answers: deque[dict[str, Any]] = deque()
        self._results: defaultdict[str, deque[ToolResult | str]] = defaultdict(deque)
        self._redactor = redactor
        self._tools: list[ToolSpec] = []
        self.name = self.model = self.protocol = ""
        try:
            for line in path.read_text(encoding="utf-8", errors="surrogatepass").splitlines():
                self._take(json.loads(line))
        except OSError as error:
            raise ConfigError(f"--replay {path}: {(error.strerror or str(error)).lower()}", _AGAIN) from None
        except (ValueError, ValidationError, KeyError, TypeError):
            raise ConfigError(f"--replay {path} is no recording", _AGAIN) from None

    def _take(self, line: dict[str, Any]) -> None:
        match line:
            case {"tools": found}:
                self._tools = [ToolSpec.model_validate(one) for one in found]
            case {"model": [name, model, protocol]}:
                self.name, self.model, self.protocol = name, model, protocol
            case {"answer": _}:
                self._answers.append(line)
            case {"call": key, "result": str() as raised}:
                self._results[key].append(raised)
            case {"call": key, "result": result}:
                self._results[key].append(ToolResult.model_validate(result))
            case _:
                raise ValueError(line)

    def tools(self) -> Sequence[ToolSpec]:
        return self._tools

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        """Return what came of the call. Raises ToolError for one that was not made then."""
        found = self._results[_key(invocation)]
        if not found:
            raise errors.ToolError(f"the recording has no such call of {invocation.spec.label}")
        result = found.popleft() if len(found) > 1 else found[0]
        if isinstance(result, str):
            raise errors.ToolError(result)
        return result

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        """Give the next answer. Raises ProviderError for a request that was not made then."""
        if not self._answers:
            raise errors.ProviderError("the recording has no further answer", _AGAIN)
        line = self._answers.popleft()
        if line["answer"] != _digest(request, self._redactor):
            raise errors.ProviderError("the recording has another request here", _AGAIN)
        yield _played(line)


async def _played(line: Mapping[str, Any]) -> AsyncIterator[ch.Chunk]:
    for kind, fields in line["chunks"]:
        yield _adapter(_KINDS[kind]).validate_python(fields)
        await asyncio.sleep(0)
    if words := line.get("raised"):
        raise errors.ProviderError(words)


class _RecordedModel(ports.Forwarding):
    def __init__(self, inner: ports.Provider, lines: list[dict[str, Any]], redactor: Redactor) -> None:
        super().__init__(inner)
        self._lines, self._redactor = lines, redactor

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        line: dict[str, Any] = {"answer": _digest(request, self._redactor), "chunks": []}
        self._lines.append(line)
        return self._streamed(request, line)

    @asynccontextmanager
    async def _streamed(
        self, request: ports.ModelRequest, line: dict[str, Any]
    ) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        try:
            async with self._inner.stream(request) as chunks:
                yield _noted(chunks, line["chunks"].append)
        except FanoutError as error:
            line["raised"] = error.detail
            raise


def _in_one(line: dict[str, Any]) -> dict[str, Any]:
    """Join a line's texts: a secret in two pieces would not be found."""
    chunks, first = list[list[Any]](), dict[object, dict[str, Any]]()
    for kind, fields in line.get("chunks", ()):
        whole = (kind, fields.get("index"))
        if kind in ("TextReplaced", "ReasoningFinished", "ReasoningSoFar"):
            first.clear()
        if kind in ("TextChunk", "ReasoningChunk", "CallDelta") and whole in first:
            first[whole]["text"] += fields["text"]
        else:
            first[whole] = dict(fields)
            chunks.append([kind, first[whole]])
    return {**line, "chunks": chunks} if chunks else line


async def _noted(chunks: AsyncIterator[ch.Chunk], note: Callable[[object], None]) -> AsyncIterator[ch.Chunk]:
    async for chunk in chunks:
        note([type(chunk).__name__, _adapter(type(chunk)).dump_python(chunk, mode="json")])
        yield chunk


class _RecordedTools:
    def __init__(self, inner: ports.Toolset, lines: list[dict[str, Any]]) -> None:
        self._inner, self._lines = inner, lines

    def tools(self) -> Sequence[ToolSpec]:
        return self._inner.tools()

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        try:
            result = await self._inner.call(invocation, reporter)
        except errors.ToolError as error:
            self._lines.append({"call": _key(invocation), "result": error.detail})
            raise
        self._lines.append({"call": _key(invocation), "result": result.model_dump(mode="json")})
        return result


def _key(invocation: ports.Invocation) -> str:
    """Return a call as it is found again: its tool and its arguments in any order."""
    arguments = json.dumps(dict(invocation.arguments), sort_keys=True, ensure_ascii=False)
    return f"{invocation.spec.label} {arguments}"


def _digest(request: ports.ModelRequest, redactor: Redactor) -> str:
    """Hash what was said so far, without secrets. Instructions, which name the day, are left out."""
    said: list[object] = []
    for message in request.messages:
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        said.append([message.role, message.content, [[call.name, call.arguments] for call in calls]])
    return hashlib.sha256(json.dumps(redactor.without_known_in(said), sort_keys=True).encode()).hexdigest()[:16]
