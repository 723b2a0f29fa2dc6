"""Signing in without a user: by a secret or a signed assertion, at the issuer of mcp.json alone."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from console_app.config.servers import ServerConfig
from console_app.mcp_client import Asking, ServerState
from console_app.mcp_client.connecting.sign_in import plan_of
from tests.mcp_client.conftest import Bench, StartHub
from tests.mcp_client.oauth_site import Browser, Site, running_site

SECRET = "a secret/of the build: 100%"
KEY = ec.generate_private_key(ec.SECP256R1())
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()


@dataclass
class MachineSite(Site):
    """Grants tokens to programs; `forms` are what they sent to get one."""

    methods: tuple[str, ...] = ("client_secret_basic",)
    issuer: str = ""  # where the resource says to sign in, when that is another
    forms: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def resource(self, request: Request) -> Response:
        return JSONResponse({"resource": self.mcp, "authorization_servers": [self.issuer or self.url]})

    async def metadata(self, request: Request) -> Response:
        endpoints = {"authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/odd/token"}
        taken = {"token_endpoint_auth_methods_supported": self.methods, "grant_types_supported": ["client_credentials"]}
        return JSONResponse({"issuer": self.url, **endpoints, **taken})

    async def token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.forms.append(form)
        self.happened.append(form["grant_type"])
        if not self._is_known(form, request.headers.get("authorization", "")):
            return JSONResponse({"error": "invalid_client"}, 401)
        token = f"token{len(self.forms)}"
        self.valid.add(token)
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in})

    def _is_known(self, form: dict[str, str], header: str) -> bool:
        if "private_key_jwt" in self.methods:
            claims = jwt.decode(form["client_assertion"], KEY.public_key(), algorithms=["ES256"], audience=self.url)
            return claims["iss"] == claims["sub"] == "build"
        if header:
            name, _, secret = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
            return (unquote(name), unquote(secret)) == ("build", SECRET)
        return (form.get("client_id"), form.get("client_secret")) == ("build", SECRET)


def config(site: Site, **auth: Any) -> ServerConfig:
    own = {"type": "client_credentials", "client_id": "build", "issuer": site.url}
    return ServerConfig(name="web", url=site.mcp, transport="http", auth=own | (auth or {"client_secret": SECRET}))


async def started(start_hub: StartHub, config: ServerConfig) -> Bench:
    """With a browser that must not be opened."""
    browser = Browser()
    bench = await start_hub(config, asking=Asking(open_url=browser))
    assert browser.opened == []
    return bench


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_program_signs_in_by_its_secret_in_the_way_that_the_server_takes(
    start_hub: StartHub, method: str
) -> None:
    async with running_site(MachineSite(methods=(method,))) as site:
        bench = await started(start_hub, config(site, client_secret=SECRET, scope="read write"))
        assert bench.status().state is ServerState.READY, bench.status().reason
        assert (await bench.call("greet")).content == "hello, friend"
        assert isinstance(site, MachineSite)
        (form,) = site.forms
        assert (form["grant_type"], form["scope"], form["resource"]) == ("client_credentials", "read write", site.mcp)
        assert ("client_secret" in form) is (method == "client_secret_post")
        await bench.hub.close()


async def test_a_key_signs_who_it_is(start_hub: StartHub) -> None:
    async with running_site(MachineSite(methods=("private_key_jwt",))) as site:
        bench = await started(start_hub, config(site, private_key=PEM, signing_algorithm="ES256"))
        assert (await bench.call("greet")).content == "hello, friend", bench.status().reason
        await bench.hub.close()


async def test_the_next_start_and_a_token_that_was_taken_back_ask_nobody(start_hub: StartHub) -> None:
    async with running_site(MachineSite()) as site:
        await (await started(start_hub, config(site))).hub.close()
        bench = await started(start_hub, config(site))
        assert (await bench.call("greet")).content == "hello, friend"
        assert site.happened == ["client_credentials"]
        site.valid.clear()
        assert (await bench.call("greet")).content == "hello, friend"
        assert site.happened == ["client_credentials"] * 2
        await bench.hub.close()


async def test_the_secret_goes_to_the_issuer_of_the_file_alone(start_hub: StartHub) -> None:
    async with running_site(MachineSite()) as site, running_site(MachineSite()) as thief:
        assert isinstance(site, MachineSite)
        site.issuer = thief.url
        bench = await started(start_hub, config(site))
        says = f"signing in failed: the server names {thief.url} to sign in at, mcp.json {site.url}"
        assert (bench.status().state, bench.status().reason) == (ServerState.FAILED, says)
        assert (site.happened, thief.happened) == ([], [])


async def test_a_token_of_another_issuer_is_not_used_after_the_file_changed(
    start_hub: StartHub, tmp_path: Path
) -> None:
    async with running_site(MachineSite()) as site:
        await (await started(start_hub, config(site))).hub.close()
        bench = await started(start_hub, config(site, client_secret=SECRET, issuer="https://other.test"))
        says = f"signing in failed: the server names {site.url} to sign in at, mcp.json https://other.test"
        assert (bench.status().state, bench.status().reason) == (ServerState.FAILED, says)
        assert site.happened == ["client_credentials"]


async def test_a_secret_that_is_refused_and_a_key_that_does_not_fit_are_one_line_without_them(
    start_hub: StartHub,
) -> None:
    async with running_site(MachineSite()) as site:
        bench = await started(start_hub, config(site, client_secret="an-older-secret"))
        says = 'signing in failed: Token exchange failed (401): {"error":"invalid_client"}'
        assert (bench.status().state, bench.status().reason) == (ServerState.FAILED, says)
        bench = await started(start_hub, config(site, private_key=PEM))  # which is for ES256
        assert bench.status().reason.startswith("signing in failed: `auth.private_key` can't sign RS256 (")
        assert "PRIVATE" not in bench.status().reason


def test_what_is_missing_or_too_much_is_said() -> None:
    def problem(**auth: Any) -> str:
        server = ServerConfig(name="web", url="https://x.test/mcp", auth={"type": "client_credentials", **auth})
        with pytest.raises(ValueError, match="auth") as raised:
            plan_of(server)
        return str(raised.value)

    whole = {"client_id": "build", "issuer": "https://as.test"}
    assert problem(issuer="https://as.test") == "`auth` of type client_credentials needs `client_id`"
    assert problem(client_id="build", client_secret="x") == "`auth` of type client_credentials needs `issuer`"
    either = "`auth` of type client_credentials needs either `client_secret` or `private_key`"
    assert problem(**whole) == problem(**whole, client_secret="x", private_key="y") == either
    assert problem(**whole, client_secret="x", redirect_port=1) == "`auth` has the unknown key 'redirect_port'"


def test_secret_and_key_are_known_to_be_secret() -> None:
    auth = {"type": "client_credentials", "client_secret": "a-long-secret", "privateKey": PEM}
    found = set(ServerConfig(name="web", url="https://x.test/mcp", auth=auth).secrets())
    assert {"a-long-secret", PEM} <= found
