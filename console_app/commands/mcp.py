"""Run the actions of `fanout mcp`: servers are listed, tested, written to mcp.json, signed in to, trusted."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from console_app import resources, wiring
from console_app.command_line import json_outputs
from console_app.commands import junit, mcp_files, server_report
from console_app.commands.asking import agreed
from console_app.commands.mcp_files import ServerFile
from console_app.config import trust
from console_app.config.files import trusted
from console_app.domain import UsageError, one_line, safe_text
from console_app.headless import (
    Exit,
    Interrupts,
    OutputStreams,
    RunEnding,
    servers,
)
from console_app.mcp_client import ServerState, find_servers, open_in_browser
from console_app.wiring import Setup

Work = Callable[[Setup, OutputStreams, Interrupts], Coroutine[Any, Any, RunEnding]]
DONE = RunEnding(Exit.DONE)


async def _list(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """`list` and `test`: connects; `test` lists what they offer too. `test` and `list --check` fail where a server
    does, `test` also where a tool or a list can't be offered."""
    arguments = setup.arguments
    testing = arguments.action == "test"
    if arguments.words and not arguments.mcp:
        arguments.mcp = list(arguments.words)
    chosen = wiring.choose_servers(setup)
    for note in (*setup.layered.notes, *chosen.notes):
        output.error_line(note)
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, interrupts.to_end):
        _, seconds = await interrupts.race(asyncio.gather(servers.settled(hub, output), servers.timed(hub)))
        await wiring.remember_tools(setup, hub)
        checks = [
            server_report.checked(
                status,
                seconds[status.name],
                [spec for spec in hub.tools() if spec.server == status.name],
                strictly=testing,
            )
            for status in hub.statuses()
        ]
        if arguments.json:
            output.report(server_report.as_json(checks, hub.tools(), chosen.path))
        else:
            tools = hub.tools() if testing else ()
            offers = server_report.offered(hub) if testing else server_report.NOTHING
            for line in server_report.lines(checks, tools, chosen.path, offers):
                output.report(line)
        if arguments.junit:
            path, longest = setup.cwd / Path(arguments.junit).expanduser(), max(seconds.values(), default=0.0)
            junit.write(path, "mcp", [server_report.as_case(check) for check in checks], seconds=longest)
    failed = (testing or arguments.check) and any(check.problems for check in checks)
    return RunEnding(Exit.FAILED) if failed else DONE


async def _auth(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Signs in to a server through the browser, or out."""
    name = _one_name(setup)
    setup.arguments.mcp = [name]
    hub = wiring.build_hub(setup, wiring.choose_servers(setup))

    async def open_url(url: str) -> None:
        output.error_line(f"To sign in to {one_line(name, 40)}, open {one_line(url)}")
        await open_in_browser(url)

    hub.asking.open_url = open_url
    async with servers.running(hub, interrupts.to_end):
        await interrupts.race(hub.ready())
        if setup.arguments.sign_out:
            await interrupts.race(hub.sign_out(name))
            output.report(f"{one_line(name, 40)}: signed out, here.")
            return DONE
        (status,) = hub.statuses()
        if status.state is not ServerState.READY:
            status = await interrupts.race(hub.sign_in(name))
        for line in server_report.lines([server_report.checked(status, 0, strictly=False)], (), None):
            if not line.startswith("No servers"):
                output.report(line)
    return DONE if status.state is ServerState.READY else RunEnding(Exit.FAILED)


async def _get(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    name, file = _one_name(setup), _file(setup)
    shown = mcp_files.shown(file.fields(name))
    if setup.arguments.json:
        entry = json_outputs.ServerEntry(name=name, file=safe_text.encodable(str(file.path)), fields=json.loads(shown))
        output.report(safe_text.json_line(entry.model_dump()))
        return DONE
    output.report(one_line(str(file.path)))
    output.report(shown)
    return DONE


async def _add(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    arguments, file = setup.arguments, _file(setup)
    if not arguments.words:
        raise UsageError("fanout mcp add needs a name and a server", "As: fanout mcp add time -- uvx mcp-server-time")
    name, *words = arguments.words
    fields = mcp_files.server_of(
        words, env=arguments.env or (), headers=arguments.header or (), transport=arguments.transport
    )
    file.put(name, fields)
    output.report(f"{one_line(name, 40)}: {mcp_files.summary(fields)}, in {one_line(str(file.path))}")
    return DONE


async def _find(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Look for servers in a registry, and tell how each would be added."""
    found = await interrupts.race(find_servers(setup.settings.mcp_registry, " ".join(setup.arguments.words)))
    for one in found:
        if setup.arguments.json:
            output.report(safe_text.json_line({"name": one.name, "description": one.description, **one.fields}))
            continue
        name = one.name.rpartition("/")[2]
        output.report(f"{one_line(one.name, 200)} {one.version}")
        output.report(f"    {one.description}")
        output.report(f"    fanout mcp add {shlex.quote(name)} {shlex.quote(json.dumps(dict(one.fields)))}")
        if one.needs:
            output.report(f"    needs {', '.join(one.needs)} in your environment")
    if not found:
        output.report("The registry has no such server that could be started here.")
    return DONE


async def _remove(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    file = _file(setup)
    for name in setup.arguments.words or [_one_name(setup)]:
        file.remove(name)
        output.report(f"{one_line(name, 40)}: taken out of {one_line(str(file.path))}")
    return DONE


async def _import(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    file, words, home = _file(setup), setup.arguments.words, Path.home()
    if words:
        if setup.arguments.json:
            raise UsageError("--json lists what there is, and takes nothing over", "Leave out the words, or --json.")
        lines = mcp_files.imported(file, words[0], words[1:], home=home, cwd=setup.cwd)
    else:
        found = mcp_files.importable(file, home=home, cwd=setup.cwd)
        lines = [safe_text.json_line(found.model_dump())] if setup.arguments.json else mcp_files.importable_lines(found)
    for line in lines:
        output.report(line)
    return DONE


async def trust_project(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Trust what a project brings, all of it or by name, or a server, for its tools as now."""
    words, by_server = list[str](setup.arguments.words), setup.arguments.command == "mcp"
    if by_server and words and not Path(words[0]).exists() and not words[0].endswith((".json", ".toml")):
        return await _trust_tools(setup, output, interrupts, words[0])
    again = "fanout mcp trust" if by_server else trusted.IN_A_SHELL
    project = trust.ProjectTrust(setup.paths, setup.cwd, setup.environ, bundled=resources.bundled_mcp())
    files = project.named(words)
    for line in (*project.problems(), *(line for file in files for line in file.lines)):
        output.report(line)
    if not files:
        output.report("Nothing of this project waits for your trust.")
        return DONE
    if not setup.arguments.yes:
        names = " and ".join(file.called(Path("/")) for file in files)
        if not await agreed(f"Trust {names} as now shown?", f"{again} --yes", output, interrupts):
            output.out("Not trusted; nothing was changed.\n")
            return RunEnding(Exit.FAILED)
    for file in files:
        project.trust(file, again=again)
        output.report(one_line(f"{file.path.absolute()} is trusted as it is now: {file.summary}."))
    return DONE


async def _trust_tools(setup: Setup, output: OutputStreams, interrupts: Interrupts, name: str) -> RunEnding:
    setup.arguments.mcp = [name]
    hub = wiring.build_hub(setup, wiring.choose_servers(setup))
    async with servers.running(hub, interrupts.to_end):
        await interrupts.race(servers.settled(hub, output))
        if servers.failures(hub.statuses()):
            return RunEnding(Exit.FAILED)
        shown = [spec for spec in hub.all_tools() if spec.changed]
        for spec in shown:
            output.report(f"{one_line(spec.label, 80)} has changed:")
            for line in spec.changed.splitlines():
                output.report(f"    {one_line(line, 200)}")
        if shown and not setup.arguments.yes:
            question = f"Trust the tools of {one_line(name, 40)} as they are now?"
            if not await agreed(question, "fanout mcp trust NAME --yes", output, interrupts):
                output.out("Not trusted; nothing was changed.\n")
                return RunEnding(Exit.FAILED)
        changed = await hub.trust_tools(name, {spec.tool: spec.definition for spec in shown})
        output.out(f"{one_line(name, 40)}: {len(changed) or 'no'} tool{'s'[: len(changed) != 1]} had changed.\n")
    return DONE


def _file(setup: Setup) -> ServerFile:
    flag = setup.settings.mcp_config
    if flag is not None:
        return ServerFile(setup.paths, setup.cwd / flag.expanduser())
    return ServerFile.of(setup.paths, wiring.choose_servers(setup))


def _one_name(setup: Setup) -> str:
    words: list[str] = setup.arguments.words
    if len(words) != 1:
        raise UsageError(f"fanout mcp {setup.arguments.action} needs the name of a server", "See fanout mcp list.")
    return words[0]


WORK: dict[str, Work] = {
    "list": _list,
    "test": _list,
    "get": _get,
    "add": _add,
    "find": _find,
    "remove": _remove,
    "auth": _auth,
    "import": _import,
    "trust": trust_project,
}
