"""The tools of servers as the user trusted them: one that has changed since asks again.

A server can rename nothing and still turn a harmless tool into another by changing its description or schema (a "rug
pull"). The first definition of a tool is trusted along with its server; a later one is not, until the user approves a
call of it. That trusts the very definition that was shown, whatever the server lists by then.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.files import disk
from console_app.config.servers import ServerConfig
from console_app.domain import safe_text
from console_app.mcp_client.connecting.status import LeftOut
from console_app.mcp_client.tools.schemas import measure

if TYPE_CHECKING:
    from mcp_types import Tool


LONGEST_DEFINITION = 20_000  # characters that are kept of one, to show what changed; all of it counts for the hash
LONGEST_DIFFERENCE = 6_000
LARGE = 20_000  # parts of a schema


class Definitions:
    """The record, one file. Reads and writes it: for a thread. A record that can't be read trusts what comes first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def changed(self, config: ServerConfig, tools: Sequence[Tool]) -> dict[str, str]:
        """Return the tools that aren't what was trusted, with their difference as a diff. New ones are trusted."""
        if config.bundled_module:
            return {}
        with self._lock:
            record = self._read()
            known = record.setdefault(_key(config), {})
            different: dict[str, str] = {}
            noted = False
            for tool in tools:
                text = definition_of(tool)
                before = known.get(tool.name)
                if before is None:
                    known[tool.name], noted = _noted(text), True
                elif before.get("sha256") != _hash(text):
                    different[tool.name] = _difference(str(before.get("definition", "")), text)
            if noted:
                disk.keep_record(self._path, record)
            return different

    def accept(self, config: ServerConfig, tool: Tool, shown: str) -> bool:
        """Trust a tool as the user was shown it; return False if `shown` is the hash of another definition."""
        text = definition_of(tool)
        if _hash(text) != shown:
            return False
        with self._lock:
            record = self._read()
            record.setdefault(_key(config), {})[tool.name] = _noted(text)
            disk.keep_record(self._path, record)
        return True

    def _read(self) -> dict[str, dict[str, dict[str, str]]]:
        servers = disk.read_record(self._path).items()
        return {
            server: {name: disk.texts(safe_text.as_object(noted)) for name, noted in safe_text.as_object(tools).items()}
            for server, tools in servers
        }


def definition_of(tool: Tool) -> str:
    """Return what models read of a tool, and its annotations, as indented JSON; a large one only in lines."""
    fields = {
        "description": tool.description or "",
        "inputSchema": tool.input_schema,
        "annotations": tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {},
    }
    if tool.output_schema is not None:
        fields["outputSchema"] = tool.output_schema
    if measure(fields).parts > LARGE:  # to indent takes three times as long
        return json.dumps(fields, ensure_ascii=False, separators=(",\n", ": "), sort_keys=True)
    return json.dumps(fields, ensure_ascii=False, indent=2, sort_keys=True)


def _key(config: ServerConfig) -> str:
    """Return the server and what it is started with: another program under the same name begins anew."""
    started = json.dumps([config.command, config.args, config.url])
    return f"{config.name} {hashlib.sha256(started.encode()).hexdigest()[:12]}"


def _noted(text: str) -> dict[str, str]:
    return {"sha256": _hash(text), "definition": text[:LONGEST_DEFINITION]}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _difference(before: str, after: str) -> str:
    # The description is a line of JSON: broken into lines of its own, what was slipped into it stands out.
    old, new = (text.replace("\\n", "\n").splitlines() for text in (before, after[:LONGEST_DEFINITION]))
    lines = difflib.unified_diff(old, new, "trusted", "now", n=2, lineterm="")
    text = "\n".join(lines) or "The difference is behind what is kept of a definition this long."
    return text if len(text) <= LONGEST_DIFFERENCE else f"{text[:LONGEST_DIFFERENCE]}\n[…]"


class ListedTools:
    """`hashes` are those of the definitions, `changed` how one differs from what was trusted; both by name."""

    def __init__(self, config: ServerConfig, definitions: Definitions | None) -> None:
        self._config = config
        self._definitions = definitions
        self.forget()

    def forget(self) -> None:
        """Forget the tools: the server is gone, or is to be listed anew from nothing."""
        self.tools: tuple[Tool, ...] = ()
        self.rejected: tuple[LeftOut, ...] = ()
        self.hashes: dict[str, str] = {}
        self.changed: dict[str, str] = {}

    def named(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    async def take(self, tools: tuple[Tool, ...], rejected: tuple[LeftOut, ...]) -> None:
        """Take the tools as they are now, all at once: no definition is seen with another's hash."""

        def examined() -> tuple[dict[str, str], dict[str, str]]:
            changed = self._definitions.changed(self._config, tools) if self._definitions is not None else {}
            return {tool.name: _hash(definition_of(tool)) for tool in tools}, changed

        self.hashes, self.changed = await asyncio.to_thread(examined)
        self.tools, self.rejected = tools, rejected

    async def accept(self, name: str, shown: str) -> bool:
        tool = self.named(name)
        if tool is None or self.hashes.get(name) != shown:
            return False
        if self._definitions is not None:
            if not await asyncio.to_thread(self._definitions.accept, self._config, tool, shown):
                return False
            if self.hashes.get(name) == shown:  # else they were listed again meanwhile
                self.changed.pop(name, None)
        return self.hashes.get(name) == shown
