"""The queue of what servers ask: calls side by side wait in it, and an answer goes to the one that is shown.

No widget: it is the HumanPort that the hub asks, and tells the console that something has changed. A question whose
asker is cancelled leaves the queue by itself. With a limit of time the oldest one ends when nobody answered it, without
a yes or a no; those behind it have their own time once it is their turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from console_app.domain import questions

Permission = Literal["once", "session", "deny"]
Reply = questions.ElicitationAnswer | Permission


class PendingQuestion:
    """One question that waits, told apart by identity. `limit`: seconds for an answer, None without."""

    def __init__(self, question: questions.Elicitation | questions.SamplingRequest, limit: float | None = None) -> None:
        self.question = question
        self._loop = asyncio.get_running_loop()
        self.reply: asyncio.Future[Reply] = self._loop.create_future()
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None

    @property
    def left(self) -> float | None:
        """Return the seconds left for an answer; None while none are counted."""
        return None if self._timer is None else max(self._timer.when() - self._loop.time(), 0.0)

    def count(self) -> None:
        """Count the time for an answer from now on; where it is counted already, it goes on."""
        if self._limit is not None and self._timer is None and not self.reply.done():
            self._timer = self._loop.call_later(self._limit, self._over)

    def hold(self) -> None:
        """Stop counting: somebody is at the question, or can't see it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        if not self.reply.done():
            self.reply.set_exception(questions.Unanswered(f"nobody replied within {self._limit:g} s"))


class QuestionQueue:
    """The HumanPort of the console. While nobody listens, nobody is there: it declines. `limit`: seconds in which what
    is asked has to be answered, None without."""

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self.open: list[PendingQuestion] = []  # the oldest first
        self.allowed: set[str] = set()  # servers that may ask the model until the console is left
        self._changed: Callable[[], None] | None = None

    def listen(self, changed: Callable[[], None]) -> None:
        """Note that somebody is there from now on. `changed` is called whenever a question comes or goes."""
        self._changed = changed

    def close(self) -> None:
        """Note that nobody is there any more, and cancel what is open."""
        self._changed = None
        for asked in self.open:
            self.answer(asked, questions.ElicitationAnswer("cancel"))

    async def ask(self, question: questions.Elicitation) -> questions.ElicitationAnswer:
        reply = await self._reply(question)
        return reply if isinstance(reply, questions.ElicitationAnswer) else questions.ElicitationAnswer("decline")

    async def allow_sampling(self, request: questions.SamplingRequest) -> bool:
        return request.server in self.allowed or await self._reply(request) in ("once", "session")

    def answer(self, asked: PendingQuestion, reply: Reply) -> bool:
        """Gives a question its answer; False when it isn't open any more."""
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
        """Cancel what is still asked for a call that has its result: its server may be slow to take that back, or wait
        for the very answer before it can."""
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
