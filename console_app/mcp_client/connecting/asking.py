"""Takes what servers ask to whoever answers: a person, who keeps a queue of their own, and the current model.

A question belongs to the call that made the server ask. The call's deadline stands still meanwhile, and its panel shows
that something is asked. A question whose call has ended is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from console_app.config.machine import BrowserPage, start_browser
from console_app.config.secrets import Redactor
from console_app.domain import AssistantMessage, Level, UserMessage, errors, ports, questions, web_address
from console_app.domain import chunks as ch
from console_app.domain.schema import forms
from console_app.mcp_client.traffic import Traffic
from console_app.records import dataclass, field

LONGEST_QUESTION = 1000  # characters of a question that its call tells of
log = logging.getLogger(__name__)
OpenUrl = Callable[[str], Awaitable[None]]
Log = Callable[[Level, str], None]
Question = questions.Elicitation | questions.SamplingRequest
_WORDS: Final = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
_FIRST_MESSAGE = "(The conversation begins with the assistant.)"


async def open_in_browser(url: str) -> None:
    """Open a page in the user's browser: the one that shows the console, where one does."""
    if not web_address.is_web_page(url):
        raise ValueError(f"{url[:80]} is no web page")
    if (page := BrowserPage.in_use()) is not None:
        page.open_url(url)
        return
    await asyncio.to_thread(start_browser(url).wait)


class WayBack(Protocol):
    """The place on this machine that a browser comes back to from a sign-in."""

    @property
    def waits(self) -> bool:
        """True until the browser has come back, or the sign-in was given up."""
        ...

    def take(self, address: str) -> str:
        """Take the address that a browser elsewhere ended at; return in words what came of it."""
        ...


@dataclass(slots=True)
class Asking:
    """The person and the model that answer. All of it may be set while servers run."""

    human: questions.HumanPort = field(default_factory=questions.Nobody)
    sampler: questions.Sampler | None = None
    roots: tuple[Path, ...] = ()
    open_url: OpenUrl = open_in_browser
    sign_ins: dict[str, WayBack] = field(default_factory=dict[str, WayBack])  # by the page that was opened

    def sample_with(self, provider: Callable[[], ports.Provider]) -> None:
        self.sampler = ProviderSampler(provider)

    async def elicit(
        self, question: questions.Elicitation, reporters: Sequence[ports.CallReporter], log: Log
    ) -> questions.ElicitationAnswer:
        """Ask the person; an answer that doesn't fit the form, or a page that can't be opened, is a cancel. `log` is
        the server's."""
        page = f"to open {question.url[: web_address.LONGEST_PAGE]}" if question.mode == "url" else ""
        with _open(reporters, page or question.message[:LONGEST_QUESTION], question, log) as result:
            try:
                answer = await self._answer(question)
                result.how = self._by(_WORDS[answer.action])
            except questions.Unanswered as error:
                answer = questions.ElicitationAnswer("cancel")
                result.how = f"cancelled: {error.detail}"
        return answer

    async def _answer(self, question: questions.Elicitation) -> questions.ElicitationAnswer:
        if question.mode == "url" and not web_address.is_web_page(question.url):
            return questions.ElicitationAnswer("cancel")
        answer = await self.human.ask(question)
        if answer.action != "accept":
            return questions.ElicitationAnswer(answer.action)
        if question.mode == "url":
            try:
                await self.open_url(question.url)
            except Exception as error:
                log.warning("the page could not be opened: %s", error)
                return questions.ElicitationAnswer("cancel")
            return questions.ElicitationAnswer("accept")
        content = dict(answer.content or {})
        if wrong := forms.problems(question.schema, content):
            log.warning("an answer for %s doesn't fit its form: %s", question.server, wrong)
            return questions.ElicitationAnswer("cancel")
        return questions.ElicitationAnswer("accept", forms.cleaned(question.schema, content))

    async def sample(
        self, request: questions.SamplingRequest, reporters: Sequence[ports.CallReporter], log: Log
    ) -> questions.Sampled | None:
        """Ask the model, if the person lets the server; None when not. Raises ProviderError and Unanswered."""
        sampler = self.sampler
        with _open(reporters, "to use the model", request, log) as result:
            try:
                allowed = sampler is not None and await self.human.allow_sampling(request)
            except questions.Unanswered as error:
                result.how = f"not allowed: {error.detail}"
                raise
            result.how = "allowed" if allowed else self._by("denied")
        if sampler is None or not allowed:
            return None
        with _held(reporters):
            sampled = await sampler.sample(request)
        if sampled.usage is not None and reporters:
            reporters[0].used(sampled.usage)
        for tell in _logs(reporters, request, log):
            tell("notice", f"{sampled.model} answered the server")
        return sampled

    def _by(self, how: str) -> str:
        return f"{how}, nobody is here to answer" if isinstance(self.human, questions.Nobody) else how


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a session: where its log goes, who answers its questions, what keeps its messages."""

    server: str
    log: Log
    asking: Asking
    traffic: Traffic
    log_level: Callable[[], Level]
    roots: Callable[[], Sequence[Path]] | None  # None: it is told nothing of folders
    protocol: str | None  # the one version to speak, where mcp.json pins it
    given: Redactor  # knows the secrets that the server has, typed ones too


def _one_of(question: Question) -> str:
    return "" if question.call_id else questions.one_of(question.candidates)


def _logs(reporters: Sequence[ports.CallReporter], question: Question, log: Log) -> Sequence[Log]:
    """Return where a question is told: at its call, or once at the server where nobody knows which call asks."""
    return [log] if _one_of(question) else [reporter.log for reporter in reporters]


@dataclass(slots=True)
class _QuestionResult:
    """The outcome of a question: withdrawn, until there is an answer."""

    how: str = "withdrawn"


@contextmanager
def _open(
    reporters: Sequence[ports.CallReporter], what: str, question: Question, log: Log
) -> Generator[_QuestionResult]:
    """Hold the deadlines of the calls while the person is asked, and the call that asks."""
    result, which, logs = _QuestionResult(), _one_of(question), _logs(reporters, question, log)
    what = f"{which} asks: {what}" if which else what
    with _held(reporters):
        for tell in logs:
            tell("notice", what if which else f"the server asks: {what}")
        for reporter in reporters:
            reporter.asked(what, sure=not which)
        try:
            yield result
        finally:
            for tell in logs:
                tell("notice", f"the question was {result.how}")
            for reporter in reporters:
                reporter.answered(what, result.how)


@contextmanager
def _held(reporters: Sequence[ports.CallReporter]) -> Generator[None]:
    with ExitStack() as stack:
        for reporter in reporters:
            stack.enter_context(reporter.held())
        yield


class ProviderSampler:
    """The Sampler over whatever `provider` returns at the time: the model may change while servers run."""

    def __init__(self, provider: Callable[[], ports.Provider]) -> None:
        self._provider = provider

    async def sample(self, request: questions.SamplingRequest) -> questions.Sampled:
        provider = self._provider()
        messages = (
            UserMessage(content=one.text) if one.role == "user" else AssistantMessage(content=one.text)
            for one in _alternating(request.messages)
        )
        asked = ports.ModelRequest(
            messages=tuple(messages), system=request.system, tool_choice="none", sampling=request.sampling
        )
        async with provider.stream(asked) as chunks:
            answer = await ch.PlainAnswer.of(chunks)
        if answer.finish is None:
            raise errors.AnswerInterrupted("the model's answer to the server was cut off")
        stopped = "maxTokens" if answer.finish == "length" else "endTurn"
        return questions.Sampled(answer.text, provider.model, stopped, answer.usage)


def _alternating(messages: tuple[questions.SamplingMessage, ...]) -> list[questions.SamplingMessage]:
    """Put user and assistant in turn, the user first: not every API takes anything else."""
    turns: list[questions.SamplingMessage] = []
    for message in messages:
        if turns and turns[-1].role == message.role:
            turns[-1] = questions.SamplingMessage(message.role, f"{turns[-1].text}\n\n{message.text}")
        else:
            turns.append(message)
    if not turns or turns[0].role != "user":
        turns.insert(0, questions.SamplingMessage("user", _FIRST_MESSAGE))
    return turns
