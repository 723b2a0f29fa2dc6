"""Stand-ins for whoever answers servers: a person with prepared answers, and a model that says one thing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from console_app.domain.chunks import Chunk, FinishChunk, TextChunk, UsageChunk
from console_app.domain.errors import ProviderError
from console_app.domain.ports import ModelRequest, Provider
from console_app.domain.questions import Elicitation, ElicitationAnswer, SamplingRequest


@dataclass
class Person:
    """Answers what is asked with `answer`, once `free` is set; remembers what was asked."""

    answer: ElicitationAnswer = field(default_factory=lambda: ElicitationAnswer("accept"))
    allows: bool = True
    free: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[Elicitation | SamplingRequest] = field(default_factory=list[Elicitation | SamplingRequest])
    news: asyncio.Event = field(default_factory=asyncio.Event)
    withdrawn: int = 0

    def __post_init__(self) -> None:
        self.free.set()

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        await self._see(question)
        return self.answer

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        await self._see(request)
        return self.allows

    async def _see(self, asked: Elicitation | SamplingRequest) -> None:
        self.asked.append(asked)
        self.news.set()
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            self.news.set()
            raise


@dataclass
class OneAnswer(Provider):
    """A provider that always answers the same."""

    chunks: Sequence[Chunk] = (
        TextChunk("Par"),
        TextChunk("is"),
        UsageChunk(12, 2, cost=0.5),
        FinishChunk("stop"),
    )
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    name: str = "test"
    model: str = "one-answer"
    protocol: str = "native"
    broken: bool = False

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[Chunk]]:
        self.requests.append(request)
        if self.broken:
            raise ProviderError("no such model")
        yield self._chunks()

    async def _chunks(self) -> AsyncIterator[Chunk]:
        for chunk in self.chunks:
            yield chunk
