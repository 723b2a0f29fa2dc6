"""The life of one server, held by one owner task: connecting, ready, lost, connecting again, stopped.

The SDK wants a connection left by the task that entered it, so each lives in a task of its own, which the owner starts
one after the other. A call on its way when it was lost fails, and is sent again only where the server never saw it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console_app.config.secrets import Credentials, Redactor
from console_app.config.servers import ServerConfig
from console_app.domain import Level, Outcome, ToolResult, errors, one_line, ports
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.connecting.asking import Asking, Surroundings
from console_app.mcp_client.connecting.channel import HttpChannel, StartError, StdioChannel
from console_app.mcp_client.connecting.faults import CallRefused, ConnectionLost, SessionGone
from console_app.mcp_client.connecting.server_log import ServerLog
from console_app.mcp_client.connecting.sign_in import SignInPage, StoredSignIn, plan_of
from console_app.mcp_client.connecting.status import ServerState, ServerStatus
from console_app.mcp_client.connecting.task_ids import BegunTask, TaskIds
from console_app.mcp_client.offering.offers import Offers
from console_app.mcp_client.tools import convert
from console_app.mcp_client.tools.atlas import AtlasUpdates
from console_app.mcp_client.tools.convert import ResultFiles
from console_app.mcp_client.tools.definitions import Definitions, ListedTools
from console_app.mcp_client.traffic import Traffic
from console_app.mcp_client.transport import Guard, to_the_end
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from console_app.mcp_client.connecting.session import ServerSession
    from console_app.mcp_client.offering.changes import ChangeNotices


@dataclass(eq=False)
class Catalogue:
    """The prompts and resources of a server. Every question to it raises ServerError, and takes `seconds` at most."""

    _server: str
    _session: Callable[[], Awaitable[ServerSession]]
    _seconds: float
    _changed: Callable[[], None]
    offers: Offers = field(default_factory=Offers)
    listed: asyncio.Event = field(default_factory=asyncio.Event)  # the lists have come, whatever is in them
    subscribed: set[str] = field(default_factory=set[str])  # resources to be told of, over all connections
    log_level: Level = "info"

    async def refresh(self, session: ServerSession) -> None:
        """List again; what can't be listed is empty, with the reason in the offers. A slow first list holds no other
        up."""
        try:
            # Where there was a list before, that says more than the beginning of a new one.
            first = self.listed.is_set
            self._take(await session.offers(self._seconds, lambda so_far: None if first() else self._take(so_far)))
        except Exception as error:
            self._take(Offers(problems=(f"nothing could be listed: {faults.connection_reason(error)}",)))

    def _take(self, offers: Offers) -> None:
        self.offers = offers
        self.listed.set()
        self._changed()

    def forget(self) -> None:
        self.offers = Offers()
        self.listed.clear()

    async def begin(self, session: ServerSession) -> None:
        """Tell a new connection what was asked of the one before, then list."""
        try:
            if self.log_level != "info":
                await session.set_log_level(self.log_level)
            for uri in sorted(self.subscribed):
                await session.subscribe(uri, on=True)
        except (CallRefused, ConnectionLost) as error:
            log.info("%s: %s", self._server, error)
        await self.refresh(session)

    async def subscribe(self, uri: str, *, on: bool = True) -> None:
        """Ask to be told when a resource changes, or no longer. Holds over reconnects."""
        (self.subscribed.add if on else self.subscribed.discard)(uri)
        try:
            async with self.asked() as session:
                await session.subscribe(uri, on=on)
        except errors.ServerError:
            self.subscribed.discard(uri)  # what was refused is not asked for again with each reconnect
            raise

    @asynccontextmanager
    async def asked(self) -> AsyncGenerator[ServerSession]:
        try:
            async with asyncio.timeout(self._seconds):
                yield await self._session()
        except (CallRefused, ConnectionLost) as error:
            raise errors.ServerError(f"{self._server}: {str(error) or 'the connection was lost'}") from error
        except TimeoutError:
            raise errors.ServerError(f"{self._server}: no answer within {self._seconds:g} s") from None


RETRY_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before each new try after a connection was lost
log = logging.getLogger(__name__)
CONNECT_SECONDS = 60.0
STEADY_SECONDS = 30.0  # a connection that held this long starts the delays from the beginning
SIGN_IN_SECONDS = 600.0  # that the user may take
CALL_WAITS_SECONDS = 20.0  # that a call waits for a server that is (re)connecting
LOST_SECONDS = 2.0  # that a call which lost its server waits to learn why
ASKS_INSIDE = "2025-11-25"  # the newest version in which a server may ask while a call of it runs
# In errors of servers that try.
_ASKS = re.compile(r"back-channel|elicit|sampling|create_?message|list_?roots", re.IGNORECASE)
CHANGED = "has changed since this call was decided, so it did not run. Calling it again asks anew."


@dataclass(frozen=True, slots=True)
class Shared:
    """The things that all connections of a hub have in common.

    `changed` is called in the event loop after each change of a state, tool or other offer; `updated` with a server
    and the URI of a resource that changed there. `redactor` knows what no log and no reason may hold.
    """

    log_dir: Path
    files: ResultFiles
    guard: Guard
    changed: Callable[[], None]
    credentials: Credentials
    definitions: Definitions | None  # None: whatever a tool has become, it is trusted
    task_ids: TaskIds
    updated: Callable[[str, str], None]
    asking: Asking
    traffic: defaultdict[str, Traffic]  # by server
    retry_delays: tuple[float, ...]
    redactor: Redactor


class Connection:
    """A server from mcp.json, whatever its state."""

    def __init__(self, config: ServerConfig, shared: Shared) -> None:
        self.config = config
        self.identity = config.identity(Path.cwd() / config.folder)
        self.listed_tools = ListedTools(config, shared.definitions)
        self.state = ServerState.DISABLED if config.disabled else ServerState.STARTING
        self.reason = config.problem if config.disabled else ""  # off, and why it can't be switched on
        self.catalogue = Catalogue(config.name, self._ready_session, config.timeout or CONNECT_SECONDS, shared.changed)
        shared.redactor.add(*config.secrets())
        self._given = Redactor(config.secrets(sure=True), shared.redactor)  # what the server may give back
        self._log = ServerLog(shared.log_dir, config.name, shared.redactor)
        self._shared = shared
        self._page = SignInPage(config.name, shared.asking)
        self._about = ("", "", "")  # protocol version, server info, instructions
        self._session: ServerSession | None = None
        self._moved = asyncio.Event()  # replaced at each change of state: whoever holds the old one is woken
        self._again = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._life: asyncio.Task[tuple[str, bool]] | None = None
        self._stopping = False

    def start(self) -> None:
        if self.config.disabled:
            return
        if self.config.problem:
            self._move(ServerState.FAILED, self.config.problem)
        elif self._owner is None:
            self._owner = asyncio.create_task(self._own(), name=f"mcp-{self.config.name}")

    async def stop(self) -> None:
        """End the connection and the server's program with all its children. Takes at most some two seconds."""
        self._stopping = True
        owner = self._owner
        if owner is not None:
            if self._life is not None:
                self._life.cancel()
            self._again.set()
            await asyncio.gather(owner, return_exceptions=True)
        if self.state is not ServerState.DISABLED:
            self._move(ServerState.STOPPED)

    async def reconnect(self) -> None:
        """Connect anew, now; return once that has settled."""
        if self.config.disabled or self.config.problem or self._stopping:
            return
        self._move(ServerState.STARTING)
        self._again.set()
        if self._life is not None:
            self._life.cancel()
        self.start()
        await self.settled()

    async def sign_in(self) -> None:
        """Connect anew and open the browser for the user to sign in; return once that has settled."""
        self._page.wanted = True
        try:
            await self.reconnect()
        finally:
            self._page.wanted = False

    async def sign_out(self) -> None:
        with suppress(ValueError):  # `auth` that can't be used never signed in
            await StoredSignIn(self._shared.credentials, self.config, plan_of(self.config)).forget()
        await self.reconnect()

    async def settled(self) -> None:
        while not self.state.settled:
            await self._moved.wait()

    async def listed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CALL_WAITS_SECONDS):
                await self.settled()
                if self.state is ServerState.READY:
                    await self.catalogue.listed.wait()

    async def _own(self) -> None:
        losses = 0
        loop = asyncio.get_running_loop()
        try:
            while not self._stopping:
                self._again.clear()
                began, was_ready = loop.time(), False
                self._life = asyncio.create_task(self._live(), name=f"mcp-{self.config.name}-life")
                await asyncio.wait({self._life})
                was_ready = self._session is not None
                self._session = None
                self._page.connected = False
                if self._stopping:
                    return
                if self._again.is_set():
                    losses = 0
                    continue
                closed = "the connection was closed", False
                reason, wants_sign_in = closed if self._life.cancelled() else self._life.result()
                losses = 1 if was_ready and loop.time() - began >= STEADY_SECONDS else losses + 1
                log.info("server %s: %s", self.config.name, reason)
                if wants_sign_in:
                    self._move(ServerState.NEEDS_SIGN_IN, reason)
                    await self._again.wait()
                    losses = 0
                    continue
                # A server that never came up is not started over and over: what is wrong stays wrong.
                losses = await self._rest(reason, losses, retry=was_ready or losses > 1)
        finally:
            if self._life is not None and not self._life.done():
                self._life.cancel()
                await asyncio.wait({self._life})

    async def _rest(self, reason: str, losses: int, *, retry: bool) -> int:
        if retry and losses <= len(self._shared.retry_delays):
            self._move(ServerState.RECONNECTING, reason)
            try:
                await asyncio.wait_for(self._again.wait(), self._shared.retry_delays[losses - 1])
            except TimeoutError:
                return losses
            return 0
        tries = f" (gave up after {len(self._shared.retry_delays)} tries)" if retry else ""
        self._move(ServerState.FAILED, reason + tries)
        await self._again.wait()
        return 0

    async def _live(self) -> tuple[str, bool]:
        """Live through a connection; return why it ended, in one line, and whether the user has to sign in first."""
        shared = self._shared
        around = Surroundings(
            self.config.name,
            self._say,
            shared.asking,
            shared.traffic[self.config.name],
            lambda: self.catalogue.log_level,
            None if self.config.root_plan == "none" else lambda: self.config.root_folders(shared.asking.roots),
            self.config.protocol,
            self._given,
        )
        if self.config.kind == "stdio":
            channel = StdioChannel(self.config, self._log, shared.guard, around)
        else:
            channel = HttpChannel(self.config, around, shared.credentials, self._page)
        error: BaseException | None = None
        deadline = asyncio.timeout(SIGN_IN_SECONDS if self._page.wanted else self.config.timeout or CONNECT_SECONDS)
        try:
            try:
                async with deadline:
                    await channel.start()
                    async with channel.session() as session:
                        listing = await session.list_tools()
                        await self.listed_tools.take(*listing)
                        deadline.reschedule(None)
                        self._session = session
                        self._page.connected = True
                        self._about = session.about
                        self._move(ServerState.READY)
                        await self._serve(session)
            except StartError as fault:
                return str(fault), False
            except Exception as fault:
                error = TimeoutError() if deadline.expired() else fault
            reason = one_line(await channel.why(error), faults.LONGEST)
            if self.state is ServerState.READY:
                self._move(ServerState.RECONNECTING, reason)  # before the program is ended, which may take a while
            return self._shared.redactor.clean(reason), channel.wants_sign_in(error)
        finally:
            await to_the_end(channel.close())

    async def _serve(self, session: ServerSession) -> None:
        """List again what the server says has changed, until the connection ends."""
        ended = asyncio.ensure_future(session.ended.wait())

        async def begin() -> None:
            await self.catalogue.begin(session)
            await session.build_calls()

        beginning = asyncio.create_task(begin())
        try:
            while not session.ended.is_set():
                news = asyncio.ensure_future(session.changes.news.wait())
                try:
                    await asyncio.wait({ended, news}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
                if session.changes.news.is_set() and not session.ended.is_set():
                    await self._refresh(session)
        finally:
            ended.cancel()
            beginning.cancel()
            await asyncio.gather(beginning, return_exceptions=True)

    async def _refresh(self, session: ServerSession) -> None:
        kinds, updated = await session.changes.gathered()
        if "tools" in kinds:
            heard = session.changes.tools_heard
            try:
                async with asyncio.timeout(self.config.timeout or CONNECT_SECONDS):
                    listing = await session.list_tools()
            except Exception as error:
                self._say("warning", f"the tools could not be listed again: {faults.connection_reason(error)}")
            else:
                await self.listed_tools.take(*listing)
            session.changes.tools_listed = heard
            self._wake()
        if kinds - {"tools"}:
            await self.catalogue.refresh(session)
        if kinds:
            self._shared.changed()
        for uri in updated:
            self._shared.updated(self.config.name, uri)

    async def accept(self, name: str, shown: str) -> bool:
        """Trust a tool as the user was shown it; return False if its definition has another hash by now."""
        accepted = await self.listed_tools.accept(name, shown)
        if accepted:
            self._shared.changed()
        return accepted

    def _move(self, state: ServerState, reason: str = "") -> None:
        self.state, self.reason = state, self._shared.redactor.clean(reason)
        if state in {ServerState.FAILED, ServerState.STOPPED, ServerState.NEEDS_SIGN_IN}:
            self.listed_tools.forget()
            self.catalogue.forget()
        self._wake()
        self._shared.changed()

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _say(self, level: Level, text: str) -> None:
        self._log.write_line(f"[{level}] {text}")

    async def call(
        self, invocation: ports.Invocation, arguments: dict[str, Any], reporter: ports.CallReporter
    ) -> ToolResult:
        """Run a call with these arguments; every failure but cancellation is a result.

        One with a `definition`, the hash of what was approved, runs only while that is what the server lists. A tool
        that had changed is trusted with it: no rule and no mode lets such a call pass, so somebody has looked at it.
        One that is `taken_up` goes on with the task that an earlier program left, or fails.
        """
        spec, ids = invocation.spec, self._shared.task_ids
        key = ids.key(self.identity.text, spec.tool, invocation.call_id, arguments)
        task = await asyncio.to_thread(ids.left, key) if ids else ""
        if task:
            reporter.log("info", f"It goes on with the task {task}, which an earlier run began.")
        elif invocation.taken_up:
            return convert.failed("Another program has taken up its task.")
        begun = BegunTask(ids, key, task)
        updates, again = AtlasUpdates(reporter, self._shared.files), False
        try:
            while True:
                session = await self._session_for_call(reporter)
                if session is None:
                    return convert.failed(self._not_ready())
                listed = self.listed_tools.hashes.get(spec.tool)
                same = bool(begun.task) or not spec.definition or listed == spec.definition
                if not same or (spec.changed and not await self.accept(spec.tool, spec.definition)):
                    return convert.failed(f"{self.config.name}.{spec.tool} {CHANGED}")
                try:
                    result = await session.call(invocation, arguments, updates, begun)
                    converted = await updates.with_artifacts(await convert.converted(result, self._shared.files))
                    return _with_pin(converted, session.protocol_version)
                except ConnectionLost as lost:
                    if begun.task:  # it runs on: a new connection asks for it by its id
                        reporter.log("info", f"The connection was lost; the task {begun.task} is asked for again.")
                        await self._lost(session, str(lost))
                        continue
                    if not again and isinstance(lost, SessionGone):
                        again = True
                        continue  # it was not run: it goes out once more in a new session
                    return convert.failed(await self._lost(session, str(lost)))
                except CallRefused as refused:
                    return _with_pin(convert.failed(str(refused)), session.protocol_version)
        finally:
            begun.over()

    async def _ready_session(self) -> ServerSession:
        if (session := await self._session_for_call()) is None:
            raise errors.ServerError(self._not_ready())
        return session

    def _not_ready(self) -> str:
        if self.state is ServerState.READY:
            return f"The server {self.config.name} says that its tools have changed, and doesn't list them."
        why = f": {self.reason}" if self.reason else ""
        return f"The server {self.config.name} is {self.state.value}{why}."

    async def _session_for_call(self, reporter: ports.CallReporter | None = None) -> ServerSession | None:
        first: dict[ChangeNotices, int] = {}

        def is_late() -> bool:
            # Where it has just ended, the owner hasn't got round to it yet: a call would fail without having been sent.
            # Where notices came, a call approved for what its tool was must not run on what the tool has become.
            ready = self._session if self.state is ServerState.READY else None
            return ready is not None and (ready.over or ready.changes.behind(first))

        if (waiter := None if self.state.settled else reporter) is not None:
            waiter.progress(0, None, f"waits for server {self.config.name}")
        try:
            async with asyncio.timeout(CALL_WAITS_SECONDS):
                while not self.state.settled or is_late():
                    await self._moved.wait()
        except TimeoutError:
            return None
        finally:
            if waiter is not None:
                waiter.progress(0, None, "")
        return self._session if self.state is ServerState.READY else None

    async def _lost(self, session: ServerSession, reason: str) -> str:
        """Say what became of a call that was running when the connection ended; wait a moment for the reason."""
        name = self.config.name
        if self._session is session and not self._stopping:
            with suppress(TimeoutError):  # then without a reason
                await asyncio.wait_for(self._moved.wait(), LOST_SECONDS)
        if self._stopping:
            return f"{name} was stopped during the call."
        reason = self.reason or reason
        why = f": {reason}" if reason else ""  # early: a narrow panel shows the beginning
        return f"{name} went away{why}. Whether the call took effect is not known."

    @property
    def status(self) -> ServerStatus:
        version, info, instructions = self._about
        offers = self.catalogue.offers
        roots = ", ".join(map(str, self.config.root_folders(self._shared.asking.roots))) or "none"
        return ServerStatus(
            name=self.config.name,
            state=self.state,
            reason=self.reason,
            tools=len(self.listed_tools.tools),
            transport=self.config.kind,
            protocol_version=version,
            server_info=info,
            instructions=instructions,
            log_path=self._log.path,
            rejected=self.listed_tools.rejected,
            description=self.config.description or self.config.short_description,
            prompts=len(offers.prompts),
            resources=len(offers.resources) + len(offers.templates),
            problems=offers.problems,
            trimmed=self._session.trimmed if self._session is not None else (),
            log_level=self.catalogue.log_level,
            runs=self.identity.text,
            facts=(f"roots {roots}", *self.config.facts),
        )


def _with_pin(result: ToolResult, version: str) -> ToolResult:
    """Say how to go on where a server wanted to ask inside a call, which newer versions have another way for."""
    if result.outcome is not Outcome.FAILED or version <= ASKS_INSIDE or not _ASKS.search(result.content):
        return result
    way = f'Protocol {version} has no questions inside a call: "protocol": "{ASKS_INSIDE}" in mcp.json has.'
    return result.model_copy(update={"content": f"{result.content}\n{way}", "error": f"{result.error} {way}"})
