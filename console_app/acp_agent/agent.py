"""Fanout as an editor sees it: what the protocol asks, taken to conversations. The SDK calls the methods by name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.meta import AGENT_METHODS
from pydantic import ValidationError

from console_app._version import __version__
from console_app.acp_agent.draft import CANCEL_CALL
from console_app.acp_agent.json_lines import JsonLines, LineOutput
from console_app.acp_agent.session import EditorSession
from console_app.config.models import ModelChoice
from console_app.config.servers import ServerConfig
from console_app.domain import ConfigError, FanoutError, UsageError, one_line
from console_app.sessions import NoSuchSession

if TYPE_CHECKING:
    from acp.core import AgentSideConnection

    from console_app.acp_agent.prompts import Block
    from console_app.acp_agent.session import OpenSession
    from console_app.sessions import Library

_NO_KEY, _NOT_FOUND, _INVALID, _FAILED = -32000, -32002, -32602, -32603
_PAGE = 50  # conversations of a list at a time
_MOST = 5_000
_SIGNED_OUT = "this editor signed out: sign in again"
_KEYS = schema.AuthMethodAgent(
    id="keys", name="Keys that Fanout keeps", description="`fanout auth set PROVIDER` in a terminal keeps one."
)
T = TypeVar("T")
Folders = Sequence[str] | None
Servers = Sequence[schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio]


class EditorAgent:
    """Holds all conversations of one editor. `stored` are those of the console."""

    def __init__(self, open_session: OpenSession, stored: Library, output: LineOutput) -> None:
        self._open_session = open_session
        self._stored = stored
        self.lines = JsonLines(output)
        self._editor: AgentSideConnection | None = None
        self._can = schema.ClientCapabilities()
        self._sessions: dict[str, EditorSession] = {}
        self._signed_out = False

    def on_connect(self, conn: Any) -> None:
        self._editor = conn

    async def close(self) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions.values()), self._stored.close())

    # -- the protocol

    async def initialize(
        self, protocol_version: int, client_capabilities: schema.ClientCapabilities | None = None, **_: Any
    ) -> schema.InitializeResponse:
        """Return the one version there is, and Fanout's capabilities."""
        self._can = client_capabilities or schema.ClientCapabilities()
        capabilities = schema.AgentCapabilities(
            load_session=True,
            prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
            mcp_capabilities=schema.McpCapabilities(http=True, sse=True),
            session_capabilities=schema.SessionCapabilities(
                list=schema.SessionListCapabilities(),
                resume=schema.SessionResumeCapabilities(),
                close=schema.SessionCloseCapabilities(),
                delete=schema.SessionDeleteCapabilities(),
                additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
            ),
            auth=schema.AgentAuthCapabilities(logout=schema.LogoutCapabilities()),
        )
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=capabilities,
            agent_info=schema.Implementation(name="fanout", title="Fanout", version=__version__),
            auth_methods=[_KEYS],
        )

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Keys are kept by Fanout: they count again after a logout."""
        self._signed_out = False

    async def new_session(self, **asked: Any) -> schema.NewSessionResponse:
        session = await self._opened(**asked)
        return schema.NewSessionResponse(session_id=session.id, modes=session.modes, config_options=session.options)

    async def load_session(self, **asked: Any) -> schema.LoadSessionResponse:
        """Continue a stored conversation, and send the editor all of it."""
        session = await self._opened(**asked)
        await session.replay()
        return schema.LoadSessionResponse(modes=session.modes, config_options=session.options)

    async def resume_session(self, **asked: Any) -> schema.ResumeSessionResponse:
        """Continue a conversation that the editor still shows."""
        session = await self._opened(**asked)
        session.remember()
        return schema.ResumeSessionResponse(modes=session.modes, config_options=session.options)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        if cursor is not None and not cursor.isdecimal():
            raise RequestError(_INVALID, "that cursor was not given here")
        begin = int(cursor or 0)
        found = await told(self._stored.store.sessions(_MOST))
        folders = (
            {cwd, await asyncio.to_thread(os.path.realpath, cwd)} if cwd is not None else None
        )  # as a shell has it
        wanted = [one for one in found if os.path.isabs(one.folder) and (folders is None or one.folder in folders)]
        page = wanted[begin : begin + _PAGE]
        sessions = [
            schema.SessionInfo(
                session_id=one.id,
                cwd=one.folder,
                title=one.title,
                updated_at=datetime.fromtimestamp(one.updated_at, UTC).isoformat(),
            )
            for one in page
        ]
        more = str(begin + _PAGE) if len(wanted) > begin + _PAGE else None
        return schema.ListSessionsResponse(sessions=sessions, next_cursor=more)

    async def close_session(self, session_id: str, **_: Any) -> None:
        await self._end(self._session(session_id))

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Take the methods of the protocol that the SDK has no name for."""
        if method == AGENT_METHODS["logout"]:
            self._signed_out = True
            await asyncio.gather(*(self._end(session) for session in [*self._sessions.values()]))
            return {}
        if method not in (AGENT_METHODS["session_delete"], CANCEL_CALL):
            raise RequestError.method_not_found(f"_{method}")
        try:
            wanted = schema.DeleteSessionRequest.model_validate(params).session_id
        except ValidationError:
            raise RequestError(_INVALID, "the id of the conversation is missing") from None
        if method == CANCEL_CALL:
            if not self._session(wanted).cancel_call(str(params.get("toolCallId"))):
                raise RequestError(_INVALID, "no call of this id runs or waits here")
            return {}
        if (session := self._sessions.get(wanted)) is not None:
            await self._end(session)
        await told(self._delete(wanted))
        return {}

    async def _delete(self, session_id: str) -> None:
        """Delete a session; one that is gone is no error, as the protocol has it. An id is never shortened here."""
        found = await self._stored.store.sessions(_MOST)
        if any(one.id == session_id for one in found):
            await self._stored.delete(session_id)

    async def prompt(self, session_id: str, prompt: Sequence[Block], **_: Any) -> schema.PromptResponse:
        return schema.PromptResponse(stop_reason=await told(self._session(session_id).prompt(prompt)))

    async def cancel(self, session_id: str, **_: Any) -> None:
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> None:
        session = self._session(session_id)

        async def switch() -> None:
            session.use_mode(mode_id)
            session.tell_options()

        await told(switch())

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        session = self._session(session_id)
        await told(session.set_option(config_id, value))
        return schema.SetSessionConfigOptionResponse(config_options=session.options)

    # -- conversations

    def _session(self, session_id: str) -> EditorSession:
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError(_NOT_FOUND, f"no conversation {one_line(session_id, 60)} is open here")
        return session

    async def _opened(
        self,
        cwd: str,
        mcp_servers: Servers | None = None,
        additional_directories: Folders = None,
        session_id: str | None = None,
        **_: Any,
    ) -> EditorSession:
        if self._signed_out:
            raise RequestError(_NO_KEY, _SIGNED_OUT)
        folder, *others = [Path(one) for one in (cwd, *(additional_directories or ()))]
        for name, path in (("cwd", folder), *(("additionalDirectories", one) for one in others)):
            if not path.is_absolute() or not await asyncio.to_thread(path.is_dir):
                problem = f"{name} has to be the absolute path of a folder: {one_line(str(path), 200)}"
                raise RequestError(_INVALID, problem)
        if session_id is not None and (before := self._sessions.get(session_id)) is not None:
            await self._end(before)
        parts = await told(self._open_session(folder, [server_of(one) for one in mcp_servers or ()], session_id))
        parts.hub.asking.roots += tuple(others)
        assert self._editor is not None  # who asks is connected
        session = EditorSession(parts, self.lines, self._editor, self._can)
        self._sessions[session.id] = session
        self.lines.behind_the_answer(session.begin)
        return session

    async def _end(self, session: EditorSession) -> None:
        self._sessions.pop(session.id, None)
        await session.close()


async def told(work: Awaitable[T]) -> T:
    """Return the result of `work`; an error that people read is the editor's, in the same words."""
    try:
        return await work
    except NoSuchSession as error:
        raise RequestError(_NOT_FOUND, error.line) from None
    except FanoutError as error:
        if isinstance(error, ConfigError) and error.hint == ModelChoice.NO_KEY_HINT:
            raise RequestError(_NO_KEY, error.line) from None
        raise RequestError(_INVALID if isinstance(error, UsageError) else _FAILED, error.line) from None


def server_of(server: Any) -> ServerConfig:
    """Return an editor's server as mcp.json would have it. Raises RequestError."""
    name: str = server.name
    if isinstance(server, schema.McpServerStdio):
        how: dict[str, Any] = {
            "command": server.command, "args": server.args, "env": {one.name: one.value for one in server.env}
        }  # fmt: skip
    elif isinstance(server, schema.HttpMcpServer | schema.SseMcpServer):
        headers = {one.name: one.value for one in server.headers}
        how = {"url": str(server.url), "transport": server.type, "headers": headers}
    else:
        raise RequestError(_INVALID, f"{one_line(name, 60)} is no server that is reached over stdio or HTTP")
    try:
        return ServerConfig(name=name, **how)
    except ValidationError as error:
        why = error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"]
        raise RequestError(_INVALID, f"the server {one_line(name, 60)} can't be used: {one_line(why, 200)}") from None
