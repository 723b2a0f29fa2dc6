"""The proof of who we are that a server wants: what mcp.json says of it, and what is kept between runs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from console_app.config.secrets import Credentials
from console_app.config.servers import ServerConfig
from console_app.domain import questions, safe_text
from console_app.mcp_client.connecting.asking import Asking, WayBack
from console_app.records import dataclass

_CLIENT_KEYS = frozenset({"type", "issuer", "client_id", "client_secret", "token_endpoint_auth_method"})
_OAUTH_KEYS = _CLIENT_KEYS | {"client_metadata_url", "redirect_port"}
_MACHINE_KEYS = _CLIENT_KEYS | {"private_key", "signing_algorithm", "scope"}


class SignInNeeded(Exception):
    """The server wants the user to sign in, and this is no moment to ask."""


class SignInRefused(Exception):
    """The sign-in did not happen; the text says why in one line."""


@dataclass(frozen=True, slots=True)
class AuthPlan:
    """The `auth` key of mcp.json: "none", "oauth" (the default for a URL), a bearer token, or an object."""

    kind: Literal["none", "bearer", "oauth", "client_credentials"]
    token: str = ""
    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""  # a public document that stands for the client, in place of registering
    redirect_port: int | None = None
    token_endpoint_auth_method: str = ""
    issuer: str = ""  # the one authorization server that a sign-in may lead to; "": any that the server names
    private_key: str = ""  # PEM; signs who we are, in place of a secret that is sent
    signing_algorithm: str = "RS256"
    scope: str = ""  # words between blanks; "": what the server says it needs


def plan_of(config: ServerConfig) -> AuthPlan:
    """Raise ValueError, in words for people, for an `auth` that can't be used."""
    auth = config.auth
    if auth is None:
        own = any(name.lower() == "authorization" for name in config.headers)
        return AuthPlan("none" if own else "oauth")
    if isinstance(auth, str):
        if auth.lower() in {"none", "oauth"}:
            return AuthPlan(cast('Literal["none", "oauth"]', auth.lower()))
        return AuthPlan("bearer", token=auth.removeprefix("Bearer ").strip())
    kind = str(auth.get("type", "oauth")).lower()
    if kind == "none":
        return AuthPlan("none")
    if kind == "bearer":
        if not auth.get("token"):
            raise ValueError("`auth` of type bearer needs a `token`")
        return AuthPlan("bearer", token=str(auth["token"]))
    if kind not in ("client_credentials", "oauth"):
        raise ValueError(f"`auth` has the type {kind!r}; known are oauth, client_credentials, bearer and none")
    keys = _OAUTH_KEYS if kind == "oauth" else _MACHINE_KEYS
    known = {re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key): value for key, value in auth.items()}
    if unknown := sorted(known.keys() - keys):
        raise ValueError(f"`auth` has the unknown key {unknown[0]!r}")
    texts: dict[str, Any] = {key: str(known[key]) for key in keys - {"type", "redirect_port"} if known.get(key)}
    if kind == "oauth":
        port = known.get("redirect_port")
        if port is not None and (isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536):
            raise ValueError("`auth.redirect_port` must be a port")
        return AuthPlan("oauth", redirect_port=port, **texts)
    for key in ("client_id", "issuer"):  # without an issuer, the server would say who gets the secret
        if key not in texts:
            raise ValueError(f"`auth` of type client_credentials needs `{key}`")
    if ("client_secret" in texts) == ("private_key" in texts):
        raise ValueError("`auth` of type client_credentials needs either `client_secret` or `private_key`")
    if "private_key" in texts:
        texts["token_endpoint_auth_method"] = "private_key_jwt"
    return AuthPlan("client_credentials", **texts)


class StoredSignIn:
    """The record of one server's sign-in: a JSON object, by the server's address and the client that signed in."""

    def __init__(self, credentials: Credentials, config: ServerConfig, plan: AuthPlan) -> None:
        url = urlsplit(config.url or "")
        place = f"{url.scheme}://{(url.hostname or '').lower()}{f':{url.port}' if url.port else ''}{url.path}"
        client = f"#{plan.client_id}" if plan.client_id else ""
        # The address is in the key for people to see; the hash keeps keys of any length apart.
        digest = hashlib.sha256(f"{place}{client}".encode()).hexdigest()[:16]
        self._key = f"mcp {place[:100]} {digest}"
        self._credentials = credentials
        self._lock = asyncio.Lock()

    async def read(self) -> dict[str, Any]:
        """Return all of it; nothing where nothing was kept or it can't be read."""
        return safe_text.object_in(await asyncio.to_thread(self._credentials.read, self._key) or "")

    async def update(self, **fields: Any) -> None:
        """Keep these fields beside the others; None deletes one."""
        async with self._lock:
            stored = {key: value for key, value in ((await self.read()) | fields).items() if value is not None}
            await asyncio.to_thread(self._credentials.write, self._key, json.dumps(stored))

    async def forget(self) -> None:
        await asyncio.to_thread(self._credentials.delete, self._key)


class SignInPage:
    """Shows the user where to sign in: at once when they asked for it, after a yes when a call needs it, else never."""

    def __init__(self, server: str, asking: Asking) -> None:
        self.wanted = False
        self.connected = False
        self._server = server
        self._asking = asking

    @property
    def asks(self) -> bool:
        return self.wanted or self.connected

    async def __call__(self, url: str, call_id: str, back: WayBack) -> None:
        """Open the page. Raises SignInNeeded where this is no moment for it, or the user said no."""
        self._asking.sign_ins[url] = back
        if self.wanted:
            await self._asking.open_url(url)
            return
        if not self.connected:
            raise SignInNeeded
        question = questions.Elicitation(self._server, "It wants you to sign in (again).", call_id, mode="url", url=url)
        if (await self._asking.elicit(question, (), lambda level, text: None)).action != "accept":
            raise SignInNeeded
