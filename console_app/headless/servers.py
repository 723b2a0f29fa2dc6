"""The life of the MCP servers around a headless run: started at once, waited for, and closed whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from console_app.domain import one_line
from console_app.headless.interrupts import TimeToEnd
from console_app.headless.output import OutputStreams
from console_app.mcp_client import Hub, ServerState, ServerStatus

_CLOSING = 3.0  # seconds
_DOWN = frozenset({ServerState.FAILED, ServerState.STOPPED, ServerState.NEEDS_SIGN_IN})
_PATIENCE = 5.0  # seconds of waiting for servers before it is said which


@asynccontextmanager
async def running(hub: Hub, to_end: TimeToEnd | None = None) -> AsyncGenerator[Hub]:
    """Start the servers, in the background, and close them at the end; in a hurry once `to_end` has begun."""
    to_end = to_end or TimeToEnd()
    await hub.start()
    early = asyncio.create_task(_closed_early(hub, to_end), name="servers-end")
    try:
        yield hub
    finally:
        if to_end.begun.is_set():
            closing = early
        else:
            early.cancel()
            closing = asyncio.create_task(hub.close(), name="servers-end")
        await asyncio.wait((closing,), timeout=to_end.left(_CLOSING))


async def _closed_early(hub: Hub, to_end: TimeToEnd) -> None:
    """Close the servers early: nothing calls them any more, while the output is still written."""
    await to_end.begun.wait()
    await hub.close(hurried=True)


async def settled(hub: Hub, output: OutputStreams) -> None:
    """Wait until every server is ready or has failed; say in one line each which failed, and which it waits for."""
    ready = asyncio.ensure_future(hub.ready())
    try:
        await asyncio.wait((ready,), timeout=_PATIENCE)
        if not ready.done():
            names = ", ".join(status.name for status in hub.statuses() if not status.state.settled)
            output.error_line(one_line(f"Waiting for {names} ..."))
        await ready
    finally:
        ready.cancel()
    for line in failures(hub.statuses()):
        output.error_line(line)


@asynccontextmanager
async def told_of(hub: Hub, output: OutputStreams) -> AsyncGenerator[None]:
    """Tell of servers as `settled` does, beside other work."""
    telling = asyncio.ensure_future(settled(hub, output))
    try:
        yield
        if all(status.state.settled for status in hub.statuses()):
            await telling
    finally:
        telling.cancel()


async def timed(hub: Hub) -> dict[str, float]:
    """Return the seconds from now until each server had settled and its lists were there."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def one(name: str) -> tuple[str, float]:
        await hub.connection(name).listed()
        return name, loop.time() - began

    return dict(await asyncio.gather(*(one(status.name) for status in hub.statuses())))


def down(statuses: Sequence[ServerStatus]) -> dict[str, str]:
    """Return the servers that could not be started, with the line that says why."""
    lines: dict[str, str] = {}
    for one in statuses:
        if one.state in _DOWN:
            hint = f". To sign in: fanout mcp auth {one.name}" if one.state is ServerState.NEEDS_SIGN_IN else ""
            lines[one.name] = one_line(f"Server {one.name} {one.state}: {one.reason}{hint}", 400)
    return lines


def failures(statuses: Sequence[ServerStatus]) -> list[str]:
    """Return one line for each server that could not be started."""
    return list(down(statuses).values())
