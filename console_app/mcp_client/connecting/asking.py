"""Takes what servers ask to whoever answers: a person, who keeps a queue of their own, and the current model.

A question belongs to the call that made the server ask: the call's deadline stands still meanwhile, its panel shows
that something is asked, and a question whose call has ended is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from console_app.config.machine.browser_page import page_in_use
from console_app.config.machine.web_browser import start_browser
from console_app.domain.ports import CallReporter
from console_app.domain.questions import (
    Elicitation,
    ElicitationAnswer,
    HumanPort,
    Nobody,
    Sampled,
    Sampler,
    SamplingRequest,
    Unanswered,
    one_of,
)
from console_app.domain.schema.forms import cleaned, problems
from console_app.domain.web_address import is_web_page

LONGEST_QUESTION = 1000  # characters of a question that its call tells of
log = logging.getLogger(__name__)
OpenUrl = Callable[[str], Awaitable[None]]
_WORDS: Final = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}


async def open_in_browser(url: str) -> None:
    """Opens a page in the user's browser: the one that shows the console, where one does."""
    if not is_web_page(url):
        raise ValueError(f"{url[:80]} is no web page")
    if (page := page_in_use()) is not None:
        page.open_url(url)
        return
    await asyncio.to_thread(start_browser(url).wait)


class Asking:
    """Who answers. All of it may be set while servers run."""

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

    async def elicit(self, question: Elicitation, reporters: Sequence[CallReporter]) -> ElicitationAnswer:
        """Asks the person; an answer that doesn't fit the form, or a page that can't be opened, is a cancel."""
        what = f"to open {question.url}" if question.mode == "url" else question.message
        what = _asked(what[:LONGEST_QUESTION], question)
        with _open(reporters, what) as result:
            try:
                answer = await self._answer(question)
                result.how = self._by(_WORDS[answer.action])
            except Unanswered as error:
                answer = ElicitationAnswer("cancel")
                result.how = f"cancelled: {error.detail}"
        return answer

    async def _answer(self, question: Elicitation) -> ElicitationAnswer:
        if question.mode == "url" and not is_web_page(question.url):
            return ElicitationAnswer("cancel")
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
        if wrong := problems(question.schema, content):
            log.warning("an answer for %s doesn't fit its form: %s", question.server, wrong)
            return ElicitationAnswer("cancel")
        return ElicitationAnswer("accept", cleaned(question.schema, content))

    async def sample(self, request: SamplingRequest, reporters: Sequence[CallReporter]) -> Sampled | None:
        """Asks the model, if the person lets the server; None when not. Raises ProviderError and Unanswered."""
        sampler = self.sampler
        with _open(reporters, _asked("to use the model", request)) as result:
            try:
                allowed = sampler is not None and await self.human.allow_sampling(request)
            except Unanswered as error:
                result.how = f"not allowed: {error.detail}"
                raise
            result.how = "allowed" if allowed else self._by("denied")
        if sampler is None or not allowed:
            return None
        with _held(reporters):
            sampled = await sampler.sample(request)
        if sampled.usage is not None and reporters:
            reporters[0].used(sampled.usage)
        for reporter in reporters:
            reporter.log("notice", f"{sampled.model} answered the server")
        return sampled

    def _by(self, how: str) -> str:
        return f"{how}, nobody is here to answer" if isinstance(self.human, Nobody) else how


def _asked(what: str, question: Elicitation | SamplingRequest) -> str:
    """What a panel says of a question: whose it is, where that isn't this call's for sure."""
    which = "" if question.call_id else one_of(question.candidates)
    return f"{which} asks: {what}" if which else what


@dataclass(slots=True)
class _QuestionResult:
    """What came of a question; withdrawn, until there is an answer."""

    how: str = "withdrawn"


@contextmanager
def _open(reporters: Sequence[CallReporter], what: str) -> Generator[_QuestionResult]:
    """While the person is asked: the calls wait for them, and their clocks stand."""
    result = _QuestionResult()
    with _held(reporters):
        for reporter in reporters:
            reporter.log("notice", f"the server asks: {what}")
            reporter.asked(what)
        try:
            yield result
        finally:
            for reporter in reporters:
                reporter.log("notice", f"the question was {result.how}")
                reporter.answered(what, result.how)


@contextmanager
def _held(reporters: Sequence[CallReporter]) -> Generator[None]:
    with ExitStack() as stack:
        for reporter in reporters:
            stack.enter_context(reporter.held())
        yield
