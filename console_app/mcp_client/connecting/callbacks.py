"""Answers the requests that a server makes of the client, in the SDK's types: elicitation, sampling, roots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from mcp.client.context import ClientRequestContext
from mcp_types import (
    INVALID_PARAMS,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    SamplingMessage,
    TextContent,
)
from pydantic import FileUrl

from console_app.config.secrets.redaction import Redactor
from console_app.domain import questions
from console_app.domain.errors import FanoutError
from console_app.domain.ports import CallReporter
from console_app.domain.questions import Elicitation, ElicitationAnswer, SamplingRequest
from console_app.domain.schema.forms import secrets_in
from console_app.domain.settings import Sampling
from console_app.mcp_client.connecting.asking import Asking
from console_app.mcp_client.connecting.running_calls import WireCall
from console_app.mcp_client.connecting.wire import Wire

MOST_ASKED: Final = 100  # questions of one call: the call's deadline stands still while each is answered
MOST_OPEN: Final = 20  # questions at once that a server asks for no call
DECLINED = -1  # the code that the protocol's example has for a sampling request the user rejected
T = TypeVar("T")


class Callbacks:
    """One connection's answers. What belongs to a call ends with it: the server then hears `cancel`."""

    def __init__(
        self, server: str, wire: Wire, asking: Asking, roots: Callable[[], Sequence[Path]], given: Redactor
    ) -> None:
        self._server = server
        self._wire = wire
        self._asking = asking
        self._roots = roots
        self._given = given
        self._open = 0  # questions that wait for an answer

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """A form or a page for the user."""
        call, waiting = self._wire.asking()
        if self._asks_too_much(waiting):
            return ElicitResult(action="cancel")
        question = self._question(params, call, waiting)
        answer = await self._for_calls(waiting, self._asking.elicit(question, _reporters(waiting)))
        if answer is not None and answer.content is not None:
            self._given.add(*secrets_in(question.schema, answer.content))
        return _elicit_result(answer or ElicitationAnswer("cancel"))

    async def open_pages(self, pages: Sequence[ElicitRequestURLParams], call: WireCall) -> bool:
        """The pages that a call can't do without; whether the user agreed to all of them."""
        for page in pages:
            answer = await self._asking.elicit(self._question(page, call, [call]), [call.reporter])
            if answer.action != "accept":
                return False
        return True

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """A question for the model."""
        if params.tools:
            return ErrorData(code=INVALID_PARAMS, message="Sampling with tools is not supported")
        call, waiting = self._wire.asking()
        if not waiting:
            return ErrorData(code=DECLINED, message="The model is asked only for a tool call that runs")
        if self._asks_too_much(waiting):
            return ErrorData(code=DECLINED, message=f"The model is asked at most {MOST_ASKED} times for a call")
        request = SamplingRequest(
            server=self._server,
            call_id=call.call_id if call is not None else "",
            candidates=_ids(waiting),
            messages=tuple(_sampling_message(message) for message in params.messages),
            sampling=Sampling.model_construct(  # as the server says it: the endpoint judges that
                max_tokens=params.max_tokens, temperature=params.temperature, stop=tuple(params.stop_sequences or ())
            ),
            system=params.system_prompt or "",
            model_hints=_hints(params),
        )
        try:
            sampled = await self._for_calls(waiting, self._asking.sample(request, _reporters(waiting)))
        except FanoutError as error:
            return ErrorData(code=DECLINED, message=f"The model could not be asked: {error.line}")
        if sampled is None:
            return ErrorData(code=DECLINED, message="User rejected sampling request")
        return CreateMessageResult(
            role="assistant",
            content=TextContent(type="text", text=sampled.text),
            model=sampled.model,
            stop_reason=sampled.stop_reason,
        )

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        """The folders that the server may work in."""
        return ListRootsResult(
            roots=[Root(uri=FileUrl(root.as_uri()), name=root.name or str(root)) for root in self._roots()]
        )

    def _asks_too_much(self, calls: Sequence[WireCall]) -> bool:
        """Counts a question that may be of any of `calls`, as one of that which asked least; whether it is one too
        many, which that call is told once."""
        if not calls:
            return self._open >= MOST_OPEN
        call = min(calls, key=lambda one: one.asked)
        call.asked += 1
        if call.asked == MOST_ASKED + 1:
            call.reporter.log("warning", f"the server asks more than {MOST_ASKED} times: no more is asked for it")
        return call.asked > MOST_ASKED

    async def _for_calls(self, calls: Sequence[WireCall], asking: Coroutine[Any, Any, T]) -> T | None:
        """What `asking` returns; None when every call that it may be asked for has ended meanwhile."""
        task = asyncio.ensure_future(asking)
        self._open += 1
        for call in calls:
            call.questions.add(task)
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            self._open -= 1
            for call in calls:
                call.questions.discard(task)
        return None if task.cancelled() else task.result()

    def _question(
        self, params: ElicitRequestParams, call: WireCall | None, candidates: Sequence[WireCall]
    ) -> Elicitation:
        call_id = call.call_id if call is not None else ""
        if isinstance(params, ElicitRequestFormParams):
            schema = params.requested_schema
            return Elicitation(self._server, params.message, call_id, schema=schema, candidates=_ids(candidates))
        return Elicitation(
            self._server, params.message, call_id, mode="url", url=params.url, candidates=_ids(candidates)
        )


def _ids(calls: Sequence[WireCall]) -> tuple[str, ...]:
    return tuple(call.call_id for call in calls)


def _reporters(calls: Sequence[WireCall]) -> list[CallReporter]:
    return [call.reporter for call in calls]


def _elicit_result(answer: ElicitationAnswer) -> ElicitResult:
    if answer.action != "accept" or answer.content is None:
        return ElicitResult(action=answer.action)
    return ElicitResult(action="accept", content=dict(answer.content))


def _sampling_message(message: SamplingMessage) -> questions.SamplingMessage:
    parts = [block.text if block.type == "text" else f"[{block.type}]" for block in message.content_as_list]
    role: Literal["user", "assistant"] = message.role
    return questions.SamplingMessage(role, "\n".join(parts))


def _hints(params: CreateMessageRequestParams) -> tuple[str, ...]:
    hints = params.model_preferences.hints if params.model_preferences else None
    return tuple(hint.name for hint in hints or () if hint.name)
