"""One conversation with a server through the SDK, both ways: opened, called, answered and closed in its owner's task.

This module and those it imports load the SDK (0.7 s); `connection` imports it in a thread, once a server is starting.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext
from mcp.client.session import ClientSession
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmptyResult,
    ErrorData,
    Implementation,
    ListRootsResult,
    PingRequest,
    Root,
    SamplingMessage,
    SetLevelRequest,
    SetLevelRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, TypeAdapter, ValidationError

from console_app._version import __version__
from console_app.config.secrets import Redactor
from console_app.domain import FanoutError, Level, ports, questions, safe_text
from console_app.domain.schema import forms
from console_app.domain.settings import Sampling
from console_app.mcp_client.connecting import faults, tasks
from console_app.mcp_client.connecting.asking import Asking
from console_app.mcp_client.connecting.faults import CallRefused, ConnectionLost, SessionGone
from console_app.mcp_client.connecting.status import LeftOut
from console_app.mcp_client.connecting.wire import BegunTask, Wire, WireCall, current_call
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
from console_app.mcp_client.tools.schemas import OutputSchemas, check_schema
from console_app.mcp_client.traffic import Exchanges
from console_app.mcp_client.transport import Streams, refused, seconds_to_wait

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
_ELICIT: TypeAdapter[ElicitRequestParams] = TypeAdapter(ElicitRequestParams)
_PAGE_SECONDS = 600.0  # that a call waits for what the user does on a page it can't do without


class _Callbacks:
    """Answers to what a server asks of the client: elicitation, sampling, roots.

    A question that belongs to a call ends with it: the server then hears `cancel`.
    """

    def __init__(self, wire: Wire, surroundings: Surroundings) -> None:
        self._wire = wire
        self._server = surroundings.server
        self._asking = surroundings.asking
        self._roots: Callable[[], Sequence[Path]] = surroundings.roots or tuple
        self._given = surroundings.given
        self._open = 0  # questions that wait for an answer

    async def elicit(
        self, context: ClientRequestContext | None, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """Ask the user to fill in a form or to open a page."""
        call, waiting = self._wire.asking()
        if self._asks_too_much(waiting):
            return ElicitResult(action="cancel")
        question = self._question(params, call, waiting)
        answer = await self._for_calls(waiting, self._asking.elicit(question, _reporters(waiting)))
        if answer is not None and answer.content is not None:
            self._given.add(*forms.secrets_in(question.schema, answer.content))
        return _elicit_result(answer or questions.ElicitationAnswer("cancel"))

    async def open_pages(self, pages: Sequence[ElicitRequestURLParams], call: WireCall) -> bool:
        """Open the pages that a call can't do without; return whether the user agreed to all of them."""
        for page in pages:
            answer = await self._asking.elicit(self._question(page, call, [call]), [call.reporter])
            if answer.action != "accept":
                return False
        return True

    async def sample(
        self, context: ClientRequestContext | None, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """Ask the model."""
        if params.tools:
            return ErrorData(code=INVALID_PARAMS, message="Sampling with tools is not supported")
        call, waiting = self._wire.asking()
        if not waiting:
            return ErrorData(code=DECLINED, message="The model is asked only for a tool call that runs")
        if self._asks_too_much(waiting):
            return ErrorData(code=DECLINED, message=f"The model is asked at most {MOST_ASKED} times for a call")
        request = questions.SamplingRequest(
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

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a question of a task, as it would be one of the server's own."""
        match method:
            case "elicitation/create":
                return await self.elicit(None, _ELICIT.validate_python(params, by_name=False))
            case "sampling/createMessage":
                return await self.sample(None, CreateMessageRequestParams.model_validate(params, by_name=False))
            case "roots/list":
                return await self.list_roots(None)
            case _:
                return ErrorData(code=METHOD_NOT_FOUND, message=f"{method} is not known")

    async def list_roots(self, context: ClientRequestContext | None) -> ListRootsResult:
        """Return the folders that the server may work in."""
        roots = [
            Root(uri=FileUrl(root.as_uri()), name=safe_text.encodable(root.name or str(root))) for root in self._roots()
        ]
        return ListRootsResult(roots=roots)

    def _asks_too_much(self, calls: Sequence[WireCall]) -> bool:
        """Count a question that may be of any of `calls`, as one of that which asked least; whether it is one too
        many, which that call is told once."""
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
        self, params: ElicitRequestParams, call: WireCall | None, candidates: Sequence[WireCall]
    ) -> questions.Elicitation:
        call_id = call.call_id if call is not None else ""
        if isinstance(params, ElicitRequestFormParams):
            schema = params.requested_schema
            return questions.Elicitation(
                self._server, params.message, call_id, schema=schema, candidates=_ids(candidates)
            )
        return questions.Elicitation(
            self._server, params.message, call_id, mode="url", url=params.url, candidates=_ids(candidates)
        )


def _ids(calls: Sequence[WireCall]) -> tuple[str, ...]:
    return tuple(call.call_id for call in calls)


def _reporters(calls: Sequence[WireCall]) -> list[ports.CallReporter]:
    return [call.reporter for call in calls]


def _elicit_result(answer: questions.ElicitationAnswer) -> ElicitResult:
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


@dataclass(frozen=True, slots=True)
class ServerListing:
    """A server's tools, and those that can't be offered."""

    tools: tuple[Tool, ...]
    rejected: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a session: where its log goes, who answers its questions, what keeps its messages."""

    server: str
    log: Callable[[Level, str], None]
    asking: Asking
    exchanges: Exchanges
    log_level: Callable[[], Level]
    roots: Callable[[], Sequence[Path]] | None  # None: it is told nothing of folders
    protocol: str | None  # the one version to speak, where mcp.json pins it
    given: Redactor  # knows the secrets that the server has, typed ones too


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
        """The version both sides agreed on."""
        return self._client.protocol_version

    @property
    def server_info(self) -> str:
        """Name and version, as the server gives them."""
        info = self._client.server_info
        return f"{info.name} {info.version}".strip() if info else ""

    @property
    def instructions(self) -> str:
        """The words that the server has for a model about itself."""
        return self._client.instructions or ""

    # Lists. Errors are the SDK's: a listing that fails at the start is the connection's failure.

    async def list_tools(self) -> ServerListing:
        """Return every page of the tools; none for a server that knows no such method, whatever it advertised."""
        left_out = self._wire.left_out["tools/list"] = []
        tools: dict[str, Tool] = {}
        rejected: list[LeftOut] = []
        try:
            pages = await reading.every_page(
                lambda cursor: self._client.list_tools(cursor=cursor), lambda page: page.tools
            )
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
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
        whole = [one for one in left_out if not one.field]
        listing = await asyncio.to_thread(_checked, tools, [*whole, *rejected])
        self._outputs.listed(listing.tools)
        self._as_tasks = frozenset(tool.name for tool in listing.tools if tasks.wants_task(self._client, tool))
        return listing

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
        """The fields that were left out of what the server lists."""
        kinds = {"tools/list": "tool", **reading.LISTS}
        listed = self._wire.left_out.items()
        return tuple(replace(one, kind=kinds[method]) for method, found in listed for one in found if one.field)

    # Calls and what else is asked of a server. All of these raise ConnectionLost and CallRefused.

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        reporter: ports.CallReporter,
        meta: dict[str, Any],
        call_id: str = "",
        begun: BegunTask | None = None,
    ) -> CallToolResult:
        """Make one call, or wait for the task that it became before. Cancelling the awaiting task cancels it at the
        server."""
        call = WireCall(f"call-{next(self._tokens)}", reporter, call_id, begun)
        self._wire.open(call)
        marker = current_call.set(call)
        answered = False
        try:
            with self._plain_errors():
                result = await self._call(call, tool, arguments, meta)
                if call.begun is not None and call.begun.task and not result.is_error:
                    await self._outputs.validate_tool_result(tool, result)
            answered = True
            return result
        except (ConnectionLost, CallRefused):
            answered = True
            raise
        finally:
            current_call.reset(marker)
            self._wire.close(call, abandoned=not answered)

    async def _call(self, call: WireCall, tool: str, arguments: dict[str, Any], meta: dict[str, Any]) -> CallToolResult:
        if call.begun is not None and call.begun.task:
            return await self.followed(self._client.session, call.begun.task)
        fields: Any = {**meta, "progressToken": call.token}
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            fields.setdefault(LOG_LEVEL_META_KEY, self._surroundings.log_level())
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

    async def _made(self, tool: str, arguments: dict[str, Any], meta: Any) -> CallToolResult:
        if tool not in self._as_tasks or self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._client.call_tool(tool, arguments, meta=meta)
        task, result = await tasks.begin(self._client, tool, arguments, meta)
        return result if result is not None else await self.followed(self._client.session, task)

    async def followed(self, session: ClientSession, task: str) -> CallToolResult:
        """Return the result of a task that the call of this asyncio task became."""
        if (call := current_call.get()) is not None and call.begun is not None:
            await call.begun.keep(task)
        return await tasks.follow(session, task, self._callbacks.answer)

    async def _pages_done(self, pages: Sequence[ElicitRequestURLParams], call: WireCall) -> bool:
        """Return whether the user agreed to the pages that a call needs, and the server says that they are done."""
        completions = {page.elicitation_id: self.changes.completion(page.elicitation_id or "") for page in pages}
        try:
            if not await self._callbacks.open_pages(pages, call):
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
            return await reading.read_resource(self._client, uri, files)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], files: convert.ResultFiles
    ) -> list[PromptMessage]:
        """Return the messages of a prompt, filled in."""
        with self._plain_errors():
            return await reading.get_prompt(self._client, name, arguments, files)

    async def complete(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: Mapping[str, str]
    ) -> list[str]:
        """Return what the server proposes for an argument that is being typed."""
        with self._plain_errors():
            return await reading.complete(self._client, ref, argument, value, others)

    async def subscribe(self, uri: str, *, on: bool) -> None:
        """Ask for updates of a resource, or no longer."""
        (self.changes.subscribed.add if on else self.changes.subscribed.discard)(uri)
        self.changes.resubscribe.set()
        with self._plain_errors():
            await reading.subscribe(self._client, uri, on=on)

    async def set_log_level(self, level: Level) -> None:
        """Ask for log lines from that level on. From 2026-07-28 each call says so itself."""
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS or self._client.server_capabilities.logging is None:
            return
        with self._plain_errors():
            request = SetLevelRequest(params=SetLevelRequestParams(level=level))
            await self._client.session.send_request(request, EmptyResult)

    async def ping(self) -> None:
        """Return with a sign of life, a refusal too. From 2026-07-28 there is no `ping`: it is asked what it is."""
        try:
            with self._plain_errors():
                if self.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    await self._client.session.send_discover(self.protocol_version)
                else:
                    await self._client.session.send_request(PingRequest(), EmptyResult)
        except CallRefused:
            return

    @property
    def over(self) -> bool:
        """True once nothing more should be asked, since no answer would come."""
        return self._gone or self.ended.is_set()

    def _end(self) -> None:
        """End the session, which is to be begun anew; calls that run may still have their own answers."""
        self._gone = True
        if self._wire.runs_others():
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
            if error.message == SESSION_TERMINATED or _forgotten(error, refusal):
                self._end()
                raise SessionGone(faults.protocol_reason(error.message)) from error
            if error.code == CONNECTION_CLOSED and error.message.startswith(_LOST):
                # The owner can't see this of an HTTP connection: listing the tools shows whether it still holds.
                self.changes.add("tools")
                raise ConnectionLost(faults.protocol_reason(error.message)) from error
            raise CallRefused(faults.protocol_reason(error.message, refusal)) from error
        except ValidationError as error:
            raise CallRefused(
                f"The server's answer doesn't fit the protocol ({faults.first_problem(error)})."
            ) from error
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
    traffic = surroundings.exchanges.traffic(surroundings.server)
    wire = Wire(surroundings.log, traffic, surroundings.log_level, surroundings.server, surroundings.given, older)
    callbacks = _Callbacks(wire, surroundings)

    async def followed(of: ClientSession, task: str) -> CallToolResult:
        return await session.followed(of, task)

    client = Client(
        wire.around(transport),
        mode="legacy" if legacy or older else "auto",
        cache=None,
        client_info=Implementation(name="fanout", title="Fanout", version=__version__),
        message_handler=changes.heard,
        elicitation_callback=callbacks.elicit,
        sampling_callback=callbacks.sample,
        list_roots_callback=callbacks.list_roots if surroundings.roots is not None else None,
        log_level=surroundings.log_level(),
        extensions=[tasks.TaskExtension(followed)],
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


def _forgotten(error: MCPError, refusal: str) -> bool:
    """Return whether the server has no such session, which a JSON error beside its 404 or 400 says."""
    said = error.message.lower()
    return refusal.startswith(_NO_SESSION) and any(words in said for words in _BEGUN_ANEW)


def _pages(error: MCPError) -> Sequence[ElicitRequestURLParams]:
    """Return the pages that a call can't do without, as its error names them."""
    if error.code != URL_ELICITATION_REQUIRED:
        return ()
    try:
        return UrlElicitationRequiredError.from_error(error.error).elicitations
    except ValidationError:
        return ()


def _checked(tools: dict[str, Tool], rejected: list[LeftOut]) -> ServerListing:
    # In a thread: checking a schema takes a millisecond and there may be a thousand. It also loads the validator,
    # which would otherwise make the first calls wait 0.1 s.
    accepted: list[Tool] = []
    for tool in tools.values():
        if problem := check_schema(tool.input_schema):
            rejected.append(LeftOut(tool.name, problem))
        else:
            accepted.append(tool)
    return ServerListing(tuple(accepted), tuple(rejected))
