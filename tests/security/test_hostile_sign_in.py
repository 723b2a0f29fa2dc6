"""Signing in to a server whose authorization server is hostile: each attack is refused with one line, and no code, no
token and no registration goes where it was led."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from console_app.config.secrets import FileCredentials
from console_app.config.servers import ServerConfig
from console_app.mcp_client import Asking, ServerState
from console_app.mcp_client.connecting import oauth
from console_app.mcp_client.connecting.oauth import refusal_of
from tests.each import each
from tests.mcp_client.conftest import StartHub
from tests.mcp_client.oauth_site import Browser, Site, running_site

AWAY = "as.elsewhere.test"
Back = Callable[[dict[str, str]], dict[str, str]]


async def data_of(response: Response) -> dict[str, Any]:
    return json.loads(bytes(response.body))


async def endless(*, pause: float) -> AsyncGenerator[bytes]:
    yield b'{"issuer": "'
    while True:
        yield b"x" * (1 if pause else 65_536)
        await asyncio.sleep(pause)


class Hostile(Site):
    """The site, with one answer changed: `changes` by the name of what answers."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes

    @property
    def resource_metadata(self) -> str:
        return self.changes.get("challenge", super().resource_metadata)

    async def _changed(self, name: str, response: Response) -> Response:
        change = self.changes.get(name)
        match change:
            case None:
                return response
            case dict():
                return JSONResponse({**await data_of(response), **change}, response.status_code)  # pyright: ignore
            case _:
                return change()

    async def resource(self, request: Request) -> Response:
        return await self._changed("resource", await super().resource(request))

    async def metadata(self, request: Request) -> Response:
        return await self._changed("metadata", await super().metadata(request))

    async def register(self, request: Request) -> Response:
        return await self._changed("register", await super().register(request))

    async def token(self, request: Request) -> Response:
        return await self._changed("token", await super().token(request))

    async def authorize(self, request: Request) -> Response:
        response = await super().authorize(request)
        back: Back | None = self.changes.get("back")
        if back is None:
            return response
        query = dict(request.query_params)
        code = next(reversed(self.codes))
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back({'code': code, 'state': query['state']}))}")


def large(**fields: Any) -> Callable[[], Response]:
    return lambda: JSONResponse({**fields, "more": "x" * 1_000_000})


def packed() -> Response:
    body = gzip.compress(json.dumps({"more": "x" * 50_000_000}).encode())
    return Response(body, headers={"content-encoding": "gzip", "content-type": "application/json"})


def streamed(pause: float = 0) -> Callable[[], Response]:
    return lambda: StreamingResponse(endless(pause=pause), media_type="application/json")


ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    "the code comes of another issuer": ({"back": lambda back: back | {"iss": "https://evil.test"}}, "iss mismatch"),
    "the issuer was promised and is missing": (
        {"metadata": {"authorization_response_iss_parameter_supported": True}},
        "missing iss",
    ),
    "metadata of another issuer": ({"metadata": {"issuer": "https://evil.test"}}, "issuer mismatch"),
    "no PKCE": ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "takes no PKCE with S256"),
    "a resource that is another server": ({"resource": {"resource": "https://evil.test/mcp"}}, "does not match"),
    "what protects it is told elsewhere": ({"challenge": f"https://{AWAY}/prm"}, "told by another host, " + AWAY),
    "an authorization server over http": (
        {"resource": {"authorization_servers": [f"http://{AWAY}"]}},
        f"would go to {AWAY} over plain http",
    ),
    "an authorization server with a user name": (
        {"resource": {"authorization_servers": [f"https://bank.test@{AWAY}/"]}},
        "user name in it",
    ),
    "a registration over http": (
        {"metadata": {"registration_endpoint": f"http://{AWAY}/r"}},
        f"would go to {AWAY} over plain http",
    ),
    "a page to sign in on over http": (
        {"metadata": {"authorization_endpoint": f"http://{AWAY}/a"}},
        f"would go to {AWAY} over plain http",
    ),
    "a page with a user name": (
        {"metadata": {"authorization_endpoint": f"https://bank.test:x@{AWAY}/a"}},
        "user name in it",
    ),
    "tokens over http": ({"metadata": {"token_endpoint": f"http://{AWAY}/t"}}, f"would go to {AWAY} over plain http"),
    "metadata without an end": ({"metadata": streamed()}, "sent more than 256 kB"),
    "metadata that trickle": ({"metadata": streamed(0.05)}, "did not answer within"),
    "metadata as a bomb": ({"metadata": packed}, "packed its answer"),
    "large metadata": ({"metadata": large()}, "sent more than 256 kB"),
    "large metadata of the server": ({"resource": large()}, "sent more than 256 kB"),
    "metadata that lead away": (
        {"metadata": lambda: RedirectResponse(f"https://{AWAY}/m", 302), "register": lambda: Response("no", 404)},
        "signing in failed|HTTP 4",
    ),
    "a registration for another place": (
        {"register": {"redirect_uris": ["https://evil.test/callback"]}},
        "another place to come back to",
    ),
    "a large registration": ({"register": large(client_id="c")}, "sent more than 256 kB"),
    "a token of another type": ({"token": {"token_type": "mac"}}, "[Tt]oken"),
    "a token without a type": ({"token": {"token_type": None, "access_token": "tok-canary"}}, "token_type: "),
    "a registration that fits nothing": ({"register": {"client_id": 5, "client_secret": "canary"}}, "client_id: "),
    "a token with a line break": ({"token": {"access_token": "a\r\nX-Evil: 1"}}, "characters or a length"),
    "a token without an end": ({"token": streamed()}, "sent more than 256 kB"),
    "an error that draws": (
        {
            "back": lambda back: {
                "error": "x",
                "error_description": "\x1b]0;evil\x07\n\n[red]no",
                "state": back["state"],
            }
        },
        "refused",
    ),
}


async def refused(start_hub: StartHub, folder: Path, site: Site, why: str) -> Browser:
    """A sign-in to a site that runs comes to nothing but one line, which says why; the browser that was to open it."""
    browser = Browser()
    config = ServerConfig(name="web", url=site.mcp, transport="http")
    bench = await start_hub(config, asking=Asking(open_url=browser))
    status = await bench.hub.sign_in("web")
    assert status.state is not ServerState.READY
    assert re.search(why, status.reason), status.reason
    assert len(status.reason) <= 300
    assert status.reason.isprintable()
    assert "canary" not in status.reason
    kept = folder / "credentials.json"
    assert not kept.exists() or "access_token" not in kept.read_text()
    return browser


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_attack_is_refused_with_one_line(
    start_hub: StartHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: str
) -> None:
    changes, why = ATTACKS[attack]
    if "trickle" in attack:
        monkeypatch.setattr(oauth, "SIGN_IN_STEP_SECONDS", 0.5)
    async with running_site(Hostile(**changes)) as site:
        browser = await refused(start_hub, tmp_path, site, why)
        assert AWAY not in "".join(browser.opened)
        if "token" not in attack:
            assert not site.valid, "no code was exchanged"


OTHERS: dict[str, Back] = {
    "the state is another": lambda back: back | {"state": "x"},
    "the state is missing": lambda back: {"code": back["code"]},
    "an error of another state": lambda back: {"error": "access_denied", "state": "x"},
    "an error without a state": lambda back: {"error": "access_denied"},
}


@pytest.mark.parametrize("other", OTHERS)
async def test_an_answer_to_another_sign_in_changes_nothing(start_hub: StartHub, other: str) -> None:
    """It is refused with 400, and the right answer after it signs in."""
    site, browser = Hostile(back=OTHERS[other]), Browser()

    async def visit(url: str) -> None:
        await browser(url)
        del site.changes["back"]
        await browser(url)

    async with running_site(site):
        config = ServerConfig(name="web", url=site.mcp, transport="http")
        bench = await start_hub(config, asking=Asking(open_url=visit))
        assert (await bench.hub.sign_in("web")).state is ServerState.READY
    assert browser.statuses == [400, 200]
    assert "no answer to the sign-in" in browser.pages[0]
    assert site.happened.count("authorize") == 2
    assert site.happened.count("authorization_code") == 1
    assert len(site.codes) == 1, "the code that came with the wrong answer was never exchanged"


class Honest(Site):
    """An authorization server that says who it is (RFC 9207)."""

    async def authorize(self, request: Request) -> Response:
        response = await super().authorize(request)
        return RedirectResponse(f"{response.headers['location']}&{urlencode({'iss': self.url})}")


class Between(Site):
    """Registers whoever comes at another server, and has them sign in there for a token of its own choice."""

    def __init__(self, honest: Site) -> None:
        super().__init__()
        self.honest = honest
        self.codes_stolen: list[str] = []

    async def register(self, request: Request) -> Response:
        return await self.honest.register(request)

    async def authorize(self, request: Request) -> Response:
        query = {**request.query_params, "resource": self.honest.mcp}
        return RedirectResponse(f"{self.honest.url}/authorize?{urlencode(query)}")

    async def token(self, request: Request) -> Response:
        self.codes_stolen.append(str((await request.form())["code"]))
        return Response(status_code=400)


async def test_the_code_of_another_server_is_not_given_to_one_that_stood_between(
    start_hub: StartHub, tmp_path: Path
) -> None:
    async with running_site(Honest()) as honest, running_site(Between(honest)) as between:
        assert isinstance(between, Between)
        await refused(start_hub, tmp_path, between, "iss mismatch")
        assert "authorize" in honest.happened, "somebody signed in there"
        assert between.codes_stolen == []


async def test_a_refresh_that_fits_nothing_is_logged_without_what_it_held(
    start_hub: StartHub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Hostile()
    async with running_site(site):
        config = ServerConfig(name="web", url=site.mcp, transport="http")
        bench = await start_hub(config, asking=Asking(open_url=Browser()))
        assert (await bench.hub.sign_in("web")).state is ServerState.READY
        path = tmp_path / "credentials.json"
        ((key, text),) = json.loads(path.read_text()).items()
        FileCredentials(path).write(key, json.dumps(json.loads(text) | {"expires_at": 1.0}))
        site.changes["token"] = {"token_type": None, "access_token": "tok-canary"}
        await bench.hub.connection("web").reconnect()
        assert bench.status().state is ServerState.NEEDS_SIGN_IN
    assert "the answer to a refresh holds no token" in caplog.text
    assert "canary" not in caplog.text


def test_there_are_twenty_attacks_and_more() -> None:
    assert len(ATTACKS) >= 20


@each(
    ("url", "server", "why"),
    [
        ("https://as.test/token", "https://mcp.test/mcp", ""),
        ("http://127.0.0.1:9/token", "http://127.0.0.1:8/mcp", ""),
        ("https://10.0.0.2/token", "https://10.0.0.1/mcp", ""),
        ("http://127.0.0.1:9/token", "https://mcp.test/mcp", "on this machine or network"),
        ("https://localhost/token", "https://mcp.test/mcp", "on this machine or network"),
        ("https://169.254.169.254/latest", "https://mcp.test/mcp", "on this machine or network"),
        ("https://[::ffff:10.0.0.1]/", "https://mcp.test/mcp", "on this machine or network"),
        ("https://metadata.internal/", "https://mcp.test/mcp", "on this machine or network"),
        ("http://as.test/token", "https://mcp.test/mcp", "over plain http"),
        ("http://10.0.0.2/token", "http://10.0.0.1/mcp", "over plain http"),
        ("file:///etc/passwd", "https://mcp.test/mcp", "no web page"),
        ("javascript:alert(1)", "https://mcp.test/mcp", "no web page"),
        ("https://a@b.test/", "https://mcp.test/mcp", "user name"),
        ("https://[", "https://mcp.test/mcp", "can't be read"),
    ],
)
def test_where_a_sign_in_may_go(url: str, server: str, why: str) -> None:
    found = refusal_of(url, server)
    assert (why in found) if why else found == ""
