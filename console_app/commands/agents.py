"""`fanout agents` lists the kinds of agents that count here, shows one, begins the file of one, and adds others'."""

from __future__ import annotations

import json
import shlex

from console_app import wiring
from console_app.commands.asking import agreed
from console_app.commands.standard_output import write_out
from console_app.config.files import disk
from console_app.config.settings import own_settings
from console_app.domain import UsageError, one_line, visible
from console_app.domain import agents as ag
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding
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
    arguments, kinds = setup.arguments, wiring.agent_kinds(setup, wiring.workplace(setup), wiring.ApprovalGate())
    there = {**ag.KINDS, **kinds()}
    if arguments.action == "list":
        width = max(len(name) for name in there)
        for name, kind in sorted(there.items()):
            write_out(visible(f"{name:<{width}} {one_line(kind.description, 200)}") + "\n")
        return Exit.DONE
    (name,) = arguments.words
    if arguments.action == "make":
        path = setup.paths.config / "agents" / f"{name}.md"
        if name in there or path.exists():
            raise UsageError(f"there is a kind of agent {one_line(name, 60)} already", f"fanout agents show {name}")
        if not name.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"{one_line(name, 60)} is no name for a kind", "Use letters, digits, - and _.")
        disk.write_private(path, _BEGUN.format(name=name))
        write_out(f"{path}\n")
        return Exit.DONE
    if name not in there:
        raise UsageError(f"there is no kind of agent {one_line(name, 60)}", f"There are {', '.join(sorted(there))}.")
    kind = there[name]
    prompt = ["", kind.prompt] if kind.prompt else []
    write_out(visible("\n".join([f"{kind.name}: {kind.description}", *ag.described(kind), *prompt])) + "\n")
    return Exit.DONE


async def add(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    from console_app import acp_client

    words = list[str](setup.arguments.words or [])
    registry: str = setup.arguments.registry or setup.settings.agent_registry
    if not words:
        for one in sorted(await interrupts.race(acp_client.listed_agents(registry)), key=lambda one: one.name):
            output.report(f"{one.name}: {one.description} ({shlex.join(one.command) or one.archive or 'not for here'})")
        return RunEnding(Exit.DONE)
    name, *command = words
    agent = acp_client.ListedAgent(name, "", tuple(command))
    if not command:
        agent = acp_client.agent_named(await interrupts.race(acp_client.listed_agents(registry)), name)
    table = {"command": [*agent.command], "env": dict(agent.env), "description": agent.description}
    table = {key: value for key, value in table.items() if value}
    output.report(f"[agents.{name}] of {one_line(str(setup.paths.settings), 200)}")
    for key, value in table.items():
        output.report(f"  {key} = {one_line(json.dumps(value, ensure_ascii=False), 600)}")
    if name in setup.settings.agents:
        output.report("It takes the place of the one that is there.")
    output.report("It runs as you do, outside of the sandbox; what it asks for waits on your board.")
    question = f"Write it, so that {name} can be sent?"
    if not setup.arguments.yes and not await agreed(question, f"fanout agents add {name} --yes", output, interrupts):
        output.out("Nothing was changed.\n")
        return RunEnding(Exit.FAILED)
    own_settings.change(setup.paths.settings, ("agents", name), table)
    output.report(f"{name} is written: fanout -m acp/{name}, or @{name} TASK in a conversation.")
    return RunEnding(Exit.DONE)
