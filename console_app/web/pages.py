"""What is served: one page, what it is made of, a socket to its console, and files that were asked for. No folders."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from console_app.web.consoles import Consoles, RunningConsole, TooManyConsolesError, within_limits
from console_app.web.door import Addresses, Answer, Door
from console_app.web.downloads import Downloads
from console_app.web.headers import Headers

STATIC: Final = Path(__file__).parent / "static"
SERVED: Final = {  # all there is
    "page.js": "text/javascript",
    "page.css": "text/css",
    "xterm.mjs": "text/javascript",
    "addon-fit.mjs": "text/javascript",
    "addon-unicode11.mjs": "text/javascript",
    "xterm.css": "text/css",
}
LONGEST_FORM: Final = 4096  # bytes
_REFUSED: Final[Mapping[Answer, tuple[int, str]]] = {
    "no": (403, "That is not the token."),
    "used": (403, "This link was used. It works once: start `fanout serve` again, or give it a --token."),
    "wait": (429, "Too many wrong tokens. Wait a minute."),
}
_TOKEN_FIELD: Final = """\
<input type="password" name="token" aria-label="Token" autocomplete="current-password" autofocus required>
<button>Open</button>"""

log = logging.getLogger(__name__)


class _Page:
    """One socket, as the viewer of a console."""

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
    """The ASGI application's routes."""

    def __init__(self, door: Door, addresses: Addresses, consoles: Consoles) -> None:
        self._door, self._addresses, self._consoles = door, addresses, consoles
        self._downloads = Downloads()
        self._cookie = f"fanout_{addresses.port}"  # browsers keep cookies by host, whatever the port

    def app(self) -> Headers:
        """The application with its guard around it."""
        routes = [
            Route("/", self._page),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/static/{name}", self._static),
            Route("/files/{key}", self._file),
            WebSocketRoute("/socket", self._socket),
        ]
        return Headers(Starlette(routes=routes), self._addresses)

    async def _page(self, request: Request) -> Response:
        token = request.query_params.get("token")
        if self._is_in(request):
            return _html("page.html")
        if token is None or request.method != "GET":  # HEAD must not use up the link
            return self._closed("", 403)
        return self._tried(request, token)

    async def _sign_in(self, request: Request) -> Response:
        if not self._addresses.knows_origin(request.headers.get("origin", ""), request.headers.get("host", "")):
            return PlainTextResponse("This form was sent from elsewhere.\n", 403)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LONGEST_FORM:
                return PlainTextResponse("Too long.\n", 413)
        fields = parse_qs(body.decode("utf-8", "replace"))
        return self._tried(request, fields.get("token", [""])[0])

    def _tried(self, request: Request, token: str) -> Response:
        answer = self._door.redeem(token, time.monotonic())
        if answer != "in":
            code, line = _REFUSED[answer]
            return self._closed(line, code)
        response = _html("page.html")
        secure = self._addresses.is_secure(request.headers.get("host", ""))
        response.set_cookie(self._cookie, self._door.cookie(), httponly=True, samesite="strict", secure=secure)
        return response

    def _closed(self, line: str, code: int) -> Response:
        """The page of who is not in: the line, and a form where a token may be typed."""
        if self._door.reusable:
            return _html("closed.html", code, line=line or "Fanout asks for its token.", field=_TOKEN_FIELD)
        line = line or "This page opens with the link that `fanout serve` printed."
        return _html("closed.html", code, line=line, field="")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SERVED:
            return PlainTextResponse("There is no such file.\n", 404)
        return FileResponse(STATIC / name, media_type=SERVED[name])

    async def _file(self, request: Request) -> Response:
        if not self._is_in(request):
            return PlainTextResponse("This needs the token.\n", 403)
        path = self._downloads.take(request.path_params["key"], time.monotonic()) if request.method == "GET" else None
        if path is None:
            return PlainTextResponse("This address is used or too old, or the file is gone.\n", 404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    def _is_in(self, connection: Request | WebSocket) -> bool:
        return self._door.lets_in(connection.cookies.get(self._cookie))

    async def _socket(self, socket: WebSocket) -> None:
        headers = socket.headers
        if not self._addresses.knows_origin(headers.get("origin", ""), headers.get("host", "")):
            log.warning("a page from elsewhere was refused")
            await socket.close()  # before it is accepted: 403
            return
        if not self._is_in(socket):
            await socket.close()
            return
        await socket.accept()
        page = _Page(socket, self._downloads)
        console = await self._console_for(socket, page)
        if console is None:
            await socket.close()
            return
        try:
            await _read(socket, console)
        finally:
            console.gone(page)

    async def _console_for(self, socket: WebSocket, page: _Page) -> RunningConsole | None:
        """The console that the page knows of, or a new one; None, and the page told why, where there is none."""
        asked = socket.query_params
        size = _size([asked.get("columns"), asked.get("rows")]) or (80, 24)
        known = asked.get("console", "")
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
        elif (size := _told_size(message.get("text") or "")) is not None:
            console.process.resize(size)


def _told_size(text: str) -> tuple[int, int] | None:
    try:
        message: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    size = cast("dict[str, Any]", message).get("size")
    return _size(cast("list[Any]", size)) if isinstance(size, list) else None


def _size(values: list[Any]) -> tuple[int, int] | None:
    """Columns and rows, within limits; None for what is no size."""
    try:
        columns, rows = (float(value) for value in values)
        return within_limits(columns, rows)
    except (TypeError, ValueError, OverflowError):
        return None


def _html(name: str, code: int = 200, **parts: str) -> HTMLResponse:
    """A page of ours; `parts`, which stand in its braces, are ours too."""
    page = (STATIC / name).read_text(encoding="utf-8")
    for part, text in parts.items():
        page = page.replace(f"{{{part}}}", text)
    return HTMLResponse(page, code)
