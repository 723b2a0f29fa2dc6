"""The parts of a bundled server's tool: its schema, its handler, what a running call can say, what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

Arguments = dict[str, Any]
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class ToolFailedError(Exception):
    """A tool's own failure: its text is what the model reads, marked as an error."""


@dataclass(frozen=True, slots=True)
class FileLink:
    """A file that a call made, told as a resource link: its name, place and size, never its bytes."""

    path: Path
    mime: str
    size: int

    def block(self) -> dict[str, Any]:
        """The content block (MCP, ResourceLink)."""
        uri, name = self.path.as_uri(), self.path.name
        return {"type": "resource_link", "uri": uri, "name": name, "mimeType": self.mime, "size": self.size}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a call: text for the model, the same as data for programs, and files that it made."""

    text: str
    structured: Mapping[str, Any] | None = None
    files: Sequence[FileLink] = ()

    def result(self) -> dict[str, Any]:
        """The result of `tools/call` (MCP, CallToolResult)."""
        content: list[dict[str, Any]] = [{"type": "text", "text": self.text}, *(file.block() for file in self.files)]
        result: dict[str, Any] = {"content": content, "isError": False}
        return result if self.structured is None else result | {"structuredContent": dict(self.structured)}


@dataclass(frozen=True)
class CallContext:
    """The context in which a running call can speak to its client, and ask it."""

    _send: Callable[[str, dict[str, Any]], None]
    _token: str | int | None
    _roots: Callable[[], Awaitable[Sequence[str] | None]]

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """`progress` of `total` (None: unknown); nothing is sent to a client that asked for none."""
        if self._token is None:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self._send("notifications/progress", params)

    def log(self, level: str, text: str) -> None:
        """One log line. Stdio has no channel a request, so the progress token says whose line it is."""
        params: dict[str, Any] = {"level": level, "data": text}
        if self._token is not None:
            params["_meta"] = {"progressToken": self._token}
        self._send("notifications/message", params)

    async def roots(self) -> Sequence[str] | None:
        """The URIs of the folders that the client gives to its servers; None when it doesn't know of roots."""
        return await self._roots()


Handler = Callable[[Arguments, CallContext], Awaitable[str | ToolOutput]]


@dataclass(frozen=True)
class Tool:
    """One tool: `properties` and `required` make its input schema, `annotations` are MCP ToolAnnotations."""

    name: str
    description: str
    handler: Handler
    properties: Mapping[str, Any]
    required: Sequence[str] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: Mapping[str, Any] | None = None

    def listing(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        listing: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
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


def counted(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
