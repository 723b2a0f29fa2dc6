"""Additions to the protocol of servers written for Atlas: updates in progress messages, and injected arguments.

`MCP_UPDATE:{…}` carries more than words. Its text is what the panel shows, and a message to the user is a log line. Its
artifacts become files, as does what stood on the canvas last. The model reads where they are. A message that can't be
read stays what it is. A tool may also name arguments that only Fanout fills in, from the setting `injected`: who asks
(`_atlas_user`), and what there is (`_mcp_data`). A model neither sees nor sets them.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from console_app.domain import Artifact, Level, ToolResult, ToolSpec, ports, safe_text
from console_app.domain import schema as json_schema
from console_app.domain.tools import INJECTED
from console_app.mcp_client.connecting.status import ServerStatus
from console_app.mcp_client.tools.convert import ResultFiles

PREFIX: Final = "MCP_UPDATE:"
MOST_ARTIFACTS: Final = 100  # of one call
_LEVELS: Final[dict[str, Level]] = {"success": "notice", "warning": "warning", "error": "error"}


class AtlasUpdates:
    """Unpacks what comes by as progress of a call, for its reporter."""

    def __init__(self, reporter: ports.CallReporter, files: ResultFiles) -> None:
        self.reporter = reporter
        self._files = files
        self._saving: list[asyncio.Task[tuple[str, Artifact | None]]] = []
        self._canvas = ""  # as it stands: each update replaces the one before

    async def with_artifacts(self, result: ToolResult) -> ToolResult:
        """Return `result` with the files that came before it, which its text names."""
        if self._canvas:
            drawn = base64.b64encode(self._canvas.encode(errors="replace")).decode()
            self._saving.append(
                asyncio.create_task(self._save({"name": "canvas.html", "b64": drawn, "mime": "text/html"}))
            )
        if not self._saving:
            return result
        saved = await asyncio.gather(*self._saving)
        content = "\n".join([*filter(None, [result.content]), *(named for named, _ in saved)])
        files = [one for _, one in saved if one is not None]
        return result.model_copy(update={"content": content, "artifacts": (*files, *result.artifacts)})

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        if message is not None and message.startswith(PREFIX):
            with suppress(ValueError, RecursionError):
                update: Any = json.loads(message.removeprefix(PREFIX))
                message = self._unpack(cast("dict[str, Any]", update)) if isinstance(update, dict) else message
        self.reporter.progress(progress, total, message)

    def _unpack(self, update: Mapping[str, Any]) -> str | None:
        for artifact in safe_text.as_list(update.get("artifacts"))[: MOST_ARTIFACTS - len(self._saving)]:
            if isinstance(artifact, dict):
                self._saving.append(asyncio.create_task(self._save(cast("dict[str, Any]", artifact))))
        self._canvas = _text(update, "content") if update.get("type") == "canvas_update" else self._canvas
        own, text = _text(update, "message"), _text(update, "progress_message")
        if own:
            self.reporter.log(_LEVELS.get(_text(update, "subtype"), "info"), own)
        kind = _text(update, "type").replace("_", " ")
        return text or own or kind or None

    async def _save(self, artifact: Mapping[str, Any]) -> tuple[str, Artifact | None]:
        name, mime = _text(artifact, "name") or "artifact", _text(artifact, "mime") or "application/octet-stream"
        named, saved = await asyncio.to_thread(self._files.save, _text(artifact, "b64"), mime, name, name)
        self.reporter.log("info", named)
        return named, saved


def carries_files(message: str) -> bool:
    """Return whether no newer progress message makes up for this one."""
    return message.startswith(PREFIX) and '"artifacts"' in message


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def without_injected(schema: dict[str, Any]) -> dict[str, Any]:
    names = injected_in(schema)
    return json_schema.without_members(schema, names) if names else schema


def injected_in(schema: Mapping[str, Any]) -> frozenset[str]:
    return INJECTED & json_schema.properties(schema).keys()


def with_injected(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], settings: Mapping[str, Any], catalogue: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with what the settings have for the names in `schema`, and the names that were filled in.

    `catalogue` stands for a `_mcp_data` that is set to true.
    """
    own = {name: value for name, value in arguments.items() if name not in INJECTED}
    there = sorted(name for name in injected_in(schema) if settings.get(name) is not None)
    for name in there:
        own[name] = catalogue if name == "_mcp_data" and settings[name] is True else settings[name]
    return own, there


def catalogue_of(statuses: Sequence[ServerStatus], specs: Sequence[ToolSpec]) -> dict[str, Any]:
    servers: list[dict[str, Any]] = []
    for status in statuses:
        tools = [
            {"name": spec.tool, "description": spec.description, "parameters": spec.input_schema}
            for spec in specs
            if spec.server == status.name
        ]
        if tools:
            servers.append({"server_name": status.name, "description": status.description, "tools": tools})
    return {"available_servers": servers}
