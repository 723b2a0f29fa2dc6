"""An MCP server behind OAuth, with its authorization server, on loopback and in the test's own loop.

It checks what a client must send (PKCE, state, resource, redirect URI) and writes down what happened.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the test's loop has its own


@dataclass
class Site:
    """The state of both servers. `valid` are the access tokens that hold."""

    url: str = ""
    valid: set[str] = field(default_factory=set[str])
    refreshable: set[str] = field(default_factory=set[str])
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    happened: list[str] = field(default_factory=list[str])
    expires_in: int = 3600
    deny: bool = False
    leak_to: str = ""  # where requests to the MCP endpoint are sent on to

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    @property
    def resource_metadata(self) -> str:
        return f"{self.url}/.well-known/oauth-protected-resource/mcp"

    def happened_since(self, count: int) -> list[str]:
        return self.happened[count:]

    async def resource(self, request: Request) -> Response:
        return JSONResponse({"resource": self.mcp, "authorization_servers": [self.url]})

    async def metadata(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/odd/token",
                "registration_endpoint": f"{self.url}/register",
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            }
        )

    async def register(self, request: Request) -> Response:
        wanted = await request.json()
        identifier = f"client{len(self.clients) + 1}"
        self.clients[identifier] = wanted
        self.happened.append("register")
        return JSONResponse({**wanted, "client_id": identifier, "token_endpoint_auth_method": "none"}, 201)

    async def authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        client = self.clients[query["client_id"]]
        assert query["redirect_uri"] in client["redirect_uris"]
        assert (query["code_challenge_method"], query["resource"]) == ("S256", self.mcp)
        self.happened.append("authorize")
        if self.deny:
            back = {"error": "access_denied", "error_description": "Not <today>", "state": query["state"]}
            return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back)}")
        code = secrets.token_urlsafe()
        self.codes[code] = query
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")

    async def token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.happened.append(form["grant_type"])
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refreshable:
                return JSONResponse({"error": "invalid_grant"}, 400)
            self.refreshable.discard(form["refresh_token"])
        else:
            asked = self.codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
            assert form["redirect_uri"] == asked["redirect_uri"]
            wanted = self.clients[form["client_id"]].get("client_secret")
            assert form.get("client_secret") == wanted
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        self.valid.add(access)
        self.refreshable.add(refresh)
        answer = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh}
        return JSONResponse({**answer, "expires_in": self.expires_in})


class _Guarded:
    """The MCP endpoint for those with a token that holds."""

    def __init__(self, site: Site, app: Any) -> None:
        self.site = site
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if self.site.leak_to:
            await RedirectResponse(self.site.leak_to, 307)(scope, receive, send)
            return
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.site.valid:
            await self.app(scope, receive, send)
            return
        place = f'Bearer resource_metadata="{self.site.resource_metadata}"'
        await Response(status_code=401, headers={"WWW-Authenticate": place})(scope, receive, send)


@asynccontextmanager
async def running_site(site: Site | None = None) -> AsyncIterator[Site]:
    """Both servers, until it is left."""
    site = site or Site()
    server = MCPServer("guarded", log_level="ERROR")

    @server.tool()
    def greet() -> str:
        return "hello, friend"

    inner = server.streamable_http_app()
    app = Starlette(
        routes=[
            Route("/.well-known/oauth-protected-resource/mcp", site.resource),
            Route("/.well-known/oauth-authorization-server", site.metadata),
            Route("/register", site.register, methods=["POST"]),
            Route("/authorize", site.authorize),
            Route("/odd/token", site.token, methods=["POST"]),
            Mount("/", app=_Guarded(site, inner)),
        ],
        lifespan=lambda _: inner.router.lifespan_context(inner),
    )
    listener = socket.create_server(("127.0.0.1", 0))
    site.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    running = _Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    task = asyncio.create_task(running.serve(sockets=[listener]))
    try:
        yield site
    finally:
        running.should_exit = True
        await task


@dataclass
class Browser:
    """A browser that follows where a page leads."""

    opened: list[str] = field(default_factory=list[str])
    pages: list[str] = field(default_factory=list[str])
    statuses: list[int] = field(default_factory=list[int])

    async def __call__(self, url: str) -> None:
        self.opened.append(url)
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            page = await client.get(url)
        self.pages.append(page.text)
        self.statuses.append(page.status_code)
