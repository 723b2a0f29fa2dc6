"""Runs the server: listens, says where, and ends every console with itself.

What is served: the terminal's page, its parts, a socket to its console, and files that were asked for; beside them the
page of the conversation that all devices share, and the socket that fills it. No folders.

A request for another host is refused, and each answer says what the page may do.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from console_app.domain import UsageError, safe_text, web_address
from console_app.domain.ending_signals import ending_signals
from console_app.records import dataclass
from console_app.web.door import Addresses, Answer, Door, bracketed
from console_app.web.terminal_process import (
    Consoles,
    RunningConsole,
    TerminalProcess,
    TooManyConsolesError,
    within_limits,
)

LARGEST_MESSAGE: Final = 1 << 20  # bytes from a page
PATIENCE: Final = 10.0  # seconds in which a request, and a page's first message, are whole
STOPPING: Final = 2  # seconds for answers under way when the server ends


Tell = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Sends a device a message; waits for one that is slow, and does nothing for one that is gone."""


class SharedPage(Protocol):
    @property
    def document(self) -> tuple[str, str]:
        """Return the page as it is without anything of the conversation, and its policy."""
        ...

    def show_on(self, tell: Tell, asked: Mapping[str, Any]) -> AbstractAsyncContextManager[None]:
        """Show the conversation on a device as long as this is entered. `asked` is the device's first message."""
        ...

    async def act(self, message: Mapping[str, Any]) -> None:
        """Do what somebody asks for on a device."""

    async def close(self) -> None:
        """End what runs, and all that it runs on."""


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
    shared: SharedPage | None = None


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


class _SoonClosed(WebSocketsSansIOProtocol):
    """A socket as uvicorn makes it, but that one whose other side doesn't answer the close is gone a second later."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.close_timeout = 1.0


class WebServer:
    def __init__(self, options: ServeOptions, listening: socket.socket) -> None:
        self._listening, self._shared = listening, options.shared
        self.port: int = listening.getsockname()[1]
        self.door = Door(options.token)
        start = partial(TerminalProcess.start, arguments=options.arguments, environ=options.environ, cwd=options.cwd)
        self.consoles = Consoles(start, most=options.most, keep=options.keep)
        address: str = listening.getsockname()[0]
        host = (
            address if web_address.is_loopback_host(address) else options.host
        )  # a name of loopback's is another user's too
        addresses = Addresses.of(host, self.port, options.public_urls)
        self._server = _Server(
            uvicorn.Config(
                BrowserPages(self.door, addresses, self.consoles, options.patience, options.shared).app(),
                http=_ending_half_requests(options.patience),
                ws=_SoonClosed,
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
            await asyncio.gather(self.consoles.close(), *([self._shared.close()] if self._shared is not None else ()))
            self._listening.close()

    def stop(self) -> None:
        self._server.should_exit = True


def serve(options: ServeOptions) -> None:
    """Serve until it is interrupted. Raises UsageError for an address that can't be had."""
    server = WebServer(options, listen(options.host, options.port))
    how = "It asks for the token." if server.door.reusable else "The link works once."
    sys.stdout.write(f"{server.link}\n")
    sys.stdout.flush()
    sys.stderr.write(f"fanout: the console is at this address. {how} Ctrl+C ends it.\n")
    asyncio.run(server.run())


DOWNLOAD_LASTS: Final = 60.0  # seconds
MOST_DOWNLOADS: Final = 100  # waiting at a time; the oldest goes
# xterm.js writes its colours into a style element; scripts come from here alone, and nothing else from anywhere.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Connection": "close",  # a request a connection: `server.py` waits for no second one
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC: Final = Path(__file__).parent / "static"
SERVED: Final = {  # all there is
    "start.js": "text/javascript",
    "door.js": "text/javascript",
    "page.js": "text/javascript",
    "page.css": "text/css",
    "xterm.mjs": "text/javascript",
    "addon-fit.mjs": "text/javascript",
    "addon-unicode11.mjs": "text/javascript",
    "xterm.css": "text/css",
}
_REFUSED: Final[Mapping[Answer, str]] = {
    "no": "That is not the token.",
    "used": "This link was used. It works once: start `fanout serve` again, or give it a token of yours.",
}
log = logging.getLogger(__name__)


class Downloads:
    """Files on their way to the browser. `now` is in seconds of a steady clock.

    Each has an address that nobody can guess and that works once, for a minute.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Path, float]] = {}  # by key, and until when

    def offer(self, path: Path, now: float) -> str:
        self._waiting = {key: one for key, one in self._waiting.items() if one[1] > now}
        if len(self._waiting) >= MOST_DOWNLOADS:
            del self._waiting[next(iter(self._waiting))]
        key = secrets.token_urlsafe(24)
        self._waiting[key] = path, now + DOWNLOAD_LASTS
        return key

    def take(self, key: str, now: float) -> Path | None:
        """Return the file, once; None for a key that is unknown, used or too old, and where the file is gone."""
        path, until = self._waiting.pop(key, (Path(), now))
        return path if until > now and path.is_file() else None


class _Guarded:
    def __init__(self, app: ASGIApp, addresses: Addresses) -> None:
        self._app, self._addresses = app, addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        host = RequestHeaders(scope=scope).get("host", "")
        if scope["type"] == "http" and self._addresses.is_localhost(host):
            await RedirectResponse(f"{self._addresses.here}/")(scope, receive, sent)  # a browser takes the token along
        elif self._addresses.knows_host(host):
            await self._app(scope, receive, sent)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await PlainTextResponse("This server does not go by that name.\n", 421)(scope, receive, sent)


class _Page:
    def __init__(self, socket: WebSocket, downloads: Downloads) -> None:
        self._socket, self._downloads = socket, downloads

    async def draw(self, data: bytes) -> None:
        await self._send({"type": "websocket.send", "bytes": data})

    async def tell(self, message: Mapping[str, Any]) -> None:
        path = message.get("file")
        if isinstance(path, str):
            key = self._downloads.offer(Path(path), time.monotonic())
            message = {"download": f"files/{key}", "name": Path(path).name}
        await self._send({"type": "websocket.send", "text": json.dumps(dict(message))})

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await self._socket.send(message)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the page is gone; whoever reads its socket finds out too, and says so


class BrowserPages:
    def __init__(
        self, door: Door, addresses: Addresses, consoles: Consoles, patience: float, shared: SharedPage | None
    ) -> None:
        self._door, self._addresses, self._consoles, self._patience = door, addresses, consoles, patience
        self._shared = shared
        self._downloads = Downloads()

    def app(self) -> ASGIApp:
        routes = [
            Route("/", self._page),
            Route("/static/{name}", self._static),
            Route("/files/{key}", self._file),
            WebSocketRoute("/socket", self._socket),
        ]
        if (shared := self._shared) is not None:
            text, policy = shared.document
            headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
            routes.append(Route("/page", HTMLResponse(text, headers=headers)))
            routes.append(WebSocketRoute("/page-socket", partial(self._socket_of_page, shared)))
        return _Guarded(Starlette(routes=routes), self._addresses)

    async def _page(self, _request: Request) -> Response:
        return FileResponse(STATIC / "page.html")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SERVED:
            return PlainTextResponse("There is no such file.\n", 404)
        return FileResponse(STATIC / name, media_type=SERVED[name])

    async def _file(self, request: Request) -> Response:
        path = self._downloads.take(request.path_params["key"], time.monotonic()) if request.method == "GET" else None
        if path is None:
            return PlainTextResponse("This address is used or too old, or the file is gone.\n", 404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    async def _came_in(self, socket: WebSocket) -> tuple[_Page, Mapping[str, Any]] | None:
        """Return the page behind a socket and its first message; None, and closed, for who may not come in."""
        headers = socket.headers
        if not self._addresses.knows_origin(headers.get("origin", ""), headers.get("host", "")):
            log.warning("a page from elsewhere was refused")
            await socket.close()  # before it is accepted: 403
            return None
        await socket.accept()
        page = _Page(socket, self._downloads)
        asked = await self._first_message(socket)
        if await self._lets_in(asked, page):
            return page, asked
        await socket.close()
        return None

    async def _socket_of_page(self, shared: SharedPage, socket: WebSocket) -> None:
        if (came := await self._came_in(socket)) is None:
            return
        page, asked = came
        async with shared.show_on(page.tell, asked):
            while (message := await socket.receive())["type"] != "websocket.disconnect":
                if said := safe_text.object_in(message.get("text") or ""):
                    await shared.act(said)

    async def _socket(self, socket: WebSocket) -> None:
        if (came := await self._came_in(socket)) is None:
            return
        page, asked = came
        if (console := await self._console_for(asked, page)) is None:
            await socket.close()
            return
        try:
            await _read(socket, console)
        finally:
            console.gone(page)

    async def _first_message(self, socket: WebSocket) -> Mapping[str, Any]:
        """Return what a page shows and asks for; nothing where that doesn't come in time."""
        try:
            async with asyncio.timeout(self._patience):
                message = await socket.receive()
        except TimeoutError:
            return {}
        return safe_text.object_in(message.get("text") or "")

    async def _lets_in(self, asked: Mapping[str, Any], page: _Page) -> bool:
        """Return whether the page showed the ticket, or the token, for which it gets one. It is told why not."""
        if self._door.lets_in(str(asked.get("ticket"))):
            return True
        token = asked.get("token")
        answer = self._door.redeem(str(token))
        if answer == "in":
            await page.tell({"ticket": self._door.ticket})
            return True
        line = (
            "Fanout asks for its token."
            if self._door.reusable
            else "Fanout opens with the link that `fanout serve` printed."
        )
        await page.tell({"closed": _REFUSED[answer] if token else line, "asks": self._door.reusable})
        return False

    async def _console_for(self, asked: Mapping[str, Any], page: _Page) -> RunningConsole | None:
        """Return the console that the page knows of, or a new one; None, and the page is told why, without one."""
        size = _size(asked.get("size")) or (80, 24)
        known = str(asked.get("console") or "")
        console = self._consoles.find(known)
        again = console is not None
        try:
            console = console or await self._consoles.start(size)
        except TooManyConsolesError:
            await page.tell({"refused": "As many consoles run as may. Close one, or start with more: --consoles N."})
            return None
        except OSError as error:
            await page.tell({"refused": f"The console can't be started: {error.strerror or error}."})
            return None
        await page.tell({"console": console.id, "kept": self._consoles.keep > 0, "lost": bool(known) and not again})
        await console.show_on(page)
        if again:
            console.process.resize(size)
            console.process.show_again()
        return console


async def _read(socket: WebSocket, console: RunningConsole) -> None:
    """Keys and sizes, until the page goes or the console has ended."""
    while True:
        receiving = asyncio.ensure_future(socket.receive())
        await asyncio.wait({receiving, console.done}, return_when=asyncio.FIRST_COMPLETED)
        if not receiving.done():
            receiving.cancel()
            await socket.close()
            return
        message = receiving.result()
        if message["type"] == "websocket.disconnect":
            return
        if data := message.get("bytes"):
            await console.process.write(data)
        elif (size := _size(safe_text.object_in(message.get("text") or "").get("size"))) is not None:
            console.process.resize(size)


def _size(values: Any) -> tuple[int, int] | None:
    """Columns and rows, within limits; None for what is no size."""
    try:
        columns, rows = (float(value) for value in values)
        return within_limits(columns, rows)
    except (TypeError, ValueError, OverflowError):
        return None
