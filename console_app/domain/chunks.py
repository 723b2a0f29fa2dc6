"""The pieces of a model's answer. A provider settles all that is odd about an endpoint before a chunk leaves it. Text
in a chunk is valid: no lone surrogates, which can be neither stored nor sent."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any, Literal

from console_app.domain.events import Level, ShownCall
from console_app.domain.messages import Reasoning
from console_app.domain.tools import Outcome
from console_app.records import dataclass

SLICE = 16  # chunks or events taken in one go before others may run: a burst of tokens must not starve the keys
# "paused": the provider broke off its own work, and goes on with it once it has the answer so far back.
FinishReason = Literal["stop", "tool_calls", "length", "filtered", "paused"]


@dataclass(frozen=True, slots=True)
class TextChunk:
    text: str


@dataclass(frozen=True, slots=True)
class TextReplaced:
    """The visible text so far was not all meant to be seen: `text` replaces everything since the start."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """Reasoning, to be shown."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningFinished:
    reasoning: Reasoning


@dataclass(frozen=True, slots=True)
class ReasoningSoFar:
    """Reasoning that joins the history if no more comes, once a call of the answer may run."""

    reasoning: Reasoning


@dataclass(frozen=True, slots=True)
class CallOpened:
    """The name of a call is known. `index` is unique in the answer and in the order of the calls, from 0."""

    index: int
    id: str  # the provider's, "" when it gave none
    name: str
    origin: Literal["native", "text"] = "native"
    dialect: str = ""  # of a call that is read from text: how it is written
    caller: str = ""  # the provider's id of its program that makes the call; "" for one of the model itself


@dataclass(frozen=True, slots=True)
class CallDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """Complete arguments: their whole JSON text, "" for none. `sure` marks a certain end, so that it may start while
    the answer streams. `must_ask` is why a person has to approve, whatever rules say; `unlicensed` the same for text in
    a form that its model isn't known to write calls in. `advice` tells the model how to write it."""

    index: int
    arguments: str
    raw: str = ""
    repaired: tuple[str, ...] = ()
    sure: bool = True
    must_ask: str = ""
    unlicensed: str = ""
    advice: str = ""
    dialect: str = ""  # of a call that is read from text, now that all of it is


@dataclass(frozen=True, slots=True)
class CallBroken:
    """A call that can't be run: `problem` says in one sentence what could not be read, `raw` is what was there."""

    index: int
    problem: str
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CallWithdrawn:
    """A text that looked like a call was none (text protocols only): its panel goes away."""

    index: int


@dataclass(frozen=True, slots=True)
class ProviderCallStarted:
    """The provider runs a tool of its own. `id` is the provider's, `arguments` JSON text ("": unknown), `server` an MCP
    server that it reaches. Its program waits for calls that name it, whose results may go out with the next request."""

    id: str
    name: str
    server: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ProviderCallFinished:
    """The result of a tool that the provider ran, for people. `arguments` where they are known only now."""

    id: str
    outcome: Outcome
    content: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ProviderWaits:
    seconds: float


@dataclass(frozen=True, slots=True)
class ProviderData:
    """Data that the endpoint wants back, with the call at `index` or else the message. It replaces what came before."""

    data: dict[str, Any]
    index: int | None = None
    caller: str = ""  # as that of `CallOpened`, which may not have known it


@dataclass(frozen=True, slots=True)
class UsageChunk:
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
    """News of the request for the user (a fallback taken, a field refused). The history forgets reasoning of
    `without_reasoning_of`. `shown` is a call that was only shown. `unread` tells the model why its answer called
    nothing."""

    text: str
    level: Level = "info"
    without_reasoning_of: str = ""
    shown: ShownCall | None = None
    unread: str = ""


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
    | ProviderWaits
    | ProviderData
    | UsageChunk
    | RetryChunk
    | NoticeChunk
    | FinishChunk
)


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """`finish` is None where the answer was cut off, `usage` where nothing was said of it."""

    text: str
    usage: UsageChunk | None
    finish: FinishReason | None

    @classmethod
    async def of(cls, chunks: AsyncIterable[Chunk]) -> PlainAnswer:
        """Read the answer to its end. Reasoning, notices and calls are passed over."""
        text, usage, finish = "", None, None
        async for chunk in chunks:
            match chunk:
                case TextChunk():
                    text += chunk.text
                case TextReplaced():
                    text = chunk.text
                case UsageChunk():
                    usage = chunk
                case FinishChunk():
                    finish = chunk.reason
                case _:
                    pass
        return cls(text, usage, finish)
