"""What `fanout mcp ACTION` does, an action each: servers listed, tested, written to mcp.json, signed in to, trusted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from console_app import wiring
from console_app.config import mcp_servers, paths, trust
from console_app.domain.errors import UsageError
from console_app.domain.safe_text import one_line
from console_app.headless import mcp_files, server_report, servers
from console_app.headless.interrupts import Interrupts
from console_app.headless.mcp_files import ServerFile
from console_app.headless.output import OutputStreams
from console_app.headless.run import EXIT_DONE, EXIT_FAILED, RunEnding
from console_app.mcp_client.asking import open_in_browser
from console_app.mcp_client.status import ServerState
from console_app.wiring import Setup

Work = Callable[[Setup, OutputStreams, Interrupts], Coroutine[Any, Any, RunEnding]]
DONE = RunEnding(EXIT_DONE)


async def _list(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """`list` and `test`: connects; `test` lists what they offer too, and fails where a server does."""
    arguments = setup.arguments
    if arguments.words and not arguments.mcp:
        arguments.mcp = list(arguments.words)
    chosen = wiring.choose_servers(setup)
    for note in chosen.notes:
        output.error_line(note)
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub):
        await interrupts.race(servers.settled(hub, output))
        await interrupts.race(asyncio.gather(*(hub.listed(status.name) for status in hub.statuses())))
        testing = arguments.action == "test"
        tools = hub.tools() if testing else ()
        offers = server_report.offered(hub) if testing else server_report.NOTHING
        for line in server_report.lines(hub.statuses(), tools, chosen.path, offers):
            output.report(line)
        failed = arguments.action == "test" and servers.failures(hub.statuses())
    return RunEnding(EXIT_FAILED) if failed else DONE


async def _auth(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Signs in to a server through the browser, or out."""
    name = _one_name(setup)
    setup.arguments.mcp = [name]
    hub = wiring.build_hub(setup, wiring.choose_servers(setup))

    async def open_url(url: str) -> None:
        output.error_line(f"To sign in to {one_line(name, 40)}, open {one_line(url)}")
        await open_in_browser(url)

    hub.asking.open_url = open_url
    async with servers.running(hub):
        await interrupts.race(hub.ready())
        if setup.arguments.sign_out:
            await interrupts.race(hub.sign_out(name))
            output.report(f"{one_line(name, 40)}: signed out, here.")
            return DONE
        (status,) = hub.statuses()
        if status.state is not ServerState.READY:
            status = await interrupts.race(hub.sign_in(name))
        for line in server_report.lines([status], (), None):
            if not line.startswith("No servers"):
                output.report(line)
    return DONE if status.state is ServerState.READY else RunEnding(EXIT_FAILED)


async def _get(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    name, file = _one_name(setup), _file(setup)
    output.report(one_line(str(file.path)))
    output.report(mcp_files.shown(file.fields(name)))
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


async def _remove(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    file = _file(setup)
    for name in setup.arguments.words or [_one_name(setup)]:
        file.remove(name)
        output.report(f"{one_line(name, 40)}: taken out of {one_line(str(file.path))}")
    return DONE


async def _import(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    file, words, home = _file(setup), setup.arguments.words, Path.home()
    lines = (
        mcp_files.imported(file, words[0], words[1:], home=home, cwd=setup.cwd)
        if words
        else mcp_files.importable(file, home=home, cwd=setup.cwd)
    )
    for line in lines:
        output.report(line)
    return DONE


async def _trust(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """A file, for the programs it starts; or a server, for its tools as they are now."""
    word = setup.arguments.words[0] if setup.arguments.words else ""
    file = Path(word) if word else paths.project_mcp(setup.cwd)
    if word and not file.exists() and not word.endswith(".json"):
        return await _trust_tools(setup, output, interrupts, word)
    config = mcp_servers.load_mcp_config(file, setup.environ)
    trust.trust(setup.paths, file)
    names = ", ".join(server.name for server in config.servers) or "no server"
    output.report(one_line(f"{file.absolute()} is trusted as it is now: {names}."))
    return DONE


async def _trust_tools(setup: Setup, output: OutputStreams, interrupts: Interrupts, name: str) -> RunEnding:
    setup.arguments.mcp = [name]
    hub = wiring.build_hub(setup, wiring.choose_servers(setup))
    async with servers.running(hub):
        await interrupts.race(servers.settled(hub, output))
        if servers.failures(hub.statuses()):
            return RunEnding(EXIT_FAILED)
        for spec in hub.tools():
            if spec.changed:
                output.report(f"{one_line(spec.label, 80)} has changed:")
                for line in spec.changed.splitlines():
                    output.report(f"    {one_line(line, 200)}")
        changed = await hub.trust_tools(name)
        output.report(f"{one_line(name, 40)}: {len(changed) or 'no'} tool{'s'[: len(changed) != 1]} had changed.")
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
    "remove": _remove,
    "auth": _auth,
    "import": _import,
    "trust": _trust,
}
