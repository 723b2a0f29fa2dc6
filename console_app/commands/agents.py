"""`fanout agents` lists the kinds of agents that count here, shows one, and begins the file of one."""

from __future__ import annotations

from console_app import wiring
from console_app.commands.standard_output import write_out
from console_app.config.files import disk
from console_app.domain import UsageError, one_line, visible
from console_app.domain import agents as ag
from console_app.headless import Exit
from console_app.wiring import Setup

_BEGUN = """---
name: {name}
description: Say here when a model should send it.
# tools: files.read, files.search
# model: PROVIDER/MODEL
# maxTurns: 20
---
Say here what the agent does, and what its answer is to hold.
"""


def agents(setup: Setup) -> int:
    """Do what the action says; return the exit code. Raises UsageError for a kind that is not there, or is there."""
    arguments, there = setup.arguments, {**ag.KINDS, **wiring.workplace(setup).agents()}
    if arguments.action == "list":
        width = max(len(name) for name in there)
        for name, kind in sorted(there.items()):
            write_out(visible(f"{name:<{width}} {one_line(kind.description, 200)}") + "\n")
        return Exit.DONE
    (name,) = arguments.words
    if arguments.action == "make":
        return _make(setup, name, there)
    if name not in there:
        raise UsageError(f"there is no kind of agent {one_line(name, 60)}", f"There are {', '.join(sorted(there))}.")
    write_out(visible(_described(there[name])) + "\n")
    return Exit.DONE


def _make(setup: Setup, name: str, there: ag.Kinds) -> int:
    path = setup.paths.config / "agents" / f"{name}.md"
    if name in there or path.exists():
        raise UsageError(f"there is a kind of agent {one_line(name, 60)} already", f"fanout agents show {name}")
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{one_line(name, 60)} is no name for a kind", "Use letters, digits, - and _.")
    disk.write_private(path, _BEGUN.format(name=name))
    write_out(f"{path}\n")
    return Exit.DONE


def _described(kind: ag.AgentKind) -> str:
    return "\n".join([f"{kind.name}: {kind.description}", *ag.described(kind), "", kind.prompt])
