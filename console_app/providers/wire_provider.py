"""Sends one request in any of the three wire formats, from its first try to its last chunk.

The stream is read from the raw bytes, which costs a fifth of what the official SDKs' parsing does and tells a finished
answer from a cut one. Nothing is sent again once a chunk
of the answer has left: a retry can't repeat what was shown.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar

from console_app.config.models import KnownRefusals
from console_app.domain import UserMessage, errors, one_line, ports
from console_app.domain import chunks as ch
from console_app.domain.settings import Effort, ProviderConfig, Sampling
from console_app.providers import catalog
from console_app.providers.endpoint.address import EndpointAddress
from console_app.providers.endpoint.client import EndpointClient
from console_app.providers.endpoint.rate_limiter import HeldBack, RateLimiter
from console_app.providers.faults.concessions import LIMIT_NAMES, Concession, Concessions, GivenUp
from console_app.providers.faults.error_bodies import ServerFault
from console_app.providers.faults.fault import Fault, RetryPolicy, fault_of, not_a_stream
from console_app.providers.faults.wordings import FAILED_CALL, allowed_values
from console_app.providers.pictures import fitted
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import arr, obj, text
from console_app.providers.stream.reading import BadEvent, NotAnAnswer, OnlyKeepAlives, StreamCut, read_answer
from console_app.textcalls import prepare

log = logging.getLogger(__name__)

DEFERRED = "tools.defer_loading"
PROGRAMS = "tools.allowed_callers"
LATE = "tools.async"
EFFORT_FIELDS = ("reasoning_effort", "reasoning.effort", "effort")  # as the formats name what is refused of it
_CUT_BY: dict[type[Exception], str] = {
    StreamCut: "a stream that ended without a finish reason",
    ServerFault: "an error of the endpoint",
    BadEvent: "an event that is not JSON",
}
_AT_ONCE = 0.25  # seconds of waiting that nobody needs to be told of
_TOGETHER = 4  # times the usual tries, where others who ask the same endpoint may be why it refuses
CONTINUE = "What came so far is kept: ask to continue."
UNREADABLE_CALL = (
    "[Fanout: your last answer called a tool in a form that the endpoint could not read, and nothing of it came "
    "through. Call it again: the tool's name as it was given, and its arguments as one valid JSON object.]"
)


class CallUnread(Exception):
    """The model ended with a call that its own endpoint could not read, and nothing else came."""


class WireProvider(ports.Provider, ABC):
    """A model behind HTTP; a subclass knows one wire format."""

    protocol = "native"
    path: ClassVar[str]
    has_tool_search: ClassVar[bool] = False  # at the vendor's own address
    programmers: ClassVar[re.Pattern[str] | None] = None  # models whose programs the vendor runs, if it runs any
    patient: ClassVar[re.Pattern[str] | None] = None  # models that go on without the output of a call
    models_path: ClassVar[str] = "/models"

    def __init__(
        self,
        config: ProviderConfig,
        *,
        retry: RetryPolicy | None = None,
        known: KnownRefusals | None = None,
        limiter: RateLimiter | None = None,
    ) -> None:
        """`known` remembers what its endpoint refuses for its model, for others who open it and for the next start;
        `limiter` is shared by all that ask the same endpoint at once."""
        self._config = config
        self.name, self.model, self.endpoint = config.name, config.model, config.identity
        self._limiter = limiter or RateLimiter()
        self._where = EndpointAddress(config)
        self._retry = retry or RetryPolicy(config.max_tries)
        self._source = f"{config.name} {self._where.url}"  # reasoning goes back to where it came from
        self._known = known or KnownRefusals()
        self._key = config.model_identity
        self._conceded = Concessions(self._known.of(self._key))
        self._client = EndpointClient(self._where)
        self._loading: asyncio.Future[None] | None = None
        self.watch: Callable[[str, dict[str, Any]], None] | None = None  # sees each event, before it is read
        self.watch_headers: Callable[[Mapping[str, str]], None] | None = None

    # -- what a wire format adds

    @abstractmethod
    def _body(self, request: ports.ModelRequest) -> dict[str, Any]:
        """Return the JSON body of `request`."""

    @abstractmethod
    def _answer(self, request: ports.ModelRequest) -> WireAnswer:
        """Return an empty answer to read into."""

    @abstractmethod
    def _relax(self, body: dict[str, Any], fault: Fault) -> str | Concession:
        """Drop the optional field of `body` that was refused; return its name, or what is sent instead; "" if none."""

    # -- for callers

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        whole = replace(request, sampling=Sampling.merged(request.sampling, self._config.sampling))
        with self._limiter.asks():
            async with aclosing(self._chunks(whole)) as chunks:
                yield chunks

    async def models(self) -> list[str]:
        """Return the names of the models that the endpoint lists, in its order. Raises ProviderError."""
        try:
            async with self._client.request("GET", self.models_path) as response:
                body = (await response.aread()).decode("utf-8", "replace")
        except Exception as error:
            raise fault_of(error, self._where, tools_sent=False).error from error
        try:
            listed: Any = json.loads(body)
        except ValueError as error:
            raise not_a_stream(body[:2000], response.headers.get("content-type", ""), self._where) from error
        entries = arr(obj(listed).get("data")) or arr(obj(listed).get("models")) or arr(listed)
        names = (text(entry.get("id")) or text(entry.get("name")) for entry in map(obj, entries))
        return list(dict.fromkeys(filter(None, names)))

    async def shown_form(self) -> str | None:
        from console_app.providers.text_protocol.shown_form import shown_form

        return await shown_form(self._client, self._where)

    async def close(self) -> None:
        await self._client.close()

    # -- one request

    async def _chunks(self, request: ports.ModelRequest) -> AsyncGenerator[ch.Chunk]:
        if not self.model:
            raise errors.ProviderError(
                "no model was chosen", f"Pick one with /model, or name it: -m {self.name}/MODEL."
            )
        tries, told, given_up = 0, False, GivenUp(self._conceded.refused)
        while True:
            without = {"effort": None} if request.sampling.effort in self._conceded.refused.efforts else {}
            asked = replace(request, sampling=request.sampling.model_copy(update=without)) if without else request
            sent = await fitted(self._conceded.apply_to(asked))
            body, answer = self._conceded.applied(self._body(sent)), self._watched(self._answer(request))
            answer.calls.known_to_pair = self._conceded.refused.pairs_labels
            shown = spoken = False
            failure: Exception | None = None
            if (paused := self._limiter.paused) > _AT_ONCE:
                yield ch.RetryChunk(tries + 1, paused, "rate limit", self._retry.max_tries)
            try:
                async with aclosing(self._try(body, answer)) as chunks:
                    async for chunk in chunks:
                        if not shown and not isinstance(chunk, ch.NoticeChunk):
                            shown = True
                            self._known.answered(self._key)
                        spoken = spoken or not isinstance(
                            chunk, ch.NoticeChunk | ch.ReasoningChunk | ch.ReasoningFinished
                        )
                        yield chunk
                if not spoken and FAILED_CALL.search(answer.said):
                    raise CallUnread
            except Exception as error:
                failure = error
            if failure is None:
                if self._loading is not None:
                    await asyncio.shield(self._loading)
                for chunk in self._last(answer, body):
                    yield chunk
                return
            fault = self._fault(failure, tools_sent="tools" in body)
            if not spoken and not told and FAILED_CALL.search(f"{fault.code} {fault.message}"):
                for chunk in self._usage(answer):
                    yield chunk
                told, request = True, _with_word(request)
                yield ch.NoticeChunk(
                    f"{self.name} could not read the model's call: the model is told, and asked again."
                )
                continue
            if shown:
                answer.cut(
                    next((why for kind, why in _CUT_BY.items() if isinstance(failure, kind)), "a lost connection")
                )
                for chunk in (*answer.take(), *self._usage(answer)):
                    yield chunk
                raise errors.AnswerInterrupted(fault.error.detail, CONTINUE, status=fault.error.status) from failure
            if conceded := self._concede(fault, sent, body, given_up):
                yield ch.NoticeChunk(
                    f"{self.name} refuses {conceded.what}: the request is sent again {conceded.instead}.",
                    without_reasoning_of=self._source if conceded.reasoning else "",
                )
                continue
            tries += 1
            too_fast = fault.error.status in (429, 529) or fault.error.retry_after is not None
            most = min(
                self._retry.max_tries * (_TOGETHER if too_fast and self._limiter.shared else 1), fault.most_tries
            )
            if not fault.passing or tries >= most:
                given_up.take_back(fault)
                if fault.error.unavailable and (wait := fault.error.retry_after) and not isinstance(failure, HeldBack):
                    self._limiter.closed(self.model, wait, fault.error.detail)
                fault.error.unavailable = fault.error.unavailable or fault.passing
                if tries > 1:
                    fault.error.detail = f"{fault.error.detail.rstrip('.')} (after {tries} tries)"
                raise fault.error from failure
            delay = self._retry.delay(tries, fault.error.retry_after)
            if too_fast:
                self._limiter.refused(delay)
            yield ch.RetryChunk(tries + 1, delay, fault.why, most)
            await self._retry.sleep(delay)

    def forget_refusals(self) -> None:
        self._conceded.refused.clear()
        self._known.keep(self._key)

    @property
    def _dropped(self) -> dict[str, str | bool | None]:
        return self._conceded.refused.fields

    def _concede(
        self, fault: Fault, sent: ports.ModelRequest, body: dict[str, Any], given_up: GivenUp
    ) -> Concession | None:
        """Give up what it takes for the request to be taken: learnt here, told once, and remembered once it is."""
        before = deepcopy(self._conceded.refused)
        if conceded := self._learn(fault, sent, body):
            given_up.note(fault, before)
            self._known.learnt(self._key)
        return conceded

    def _learn(self, fault: Fault, sent: ports.ModelRequest, body: dict[str, Any]) -> Concession | None:
        if (learnt := self._conceded.learn(fault, sent, body)) is not None:
            return learnt
        dropped = self._relax(body, fault) if type(fault.error) is errors.ProviderError else ""
        if not dropped or isinstance(dropped, Concession):
            return dropped or self._conceded.learn_at_last(fault, sent, body)
        if dropped in EFFORT_FIELDS and (effort := sent.sampling.effort):
            self._conceded.refused.efforts.add(effort)  # another one may do
            self._dropped.pop(dropped, None)
        possible = allowed_values(fault.message)
        return Concession(f"{dropped} (possible: {', '.join(possible)})" if possible else dropped)

    def effort_for(self, asked: Effort | None) -> str:
        """Tell how much the model is asked to think: as asked or configured, unless the endpoint refused that."""
        effort = asked or self._config.sampling.effort or ""
        return "" if effort in self._conceded.refused.efforts else effort

    def _possible(self, request: ports.ModelRequest) -> ports.ModelRequest:
        """Return a request that defers no tools, or offers none to programs, or for late outputs, once that was
        refused."""
        none = frozenset[str]()
        return replace(
            request,
            deferred=request.deferred if self.searches_tools else none,
            programs=request.programs if self.runs_programs else "off",
            late=request.late if self._knows(self.patient, LATE, self._config.late_outputs) else none,
        )

    @property
    def searches_tools(self) -> bool:
        wanted = self._config.tool_search
        there = self._where.is_vendor if wanted is None else wanted
        return there and self.has_tool_search and DEFERRED not in self._dropped

    @property
    def runs_programs(self) -> bool:
        return self._knows(self.programmers, PROGRAMS, self._config.runs_programs)

    def _knows(self, models: re.Pattern[str] | None, field: str, said: bool | None) -> bool:
        """Tell whether the model is one of `models` at their vendor, or was `said` to be, until it refused `field`."""
        if models is None or field in self._dropped:
            return False
        return self._where.is_vendor and models.search(self.model) is not None if said is None else said

    @property
    def no_pictures(self) -> str:
        """Say why no pictures are sent, once that is so."""
        return "" if self._conceded.refused.sees else "its endpoint refused one"

    def _watched(self, answer: WireAnswer) -> WireAnswer:
        """Show an answer's events to who watches, if anybody does."""
        watch, event, done = self.watch, answer.event, answer.done_marker
        if watch is None:
            return answer

        def shown(name: str, data: dict[str, Any]) -> None:
            watch(name, data)
            event(name, data)

        def marked() -> None:
            watch("[DONE]", {})
            done()

        watched: Any = answer
        watched.event, watched.done_marker = shown, marked
        return answer

    def _load_for_answer(self) -> None:
        """Load what reads an answer, and the table of prices, while the model is being waited for."""
        if self._loading is None:
            self._loading = asyncio.get_running_loop().run_in_executor(None, self._load)

    def _load(self) -> None:
        load_reading()
        if catalog.place_in_table(self.name, self._config.base_url) is not None:
            catalog.preload()

    async def _try(self, body: dict[str, Any], answer: WireAnswer) -> AsyncGenerator[ch.Chunk]:
        """Try once: all chunks that could be read, also those before a failure."""
        count = 0
        async with (
            self._limiter.request(self.model),
            self._client.request("POST", self.path, body, on_sent=self._load_for_answer) as response,
            aclosing(read_answer(response, answer, self._config.read_timeout)) as reads,
        ):
            self._limiter.learned(response.headers)
            if self.watch_headers is not None:
                self.watch_headers(response.headers)
            try:
                async for _ in reads:
                    for chunk in answer.take():
                        yield chunk
                        count += 1
                        if count % ch.SLICE == 0:
                            await asyncio.sleep(0)
            except Exception as error:
                if isinstance(error, NotAnAnswer):
                    error.kind = response.headers.get("content-type", "")
                elif isinstance(error, ServerFault):
                    error.headers = response.headers
                for chunk in answer.take():
                    yield chunk
                raise

    def _last(self, answer: WireAnswer, body: dict[str, Any]) -> list[ch.Chunk]:
        if FAILED_CALL.search(answer.said):
            answer.chunks.append(
                ch.NoticeChunk(f"{self.name} could not read a call of the model: it was not run.", "warning")
            )
        finish = answer.end()
        if self._conceded.refused.hides_cuts and finish.reason == "stop" and (tokens := answer.tokens()):
            limits = [body[name] for name in LIMIT_NAMES if isinstance(body.get(name), int)]
            finish = ch.FinishChunk("length") if limits and tokens[1] >= min(limits) else finish
        return [*answer.take(), *self._usage(answer), finish]

    def _usage(self, answer: WireAnswer) -> list[ch.Chunk]:
        tokens = answer.tokens()
        if tokens is None:
            return []
        written, url = answer.cache_written, self._config.base_url
        price = catalog.cost(self.name, self.model, *tokens, cache_written=written, base_url=url)
        return [ch.UsageChunk(*tokens, price)]

    # -- what went wrong

    def _fault(self, failure: Exception, *, tools_sent: bool) -> Fault:
        log.debug("request to %s failed: %s", self.name, type(failure).__name__)
        match failure:
            case errors.ProviderError():
                return Fault(failure)
            case CallUnread():
                hint = "Try again, or another model. Protocol text (/protocol text) asks for calls as text."
                problem = errors.ProviderError(
                    f"{self._where}: the model wrote a call that its endpoint could not read", hint
                )
                return Fault(problem, code="malformed_function_call")
            case StreamCut():
                why = "the stream ended before the model said that it had finished"
                return Fault(
                    errors.AnswerInterrupted(f"{self._where}: {why}", "Try again."), True, "the stream ended early"
                )
            case OnlyKeepAlives():
                what = f"{self._where}: nothing but keep-alives came for {self._config.read_timeout:g} s"
                silent = errors.ProviderError(what, "The server hangs, or the model is too slow.")
                silent.unavailable = True
                return Fault(silent, False, "silence")
            case NotAnAnswer():
                return Fault(not_a_stream(failure.body, failure.kind, self._where))
            case BadEvent():
                start = one_line(self._where.scrub(failure.data), 120)
                return Fault(
                    errors.AnswerInterrupted(f"{self._where}: sent an event that is not JSON: {start}", "Try again.")
                )
            case _:
                return fault_of(failure, self._where, tools_sent=tools_sent)


def _with_word(request: ports.ModelRequest) -> ports.ModelRequest:
    """Return `request` with a word on the call that could not be read, for this step alone."""
    *before, last = request.messages
    if isinstance(last, UserMessage):
        last = last.model_copy(update={"content": f"{last.content}\n\n{UNREADABLE_CALL}"})
        return replace(request, messages=(*before, last))
    return replace(request, messages=(*request.messages, UserMessage(content=UNREADABLE_CALL, origin="fanout")))


def load_reading() -> None:
    """Import what reads an answer's text for calls and compile its patterns, 0.2 s in all."""
    import_module("console_app.providers.text_protocol.reading")
    prepare()
