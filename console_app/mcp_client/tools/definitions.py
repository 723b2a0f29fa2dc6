"""What the tools of servers looked like when the user trusted them: one that has changed since asks again.

A server can rename nothing and still turn a harmless tool into another by changing its description or schema (a "rug
pull"). The first definition of a tool is trusted along with its server; a later one is not, until the user approves a
call of it and with that the very definition that was shown: what the server lists by then is not asked.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from console_app.config.files import read_record, texts, write_record
from console_app.config.servers import ServerConfig
from console_app.domain.errors import ConfigError
from console_app.mcp_client.tools.schema_check import measure

if TYPE_CHECKING:
    from mcp_types import Tool

LONGEST_DEFINITION = 20_000  # characters that are kept of one, to show what changed; all of it counts for the hash
LONGEST_DIFFERENCE = 6_000
LARGE = 20_000  # parts of a schema
log = logging.getLogger(__name__)


class Definitions:
    """The record, one file. Reads and writes it: for a thread. A record that can't be read trusts what comes first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def changed(self, config: ServerConfig, tools: Sequence[Tool]) -> dict[str, str]:
        """The tools that aren't what was trusted, with how they differ as a diff. New ones are trusted and noted."""
        if _is_ours(config):
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
                self._write(record)
            return different

    def accept(self, config: ServerConfig, tool: Tool, shown: str) -> bool:
        """The user trusts the tool whose definition has the hash `shown`. False if this is another one."""
        text = definition_of(tool)
        if _hash(text) != shown:
            return False
        with self._lock:
            record = self._read()
            record.setdefault(_key(config), {})[tool.name] = _noted(text)
            self._write(record)
        return True

    def _read(self) -> dict[str, dict[str, dict[str, str]]]:
        servers = read_record(self._path).items()
        return {
            server: {name: texts(_mapping(noted)) for name, noted in _mapping(tools).items()}
            for server, tools in servers
        }

    def _write(self, record: Mapping[str, Any]) -> None:
        try:
            write_record(self._path, record)
        except ConfigError as error:
            log.warning("%s", error.line)


def definition_of(tool: Tool) -> str:
    """What a model reads of a tool, and what it may do, as JSON of one form: indented, a large one only in lines."""
    fields = {
        "description": tool.description or "",
        "inputSchema": tool.input_schema,
        "annotations": tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {},
    }
    if measure(tool.input_schema).parts > LARGE:  # to indent takes three times as long
        return json.dumps(fields, ensure_ascii=False, separators=(",\n", ": "), sort_keys=True)
    return json.dumps(fields, ensure_ascii=False, indent=2, sort_keys=True)


def hash_of(tool: Tool) -> str:
    """The hash of a tool's definition, as approvals carry it."""
    return _hash(definition_of(tool))


def _is_ours(config: ServerConfig) -> bool:
    """The servers that ship with Fanout change with it."""
    return len(config.args) > 1 and config.args[0] == "-m" and config.args[1].startswith("console_app.servers.")


def _key(config: ServerConfig) -> str:
    """The server and what it is started with: another program under the same name begins anew."""
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


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
