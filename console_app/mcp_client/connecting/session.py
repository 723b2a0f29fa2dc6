"""A conversation with a server through the SDK, both ways: opened, called, answered and closed in its owner's task.

This module and those it imports load the SDK (0.7 s); `connection` imports it in a thread, once a server is starting.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict, Field, FileUrl, TypeAdapter, ValidationError

from console_app._version import __version__
from console_app.domain import FanoutError, Level, ports, questions, safe_text
from console_app.domain.schema import forms
from console_app.domain.settings import Sampling
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.connecting.asking import Surroundings
from console_app.mcp_client.connecting.faults import CallRefused, ConnectionLost, SessionGone
from console_app.mcp_client.connecting.status import LeftOut
from console_app.mcp_client.connecting.task_ids import BegunTask
from console_app.mcp_client.connecting.wire import Wire, WireCall, current_call
from console_app.mcp_client.offering import reading
from console_app.mcp_client.offering.changes import ChangeNotices, listen
from console_app.mcp_client.offering.offers import (
    Offers,
    PromptMessage,
    ResourceContent,
    ResourceTemplate,
    ServerPrompt,
)
from console_app.mcp_client.tools import convert
from console_app.mcp_client.tools.atlas import AtlasUpdates
from console_app.mcp_client.tools.schemas import OutputSchemas, check_schema
from console_app.mcp_client.transport import Streams, refused, seconds_to_wait
from console_app.records import replace

# Calls that their server runs as tasks: it gives an id at once, and is asked how the task stands until it is over.
#
# A task outlives the connection that began it. In 2025-11-25 a call asks to be one, and its result is fetched on its
# own; from 2026-07-28 on (an extension) the server decides, and how a task stands says its result or its questions.
EXTENSION: Final = "io.modelcontextprotocol/tasks"
_POLL_SECONDS = 1.0  # where the server names no interval,
_SHORTEST, _LONGEST = 0.1, 30.0  # and the bounds of one that it names
_CANCEL_SECONDS = 2.0  # for a server to hear that a task is given up
_OVER: Final = ("completed", "failed", "cancelled")
_RAW: Any = TypeAdapter(dict[str, Any])  # the SDK's own models refuse what they don't know
Answer = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Answers a question of a task, by its method and parameters."""
Resolver = Callable[[ClientSession, str], Awaitable[types.CallToolResult]]


class _Updates(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any]


class _UpdateTask(types.Request[_Updates, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _Updates


class _Begun(types.Result):
    """The answer to a call that its server made a task of."""

    result_type: Literal["task"] = Field(alias="resultType", default="task")
    task_id: str = Field(alias="taskId")


class TaskExtension(ClientExtension):
    """Tells a server of 2026-07-28 that calls may become tasks; `resolve` waits for one."""

    identifier = EXTENSION

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve

    def claims(self) -> Sequence[ResultClaim[Any]]:
        async def resolve(begun: _Begun, context: ClaimContext) -> types.CallToolResult:
            return await self._resolve(context.session, begun.task_id)

        return (ResultClaim(result_type="task", model=_Begun, resolve=resolve),)


def wants_task(client: Client, tool: types.Tool) -> bool:
    """Return whether calls of a tool are to be tasks: where it runs in no other way, or in that one too."""
    support = tool.execution.task_support if tool.execution is not None else None
    offered = client.server_capabilities.tasks
    able = offered is not None and offered.requests is not None and offered.requests.tools is not None
    return support == "required" or (support == "optional" and able)


async def begin(
    client: Client, tool: str, arguments: dict[str, Any], meta: Any
) -> tuple[str, types.CallToolResult | None]:
    """Make a call a task; return its id, or "" and the result where the server ran the call at once."""
    params = types.CallToolRequestParams(name=tool, arguments=arguments, task=types.TaskMetadata(), _meta=meta)
    raw: dict[str, Any] = await client.session.send_request(types.CallToolRequest(params=params), _RAW)
    task = safe_text.as_object(raw.get("task")).get("taskId")
    return (
        (task, None)
        if isinstance(task, str) and task
        else ("", types.CallToolResult.model_validate(raw, by_name=False))
    )


async def follow(session: ClientSession, task: str, answer: Answer) -> types.CallToolResult:
    """Return the result of a task once it is over. Cancelling the awaiting task cancels it at the server.

    Raises CallRefused where it failed without a result, and what the SDK raises where the connection is lost.
    """
    call = current_call.get()
    result: asyncio.Task[types.CallToolResult] | None = None
    answered: set[str] = set()
    try:
        while True:
            state: dict[str, Any] = await session.send_request(
                types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=task)), _RAW
            )
            status, said = str(state.get("status")), state.get("statusMessage")
            told = said if isinstance(said, str) else ""
            if call is not None:
                call.stands(f"{status}: {told}" if told and status != "working" else told or f"task {status}")
            if (inline := _inline(state)) is not None:
                return inline
            asked = safe_text.as_object(state.get("inputRequests"))
            if new := {key: value for key, value in asked.items() if key not in answered}:
                answered |= new.keys()
                await _answer(session, task, new, answer)
            elif result is None and (status in _OVER or (status == "input_required" and not asked)):
                # The server asks on the way of the result, which waits until the task is over.
                payload = types.GetTaskPayloadRequest(params=types.GetTaskPayloadRequestParams(task_id=task))
                fetched = session.send_request(payload, types.CallToolResult)
                result = asyncio.create_task(fetched, name="result of a task")
            if result is None:
                await asyncio.sleep(_interval(state))
            else:
                await asyncio.wait({result}, timeout=_interval(state))
                if result.done():
                    return _ended(result, status, told)
    except asyncio.CancelledError:
        with suppress(Exception):
            async with asyncio.timeout(_CANCEL_SECONDS):
                request = types.CancelTaskRequest(params=types.CancelTaskRequestParams(task_id=task))
                await session.send_request(request, _RAW)
        raise
    finally:
        if result is not None:
            result.cancel()
            await asyncio.gather(result, return_exceptions=True)


def _interval(state: Mapping[str, Any]) -> float:
    named = state.get("pollIntervalMs", state.get("pollInterval"))
    seconds = named / 1000 if isinstance(named, int | float) and not isinstance(named, bool) else _POLL_SECONDS
    return min(max(seconds, _SHORTEST), _LONGEST)


def _inline(state: Mapping[str, Any]) -> types.CallToolResult | None:
    """Return the result that the state of a task holds, from 2026-07-28 on."""
    status = state.get("status")
    if status == "completed" and "result" in state:
        return types.CallToolResult.model_validate(state["result"], by_name=False)
    if status == "failed" and (error := safe_text.as_object(state.get("error"))):
        raise CallRefused(str(error.get("message") or "the task failed"))
    return None


def _ended(result: asyncio.Task[types.CallToolResult], status: str, told: str) -> types.CallToolResult:
    try:
        return result.result()
    except MCPError as error:
        if status not in ("failed", "cancelled"):
            raise
        raise CallRefused(f"The task was {status}: {told or error.message}") from error


async def _answer(session: ClientSession, task: str, asked: Mapping[str, Any], answer: Answer) -> None:
    responses: dict[str, Any] = {}
    for key, question in asked.items():
        fields = safe_text.as_object(question)
        given = await answer(str(fields.get("method")), safe_text.as_object(fields.get("params")))
        if not isinstance(given, types.ErrorData):
            responses[key] = given.model_dump(by_alias=True, mode="json", exclude_none=True)
    await session.send_request(_UpdateTask(params=_Updates(task_id=task, input_responses=responses)), _RAW)


MOST_ASKED: Final = 100  # questions of one call: the call's deadline stands still while each is answered
MOST_TOLD: Final = 20  # prompts and resources that are left out, each with its reason
MOST_OPEN: Final = 20  # questions at once that a server asks for no call
DECLINED = -1  # the code that the protocol's example has for a sampling request the user rejected
T = TypeVar("T")
SESSION_TERMINATED = "Session terminated"  # the SDK's words for a 404 on a session
LAST_ANSWERS: Final = 2.0  # seconds for those of other calls, once a server knows the session no more
_NO_SESSION: Final = ("HTTP 404", "HTTP 400")  # how a server refuses one that it doesn't know,
_BEGUN_ANEW: Final = ("session", "not initialized")  # and in which words
# The SDK's words for an answer that can't come any more: its code is also the one that servers give most errors.
_LOST: Final = ("Connection closed", "SSE stream ")
_ELICIT: TypeAdapter[types.ElicitRequestParams] = TypeAdapter(
    types.ElicitRequestParams, config=ConfigDict(defer_build=True)
)
_PAGE_SECONDS = 600.0  # that a call waits for what the user does on a page it can't do without


class _Callbacks:
    """Answers to what a server asks of the client: elicitation, sampling, roots.

    A question that belongs to a call ends with it: the server then hears `cancel`.
    """

    def __init__(self, wire: Wire, surroundings: Surroundings) -> None:
        self._wire = wire
        self._server = surroundings.server
        self._asking = surroundings.asking
        self._log = surroundings.log
        self._roots: Callable[[], Sequence[Path]] = surroundings.roots or tuple
        self._given = surroundings.given
        self._open = 0  # questions that wait for an answer

    async def elicit(
        self, context: ClientRequestContext | None, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        call, waiting = self._wire.asking()
        if self._asks_too_much(waiting):
            return types.ElicitResult(action="cancel")
        question = self._question(params, call, waiting)
        answer = await self._for_calls(waiting, self._asking.elicit(question, _reporters(waiting), self._log))
        if answer is not None and answer.content is not None:
            self._given.add(*forms.secrets_in(question.schema, answer.content))
        if answer is None or answer.action != "accept" or answer.content is None:
            return types.ElicitResult(action=answer.action if answer is not None else "cancel")
        return types.ElicitResult(action="accept", content=dict(answer.content))

    async def open_page(self, page: types.ElicitRequestURLParams, call: WireCall) -> bool:
        """Open a page that a call can't do without; return whether the user agreed to it."""
        return (
            await self._asking.elicit(self._question(page, call, [call]), [call.reporter], self._log)
        ).action == "accept"

    async def sample(
        self, context: ClientRequestContext | None, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        if params.tools:
            return types.ErrorData(code=types.INVALID_PARAMS, message="Sampling with tools is not supported")
        call, waiting = self._wire.asking()
        if not waiting:
            return types.ErrorData(code=DECLINED, message="The model is asked only for a tool call that runs")
        if self._asks_too_much(waiting):
            return types.ErrorData(code=DECLINED, message=f"The model is asked at most {MOST_ASKED} times for a call")
        hints = params.model_preferences.hints if params.model_preferences else None
        request = questions.SamplingRequest(
            server=self._server,
            call_id=call.call_id if call is not None else "",
            candidates=_ids(waiting),
            messages=tuple(
                questions.SamplingMessage(
                    one.role, "\n".join(it.text if it.type == "text" else f"[{it.type}]" for it in one.content_as_list)
                )
                for one in params.messages
            ),
            sampling=Sampling.model_construct(  # as the server says it: the endpoint judges that
                max_tokens=params.max_tokens, temperature=params.temperature, stop=tuple(params.stop_sequences or ())
            ),
            system=params.system_prompt or "",
            model_hints=tuple(hint.name for hint in hints or () if hint.name),
        )
        try:
            sampled = await self._for_calls(waiting, self._asking.sample(request, _reporters(waiting), self._log))
        except FanoutError as error:
            return types.ErrorData(code=DECLINED, message=f"The model could not be asked: {error.line}")
        if sampled is None:
            return types.ErrorData(code=DECLINED, message="User rejected sampling request")
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=sampled.text),
            model=sampled.model,
            stop_reason=sampled.stop_reason,
        )

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a question of a task, as it would be one of the server's own."""
        match method:
            case "elicitation/create":
                return await self.elicit(None, _ELICIT.validate_python(params, by_name=False))
            case "sampling/createMessage":
                return await self.sample(None, types.CreateMessageRequestParams.model_validate(params, by_name=False))
            case "roots/list":
                return await self.list_roots(None)
            case _:
                return types.ErrorData(code=types.METHOD_NOT_FOUND, message=f"{method} is not known")

    async def list_roots(self, context: ClientRequestContext | None) -> types.ListRootsResult:
        roots = [
            types.Root(uri=FileUrl(root.as_uri()), name=safe_text.encodable(root.name or str(root)))
            for root in self._roots()
        ]
        return types.ListRootsResult(roots=roots)

    def _asks_too_much(self, calls: Sequence[WireCall]) -> bool:
        """Count a question as one of the call that asked least, and tell whether it is one too many."""
        if not calls:
            return self._open >= MOST_OPEN
        call = min(calls, key=lambda one: one.asked)
        call.asked += 1
        if call.asked == MOST_ASKED + 1:
            call.reporter.log("warning", f"the server asks more than {MOST_ASKED} times: no more is asked for it")
        return call.asked > MOST_ASKED

    async def _for_calls(self, calls: Sequence[WireCall], asking: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `asking`; None when every call that it may be asked for has ended meanwhile."""
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
        self, params: types.ElicitRequestParams, call: WireCall | None, candidates: Sequence[WireCall]
    ) -> questions.Elicitation:
        call_id, ids = call.call_id if call is not None else "", _ids(candidates)
        if isinstance(params, types.ElicitRequestFormParams):
            form = params.requested_schema
            return questions.Elicitation(self._server, params.message, call_id, schema=form, candidates=ids)
        return questions.Elicitation(self._server, params.message, call_id, mode="url", url=params.url, candidates=ids)


def _ids(calls: Sequence[WireCall]) -> tuple[str, ...]:
    return tuple(call.call_id for call in calls)


def _reporters(calls: Sequence[WireCall]) -> list[ports.CallReporter]:
    return [call.reporter for call in calls]


class ServerSession:
    """An initialised connection. Calls may come from any task; `ended` is set when no answer can come any more."""

    def __init__(
        self,
        client: Client,
        wire: Wire,
        changes: ChangeNotices,
        callbacks: _Callbacks,
        surroundings: Surroundings,
    ) -> None:
        self._client = client
        self._wire = wire
        self._callbacks = callbacks
        self._surroundings = surroundings
        self._tokens = itertools.count(1)
        self._gone = False  # the server knows it no more
        self._outputs = OutputSchemas()
        self._as_tasks: frozenset[str] = frozenset()  # tools whose calls are tasks
        # On the instance, which the SDK looks at: its own judging is not bounded (structured_results).
        client.session.validate_tool_result = self._outputs.validate_tool_result
        self.changes = changes
        self.ended = wire.ended

    @property
    def protocol_version(self) -> str:
        return self._client.protocol_version

    @property
    def about(self) -> tuple[str, str, str]:
        """Return the protocol's version, the server's name with its version, and its instructions."""
        info = self._client.server_info
        named = f"{info.name} {info.version}".strip() if info else ""
        return self.protocol_version, named, self._client.instructions or ""

    # Lists. Errors are the SDK's: a listing that fails at the start is the connection's failure.

    async def list_tools(self) -> tuple[tuple[types.Tool, ...], tuple[LeftOut, ...]]:
        """Return the tools, none for a server that knows no such method, and those that can't be offered."""
        dropped = self._wire.left_out["tools/list"] = []
        tools: dict[str, types.Tool] = {}
        rejected: list[LeftOut] = []
        try:
            pages = await reading.every_page(
                lambda cursor: self._client.list_tools(cursor=cursor), lambda page: page.tools
            )
        except MCPError as error:
            if error.code != types.METHOD_NOT_FOUND:
                raise
            pages = []
        for tool in (tool for page in pages for tool in page.tools):
            if len(tools) >= reading.MOST_LISTED:
                rejected.append(LeftOut(tool.name, f"its server lists more than {reading.MOST_LISTED:,} tools"))
                break
            if tool.name in tools:
                rejected.append(LeftOut(tool.name, "it is listed twice"))
            else:
                tools[tool.name] = tool
        else:
            if why := reading.cut_short(pages):
                rejected.append(LeftOut("what comes after", why))
        whole = [one for one in dropped if not one.field]
        accepted, left_out = await asyncio.to_thread(_checked, tools, [*whole, *rejected])
        self._outputs.listed(accepted)
        self._as_tasks = frozenset(tool.name for tool in accepted if wants_task(self._client, tool))
        return accepted, left_out

    async def offers(self, seconds: float, so_far: Callable[[Offers], None]) -> Offers:
        """Return prompts, resources and templates, as far as the server advertises them and lists them in that time.

        `so_far` is given those that are there where one of the lists takes long.
        """
        for method in reading.LISTS:
            self._wire.left_out[method] = []
        offers = await reading.offers(self._client, self._surroundings.server, seconds, so_far)
        left_out = [
            f"the {what} {one.name} is left out: {one.reason}"
            for method, what in reading.LISTS.items()
            for one in self._wire.left_out[method]
            if not one.field
        ]
        more = [f"{len(left_out) - MOST_TOLD} more are left out"] if len(left_out) > MOST_TOLD else []
        return replace(offers, problems=(*offers.problems, *left_out[:MOST_TOLD], *more))

    @property
    def trimmed(self) -> tuple[LeftOut, ...]:
        kinds = {"tools/list": "tool", **reading.LISTS}
        listed = self._wire.left_out.items()
        return tuple(replace(one, kind=kinds[method]) for method, found in listed for one in found if one.field)

    async def build_calls(self) -> None:
        """Build the SDK's models of a call and its result, between others' work: the first call would wait for them."""
        for model in (
            types.CallToolRequestParams,
            types.CallToolRequest,
            types.CallToolResult,
            types.InputRequiredResult,
        ):
            model.model_rebuild()
            await asyncio.sleep(0)
        with suppress(KeyError, ValueError):  # the SDK has a model of its own for each version that it checks
            methods.validate_server_result("tools/call", self.protocol_version, {"content": []})

    # Calls and what else is asked of a server. All of these raise ConnectionLost and CallRefused.

    async def call(
        self,
        invocation: ports.Invocation,
        arguments: dict[str, Any],
        updates: AtlasUpdates,
        begun: BegunTask,
    ) -> types.CallToolResult:
        """Make a call, or wait for the task that it became before. To cancel the awaiting task cancels it at the
        server."""
        tool = invocation.spec.tool
        call = WireCall(f"call-{next(self._tokens)}", updates.reporter, updates.progress, invocation.call_id, begun)
        self._wire.calls.open(call)
        marker = current_call.set(call)
        try:
            with self._plain_errors():
                result = await self._call(call, tool, arguments, invocation.meta)
                if begun.task and not result.is_error:
                    await self._outputs.validate_tool_result(tool, result)
            return result
        finally:
            current_call.reset(marker)
            self._wire.calls.close(call)

    async def _call(
        self, call: WireCall, tool: str, arguments: dict[str, Any], meta: Mapping[str, Any]
    ) -> types.CallToolResult:
        if call.begun.task:
            return await self.followed(self._client.session, call.begun.task)
        fields: Any = {**meta, "progressToken": call.token}
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            fields.setdefault(types.LOG_LEVEL_META_KEY, self._surroundings.log_level())
        for tries in itertools.count(1):
            try:
                return await self._made(tool, arguments, fields)
            except MCPError as error:
                if (wait := seconds_to_wait(error, tries)) is None:
                    pages = _pages(error)
                    if not pages:
                        raise
                    if not await self._pages_done(pages, call):
                        named = " and ".join(page.url for page in pages)
                        raise CallRefused(f"{error.message.rstrip('.')}: open {named}, then call again.") from error
                    break
            call.reporter.log("info", f"The server has no room for the call: it is sent again in {wait:g} s.")
            await asyncio.sleep(wait)
        # The first time nothing was run: the server said that it needs the page first.
        return await self._made(tool, arguments, fields)

    async def _made(self, tool: str, arguments: dict[str, Any], meta: Any) -> types.CallToolResult:
        if tool not in self._as_tasks or self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._client.call_tool(tool, arguments, meta=meta)
        task, result = await begin(self._client, tool, arguments, meta)
        return result if result is not None else await self.followed(self._client.session, task)

    async def followed(self, session: ClientSession, task: str) -> types.CallToolResult:
        if (call := current_call.get()) is not None:
            await call.begun.keep(task)
        return await follow(session, task, self._callbacks.answer)

    async def _pages_done(self, pages: Sequence[types.ElicitRequestURLParams], call: WireCall) -> bool:
        """Return whether the user agreed to the pages that a call needs, and the server says that they are done."""
        completions = {page.elicitation_id: self.changes.completion(page.elicitation_id or "") for page in pages}
        try:
            for page in pages:
                if not await self._callbacks.open_page(page, call):
                    return False
            with call.reporter.held():
                try:
                    async with asyncio.timeout(_PAGE_SECONDS):
                        for completion in completions.values():
                            await completion.wait()
                except TimeoutError:
                    pass  # not every server says so: the second try shows
            return True
        finally:
            for identifier in completions:
                self.changes.forget(identifier or "")

    async def read_resource(self, uri: str, files: convert.ResultFiles) -> list[ResourceContent]:
        """Return the parts of a resource; bytes become files."""
        with self._plain_errors():
            result = await self._client.read_resource(uri)
        parts = [await asyncio.to_thread(reading.content, one, files) for one in result.contents[: convert.MOST_FILES]]
        left_out = len(result.contents) - len(parts)
        return [*parts, ResourceContent(uri, "text/plain", _left_out(left_out, "parts"))] if left_out else parts

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], files: convert.ResultFiles
    ) -> list[PromptMessage]:
        with self._plain_errors():
            result = await self._client.get_prompt(name, dict(arguments))
        messages: list[PromptMessage] = []
        for message in result.messages[: convert.MOST_FILES]:
            block = message.content
            if block.type == "resource":
                content = await asyncio.to_thread(reading.content, block.resource, files)
                messages.append(PromptMessage(message.role, "", (content,)))
                continue
            text, file = await asyncio.to_thread(convert.block_text, block, files)
            if block.type in ("image", "audio"):
                content = ResourceContent("", file.mime if file else "", text, file)
                messages.append(PromptMessage(message.role, "", (content,)))
            else:
                messages.append(PromptMessage(message.role, text))
        if left_out := len(result.messages) - len(messages):
            messages.append(PromptMessage("user", _left_out(left_out, "messages")))
        return messages

    async def complete(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: Mapping[str, str]
    ) -> list[str]:
        """Return what the server proposes for an argument that is being typed; nothing where it has no completion."""
        if self._client.server_capabilities.completions is None:
            return []
        target: Any = (
            types.PromptReference(type="ref/prompt", name=ref.name)
            if isinstance(ref, ServerPrompt)
            else types.ResourceTemplateReference(type="ref/resource", uri=ref.uri_template)
        )
        with self._plain_errors():
            asked = {"name": argument, "value": value}
            result = await self._client.complete(target, asked, dict(others) or None)
        return result.completion.values

    async def subscribe(self, uri: str, *, on: bool) -> None:
        """Ask for updates of a resource, or no longer. From 2026-07-28 the stream of notices does that (`changes`)."""
        (self.changes.subscribed.add if on else self.changes.subscribed.discard)(uri)
        self.changes.resubscribe.set()
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        # Not the client's own methods: they warn on standard error that newer protocols have another way.
        again = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        never = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
        with self._plain_errors():
            await self._client.session.send_request(again if on else never, types.EmptyResult)

    async def set_log_level(self, level: Level) -> None:
        """Ask for log lines from that level on. From 2026-07-28 each call says so itself."""
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS or self._client.server_capabilities.logging is None:
            return
        with self._plain_errors():
            request = types.SetLevelRequest(params=types.SetLevelRequestParams(level=level))
            await self._client.session.send_request(request, types.EmptyResult)

    async def ping(self) -> None:
        """Return with a sign of life, a refusal too. From 2026-07-28 there is no `ping`: it is asked what it is."""
        try:
            with self._plain_errors():
                if self.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    await self._client.session.send_discover(self.protocol_version)
                else:
                    await self._client.session.send_request(types.PingRequest(), types.EmptyResult)
        except CallRefused:
            return

    @property
    def over(self) -> bool:
        """True once nothing more should be asked, since no answer would come."""
        return self._gone or self.ended.is_set()

    def _end(self) -> None:
        """End the session, which is to be begun anew; calls that run may still have their own answers."""
        self._gone = True
        own = current_call.get()
        if any(call is not own for call in self._wire.calls.running()):
            asyncio.get_running_loop().call_later(LAST_ANSWERS, self.ended.set)
        else:
            self.ended.set()

    @contextmanager
    def _plain_errors(self) -> Generator[None]:
        """Turn what the SDK raises of a request into ConnectionLost or CallRefused."""
        refusals: list[str] = []
        marker = refused.set(refusals)
        try:
            yield
        except MCPError as error:
            refusal = refusals[-1] if refusals else ""
            # The server has no such session, which a JSON error beside its 404 or 400 says.
            said = error.message.lower()
            forgotten = refusal.startswith(_NO_SESSION) and any(words in said for words in _BEGUN_ANEW)
            if error.message == SESSION_TERMINATED or forgotten:
                self._end()
                raise SessionGone(faults.protocol_reason(error.message)) from error
            if error.code == types.CONNECTION_CLOSED and error.message.startswith(_LOST):
                # The owner can't see this of an HTTP connection: listing the tools shows whether it still holds.
                self.changes.add("tools")
                raise ConnectionLost(faults.protocol_reason(error.message)) from error
            raise CallRefused(faults.protocol_reason(error.message, refusal)) from error
        except ValidationError as error:
            what = f"The server's answer doesn't fit the protocol ({faults.first_problem(error)})."
            raise CallRefused(what) from error
        except (ValueError, RuntimeError) as error:
            # Arguments that JSON can't carry.
            raise CallRefused(str(error).partition("\n")[0]) from error
        finally:
            refused.reset(marker)


@asynccontextmanager
async def open_session(
    transport: AbstractAsyncContextManager[Streams],
    surroundings: Surroundings,
    *,
    legacy: bool = False,
) -> AsyncGenerator[ServerSession]:
    """Shake hands over `transport`; `legacy` asks for the older handshake alone."""
    changes, pinned = ChangeNotices(), surroundings.protocol
    older = pinned if pinned in HANDSHAKE_PROTOCOL_VERSIONS else None
    wire = Wire(surroundings, older)
    callbacks = _Callbacks(wire, surroundings)

    async def followed(of: ClientSession, task: str) -> types.CallToolResult:
        return await session.followed(of, task)

    client = Client(
        wire.around(transport),
        mode="legacy" if legacy or older else "auto",
        cache=None,
        client_info=types.Implementation(name="fanout", title="Fanout", version=__version__),
        message_handler=changes.heard,
        elicitation_callback=callbacks.elicit,
        sampling_callback=callbacks.sample,
        list_roots_callback=callbacks.list_roots if surroundings.roots is not None else None,
        log_level=surroundings.log_level(),
        extensions=[TaskExtension(followed)],
    )
    async with client:
        wire.version = client.protocol_version
        if pinned and wire.version != pinned:
            raise RuntimeError(f'mcp.json has "protocol": "{pinned}" for it, and it speaks {wire.version}')
        session = ServerSession(client, wire, changes, callbacks, surroundings)
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        listener = asyncio.create_task(listen(client, changes)) if modern else None
        try:
            yield session
        finally:
            if listener is not None:
                listener.cancel()
                await asyncio.gather(listener, return_exceptions=True)


def _left_out(count: int, what: str) -> str:
    return f"[{count} more {what} are left out: of one answer, the first {convert.MOST_FILES} are kept]"


def _pages(error: MCPError) -> Sequence[types.ElicitRequestURLParams]:
    if error.code != types.URL_ELICITATION_REQUIRED:
        return ()
    try:
        return UrlElicitationRequiredError.from_error(error.error).elicitations
    except ValidationError:
        return ()


def _checked(
    tools: dict[str, types.Tool], rejected: list[LeftOut]
) -> tuple[tuple[types.Tool, ...], tuple[LeftOut, ...]]:
    # In a thread: checking a schema takes a millisecond, there may be a thousand, and the first may load the validator.
    accepted: list[types.Tool] = []
    for tool in tools.values():
        if problem := check_schema(tool.input_schema):
            rejected.append(LeftOut(tool.name, problem))
        else:
            accepted.append(tool)
    return tuple(accepted), tuple(rejected)
