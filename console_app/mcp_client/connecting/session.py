"""One conversation with a server through the SDK: opened, listed, called and closed inside its owner's task.

This module and those it imports load the SDK (0.7 s); `connection` imports it in a thread, once a server is starting.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from mcp import Client, MCPError
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    CONNECTION_CLOSED,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    EmptyResult,
    Implementation,
    PingRequest,
    SetLevelRequest,
    SetLevelRequestParams,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from console_app._version import __version__
from console_app.config.secrets.redaction import Redactor
from console_app.domain.events import Level
from console_app.domain.ports import CallReporter
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.connecting.asking import Asking
from console_app.mcp_client.connecting.callbacks import Callbacks
from console_app.mcp_client.connecting.faults import CallRefused, ConnectionLost, SessionGone
from console_app.mcp_client.connecting.running_calls import WireCall, current_call
from console_app.mcp_client.connecting.status import RejectedTool
from console_app.mcp_client.connecting.wire import Wire
from console_app.mcp_client.exchange import Exchanges
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
from console_app.mcp_client.tools.schema_check import check_schema
from console_app.mcp_client.tools.structured_results import OutputSchemas
from console_app.mcp_client.transport import Streams, seconds_to_wait

SESSION_TERMINATED = "Session terminated"  # the SDK's words for a 404 on a session
LAST_ANSWERS: Final = 2.0  # seconds for those of other calls, once a server knows the session no more
_NO_SESSION: Final = ("HTTP 404", "HTTP 400")  # how a server refuses one that it doesn't know,
_BEGUN_ANEW: Final = ("session", "not initialized")  # and in which words
# The SDK's words for an answer that can't come any more: its code is also the one that servers give most errors.
_LOST: Final = ("Connection closed", "SSE stream ")
_PAGE_SECONDS = 600.0  # that a call waits for what the user does on a page it can't do without
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerListing:
    """A server's tools, and those that can't be offered."""

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedTool, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session needs of the console: where its log goes, who answers its questions, what keeps its messages."""

    server: str
    log: Callable[[Level, str], None]
    asking: Asking = field(default_factory=Asking)
    exchanges: Exchanges = field(default_factory=Exchanges)
    log_level: Callable[[], Level] = lambda: "info"
    roots: Callable[[], Sequence[Path]] | None = None  # None: it is told nothing of folders
    given: Redactor = field(default_factory=Redactor)  # knows the secrets that the server has, typed ones too


class ServerSession:
    """An initialised connection. Calls may come from any task; `ended` is set when no answer can come any more."""

    def __init__(
        self,
        client: Client,
        wire: Wire,
        changes: ChangeNotices,
        callbacks: Callbacks,
        surroundings: Surroundings,
        refusal: Callable[[], str],
    ) -> None:
        self._client = client
        self._wire = wire
        self._callbacks = callbacks
        self._surroundings = surroundings
        self._refusal = refusal
        self._tokens = itertools.count(1)
        self._gone = False  # the server knows it no more
        self._outputs = OutputSchemas()
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
        """What the server tells a model about itself."""
        return self._client.instructions or ""

    # Lists. Errors are the SDK's: a listing that fails at the start is the connection's failure.

    async def list_tools(self) -> ServerListing:
        """Every page of the tools; none for a server that knows no such method, whatever it advertised."""
        self._wire.rejected = []
        tools: dict[str, Tool] = {}
        rejected: list[RejectedTool] = []
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
                rejected.append(RejectedTool(tool.name, f"its server lists more than {reading.MOST_LISTED:,} tools"))
                break
            if tool.name in tools:
                rejected.append(RejectedTool(tool.name, "it is listed twice"))
            else:
                tools[tool.name] = tool
        else:
            if why := reading.cut_short(pages):
                rejected.append(RejectedTool("what comes after", why))
        listing = await asyncio.to_thread(_checked, tools, [*self._wire.rejected, *rejected])
        self._outputs.listed(listing.tools)
        return listing

    async def offers(self, seconds: float, so_far: Callable[[Offers], None]) -> Offers:
        """Prompts, resources and templates, as far as the server advertises them and lists them in that time; `so_far`
        is given those that are there where one of the lists takes long."""
        return await reading.offers(self._client, self._surroundings.server, seconds, so_far)

    # Calls and what else is asked of a server. All of these raise ConnectionLost and CallRefused.

    async def call(
        self, tool: str, arguments: dict[str, Any], reporter: CallReporter, meta: dict[str, Any], call_id: str = ""
    ) -> CallToolResult:
        """One call. Cancelling the awaiting task cancels it at the server."""
        call = WireCall(f"call-{next(self._tokens)}", reporter, call_id)
        self._wire.open(call)
        marker = current_call.set(call)
        answered = False
        try:
            with self._plain_errors():
                result = await self._call(call, tool, arguments, meta)
            answered = True
            return result
        except (ConnectionLost, CallRefused):
            answered = True
            raise
        finally:
            current_call.reset(marker)
            self._wire.close(call, abandoned=not answered)

    async def _call(self, call: WireCall, tool: str, arguments: dict[str, Any], meta: dict[str, Any]) -> CallToolResult:
        fields: Any = {**meta, "progressToken": call.token}
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            fields.setdefault(LOG_LEVEL_META_KEY, self._surroundings.log_level())
        for tries in itertools.count(1):
            try:
                return await self._client.call_tool(tool, arguments, meta=fields)
            except MCPError as error:
                if (wait := seconds_to_wait(error, tries)) is None:
                    if error.code != URL_ELICITATION_REQUIRED or not await self._pages_done(error, call):
                        raise
                    break
            call.reporter.log("info", f"The server has no room for the call: it is sent again in {wait:g} s.")
            await asyncio.sleep(wait)
        # The first time nothing was run: the server said that it needs the page first.
        return await self._client.call_tool(tool, arguments, meta=fields)

    async def _pages_done(self, error: MCPError, call: WireCall) -> bool:
        """Whether the user agreed to the pages that a call needs, and the server says that they are done."""
        try:
            pages = UrlElicitationRequiredError.from_error(error.error).elicitations
        except ValidationError:
            return False
        completions = {page.elicitation_id: self.changes.completion(page.elicitation_id or "") for page in pages}
        try:
            if not pages or not await self._callbacks.open_pages(pages, call):
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
        """The parts of a resource; bytes become files."""
        with self._plain_errors():
            return await reading.read_resource(self._client, uri, files)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], files: convert.ResultFiles
    ) -> list[PromptMessage]:
        """The messages of a prompt, filled in."""
        with self._plain_errors():
            return await reading.get_prompt(self._client, name, arguments, files)

    async def complete(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: Mapping[str, str]
    ) -> list[str]:
        """What the server proposes for an argument that is being typed."""
        with self._plain_errors():
            return await reading.complete(self._client, ref, argument, value, others)

    async def subscribe(self, uri: str, *, on: bool) -> None:
        """Asks for updates of a resource, or no longer."""
        (self.changes.subscribed.add if on else self.changes.subscribed.discard)(uri)
        self.changes.resubscribe.set()
        with self._plain_errors():
            await reading.subscribe(self._client, uri, on=on)

    async def set_log_level(self, level: Level) -> None:
        """Asks for log lines from that level on. From 2026-07-28 each call says so itself."""
        if self.protocol_version in MODERN_PROTOCOL_VERSIONS or self._client.server_capabilities.logging is None:
            return
        with self._plain_errors():
            request = SetLevelRequest(params=SetLevelRequestParams(level=level))
            await self._client.session.send_request(request, EmptyResult)

    async def ping(self) -> None:
        """Returns with a sign of life, a refusal too. From 2026-07-28 there is no `ping`: it is asked what it is."""
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
        """Whether nothing more should be asked: no answer would come."""
        return self._gone or self.ended.is_set()

    def _end(self) -> None:
        """It is to be begun anew; what else runs may still have its own answer."""
        self._gone = True
        if self._wire.runs_others():
            asyncio.get_running_loop().call_later(LAST_ANSWERS, self.ended.set)
        else:
            self.ended.set()

    def _forgotten(self, error: MCPError) -> bool:
        """Whether it answered that it has no such session, with a JSON error beside the 404 or 400 that says so."""
        said = error.message.lower()
        return self._refusal().startswith(_NO_SESSION) and any(words in said for words in _BEGUN_ANEW)

    @contextmanager
    def _plain_errors(self) -> Generator[None]:
        """What the SDK raises of a request, as ConnectionLost or CallRefused."""
        try:
            yield
        except MCPError as error:
            if error.message == SESSION_TERMINATED or self._forgotten(error):
                self._end()
                raise SessionGone(faults.protocol_reason(error.message)) from error
            if error.code == CONNECTION_CLOSED and error.message.startswith(_LOST):
                # The owner can't see this of an HTTP connection: listing the tools shows whether it still holds.
                self.changes.add("tools")
                raise ConnectionLost(faults.protocol_reason(error.message)) from error
            raise CallRefused(faults.protocol_reason(error.message, self._refusal())) from error
        except ValidationError as error:
            raise CallRefused(
                f"The server's answer doesn't fit the protocol ({faults.first_problem(error)})."
            ) from error
        except (ValueError, RuntimeError) as error:
            # Arguments that JSON can't carry.
            raise CallRefused(str(error).partition("\n")[0]) from error


@asynccontextmanager
async def open_session(
    transport: AbstractAsyncContextManager[Streams],
    surroundings: Surroundings,
    *,
    legacy: bool = False,
    refusal: Callable[[], str] = str,
) -> AsyncGenerator[ServerSession]:
    """Shakes hands over `transport`; `legacy` asks for the older handshake alone.

    `refusal` tells of the last HTTP status that was an error, where there is HTTP.
    """
    changes = ChangeNotices()
    traffic = surroundings.exchanges.traffic(surroundings.server)
    wire = Wire(surroundings.log, traffic, surroundings.log_level, surroundings.server, surroundings.given)
    callbacks = Callbacks(
        surroundings.server, wire, surroundings.asking, surroundings.roots or tuple, surroundings.given
    )
    client = Client(
        wire.around(transport),
        mode="legacy" if legacy else "auto",
        cache=None,
        client_info=Implementation(name="fanout", title="Fanout", version=__version__),
        message_handler=changes.heard,
        elicitation_callback=callbacks.elicit,
        sampling_callback=callbacks.sample,
        list_roots_callback=callbacks.list_roots if surroundings.roots is not None else None,
        log_level=surroundings.log_level(),
    )
    async with client:
        session = ServerSession(client, wire, changes, callbacks, surroundings, refusal)
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        listener = asyncio.create_task(listen(client, changes)) if modern else None
        try:
            yield session
        finally:
            if listener is not None:
                listener.cancel()
                await asyncio.gather(listener, return_exceptions=True)


def _checked(tools: dict[str, Tool], rejected: list[RejectedTool]) -> ServerListing:
    # In a thread: checking a schema takes a millisecond and there may be a thousand. It also loads the validator,
    # which would otherwise make the first calls wait 0.1 s.
    accepted: list[Tool] = []
    for tool in tools.values():
        if problem := check_schema(tool.input_schema):
            rejected.append(RejectedTool(tool.name, problem))
        else:
            accepted.append(tool)
    return ServerListing(tuple(accepted), tuple(rejected))
