"""The queue of what servers ask: calls side by side wait in it, and an answer goes to the one that is shown.

No widget: it is the HumanPort that the hub asks, and tells the console that something has changed. A question whose
asker is cancelled leaves the queue by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from console_app.domain.questions import Elicitation, ElicitationAnswer, SamplingRequest

Permission = Literal["once", "session", "deny"]
Reply = ElicitationAnswer | Permission


class PendingQuestion:
    """One question that waits, told apart by identity."""

    def __init__(self, question: Elicitation | SamplingRequest) -> None:
        self.question = question
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()


class QuestionQueue:
    """The HumanPort of the console. While nobody listens, nobody is there: it declines."""

    def __init__(self) -> None:
        self.open: list[PendingQuestion] = []  # the oldest first
        self.allowed: set[str] = set()  # servers that may ask the model until the console is left
        self._changed: Callable[[], None] | None = None

    def listen(self, changed: Callable[[], None]) -> None:
        """From now on somebody is there; `changed` is called whenever a question comes or goes."""
        self._changed = changed

    def close(self) -> None:
        """Nobody is there any more: what is open is cancelled."""
        self._changed = None
        for asked in self.open:
            self.answer(asked, ElicitationAnswer("cancel"))

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        reply = await self._reply(question)
        return reply if isinstance(reply, ElicitationAnswer) else ElicitationAnswer("decline")

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        return request.server in self.allowed or await self._reply(request) in ("once", "session")

    def answer(self, asked: PendingQuestion, reply: Reply) -> bool:
        """Gives a question its answer; False when it isn't open any more."""
        if asked not in self.open or asked.reply.done():
            return False
        asked.reply.set_result(reply)
        if reply == "session":
            self.allowed.add(asked.question.server)
            for other in self.open:
                if isinstance(other.question, SamplingRequest) and other.question.server == asked.question.server:
                    self.answer(other, "once")
        return True

    def call_ended(self, call_id: str) -> None:
        """What is still asked for a call that has its result is cancelled: its server may be slow to take that back,
        or wait for the very answer before it can."""
        for asked in self.open:
            if call_id and asked.question.call_id == call_id:
                self.answer(asked, ElicitationAnswer("cancel"))

    async def _reply(self, question: Elicitation | SamplingRequest) -> Reply:
        if self._changed is None:
            return "deny"
        asked = PendingQuestion(question)
        self.open.append(asked)
        self._tell()
        try:
            return await asked.reply
        finally:
            self.open.remove(asked)
            self._tell()

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed()
