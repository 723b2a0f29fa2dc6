"""The agents of the settings as programs: read as servers of an mcp.json are, and started in the same environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from console_app.acp_client.session import AgentProgram
from console_app.config.secrets import child_environment
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.config.settings import Settings


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
            server.problem,
        )
        for name, server in servers_of(settings, environ).items()
    }
