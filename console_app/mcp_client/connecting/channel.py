"""The two ways to a server, a program's pipes or HTTP: each opens a session and can say in one line why it failed.

A channel is used once, by the task that owns the connection: `start`, then `session`, then `why` if that ended badly,
then `close`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import console_app
from console_app.config.machine import extras
from console_app.config.secrets import Credentials, child_environment
from console_app.config.servers import ServerConfig
from console_app.domain import one_line
from console_app.mcp_client.connecting import faults, sdk, sign_in
from console_app.mcp_client.connecting.asking import Surroundings
from console_app.mcp_client.connecting.server_log import ServerLog
from console_app.mcp_client.transport import Guard, Program, ServerProcess

if TYPE_CHECKING:
    import httpx2

    from console_app.mcp_client.connecting.oauth import GuardedSteps
    from console_app.mcp_client.connecting.session import ServerSession
    from console_app.mcp_client.transport import HttpConversation, StdioConversation


class StartError(Exception):
    """A server's program can't be started. One line."""


class StdioChannel:
    """A program of ours to start and end."""

    def __init__(self, config: ServerConfig, log: ServerLog, guard: Guard, around: Surroundings) -> None:
        self._config = config
        self._log = log
        self._guard = guard
        self._around = around
        self._process: ServerProcess | None = None
        self._conversation: StdioConversation | None = None

    async def start(self) -> None:
        if missing := extras.missing_for(self._config.bundled_module):
            raise StartError(missing)
        self._guard.start()
        try:
            self._process = await ServerProcess.start(launch(self._config), self._log, self._guard)
        except (OSError, ValueError) as error:
            raise StartError(faults.start_reason(error, self._config)) from error

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[ServerSession]:
        stdio, session = await sdk.load("transport.stdio"), await sdk.load("connecting.session")
        assert self._process is not None, "start comes first"
        conversation: StdioConversation = stdio.StdioConversation(self._process, self._log)
        self._conversation = conversation
        async with session.open_session(conversation.transport(), self._around) as opened:
            yield opened

    async def why(self, error: BaseException | None) -> str:
        """Say what the program did, before what the SDK made of it."""
        conversation, process = self._conversation, self._process
        if conversation is not None and conversation.fault:
            return conversation.fault
        garbage = conversation.garbage if conversation is not None else ""
        if process is not None and process.output_ended:
            reason = await process.exit_reason()
            return f"{reason} (it wrote '{garbage}' to stdout)" if garbage else reason
        if isinstance(error, TimeoutError):
            if garbage:
                return f"is not an MCP server: its output starts with '{garbage}'"
            last_line = one_line(self._log.last_line, 160)
            return "no answer to the handshake in time" + (f"; it last said: {last_line}" if last_line else "")
        return faults.connection_reason(error) if error is not None else "the connection was closed"

    def wants_sign_in(self, error: BaseException | None) -> bool:
        return False

    async def close(self) -> None:
        if self._process is not None:
            await self._process.stop()


class HttpChannel:
    """An endpoint that somebody else runs."""

    def __init__(
        self, config: ServerConfig, around: Surroundings, credentials: Credentials, page: sign_in.SignInPage
    ) -> None:
        self._config = config
        self._around = around
        self._credentials = credentials
        self._page = page
        self._plan = sign_in.AuthPlan("none")
        self._legacy = config.kind == "sse"
        self._conversation: HttpConversation | None = None
        self._sign_in: GuardedSteps | None = None

    async def start(self) -> None:
        try:
            self._plan = sign_in.plan_of(self._config)
        except ValueError as error:
            raise StartError(str(error)) from error
        http, oauth = await sdk.load("transport.http"), await sdk.load("connecting.oauth")
        auth: httpx2.Auth | None = None
        stored = sign_in.StoredSignIn(self._credentials, self._config, self._plan)
        if self._plan.kind == "bearer":
            auth = oauth.BearerAuth(self._plan.token)
        elif self._plan.kind == "client_credentials":
            auth = self._sign_in = oauth.MachineSignIn(self._config.url or "", self._plan, stored)
        elif self._plan.kind == "oauth" and (
            # Without tokens and nobody to sign in, the server is only asked whether it wants that at all.
            self._page.asks or isinstance((await stored.read()).get("tokens"), dict)
        ):
            try:
                auth = self._sign_in = await oauth.sign_in(self._config.url or "", self._plan, stored, self._page)
            except (ValueError, sign_in.SignInRefused) as error:
                raise StartError(str(error)) from error
        config, proof = self._config, "`auth`" if self._plan.kind == "bearer" else "the sign-in"
        self._conversation = http.HttpConversation(
            config.url or "", dict(config.headers), auth, proof, config.kind == "sse"
        )

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[ServerSession]:
        """Shake hands; an endpoint that proves to be an older one is spoken to as such."""
        module = await sdk.load("connecting.session")
        conversation = self._conversation
        assert conversation is not None, "start comes first"
        legacy, entered, refusal = self._legacy, False, ""
        while True:
            try:
                transport = conversation.transport(legacy=legacy)
                async with module.open_session(transport, self._around, legacy=legacy) as session:
                    entered, self._legacy = True, legacy
                    yield session
                return
            except Exception:
                if entered or legacy or self._config.transport or not conversation.may_be_older:
                    if not entered and legacy is not self._legacy:
                        conversation.refusal = refusal  # what the transport that was asked for got to hear
                    raise
                legacy, refusal = True, conversation.refusal

    def wants_sign_in(self, error: BaseException | None) -> bool:
        """Tell whether the server answered that it doesn't know the user, and a sign-in may help."""
        if self._plan.kind != "oauth":
            return False
        if error is not None and any(isinstance(leaf, sign_in.SignInNeeded) for leaf in faults.leaves(error)):
            return True
        return self._conversation is not None and self._conversation.unauthorized and not self._page.asks

    async def why(self, error: BaseException | None) -> str:
        """Say what went wrong with signing in, else the HTTP status, where there was a refusal."""
        if error is not None and (reason := faults.sign_in_reason(error)):
            return reason
        if self._conversation is not None and self._conversation.refusal:
            return self._conversation.refusal
        place = re.sub(r"^(https?://)(?:[^/@]*@)?([^/?#]*).*", r"\1\2", self._config.url or "")
        if isinstance(error, TimeoutError):
            return f"no answer to the handshake in time from {place}"
        return f"{faults.connection_reason(error)} at {place}" if error is not None else "the connection was closed"

    async def close(self) -> None:
        """Free the sign-in's port; the session closed its connections itself."""
        if self._sign_in is not None:
            self._sign_in.close()


def launch(config: ServerConfig) -> Program:
    """Return the program to run and its whole environment: a safe few variables, and what mcp.json names."""
    environment = child_environment.for_servers(os.environ) | dict(config.env)
    command = os.path.expanduser(config.command or "")
    if command != "python":
        return Program(command, config.args, environment, config.started_in)
    if config.bundled_module:
        # Ours: found wherever we were started, and never shadowed by a file of the working folder.
        root = str(Path(console_app.__file__).parents[1])
        if not root.endswith(("site-packages", "dist-packages")):
            environment.setdefault("PYTHONPATH", root)
        environment["PYTHONSAFEPATH"] = "1"
        return Program(sys.executable, config.args, environment, config.started_in)
    active = os.environ.get("VIRTUAL_ENV")
    other = active and Path(active).resolve() != Path(sys.prefix).resolve()
    return Program("python" if other else sys.executable, config.args, environment, config.started_in)
