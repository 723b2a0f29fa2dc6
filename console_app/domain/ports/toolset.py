"""The port to tools that can be called, and what a running call may say before it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from console_app.domain.events import Level
from console_app.domain.ports.provider import UsageChunk
from console_app.domain.tools import ToolResult, ToolSpec


class CallReporter(Protocol):
    """What a running call may say before it ends. All return at once and may be called from any task."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """`progress` of `total` (None: unknown), with what is being done."""
        ...

    def log(self, level: Level, text: str, *, sure: bool = True, dropped: int = 0) -> None:
        """One line of the tool's or server's log. `sure` is False where it may be another call's: shown, but no news
        that puts off the deadline. `dropped` lines came right before it, too fast to be told one by one."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Open while a person is asked on the call's behalf: its deadline doesn't run. May be open several times."""
        ...

    def asked(self, what: str) -> None:
        """The call's server asks the user something: open until `answered` with the same words."""
        ...

    def answered(self, what: str, how: str) -> None:
        """What came of a question, in a word or a few."""
        ...

    def used(self, usage: UsageChunk) -> None:
        """Tokens that the call's server spent through the model (MCP sampling): they count with the session's."""
        ...


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call about to run: `arguments` is exactly what was approved."""

    call_id: str
    spec: ToolSpec
    arguments: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ServerSwitch(Protocol):
    """The servers that are configured and switched off: a model may ask for one of them, and the user decides."""

    def off(self) -> Mapping[str, str]:
        """What each of them is for, by name: the words of mcp.json, maybe none."""
        ...

    def runs(self, name: str) -> str:
        """The program or address of one of them, for whoever is asked whether to switch it on; "" of none of them."""
        ...

    async def switch_on(self, name: str) -> Sequence[ToolSpec]:
        """Switches one on, as the user would; its tools, once it is up. Raises FanoutError when it can't be."""
        ...

    def why_missing(self, tool: str) -> str:
        """Why no tool of that wire name is offered, where that is known of its server: it is down or off, or left the
        tool out; else ""."""
        ...


class Toolset(Protocol):
    """Tools that can be called. Calls run concurrently; cancelling the awaiting task cancels the call at its server."""

    def tools(self) -> Sequence[ToolSpec]:
        """The tools that are on now, in a stable order, with unique wire names."""
        ...

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        """Runs one call. A failure is a result (`failed`) or a ToolError; the engine sets deadlines."""
        ...
