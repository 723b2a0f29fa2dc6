"""The pieces of a model's answer, as every provider tells of them.

A provider turns its wire format into chunks; all that is odd about an endpoint is settled before a chunk leaves it.
Text in a chunk is valid: no lone surrogates, which can be neither stored nor sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Any, Literal

from console_app.domain.events import Level, ShownCall
from console_app.domain.messages import Reasoning
from console_app.domain.tools import Outcome

SLICE = 16  # chunks or events taken in one go before others may run: a burst of tokens must not starve the keys
# "paused": the provider broke off its own work, and goes on with it once it has the answer so far back.
FinishReason = Literal["stop", "tool_calls", "length", "filtered", "paused"]


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
    """A further piece of the JSON text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """The call's arguments are complete: `arguments` is their whole JSON text, "" when the model wrote none.

    `sure` says that the provider marked the end of this call, so that it may start while the answer still streams.
    `must_ask`, when not empty, is why a person has to approve this call, whatever rules and modes say. `unlicensed` is
    the same for a call that is written as text in a form that its model isn't known to write calls in: who says that it
    writes so has licensed the form. `advice` tells the model how to write such a call where nobody is there to ask.
    """

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
    """The provider runs a tool of its own (web search, code, an MCP connector). `id` is the provider's, `arguments` the
    JSON text of an object, "" while they are not known, `server` the MCP server that the provider reaches. Its program
    waits for the calls that name it, whose results may go out with the next request."""

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
    """The provider's programs that are open wait so many `seconds` for the results of their calls."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ProviderData:
    """Data that the endpoint wants back: with the call at `index`, or with the message where that is None.

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

    `without_reasoning_of` is the source of reasoning that the endpoint refused, and that the history forgets. `shown`
    is a call that the answer only showed. `unread` tells the model at once why its answer called nothing, where it
    seemed to call a tool.
    """

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
        """Reads the answer to its end. Reasoning, notices and calls are passed over."""
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
