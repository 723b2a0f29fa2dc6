"""Signing in to servers: through the browser, once; tokens are refreshed, and go nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from console_app.config.secrets import FileCredentials
from console_app.config.servers import ServerConfig
from console_app.domain.questions import Elicitation, ElicitationAnswer
from console_app.mcp_client import Asking, ServerState
from console_app.mcp_client.connecting.oauth import Callback
from console_app.mcp_client.connecting.sign_in import SignInRefused, plan_of
from tests.each import each
from tests.mcp_client.conftest import FIXTURES, Bench, Reports, StartHub
from tests.mcp_client.oauth_site import Browser, Site, running_site
from tests.mcp_client.people import Person
from tests.raw_server import raw_server
from tests.wire_server import free_port


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site() as running:
        yield running


def config(site: Site, **fields: Any) -> ServerConfig:
    return ServerConfig(name="web", url=site.mcp, transport="http", **fields)


def kept(tmp_path: Path) -> dict[str, Any]:
    ((_, text),) = json.loads((tmp_path / "credentials.json").read_text()).items()
    return json.loads(text)


def expire(tmp_path: Path) -> None:
    """Makes the kept access token look as old as it will be some day."""
    path = tmp_path / "credentials.json"
    ((key, text),) = json.loads(path.read_text()).items()
    FileCredentials(path).write(key, json.dumps(json.loads(text) | {"expires_at": 1.0}))


async def signed_in(start_hub: StartHub, site: Site, browser: Browser | None = None, **fields: Any) -> Bench:
    bench = await start_hub(config(site, **fields), asking=Asking(open_url=browser or Browser()))
    assert (await bench.hub.sign_in("web")).state is ServerState.READY, bench.status().reason
    return bench


async def test_a_server_that_wants_a_sign_in_says_so_and_opens_no_page_by_itself(
    start_hub: StartHub, site: Site
) -> None:
    browser = Browser()
    bench = await start_hub(config(site), asking=Asking(Person(), open_url=browser))
    assert bench.status().state is ServerState.NEEDS_SIGN_IN
    assert bench.status().reason == "HTTP 401 Unauthorized: it wants you to sign in, or credentials in `headers`"
    assert (browser.opened, site.happened) == ([], [])


async def test_signing_in_goes_through_the_browser_and_tokens_are_kept_for_the_user_alone(
    start_hub: StartHub, site: Site, tmp_path: Path
) -> None:
    browser = Browser()
    bench = await signed_in(start_hub, site, browser)
    assert (await bench.call("greet")).content == "hello, friend"
    assert site.happened == ["register", "authorize", "authorization_code"]
    assert "Signed in" in browser.pages[0]
    assert kept(tmp_path)["tokens"]["access_token"] in site.valid
    assert stat.S_IMODE((tmp_path / "credentials.json").stat().st_mode) == 0o600
    assert site.clients["client1"]["application_type"] == "native"


async def test_the_next_start_needs_no_sign_in(start_hub: StartHub, site: Site) -> None:
    await (await signed_in(start_hub, site)).hub.close()
    happened = len(site.happened)
    bench = await start_hub(config(site))
    assert bench.status().state is ServerState.READY
    assert site.happened_since(happened) == []


async def test_an_expired_token_is_refreshed_without_asking_anybody(
    start_hub: StartHub, site: Site, tmp_path: Path
) -> None:
    await (await signed_in(start_hub, site)).hub.close()
    expire(tmp_path)
    site.valid.clear()
    happened = len(site.happened)
    bench = await start_hub(config(site))
    assert bench.status().state is ServerState.READY, bench.status().reason
    assert site.happened_since(happened) == ["refresh_token"]
    assert kept(tmp_path)["expires_at"] > 1e9


async def test_a_sign_in_that_is_over_has_to_be_done_again_and_registers_no_second_client(
    start_hub: StartHub, site: Site, tmp_path: Path
) -> None:
    await (await signed_in(start_hub, site)).hub.close()
    expire(tmp_path)
    site.valid.clear()
    site.refreshable.clear()
    browser = Browser()
    bench = await start_hub(config(site), asking=Asking(Person(), open_url=browser))
    assert bench.status().state is ServerState.NEEDS_SIGN_IN
    assert bench.status().reason == "it wants you to sign in"
    assert browser.opened == []
    assert (await bench.hub.sign_in("web")).state is ServerState.READY, bench.status().reason
    assert len(site.clients) == 1


@pytest.mark.parametrize("answer", ["accept", "decline"])
async def test_a_token_that_is_refused_during_a_session_asks_the_user_first(
    start_hub: StartHub, site: Site, answer: Any
) -> None:
    browser, person = Browser(), Person(ElicitationAnswer(answer))
    bench = await start_hub(config(site), asking=Asking(person, open_url=browser))
    await bench.hub.sign_in("web")
    site.valid.clear()
    reports = Reports()
    result = await bench.call("greet", reports)
    assert reports.held_ever
    assert reports.holds == 0
    (question,) = person.asked
    assert isinstance(question, Elicitation)
    assert (question.server, question.mode, question.call_id) == ("web", "url", "call1")
    assert (reports.questions, len(reports.answers)) == (["to sign in"], 1)
    if answer == "accept":
        assert result.content == "hello, friend"
        assert len(browser.opened) == 2
    else:
        assert result.outcome.is_error
        assert (await bench.until_state(ServerState.NEEDS_SIGN_IN)).reason == "it wants you to sign in"
        assert len(browser.opened) == 1


async def test_a_refused_sign_in_says_why_and_shows_no_markup_of_the_server(start_hub: StartHub, site: Site) -> None:
    site.deny = True
    browser = Browser()
    bench = await start_hub(config(site), asking=Asking(open_url=browser))
    status = await bench.hub.sign_in("web")
    assert (status.state, status.reason) == (
        ServerState.FAILED,
        "signing in failed: the sign-in was refused: Not <today>",
    )
    assert "Not &lt;today&gt;" in browser.pages[0]


async def test_a_client_of_ones_own_is_not_registered(start_hub: StartHub, site: Site) -> None:
    site.clients["mine"] = {"client_secret": "s3cret", "redirect_uris": []}
    port = free_port()
    site.clients["mine"]["redirect_uris"].append(f"http://127.0.0.1:{port}/callback")
    auth = {"type": "oauth", "clientId": "mine", "client_secret": "s3cret", "redirect_port": port}
    await signed_in(start_hub, site, auth=auth)
    assert site.happened == ["authorize", "authorization_code"]


async def test_signing_out_forgets_the_tokens(start_hub: StartHub, site: Site, tmp_path: Path) -> None:
    bench = await signed_in(start_hub, site)
    await bench.hub.connection("web").sign_out()
    assert bench.status().state is ServerState.NEEDS_SIGN_IN
    assert json.loads((tmp_path / "credentials.json").read_text()) == {}


async def test_a_bearer_token_is_sent_and_one_that_is_refused_wants_no_browser(start_hub: StartHub, site: Site) -> None:
    site.valid.add("right")
    good = await start_hub(config(site, auth="right"))
    assert good.status().state is ServerState.READY
    bad = await start_hub(config(site, auth={"type": "bearer", "token": "wrong"}))
    assert bad.status().state is ServerState.FAILED
    assert bad.status().reason == "HTTP 401 Unauthorized: the credentials of `auth` were refused"


async def test_credentials_are_not_sent_to_where_a_server_redirects(start_hub: StartHub, site: Site) -> None:
    seen: list[bytes] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with raw_server(elsewhere) as port:
        site.leak_to = f"http://127.0.0.1:{port}/mcp"
        bench = await start_hub(
            config(site, headers={"Authorization": "Bearer secret", "X-Key": "secret"}),
        )
        assert bench.status().state is ServerState.FAILED
        await bench.hub.close()
    assert seen == []


async def test_a_certificate_that_nobody_vouches_for_is_refused(start_hub: StartHub) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FIXTURES / "self_signed.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ssl.SSLError):
            await writer.start_tls(context)
        writer.close()

    async with raw_server(answer) as port:
        bench = await start_hub(ServerConfig(name="web", url=f"https://127.0.0.1:{port}/mcp"))
        assert bench.status().state is ServerState.FAILED
        assert "certificate verify failed" in bench.status().reason.lower()
        await bench.hub.close()


@pytest.mark.parametrize(
    ("auth", "problem"),
    [
        ({"type": "magic"}, "`auth` has the type 'magic'; known are oauth, client_credentials, bearer and none"),
        ({"type": "bearer"}, "`auth` of type bearer needs a `token`"),
        ({"client": "me"}, "`auth` has the unknown key 'client'"),
        ({"redirect_port": "80"}, "`auth.redirect_port` must be a port"),
        ({"client_metadata_url": "http://insecure"}, "client_metadata_url must be a valid HTTPS URL"),
    ],
)
async def test_an_auth_that_cannot_be_used_is_that_servers_failure(
    start_hub: StartHub, site: Site, auth: Any, problem: str
) -> None:
    bench = await start_hub(config(site, auth=auth))
    status = bench.status() if "metadata" not in problem else await bench.hub.sign_in("web")
    assert status.state is ServerState.FAILED
    assert problem in status.reason


def test_headers_of_ones_own_mean_no_sign_in() -> None:
    own = ServerConfig(name="a", url="http://a/", headers={"authorization": "Basic x"})
    assert plan_of(own).kind == "none"
    assert plan_of(ServerConfig(name="a", url="http://a/")).kind == "oauth"
    assert plan_of(ServerConfig(name="a", url="http://a/", auth="Bearer t")).token == "t"
    assert plan_of(ServerConfig(name="a", url="http://a/", auth="none")).kind == "none"


async def test_the_page_that_the_browser_comes_back_to_takes_one_answer() -> None:
    callback = Callback()
    await callback.open("b")
    base = f"http://127.0.0.1:{callback.port}"
    async with httpx2.AsyncClient() as client:
        codes = [
            (await client.get(f"{base}{path}")).status_code
            for path in ("/", "/favicon.ico", "/callback", "/callback?code=a&state=b&iss=c", "/callback?code=x&state=b")
        ]
        assert codes == [404, 404, 400, 200, 409]
    returned = await callback.returned()
    assert (returned.code, returned.state, returned.iss) == ("a", "b", "c")
    await callback.close()


@each(
    "asked",
    [
        "code=x&state=y",
        "code=x",
        "code=x&state=",
        "code=x&state=c",
        "error=access_denied",
        "error=no&state=c",
        "state=b",
    ],
)
async def test_an_answer_of_another_user_changes_nothing(asked: str) -> None:
    callback = Callback()
    await callback.open("b")
    base = f"http://127.0.0.1:{callback.port}/callback"
    async with httpx2.AsyncClient() as client:
        wrong, right = await client.get(f"{base}?{asked}"), await client.get(f"{base}?code=a&state=b")
    assert (wrong.status_code, right.status_code) == (400, 200)
    assert "b" not in wrong.text.partition("<p>")[2].split()
    assert (await callback.returned()).code == "a"
    await callback.close()


async def test_a_connection_that_a_browser_opened_and_does_not_use_ends_with_the_sign_in() -> None:
    callback = Callback()
    await callback.open("b")
    reader, writer = await asyncio.open_connection("127.0.0.1", callback.port)
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{callback.port}/callback?code=a&state=b")
    assert "Signed in" in answer.text, "the silent one was accepted before this one"
    await callback.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing of it waits on"
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()


async def test_the_port_of_a_sign_in_is_its_own_before_anything_listens() -> None:
    callback = Callback()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", callback.port))
    await callback.open("b")
    elsewhere = Callback(callback.port)
    assert elsewhere.port != callback.port, "something listens there"
    elsewhere.release()
    await callback.close()


async def test_two_sign_ins_with_one_registered_port_take_turns() -> None:
    port = free_port()
    first, second = Callback(port), Callback(port)
    await first.open("b")
    with pytest.raises(SignInRefused, match="is taken"):
        await second.open("b")
    await first.close()
    await second.open("b")
    await second.close()
