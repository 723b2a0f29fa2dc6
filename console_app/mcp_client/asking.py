"""Takes what servers ask to whoever answers: a person, one question at a time, and the current model.

A question belongs to the call that made the server ask: the call's deadline stands still meanwhile, its panel shows
that something is asked, and a question whose call has ended is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
import webbrowser
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from console_app.domain import forms
from console_app.domain.ports import CallReporter
from console_app.domain.questions import (
    Elicitation,
    ElicitationAnswer,
    HumanPort,
    Nobody,
    Sampled,
    Sampler,
    SamplingRequest,
)

log = logging.getLogger(__name__)
OpenUrl = Callable[[str], Awaitable[None]]


async def open_in_browser(url: str) -> None:
    """Opens a page in the user's browser."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ValueError(f"{url[:80]} is no web page")
    await asyncio.to_thread(webbrowser.open, url)


class Asking:
    """Who answers, and the queue before the person. All of it may be set while servers run."""

    def __init__(
        self,
        human: HumanPort | None = None,
        sampler: Sampler | None = None,
        *,
        roots: Sequence[Path] = (),
        open_url: OpenUrl = open_in_browser,
    ) -> None:
        self.human: HumanPort = human or Nobody()
        self.sampler = sampler
        self.roots = tuple(roots)
        self.open_url = open_url
        self.waiting = 0  # questions asked or queued
        self._turn = asyncio.Lock()  # fair: first asked, first shown

    async def elicit(self, question: Elicitation, reporters: Sequence[CallReporter]) -> ElicitationAnswer:
        """Asks the person; an answer that doesn't fit the form, or a page that can't be opened, is a cancel."""
        what = f"opening {question.url}" if question.mode == "url" else question.message
        with self._held(reporters, f"the server asks: {what}"):
            answer = await self._ask(question)
        for reporter in reporters:
            reporter.log("notice", f"the question was answered: {answer.action}")
        return answer

    async def _ask(self, question: Elicitation) -> ElicitationAnswer:
        if question.mode == "url" and urlsplit(question.url).scheme not in {"http", "https"}:
            return ElicitationAnswer("cancel")
        async with self._turn:
            answer = await self.human.ask(question)
        if answer.action != "accept":
            return ElicitationAnswer(answer.action)
        if question.mode == "url":
            try:
                await self.open_url(question.url)
            except Exception as error:
                log.warning("the page could not be opened: %s", error)
                return ElicitationAnswer("cancel")
            return ElicitationAnswer("accept")
        content = dict(answer.content or {})
        if problems := forms.problems(question.schema, content):
            log.warning("an answer for %s doesn't fit its form: %s", question.server, problems)
            return ElicitationAnswer("cancel")
        return ElicitationAnswer("accept", forms.cleaned(question.schema, content))

    async def sample(self, request: SamplingRequest, reporters: Sequence[CallReporter]) -> Sampled | None:
        """Asks the model, if the person lets the server; None when not. Raises ProviderError."""
        if self.sampler is None:
            return None
        sampled: Sampled | None = None
        with self._held(reporters, "the server wants to ask the model"):
            async with self._turn:
                allowed = await self.human.allow_sampling(request)
            if allowed:
                sampled = await self.sampler.sample(request)
                if sampled.usage is not None and reporters:
                    reporters[0].used(sampled.usage)
        for reporter in reporters:
            reporter.log("notice", "the model was asked" if sampled else "asking the model was not allowed")
        return sampled

    @contextmanager
    def _held(self, reporters: Sequence[CallReporter], what: str) -> Generator[None]:
        self.waiting += 1
        with ExitStack() as stack:
            for reporter in reporters:
                reporter.log("notice", what)
                stack.enter_context(reporter.held())
            try:
                yield
            finally:
                self.waiting -= 1
