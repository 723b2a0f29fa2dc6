"""The ports to the outside: a model's provider, a set of tools, a store for sessions. A few members each.

A provider turns its wire format into chunks; all that is odd about an endpoint is settled before a chunk leaves it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from console_app.domain.events import Event, Level
from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.tools import ToolResult, ToolSpec

FinishReason = Literal["stop", "tool_calls", "length", "filtered"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. `messages` are already valid for every wire format (engine.history)."""

    messages: tuple[UserMessage | AssistantMessage | ToolMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    parallel: bool = True  # False asks for one call an answer, where the API can
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Visible text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextRevised:
    """The visible text so far was not all of it meant to be seen: `text` replaces everything since the start."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """Reasoning, to be shown."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningKept:
    """A whole piece of reasoning that joins the history."""

    reasoning: Reasoning


@dataclass(frozen=True, slots=True)
class CallOpened:
    """The name of a call is known. `index` is unique in the answer and in the order of the calls, from 0."""

    index: int
    id: str  # the provider's, "" when it gave none
    name: str
    origin: Literal["native", "text"] = "native"


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of the JSON text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """The call's arguments are complete: `arguments` is their whole JSON text, "" when the model wrote none.

    `sure` says that the provider marked the end of this call, so that it may start while the answer still streams.
    """

    index: int
    arguments: str
    raw: str = ""
    repaired: tuple[str, ...] = ()
    sure: bool = True


@dataclass(frozen=True, slots=True)
class CallBroken:
    """A call that can't be run: `problem` says in one sentence what could not be read, `raw` is what was there."""

    index: int
    problem: str
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CallDropped:
    """What looked like a call was none (text protocols only): its panel goes away."""

    index: int


@dataclass(frozen=True, slots=True)
class UsageChunk:
    """Tokens of the request, as the provider counts them."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class RetryChunk:
    """The request failed before anything was shown and is about to be sent again."""

    attempt: int
    delay: float  # seconds
    why: str


@dataclass(frozen=True, slots=True)
class NoticeChunk:
    """Something the user should know of the request (a fallback taken, a field refused)."""

    text: str
    level: Level = "info"


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The model said that its answer is complete. Always the last chunk; a stream without it was cut off."""

    reason: FinishReason


Chunk = (
    TextChunk
    | TextRevised
    | ReasoningChunk
    | ReasoningKept
    | CallOpened
    | CallDelta
    | CallClosed
    | CallBroken
    | CallDropped
    | UsageChunk
    | RetryChunk
    | NoticeChunk
    | FinishChunk
)


class Provider(Protocol):
    """A model behind an API. Errors leave it as ProviderError; a cut stream as AnswerInterrupted."""

    @property
    def name(self) -> str:
        """The provider's name in the configuration, as `openai`."""
        ...

    @property
    def model(self) -> str:
        """The model's name, as the endpoint knows it."""
        ...

    @property
    def protocol(self) -> str:
        """How tools are offered: native, text, xml or offline. May change after a fallback."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Sends `request`; leaving the context closes the connection at once."""
        ...

    async def close(self) -> None:
        """Closes connections. A closed provider is not used again."""
        ...


class CallReporter(Protocol):
    """What a running call may say before it ends. All return at once and may be called from any task."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """`progress` of `total` (None: unknown), with what is being done."""
        ...

    def log(self, level: Level, text: str) -> None:
        """One line of the tool's or server's log."""
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


class Toolset(Protocol):
    """Tools that can be called. Calls run concurrently; cancelling the awaiting task cancels the call at its server."""

    def tools(self) -> Sequence[ToolSpec]:
        """The tools that are on now, in a stable order, with unique wire names."""
        ...

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        """Runs one call. A failure is a result (`failed`) or a ToolError; the engine sets deadlines."""
        ...


class SessionStore(Protocol):
    """Keeps the events of a session, in order, before they are shown."""

    async def append(self, events: Sequence[Event]) -> None:
        """Stores events durably; shown-only ones are drafts, which go when the message they add up to is stored."""
        ...
