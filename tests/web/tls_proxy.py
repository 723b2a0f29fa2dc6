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

    @property
    def url(self) -> str:
        """Its public address."""
        return f"https://{NAME}:{self.port}/"


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def tls_proxy() -> AsyncIterator[TlsProxy]:
    """Start a proxy on a free port; `to` is set once the server behind it is known."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    connections: set[asyncio.Task[None]] = set()

    async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        plain = [writer.transport]  # aborted at the end: a browser opens connections ahead, and never says good-bye
        try:
            await writer.start_tls(context)
            inner, outer = await asyncio.open_connection("127.0.0.1", proxy.to)
            plain.append(outer.transport)
            ways = [asyncio.create_task(_pass(reader, outer)), asyncio.create_task(_pass(inner, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # an end is gone: so is the other
        finally:
            for transport in plain:
                transport.abort()
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(passing(reader, writer))
        connections.add(connection)
        connection.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy = TlsProxy(server.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        server.close()
        for connection in list(connections):
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
