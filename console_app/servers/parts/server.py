"""A small MCP server over stdin and stdout, and the tools that it is made of.

The SDK's server takes most of a second to import. This one answers `initialize` some 60 ms after exec, so the tools of
a first prompt are there before it is typed. It speaks the handshake versions of the protocol, runs every call as a task
of its own, and knows progress, log lines, cancellation and the client's roots. Stdout carries nothing but protocol
messages.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

from console_app._version import __version__

Arguments = dict[str, Any]
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
METHOD_NOT_FOUND, INVALID_PARAMS, PARSE_ERROR = -32601, -32602, -32700
AT_ONCE = 128  # calls that may block in a thread: as many as the console runs; threads come as they are needed
LAST_ANSWERS_SECONDS = 0.2  # that calls still running may take once stdin has ended
ROOTS_SECONDS = 5.0  # that a client may take to say its roots
_ROOTS_REQUEST = "fanout-roots"  # the one request that this server makes: its id


class ToolFailedError(Exception):
    """A tool's own failure: its text is what the model reads, marked as an error."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a call: text for the model, the same as data for programs, and files that it made or shows."""

    text: str
    structured: Mapping[str, Any] | None = None
    files: Sequence[Mapping[str, Any]] = ()  # content blocks (MCP, ResourceLink and ImageContent)

    def result(self) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": self.text}, *map(dict, self.files)]
        result: dict[str, Any] = {"content": content, "isError": False}
        return result if self.structured is None else result | {"structuredContent": dict(self.structured)}


@dataclass(frozen=True)
class CallContext:
    """The context in which a running call can speak to its client, and ask it."""

    _send: Callable[[str, dict[str, Any]], None]
    _token: str | int | None
    roots: Callable[[], Awaitable[Sequence[str] | None]]
    """Gives the URIs of the folders that the client lets its servers use; None when it doesn't know of roots."""

    def progress(
        self, progress: float, total: float | None = None, message: str = "", output: Mapping[str, Any] | None = None
    ) -> None:
        """`progress` of `total` (None: unknown); nothing is sent to a client that asked for none. `output` is
        a piece of what the call writes: its `stream`, `text` and `offset` in bytes."""
        if self._token is None:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        if output is not None:
            params["_meta"] = {"fanout/output": output}
        self._send("notifications/progress", params)

    def log(self, level: str, text: str) -> None:
        """Send one log line. Stdio has no channel a request, so the progress token says whose line it is."""
        params: dict[str, Any] = {"level": level, "data": text}
        if self._token is not None:
            params["_meta"] = {"progressToken": self._token}
        self._send("notifications/message", params)


Handler = Callable[[Arguments, CallContext], Awaitable[str | ToolOutput]]


@dataclass(frozen=True)
class Tool:
    """A tool, called as its handler is. `properties` make its input schema: a call needs each that has no default,
    but those that are `optional`. `annotations` are MCP ToolAnnotations."""

    handler: Handler
    description: str
    properties: Mapping[str, Any]
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: Mapping[str, Any] | None = None
    optional: Sequence[str] = ()
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.handler.__name__)

    @property
    def required(self) -> list[str]:
        return [name for name, one in self.properties.items() if "default" not in one and name not in self.optional]

    def listing(self) -> dict[str, Any]:
        listing: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": dict(self.properties),
                "required": self.required,
                "additionalProperties": False,
            },
            "annotations": dict(self.annotations),
        }
        return listing if self.output_schema is None else listing | {"outputSchema": dict(self.output_schema)}

    def check(self, arguments: Arguments) -> None:
        """Raise ToolFailedError when an argument is missing, unknown, of a wrong type or none of those allowed."""
        for name in self.required:
            if name not in arguments:
                raise ToolFailedError(f"{self.name}: the argument `{name}` is missing.")
        for name, value in arguments.items():
            if name not in self.properties:
                known = ", ".join(self.properties) or "none"
                raise ToolFailedError(f"{self.name}: unknown argument `{name}`; it takes: {known}.")
            schema = self.properties[name]
            self._check_value(f"`{name}`", value, schema)
            if isinstance(value, list) and "items" in schema:
                for item in cast("list[Any]", value):
                    self._check_value(f"each item of `{name}`", item, schema["items"])

    def _check_value(self, what: str, value: Any, schema: Mapping[str, Any]) -> None:
        expected = schema.get("type")
        types = _JSON_TYPES.get(expected or "", (object,))
        if not isinstance(value, types) or (isinstance(value, bool) and expected in {"integer", "number"}):
            raise ToolFailedError(f"{self.name}: the argument {what} must be of type {expected}.")
        if "enum" in schema and value not in schema["enum"]:
            raise ToolFailedError(f"{self.name}: {what} must be one of: {', '.join(map(str, schema['enum']))}.")


def schema(kind: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, **({"description": description} if description else {}), **more}


def counted(number: int, noun: str) -> str:
    """Return `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class StdioServer:
    """Serves `tools` until stdin ends."""

    def __init__(self, name: str, tools: Sequence[Tool], instructions: str = "") -> None:
        self._name = name
        self._tools = {tool.name: tool for tool in tools}
        self._instructions = instructions
        self._running: dict[str | int, asyncio.Task[None]] = {}
        self._client_has_roots = False
        self._roots: asyncio.Future[list[str] | None] | None = None
        self._out = sys.stdout.buffer

    def run(self) -> None:
        """Block until the client is gone; Ctrl+C ends it quietly."""
        try:
            asyncio.run(self._serve())
        except (KeyboardInterrupt, BrokenPipeError):
            pass  # the client is gone: nobody is left to tell

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        # Python's own pool has four threads more than there are processors: a fifth slow search would wait for them.
        loop.set_default_executor(ThreadPoolExecutor(AT_ONCE))
        lines: asyncio.Queue[bytes] = asyncio.Queue()

        def read() -> None:
            # A thread reads any kind of stdin: pipe, socket, terminal or file.
            for line in sys.stdin.buffer:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, b"")

        threading.Thread(target=read, daemon=True).start()
        while line := await lines.get():
            if line.strip():
                self._receive(line)
        if self._running:
            await asyncio.wait(self._running.values(), timeout=LAST_ANSWERS_SECONDS)

    def _receive(self, line: bytes) -> None:
        try:
            message: Any = json.loads(line)
        except ValueError as error:
            self._fail(None, PARSE_ERROR, f"Not JSON: {error}")
            return
        if not isinstance(message, dict):
            return
        request = cast("dict[str, Any]", message)
        if "method" not in request:
            self._take_answer(request)
            return
        method, params = request["method"], cast("dict[str, Any]", request.get("params") or {})
        identifier: str | int = request.get("id", "")
        if "id" not in request:
            if method == "notifications/cancelled" and (task := self._running.get(params.get("requestId", ""))):
                task.cancel()
            elif method == "notifications/roots/list_changed" and self._roots is not None and self._roots.done():
                self._roots = None  # asked for again by the next call that needs them
        elif method == "tools/call":
            self._running[identifier] = asyncio.get_running_loop().create_task(self._call(identifier, params))
        elif (answer := self._answer(method, params)) is not None:
            self._write({"jsonrpc": "2.0", "id": identifier, "result": answer})
        else:
            self._fail(identifier, METHOD_NOT_FOUND, f"Method not found: {method}")

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            wanted = params.get("protocolVersion")
            self._client_has_roots = "roots" in (params.get("capabilities") or {})
            answer: dict[str, Any] = {
                "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": self._name, "version": __version__},
            }
            return answer | ({"instructions": self._instructions} if self._instructions else {})
        if method == "tools/list":
            return {"tools": [tool.listing() for tool in self._tools.values()]}
        return {} if method in {"ping", "logging/setLevel"} else None

    async def _call(self, identifier: str | int, params: dict[str, Any]) -> None:
        # A cancelled call is not answered: the client has stopped listening (MCP, cancellation).
        try:
            tool = self._tools.get(params.get("name", ""))
            if tool is None:
                self._fail(identifier, INVALID_PARAMS, f"Unknown tool: {params.get('name')}")
                return
            meta = cast("dict[str, Any]", params.get("_meta") or {})
            context = CallContext(self._notify, meta.get("progressToken"), self._ask_roots)
            try:
                arguments: Arguments = params.get("arguments") or {}
                tool.check(arguments)
                output = await tool.handler(arguments, context)
                result = (output if isinstance(output, ToolOutput) else ToolOutput(output)).result()
            except Exception as error:
                text = str(error)
                if not isinstance(error, ToolFailedError):
                    # Unforeseen, but a call must be answered; the client logs stderr.
                    traceback.print_exc()
                    text = f"{tool.name} failed: {type(error).__name__}: {error}"
                result = {"content": [{"type": "text", "text": text}], "isError": True}
            self._write({"jsonrpc": "2.0", "id": identifier, "result": result})
        finally:
            self._running.pop(identifier, None)

    async def _ask_roots(self) -> list[str] | None:
        """Ask for the client's roots once until it says that they changed. Raises ToolFailedError without answer."""
        if not self._client_has_roots:
            return None
        if self._roots is None:
            self._roots = asyncio.get_running_loop().create_future()
            self._write({"jsonrpc": "2.0", "id": _ROOTS_REQUEST, "method": "roots/list"})
        asked = self._roots
        try:
            return await asyncio.wait_for(asyncio.shield(asked), ROOTS_SECONDS)
        except TimeoutError:
            if self._roots is asked:
                self._roots = None
            raise ToolFailedError("The client did not say which folders may be used (roots/list).") from None

    def _take_answer(self, message: dict[str, Any]) -> None:
        if message.get("id") != _ROOTS_REQUEST or self._roots is None or self._roots.done():
            return
        result: Any = message.get("result")
        found: Any = cast("dict[str, Any]", result).get("roots") if isinstance(result, dict) else None
        roots = cast("list[Any]", found) if isinstance(found, list) else None
        uris = [cast("dict[str, Any]", root).get("uri") for root in roots or () if isinstance(root, dict)]
        # An error in place of roots is a client that promised more than it knows: as one without them.
        self._roots.set_result(None if roots is None else [uri for uri in uris if isinstance(uri, str)])

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def _fail(self, identifier: str | int | None, code: int, message: str) -> None:
        self._write({"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message}})

    def _write(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
        self._out.write(b"\n")
        self._out.flush()
