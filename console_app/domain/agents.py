"""Agents as calls: a kind says who does a task, and an engine does it; events tell of it in the one stream.

The calls of an agent are calls as any other: announced with the id of the agent's call as `parent`, each with one
result. Everything that it says and does carries its path, so that it is none of its parent's conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from console_app.domain.events import Event
from console_app.domain.tools import ToolResult, ToolSpec

INHERIT = "inherit"  # the model that a kind names where it wants the one of its parent


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of agent. Without an `engine` its tasks are conversations with a model, under this prompt."""

    name: str
    description: str = ""
    prompt: str = ""  # what its system prompt says beside the task
    model: str = ""  # PROVIDER/MODEL; "" where it is its parent's
    tools: tuple[str, ...] | None = None  # patterns of server.tool; None: all that its parent has
    without: tuple[str, ...] = ()  # patterns of those that it does not have
    reads_only: bool = False  # it can change nothing, whatever a rule says
    max_steps: int | None = None
    background: bool = False
    worktree: bool = False  # it works in a git worktree of its own
    source: str = ""  # the file that it stands in, as people read it; "" of those that come along
    unknown: tuple[str, ...] = ()  # keys of the file that nothing here reads
    engine: AgentEngine | None = None


@dataclass(frozen=True, slots=True)
class AgentTask:
    """One task of an agent. `path` has its name, and before that the names of the agents that sent it, with `/`."""

    call_id: str
    path: str
    kind: AgentKind
    task: str
    model: str = ""  # as the call names it; "" for that of the kind


@dataclass(frozen=True, slots=True)
class Permit:
    """The answer to a request of an agent: with `arguments` these are to run in place of its own."""

    allowed: bool
    arguments: Mapping[str, Any]
    feedback: str = ""  # words of the person, or the rule that forbids it


class AgentHost(Protocol):
    """What an engine may do while it runs a task. All of it ends with the agent's call."""

    def tell(self, event: Event) -> None:
        """Tell an event of the agent's conversation: it is stamped, and gets the path of the agent. A call is announced
        with the call of the task as its `parent`; one that has no end when the task ends is interrupted."""
        ...

    def new_call_id(self, given: str) -> str:
        """Return an id that no call of the session has: `given`, where it is new and of a size."""
        ...

    async def permitted(self, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], why: str) -> Permit:
        """Ask whether an announced call may run: by rule, by mode, or by a row of the board, with the agent's name.
        `why` says why it asks where no rule does."""
        ...

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool of ours (`server.tool`) as a call of the agent, under all rules. Raises ToolError for one that it
        does not have."""
        ...

    def progress(self, words: str) -> None:
        """Tell what it does now, in a line, where no event says it."""
        ...


class AgentEngine(Protocol):
    """The engine of a kind."""

    async def run(self, task: AgentTask, host: AgentHost) -> str:
        """Do a task and return its final words. Raises FanoutError with the reason where it fails; cancelled, it stops
        at once."""
        ...

    def steer(self, call_id: str, text: str) -> bool:
        """Say something to the agent of a running task; False where it takes nothing now."""
        ...


Kinds = Mapping[str, AgentKind]


def names_of(kinds: Kinds) -> Sequence[str]:
    """Return the names of kinds in the order in which people read them."""
    return sorted(kinds)
