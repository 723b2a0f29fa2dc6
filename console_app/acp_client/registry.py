"""Finds agents in a registry of the Agent Client Protocol, a file or an address that its user gave, or the few known
here. What it says is anybody's: it is shown before it is written, and nothing is started or fetched."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from console_app.config.files import disk
from console_app.domain import UsageError, one_line, safe_text
from console_app.mcp_client import fetched
from console_app.records import dataclass, field

_RUNNERS = {"npx": ("npx", "-y"), "uvx": ("uvx",)}  # programs that fetch a package and run it
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_KNOWN: list[dict[str, Any]] = [  # in the shape of a registry; packages as their authors name them
    {"id": name, "description": description, "distribution": {"npx": {"package": package, "args": words}}}
    for name, description, package, words in (
        ("claude", "Claude Code of Anthropic", "@agentclientprotocol/claude-agent-acp", []),
        ("codex", "Codex of OpenAI", "@agentclientprotocol/codex-acp", []),
        ("gemini", "Gemini CLI of Google", "@google/gemini-cli", ["--acp"]),
        ("opencode", "OpenCode, with any provider", "opencode-ai", ["acp"]),
    )
]


@dataclass(frozen=True, slots=True)
class ListedAgent:
    name: str
    description: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    archive: str = ""  # its address
    inside: tuple[str, ...] = ()  # the command within the archive


async def listed_agents(source: str) -> list[ListedAgent]:
    """Read the registry in a file or at an address, "" for the known ones. Raises UsageError or ServerError."""
    found: Any = {"agents": _KNOWN}
    if source:
        if source.startswith(("http://", "https://")):
            text = (await fetched(source)).decode("utf-8", "replace")
        else:
            text = disk.read_text(Path(source).expanduser())
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise UsageError(f"{one_line(source, 200)} is no registry of agents: it is no JSON") from None
    entries = safe_text.as_list(found if isinstance(found, list) else safe_text.as_object(found).get("agents"))
    return [agent for entry in map(safe_text.as_object, entries) if (agent := _agent(entry)) is not None]


def agent_named(agents: Sequence[ListedAgent], name: str) -> ListedAgent:
    agent = next((one for one in agents if one.name == name), None)
    if agent is None:
        there = one_line(", ".join(sorted(one.name for one in agents)), 400) or "none"
        hint = f"There are: {there}. Or name its program: fanout agents add {one_line(name, 40)} -- COMMAND."
        raise UsageError(f"no agent {one_line(name, 60)} is listed", hint)
    if not agent.command and agent.archive:
        words = one_line(" ".join(("PATH/" + agent.inside[0].removeprefix("./"), *agent.inside[1:])), 200)
        hint = f"Unpack {agent.archive}, then: fanout agents add {name} -- {words}."
        raise UsageError(f"{name} comes as an archive alone", hint)
    if not agent.command:
        raise UsageError(f"{name} has no form that could be started here")
    return agent


def _agent(entry: Mapping[str, Any]) -> ListedAgent | None:
    name, forms = entry.get("id"), safe_text.as_object(entry.get("distribution"))
    if not isinstance(name, str) or one_line(name, 60) != name:
        return None
    description = one_line(str(entry.get("description") or entry.get("name") or ""), 300)
    for runner, program in _RUNNERS.items():
        form = safe_text.as_object(forms.get(runner))
        if isinstance(package := form.get("package"), str) and not package.startswith("-"):
            return ListedAgent(name, description, (*program, package, *_texts(form.get("args"))), _env(form))
    here = f"{platform.system().lower()}-{_MACHINES.get(platform.machine().lower(), platform.machine().lower())}"
    form = safe_text.as_object(safe_text.as_object(forms.get("binary")).get(here))
    archive, inside = form.get("archive"), form.get("cmd")
    if isinstance(archive, str) and isinstance(inside, str) and inside:
        words = (inside, *_texts(form.get("args")))
        return ListedAgent(name, description, (), _env(form), one_line(archive, 400), words)
    return ListedAgent(name, description)


def _env(form: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in safe_text.as_object(form.get("env")).items() if isinstance(value, str)}


def _texts(value: Any) -> list[str]:
    return [one for one in safe_text.as_list(value) if isinstance(one, str)]
