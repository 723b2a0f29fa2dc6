"""An agent of others in the place of a model: of the conversation, or of a task."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from console_app.acp_client.session import AgentProgram, AgentSession
from console_app.config.secrets import child_environment
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.config.settings import Settings
from console_app.domain import chunks as ch
from console_app.domain import errors, ports
from console_app.mcp_client import transport


def servers_of(settings: Settings, environ: Mapping[str, str]) -> Mapping[str, ServerConfig]:
    """Return each program as if it were a server, with `${VAR}` filled in; `problem` says why one can't be started."""
    entries = {
        name: {"command": [*agent.command], "env": agent.env, **({"cwd": agent.cwd} if agent.cwd else {})}
        for name, agent in settings.agents.items()
    }
    config = read_mcp_config(json.dumps({"mcpServers": entries}), Path("config.toml"), environ)
    told = {problem.server: problem.text for problem in config.problems}
    return {one.name: one.model_copy(update={"problem": told.get(one.name, "")}) for one in config.servers}


def agent_programs(settings: Settings, environ: Mapping[str, str], folder: Path) -> Mapping[str, AgentProgram]:
    agents = settings.agents
    return {
        name: AgentProgram(
            name,
            (server.command or "", *server.args),
            server.identity(folder),
            {**child_environment.for_servers(environ), **server.env},
            folder / Path(server.cwd or "").expanduser(),
            agents[name].mode or "",
            agents[name].model or "",
            agents[name].sign_in or "",
            agents[name].servers,
            server.problem,
        )
        for name, server in servers_of(settings, environ).items()
    }


class AcpModel(ports.Provider):
    """An agent that answers prompts. Its program starts with the first prompt and keeps the conversation. Started anew
    where it ended, it is told what was said before."""

    name = "acp"
    protocol = "acp"

    def __init__(self, program: AgentProgram, model: str = "") -> None:
        self.model = program.name
        self._program, self._wanted = program, model
        self._guard = transport.Guard()
        self._guard.hurried = True  # what is stopped is over at once
        self._session: AgentSession | None = None

    @property
    def agent(self) -> AcpModel:
        return self

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        raise errors.ProviderError(f"{self.model} is an agent, which can't be asked for that", "/model picks a model.")

    async def converse(self, prompt: str, earlier: str, host: ports.AgentHost) -> None:
        if self._session is not None and self._session.ended:
            await self._end()
        if self._session is None:
            self._session = await AgentSession.open(self._program, self._guard, host, self._wanted)
            prompt = prompt if self._session.goes_on else f"{earlier}{prompt}"
        session = self._session
        try:
            await session.prompt(prompt, host)
        except errors.FanoutError:
            if session.ended or session.stuck:
                await self._end()
            raise

    @property
    def offers(self) -> Sequence[ports.AgentOffer]:
        return self._session.offers if self._session is not None else ()

    async def choose(self, name: str, wanted: str) -> ports.AgentOffer:
        if self._session is None:
            raise errors.UsageError(f"{self.model} has not been started", "It starts with your first prompt.")
        return await self._session.choose(name, wanted)

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await transport.to_the_end(session.close())

    async def close(self) -> None:
        await self._end()
        await self._guard.close()
