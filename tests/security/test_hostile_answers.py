"""More of hostile authorization servers: what JSON, numbers and redirects may hold, and who else knocks at the
callback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.responses import HTMLResponse, RedirectResponse, Response

from console_app.config.servers import ServerConfig
from console_app.mcp_client import Asking, ServerState
from console_app.mcp_client.connecting import oauth
from tests.mcp_client.conftest import StartHub
from tests.mcp_client.oauth_site import Browser, running_site
from tests.security.test_hostile_sign_in import ATTACKS as FIRST
from tests.security.test_hostile_sign_in import AWAY, Hostile, refused


def raw(text: str | bytes, status: int = 200, kind: str = "application/json") -> Callable[[], Response]:
    return lambda: Response(text, status, media_type=kind)


def to_away(path: str) -> Callable[[], Response]:
    """Leads on in the way that keeps method and body."""
    return lambda: RedirectResponse(f"https://{AWAY}{path}", 307)


DEEP = "[" * 60_000 + "]" * 60_000
COLOURS = "\x1b]0;evil\x07 \u202e[red]no"
OWN = "Token exchange failed .401.|signing in failed"  # the server's own /token knows of nothing

ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    # Metadata that can't be read are none, as the specification has it: what is left are the server's own addresses.
    "a page that is a script": ({"metadata": {"authorization_endpoint": "javascript:alert(1)"}}, OWN),
    "a page that is a file": ({"metadata": {"authorization_endpoint": "file:///etc/passwd"}}, OWN),
    "a page of another program": ({"metadata": {"authorization_endpoint": "vscode://x/y"}}, OWN),
    "no address of a page": ({"metadata": {"authorization_endpoint": ""}}, OWN),
    "a page whose address ends before what is asked": (
        {"metadata": {"authorization_endpoint": f"https://{AWAY}/a?client_id=evil#"}},
        "an address with a fragment, at " + AWAY,
    ),
    "a page as long as a book": (
        {"metadata": {"authorization_endpoint": f"https://{AWAY}/{'x' * 200_000}"}},
        r"an address of 200,\d+ characters, at " + AWAY,
    ),
    "metadata nested without end": ({"metadata": raw(DEEP)}, OWN),
    "metadata that are a web page": ({"metadata": raw("<html>", kind="text/html")}, OWN),
    "metadata that are no text": ({"metadata": raw(b"\xff\xfe\x00{")}, OWN),
    "a resource nested without end": ({"resource": raw(DEEP), "register": raw("", 404)}, "Registration failed: 404"),
    "nobody to sign in with": (
        {"resource": {"authorization_servers": []}, "register": raw("", 404)},
        "Registration failed: 404",
    ),
    "an authorization server that is a file": (
        {"resource": {"authorization_servers": ["file:///etc/passwd"]}, "register": raw("", 404)},
        "Registration failed: 404",
    ),
    "an address for tokens where nobody is": (
        {"metadata": {"token_endpoint": "http://127.0.0.1:9/t"}},
        "127.0.0.1 can't be reached: connection refused",
    ),
    "a registration that leads on": ({"register": to_away("/r")}, "Registration failed: 307"),
    "a registration nested without end": ({"register": raw(DEEP)}, "recursion limit"),
    "a registration refused in colours": ({"register": raw(COLOURS, 400)}, "Registration failed: 400"),
    "a client of an unknown kind": (
        {"register": {"client_secret": "s", "token_endpoint_auth_method": "private_key_jwt"}},
        "[Tt]oken",
    ),
    "a token that leads on": ({"token": to_away("/t")}, r"Token exchange failed \(307\)"),
    "a token nested without end": ({"token": raw(DEEP)}, "recursion limit"),
    "a token refused with bytes that are no text": ({"token": raw(b"\xff\xfe", 400)}, "."),
    "a token refused in colours": ({"token": raw(COLOURS, 400)}, r"Token exchange failed \(400\)"),
    "a token that is a web page": ({"token": lambda: HTMLResponse("<b>canary</b>")}, "invalid token response"),
    "a token that is empty": ({"token": {"access_token": ""}}, "characters or a length no token has"),
    "a token that is a list": ({"token": {"access_token": ["canary"]}}, "access_token: "),
    "a token that holds for longer than there are numbers": (
        {"token": raw('{"access_token": "tok-canary", "token_type": "Bearer", "expires_in": 1%s}' % ("0" * 400))},
        "it holds for no time there is",
    ),
    "a token that holds for no number": (
        {"token": raw('{"access_token": "tok-canary", "token_type": "Bearer", "expires_in": NaN}')},
        ".",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_it_is_refused_with_one_line(start_hub: StartHub, tmp_path: Path, attack: str) -> None:
    changes, why = ATTACKS[attack]
    async with running_site(Hostile(**changes)) as site:
        browser = await refused(start_hub, tmp_path, site, why)
        assert all(page.startswith(f"{site.url}/authorize?") for page in browser.opened)


def test_the_page_on_security_counts_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    assert f": {len(FIRST) + len(ATTACKS)} attacks over real HTTP" in page


# What it sends, and what it is answered with: "" for none.
KNOCKS = {
    "another state": ("GET /callback?code=evil&state=guessed HTTP/1.1\r\n\r\n", "400 Bad Request"),
    "another state twice": ("GET /callback?code=evil&state=guessed&state=other HTTP/1.1\r\n\r\n", "400 Bad Request"),
    "an error of another state": ("GET /callback?error=evil&state=guessed HTTP/1.1\r\n\r\n", "400 Bad Request"),
    "no state": ("GET /callback?code=evil HTTP/1.1\r\n\r\n", "400 Bad Request"),
    "no code": ("GET /callback?state=guessed HTTP/1.1\r\n\r\n", "400 Bad Request"),
    "a form": ("POST /callback HTTP/1.1\r\nContent-Length: 11\r\n\r\ncode=evil&x", "404 Not Found"),
    "another path": ("GET /callback/../x?code=evil HTTP/1.1\r\n\r\n", "404 Not Found"),
    "a head without end": ("GET /callback?code=evil HTTP/1.1\r\nX: " + "x" * 100_000, ""),
    "bytes": ("\x00\xff\x16\x03\x01", ""),
}


@pytest.mark.parametrize("knock", KNOCKS)
async def test_what_another_page_sends_to_the_callback_signs_nobody_in(start_hub: StartHub, knock: str) -> None:
    """And changes nothing: the user's own answer after it signs in."""
    sent, answered = KNOCKS[knock]
    told: list[str] = []
    browser = Browser()

    async def visit(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(back).port)
        try:
            writer.write(sent.encode("latin-1"))
            writer.write_eof()
            told.append((await reader.read()).decode().partition("\r\n")[0])
        except ConnectionError:
            told.append("")  # it was not read to its end
        finally:
            writer.close()
        await browser(url)

    async with running_site() as site:
        config = ServerConfig(name="web", url=site.mcp, transport="http")
        bench = await start_hub(config, asking=Asking(open_url=visit))
        assert (await bench.hub.sign_in("web")).state is ServerState.READY
        assert site.happened.count("authorization_code") == 1
    assert told == [f"HTTP/1.1 {answered}" if answered else ""]
    assert browser.statuses == [200]


async def test_a_sign_in_takes_so_many_requests_and_no_more(
    start_hub: StartHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "MOST_REQUESTS", 3)
    async with running_site() as site:
        config = ServerConfig(name="web", url=site.mcp, transport="http")
        bench = await start_hub(config, asking=Asking(open_url=Browser()))
        status = await bench.hub.sign_in("web")
    assert status.reason == "signing in failed: it did not end after 3 requests"
    assert not site.valid


async def test_an_authorization_server_that_says_nothing_of_pkce_is_sent_it(start_hub: StartHub) -> None:
    async with running_site(Hostile(metadata={"code_challenge_methods_supported": None})) as site:
        config = ServerConfig(name="web", url=site.mcp, transport="http")
        bench = await start_hub(config, asking=Asking(open_url=Browser()))
        assert (await bench.hub.sign_in("web")).state is ServerState.READY
        assert "authorization_code" in site.happened, "whose challenge and verifier the site compares"
