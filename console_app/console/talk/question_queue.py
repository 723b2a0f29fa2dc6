"""The queue of what servers ask: an answer goes to the question that is shown. A cancelled question leaves by itself.
With a limit of time the oldest one ends unanswered, and those behind have their own time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from console_app.domain import questions

Permission = Literal["once", "session", "deny"]
Reply = questions.ElicitationAnswer | Permission


class PendingQuestion:
    """A server's question that waits for you, at most `limit` seconds. Two in the same words are two still."""

    def __init__(self, question: questions.Elicitation | questions.SamplingRequest, limit: float | None = None) -> None:
        self.question = question
        self._loop = asyncio.get_running_loop()
        self.reply: asyncio.Future[Reply] = self._loop.create_future()
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None

    @property
    def left(self) -> float | None:
        return None if self._timer is None else max(self._timer.when() - self._loop.time(), 0.0)

    def count(self) -> None:
        if self._limit is not None and self._timer is None and not self.reply.done():
            self._timer = self._loop.call_later(self._limit, self._over)

    def hold(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        if not self.reply.done():
            self.reply.set_exception(questions.Unanswered(f"nobody replied within {self._limit:g} s"))


class QuestionQueue:
    """The HumanPort of the console. While nobody listens, it declines. `limit`: seconds for an answer, None without."""

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self.open: list[PendingQuestion] = []  # the oldest first
        self.allowed: set[str] = set()  # servers that may ask the model until the console is left
        self._changed: Callable[[], None] | None = None

    def listen(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def close(self) -> None:
        self._changed = None
        for asked in self.open:
            self.answer(asked, questions.ElicitationAnswer("cancel"))

    async def ask(self, question: questions.Elicitation) -> questions.ElicitationAnswer:
        reply = await self._reply(question)
        return reply if isinstance(reply, questions.ElicitationAnswer) else questions.ElicitationAnswer("decline")

    async def allow_sampling(self, request: questions.SamplingRequest) -> bool:
        return request.server in self.allowed or await self._reply(request) in ("once", "session")

    def answer(self, asked: PendingQuestion, reply: Reply) -> bool:
        if asked not in self.open or asked.reply.done():
            return False
        asked.reply.set_result(reply)
        if reply == "session":
            self.allowed.add(asked.question.server)
            for other in self.open:
                if (
                    isinstance(other.question, questions.SamplingRequest)
                    and other.question.server == asked.question.server
                ):
                    self.answer(other, "once")
        return True

    def call_ended(self, call_id: str) -> None:
        """Cancel what is asked for a call that has its result: its server may be slow to, or wait for the answer."""
        for asked in self.open:
            if call_id and asked.question.call_id == call_id:
                self.answer(asked, questions.ElicitationAnswer("cancel"))

    async def _reply(self, question: questions.Elicitation | questions.SamplingRequest) -> Reply:
        if self._changed is None:
            return "deny"
        asked = PendingQuestion(question, self._limit)
        self.open.append(asked)
        self._tell()
        try:
            return await asked.reply
        finally:
            asked.hold()
            self.open.remove(asked)
            self._tell()

    def _tell(self) -> None:
        if self.open:
            self.open[0].count()
        if self._changed is not None:
            self._changed()
