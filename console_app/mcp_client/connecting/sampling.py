"""Runs what a server asks the model (MCP sampling) on the provider in use, as a conversation of its own."""

from __future__ import annotations

from collections.abc import Callable

from console_app.domain.chunks import PlainAnswer
from console_app.domain.errors import AnswerInterrupted
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.ports import ModelRequest, Provider
from console_app.domain.questions import Sampled, SamplingMessage, SamplingRequest

_FIRST_MESSAGE = "(The conversation begins with the assistant.)"


class ProviderSampler:
    """The Sampler over whatever `provider` returns at the time: the model may change while servers run."""

    def __init__(self, provider: Callable[[], Provider]) -> None:
        self._provider = provider

    async def sample(self, request: SamplingRequest) -> Sampled:
        """One answer without tools. Raises ProviderError."""
        provider = self._provider()
        async with provider.stream(_model_request(request)) as chunks:
            answer = await PlainAnswer.of(chunks)
        if answer.finish is None:
            raise AnswerInterrupted("the model's answer to the server was cut off")
        stopped = "maxTokens" if answer.finish == "length" else "endTurn"
        return Sampled(answer.text, provider.model, stopped, answer.usage)


def _model_request(request: SamplingRequest) -> ModelRequest:
    return ModelRequest(
        messages=tuple(_message(one) for one in _alternating(request.messages)),
        system=request.system,
        tool_choice="none",
        sampling=request.sampling,
    )


def _message(message: SamplingMessage) -> UserMessage | AssistantMessage:
    return UserMessage(content=message.text) if message.role == "user" else AssistantMessage(content=message.text)


def _alternating(messages: tuple[SamplingMessage, ...]) -> list[SamplingMessage]:
    """User and assistant in turn, the user first: not every API takes anything else."""
    turns: list[SamplingMessage] = []
    for message in messages:
        if turns and turns[-1].role == message.role:
            turns[-1] = SamplingMessage(message.role, f"{turns[-1].text}\n\n{message.text}")
        else:
            turns.append(message)
    if not turns or turns[0].role != "user":
        turns.insert(0, SamplingMessage("user", _FIRST_MESSAGE))
    return turns
