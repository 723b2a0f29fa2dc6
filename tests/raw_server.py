"""A listener on this machine whose connections a function of the test handles. None of them outlives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(handle: Handle) -> AsyncIterator[int]:
    """Its port, while it listens. At the end what is still handled is cancelled, and every connection is closed.

    A loop that ends before it closed a connection leaves that to the collector of garbage, which blames the test that
    happens to run then.
    """
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        writers.append(writer)
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side had enough, or the test
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await accept_no_more(server)
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


async def accept_no_more(server: asyncio.Server) -> None:
    """Closes it when what it accepted last has begun, and so can be ended.

    A connection that is accepted in the very moment of `close` would be nobody's: asyncio makes no transport for a
    server that is closed, and forgets the socket.
    """
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener.fileno())
    for _ in range(4):
        await asyncio.sleep(0)
    server.close()
