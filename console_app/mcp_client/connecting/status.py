"""A server's status as the console shows it: its state, and in one line why."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from console_app.domain import Level
from console_app.records import dataclass

LONGEST_INSTRUCTIONS: Final = 4_000  # characters of one server's that a model reads


class ServerState(StrEnum):
    """The stations of a server's life."""

    STARTING = "starting"
    READY = "ready"
    RECONNECTING = "reconnecting"
    FAILED = "failed"
    NEEDS_SIGN_IN = "needs sign-in"
    DISABLED = "disabled"
    STOPPED = "stopped"

    @property
    def settled(self) -> bool:
        """True where nothing more will happen by itself soon."""
        return self not in {ServerState.STARTING, ServerState.RECONNECTING}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A thing that the server lists and that can't be offered, with the reason; or one `field` of it alone."""

    name: str
    reason: str
    field: str = ""
    kind: str = "tool"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server as it is now, with the `reason` where it is not ready, or can't be on. All texts are the server's:
    hostile."""

    name: str
    state: ServerState
    reason: str = ""
    tools: int = 0
    transport: str = "stdio"
    protocol_version: str = ""
    server_info: str = ""  # name and version, as the server gives them
    instructions: str = ""
    log_path: Path | None = None
    rejected: tuple[LeftOut, ...] = ()
    description: str = ""
    prompts: int = 0
    resources: int = 0  # templates included
    problems: tuple[str, ...] = ()  # lists that could not be had
    trimmed: tuple[LeftOut, ...] = ()  # fields that were left out of what it lists
    log_level: Level = "info"  # log lines below it are dropped
    runs: str = ""  # its program or address, as approvals show it
    facts: tuple[str, ...] = ()  # which folders it is told of, and what mcp.json says of it for people

    @property
    def unread(self) -> int:
        """The characters at the end of its instructions that no model reads."""
        return max(len(self.instructions) - LONGEST_INSTRUCTIONS, 0)
