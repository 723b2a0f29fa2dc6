"""The port to a model: a request goes in, chunks come out.

A provider turns its wire format into chunks; all that is odd about an endpoint is settled before a chunk leaves it.
Text that comes in through a port is valid: no lone surrogates, which can be neither stored nor sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from console_app.domain.engine_settings import ToolChoice
from console_app.domain.events import Level
from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.sampling import Effort, Sampling
from console_app.domain.tools import Outcome, ToolSpec

ProtocolMode = Literal["auto", "native", "text", "xml"]

if TYPE_CHECKING:
    from typing_extensions import TypeIs

SLICE = 16  # chunks or events taken in one go before others may run: a burst of tokens must not starve the keys
# "paused": the provider broke off its own work, and goes on with it once it has the answer so far back.
FinishReason = Literal["stop", "tool_calls", "length", "filtered", "paused"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. `messages` are already valid for every wire format (engine.history)."""

    messages: tuple[UserMessage | AssistantMessage | ToolMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel: bool = True  # False asks for one call an answer, where the API can
    sampling: Sampling = field(default_factory=Sampling)  # over what the provider was set to
    conversation: str = ""  # an id of it that stays the same, for caches; "" for a request of its own
    summed_up: tuple[UserMessage | AssistantMessage | ToolMessage, ...] = ()  # that a summary stands for: not sent
    called_before: frozenset[str] = frozenset()  # models that made calls of their own in it, undone or not; "": unnamed


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Visible text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextReplaced:
    """The visible text so far was not all of it meant to be seen: `text` replaces everything since the start."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """Reasoning, to be shown."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningFinished:
    """A whole piece of reasoning that joins the history."""

    reasoning: Reasoning


@dataclass(frozen=True, slots=True)
class ReasoningSoFar:
    """What would join the history if no more came, once a call of the answer may run; ReasoningFinished follows it."""

    reasoning: Reasoning


@dataclass(frozen=True, slots=True)
class CallOpened:
    """The name of a call is known. `index` is unique in the answer and in the order of the calls, from 0."""

    index: int
    id: str  # the provider's, "" when it gave none
    name: str
    origin: Literal["native", "text"] = "native"
    dialect: str = ""  # of a call that is read from text: how it is written


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of the JSON text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """The call's arguments are complete: `arguments` is their whole JSON text, "" when the model wrote none.

    `sure` says that the provider marked the end of this call, so that it may start while the answer still streams.
    `must_ask`, when not empty, is why a person has to approve this call, whatever rules and modes say.
    """

    index: int
    arguments: str
    raw: str = ""
    repaired: tuple[str, ...] = ()
    sure: bool = True
    must_ask: str = ""


@dataclass(frozen=True, slots=True)
class CallBroken:
    """A call that can't be run: `problem` says in one sentence what could not be read, `raw` is what was there."""

    index: int
    problem: str
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CallWithdrawn:
    """What looked like a call was none (text protocols only): its panel goes away."""

    index: int


@dataclass(frozen=True, slots=True)
class ProviderCallStarted:
    """The provider runs a tool of its own (web search, code, an MCP connector). `id` is the provider's, `arguments` the
    JSON text of an object, "" while they are not known, `server` the MCP server that the provider reaches."""

    id: str
    name: str
    server: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ProviderCallFinished:
    """What came of it, for people: the model has it. `arguments` where they are known only now."""

    id: str
    outcome: Outcome
    content: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ProviderData:
    """What the endpoint wants back unchanged: with the call at `index`, or with the message where that is None.

    Takes the place of what came before for the same one.
    """

    data: dict[str, Any]
    index: int | None = None


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
    most: int | None = None  # tries there are at most, where that is known


@dataclass(frozen=True, slots=True)
class NoticeChunk:
    """Something the user should know of the request (a fallback taken, a field refused).

    `without_reasoning_of` is the source of reasoning that the endpoint refused, and that the history forgets.
    """

    text: str
    level: Level = "info"
    without_reasoning_of: str = ""


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The model said that its answer is complete. Always the last chunk; a stream without it was cut off."""

    reason: FinishReason


Chunk = (
    TextChunk
    | TextReplaced
    | ReasoningChunk
    | ReasoningFinished
    | ReasoningSoFar
    | CallOpened
    | CallDelta
    | CallClosed
    | CallBroken
    | CallWithdrawn
    | ProviderCallStarted
    | ProviderCallFinished
    | ProviderData
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


PortT = TypeVar("PortT")


def speaks(provider: object, port: type[PortT]) -> TypeIs[PortT]:
    """Whether `provider` has all that one of the ports below asks for. Asked of a class once: `isinstance` would look
    up every name each time, a tenth of a turn."""
    return _speaks(type(provider), port)


@cache
def _speaks(kind: type, port: type) -> bool:
    return all(hasattr(kind, name) for name in vars(port) if not name.startswith("_"))


class HasEndpoint(Protocol):
    """What a provider that reaches a model over HTTP says beside."""

    @property
    def endpoint(self) -> str:
        """Which endpoint it is (`domain.endpoint.identity`)."""
        ...


def endpoint_of(provider: Provider) -> str:
    """Whose answers come from `provider`; "" where it has no endpoint."""
    return provider.endpoint if speaks(provider, HasEndpoint) else ""


class KnowsTurns(Protocol):
    """What a provider may want to be told."""

    def turn_began(self) -> None:
        """A new turn begins: what was done for the last one alone is over."""
        ...


class KnowsEffort(Protocol):
    """What a provider may say beside."""

    def effort_for(self, asked: Effort | None) -> str:
        """How much the model is asked to think where a request asks for `asked`; "" where nothing is said of it."""
        ...


def effort_for(provider: Provider, asked: Effort | None) -> str:
    """How much the model of `provider` is asked to think; "" where nothing is said of it."""
    return provider.effort_for(asked) if speaks(provider, KnowsEffort) else ""


class KnowsPictures(Protocol):
    """What a provider may say beside."""

    @property
    def no_pictures(self) -> str:
        """Why its model is shown no pictures, as far as that is known; "" where it may see."""
        ...


class ReadsText(Protocol):
    """A provider that may read calls from text."""

    @property
    def dialect(self) -> str | None:
        """The dialect that tools are offered in, None while the API's own are used."""
        ...

    def choose(self, mode: ProtocolMode) -> None:
        """Another protocol from the next request on; what was known of the model is forgotten."""
        ...

    def approved(self, dialect: str) -> None:
        """A person approved a call that was written in `dialect`."""
        ...


@dataclass(frozen=True, slots=True)
class StandIn:
    """A model that answers in place of the one that was chosen: tokens that it takes (None: unknown), and the host that
    it is at ("": its vendor's own)."""

    window: int | None = None
    host: str = ""


class HasStandIn(Protocol):
    """What a provider with another in reserve says beside."""

    @property
    def stand_in(self) -> StandIn | None:
        """What answers now in place of the one that was chosen, None while that one does."""
        ...


def stand_in(provider: Provider) -> StandIn | None:
    """What answers now in place of the model that was chosen for `provider`, None while that one does."""
    return provider.stand_in if speaks(provider, HasStandIn) else None


class LearnsRefusals(Protocol):
    """What a provider may do beside: send no more what its endpoint refused."""

    def forget_refusals(self) -> None:
        """All that was refused is sent again, until it is refused again."""
        ...


def protocol_label(provider: Provider) -> str:
    """How the model is given tools, with the dialect where it writes them as text."""
    dialect = provider.dialect if speaks(provider, ReadsText) else None
    return provider.protocol if dialect is None else f"{provider.protocol} {dialect}"


def no_pictures(provider: Provider) -> str:
    """Why the model of `provider` is shown no pictures; "" where nothing is known against it."""
    return provider.no_pictures if speaks(provider, KnowsPictures) else ""
