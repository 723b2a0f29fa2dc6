"""A proxy that ends TLS, as one in front of `fanout serve`: it passes on what comes, the `Host` as it was sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

CERTIFICATE = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "self_signed.pem"
NAME = "fanout.example"


class TlsProxy:
    """Listens with TLS on `port`, and passes on to `to`, a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.to = 0
        self.passing: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Its public address."""
        return f"https://{NAME}:{self.port}/"


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # an end is gone: so is the other
    finally:
        writer.close()


@asynccontextmanager
async def tls_proxy() -> AsyncIterator[TlsProxy]:
    """One on a free port; `to` is set once the server behind it is known."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", proxy.to)
        ways = [asyncio.create_task(_pass(reader, outer)), asyncio.create_task(_pass(inner, writer))]
        proxy.passing.update(ways)
        await asyncio.wait(ways)
        proxy.passing.difference_update(ways)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    proxy = TlsProxy(server.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        server.close()
        for way in list(proxy.passing):
            way.cancel()
        await asyncio.gather(*proxy.passing, return_exceptions=True)
