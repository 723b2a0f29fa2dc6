"""Questions that an MCP server asks while it works, and the ports to who answers. Asking is awaiting: cancelling the
task withdraws a question, so no answer reaches a call that is gone. All texts are the server's, so hostile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from console_app.domain.chunks import UsageChunk
from console_app.domain.errors import FanoutError
from console_app.domain.settings import Sampling
from console_app.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A server asks the user (MCP elicitation): for values that fit `schema`, or to open `url` in a browser."""

    server: str
    message: str
    call_id: str = ""  # the call that made it ask, "" where that isn't known
    mode: Literal["form", "url"] = "form"
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])  # domain.schema reads it
    url: str = ""  # accepting is the consent to open it; the client opens it
    candidates: tuple[str, ...] = ()  # where `call_id` is "": the ids of the calls of which one asks


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """`accept` carries the form's values, `decline` is a no, `cancel` is no answer."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """A message of a sampling request; what isn't text is named in it, in brackets."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A server asks for an answer of a model (MCP sampling), at the user's expense."""

    server: str
    messages: tuple[SamplingMessage, ...]
    sampling: Sampling  # with the tokens that the answer may have at most
    call_id: str = ""  # the call that made it ask, "" where that isn't known
    system: str = ""
    model_hints: tuple[str, ...] = ()  # what the server would like; the current model answers all the same
    candidates: tuple[str, ...] = ()  # where `call_id` is "": the ids of the calls of which one asks


@dataclass(frozen=True, slots=True)
class Sampled:
    """The model's answer; `stop_reason` is in MCP's words."""

    text: str
    model: str
    stop_reason: Literal["endTurn", "stopSequence", "maxTokens"] = "endTurn"
    usage: UsageChunk | None = None


def one_of(candidates: Sequence[str]) -> str:
    """`one of 2 calls` where it isn't known which call asks; else ""."""
    return f"one of {len(candidates)} calls" if len(candidates) > 1 else ""


def first_words(question: Elicitation | SamplingRequest) -> str:
    if isinstance(question, Elicitation):
        return question.message
    return question.messages[0].text if question.messages else ""


class Unanswered(FanoutError):
    """The time for an answer is over: nobody said yes or no."""

    title = "No answer"


class HumanPort(Protocol):
    """Somebody who can be asked, several things at once too. Cancelled when the question is withdrawn."""

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        """Return an answer that fits a form's schema (`forms.problems`), or the server gets a cancel. Raises
        Unanswered."""
        ...

    async def allow_sampling(self, request: SamplingRequest) -> bool: ...


class Sampler(Protocol):
    """The port to what runs an allowed sampling request."""

    async def sample(self, request: SamplingRequest) -> Sampled:
        """Return one answer without tools. Raises ProviderError."""
        ...


class Nobody:
    """The HumanPort where no person is: it declines everything and accepts nothing."""

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        return ElicitationAnswer("decline")

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        return False
