"""A proxy of the environment: what fails there is told as the proxy's, and this machine is reached without one."""

from __future__ import annotations

import os

import pytest

from console_app.providers.faults.fault import proxy_in_use
from tests.providers.reading import failure_of, finish_of, provider_at, read, text_of
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, WireServer, free_port

every_api = pytest.mark.parametrize("api", APIS)
AWAY = "http://endpoint.invalid/v1"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@every_api
async def test_requests_go_through_it(server: WireServer, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.script(Answer(Text("Hello.")))
    provider = provider_at(server, api, base_url=AWAY)
    chunks, error = await read(provider)
    await provider.close()
    assert (error, text_of(chunks), finish_of(chunks)) == (None, "Hello.", "stop")
    assert server.requests[0].path.startswith("http://endpoint.invalid/")


@every_api
async def test_one_that_is_not_there_is_named(server: WireServer, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("HTTP_PROXY", f"http://joe:geheim@127.0.0.1:{port}")
    _, error = await failure_of(server, api, base_url=AWAY)
    assert f"the proxy 127.0.0.1:{port} can't be reached (after 3 tries). HTTPS_PROXY, HTTP_PROXY" in error.line
    assert "geheim" not in error.line


@pytest.mark.parametrize(("status", "tries"), [(403, 1), (502, 3)])
async def test_one_that_refuses_is_named(
    server: WireServer, monkeypatch: pytest.MonkeyPatch, status: int, tries: int
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", server.url)
    refusal = Reply.html("<title>no</title>", status)
    _, error = await failure_of(server, "anthropic", *[refusal] * tries, base_url="https://endpoint.invalid")
    assert f"the proxy {server.url.partition('://')[2]} refused: {status}" in error.line
    assert len(server.requests) == tries


async def test_its_password_is_missing(server: WireServer) -> None:
    _, error = await failure_of(server, "openai-chat", Reply.html("<title>Who are you?</title>", 407))
    assert "a proxy in between refused the request (407): Who are you? The proxy that HTTPS_PROXY" in error.line


async def test_a_socks_proxy_is_not_spoken(server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    _, error = await failure_of(server, "openai-chat", base_url=AWAY)
    assert "the proxy 127.0.0.1:9 is a SOCKS proxy, which Fanout doesn't speak. Name an HTTP proxy." in error.line


@every_api
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
async def test_this_machine_is_reached_without_one(
    server: WireServer, api: Api, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    server.script(Answer(Text("Here.")))
    provider = provider_at(server, api)
    chunks, error = await read(provider)
    await provider.close()
    assert (error, text_of(chunks)) == (None, "Here.")


def test_which_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_in_use(AWAY) == ""
    monkeypatch.setenv("HTTP_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert proxy_in_use(AWAY) == "proxy.example:3128"
    assert proxy_in_use("https://endpoint.invalid") == ""
    assert proxy_in_use("http://inside.example/v1") == ""
    assert proxy_in_use("http://localhost:11434/v1") == ""
