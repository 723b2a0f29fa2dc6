"""Runs the server: listens, says where, and ends every console with itself."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from console_app.domain import UsageError, web_address
from console_app.domain.ending_signals import ending_signals
from console_app.web.consoles import Consoles, Starts
from console_app.web.door import Addresses, Door, bracketed
from console_app.web.pages import BrowserPages
from console_app.web.terminal_process import Size, TerminalProcess

LARGEST_MESSAGE: Final = 1 << 20  # bytes from a page
PATIENCE: Final = 10.0  # seconds in which a request, and a page's first message, are whole
STOPPING: Final = 2  # seconds for answers under way when the server ends


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Holds the options of `fanout serve`.

    With `token` None a link works once. The others are seconds. `keep` is how long a console stays without a page.
    `alive` is the time between two signs of life asked of a page, and the time that it has to answer. `patience` is the
    longest that half a request may last.
    """

    host: str
    port: int
    token: str | None
    public_urls: Sequence[str]
    most: int
    keep: float
    arguments: Sequence[str]
    environ: Mapping[str, str]
    cwd: Path
    alive: float = 10.0
    patience: float = PATIENCE


def starter(options: ServeOptions) -> Starts:
    """Return what starts a console for a page."""

    async def start(size: Size) -> TerminalProcess:
        return await TerminalProcess.start(options.arguments, environ=options.environ, cwd=options.cwd, size=size)

    return start


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises UsageError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        known = error.errno or 0  # below 0 they are those of the look-up of the name
        raise UsageError(
            f"can't listen on {bracketed(host)}:{port}: {os.strerror(known) if known > 0 else error.strerror}",
            "Choose another with --host or --port; --port 0 takes a free one.",
        ) from None


class _Server(uvicorn.Server):
    """Raises no signal again behind its end: consoles have yet to be ended then."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        numbers = ending_signals()
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def _ending_half_requests(patience: float) -> type[H11Protocol]:
    """HTTP as uvicorn speaks it, but that a connection ends on which no whole request came in time."""

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            super().connection_made(transport)
            self.loop.call_later(patience, self._end_half_a_request)

        def _end_half_a_request(self) -> None:
            if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and self.transport.get_protocol() is self:
                self.transport.close()

    return Impatient


class WebServer:
    """The server on a socket that listens."""

    def __init__(self, options: ServeOptions, listening: socket.socket) -> None:
        self._listening = listening
        self.port: int = listening.getsockname()[1]
        self.door = Door(options.token)
        self.consoles = Consoles(starter(options), most=options.most, keep=options.keep)
        address: str = listening.getsockname()[0]
        host = (
            address if web_address.is_loopback_host(address) else options.host
        )  # a name of loopback's is another user's too
        addresses = Addresses.of(host, self.port, options.public_urls)
        self._server = _Server(
            uvicorn.Config(
                BrowserPages(self.door, addresses, self.consoles, options.patience).app(),
                http=_ending_half_requests(options.patience),
                ws="websockets-sansio",
                ws_max_size=LARGEST_MESSAGE,
                ws_ping_interval=options.alive,
                ws_ping_timeout=options.alive,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=STOPPING,
            )
        )
        whole = options.public_urls[0] if options.public_urls else f"http://{bracketed(host)}:{self.port}/"
        self.url = whole if whole.endswith("/") else f"{whole}/"

    @property
    def link(self) -> str:
        """The address to open: with the token, where that works once, and where no browser sends it by itself."""
        return self.url if self.door.reusable else f"{self.url}#token={self.door.token}"

    async def run(self) -> None:
        """Serve until `stop` or a signal; no console is left then."""
        try:
            await self._server.serve(sockets=[self._listening])
        finally:
            await self.consoles.close()
            self._listening.close()

    def stop(self) -> None:
        """Have `run` end."""
        self._server.should_exit = True


def serve(options: ServeOptions) -> None:
    """Serve until it is interrupted. Raises UsageError for an address that can't be had."""
    server = WebServer(options, listen(options.host, options.port))
    how = "It asks for the token." if server.door.reusable else "The link works once."
    sys.stdout.write(f"{server.link}\n")
    sys.stdout.flush()
    sys.stderr.write(f"fanout: the console is at this address. {how} Ctrl+C ends it.\n")
    asyncio.run(server.run())
