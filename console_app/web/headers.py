"""The guard around all that is served: a request for another host is refused, each answer says what it may do."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console_app.web.door import Addresses

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


class Headers:
    """Middleware for requests and sockets."""

    def __init__(self, app: ASGIApp, addresses: Addresses) -> None:
        self._app, self._addresses = app, addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers[name] = value
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
