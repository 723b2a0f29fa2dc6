"""A request is what the vendor's own SDK sends, but for the headers that name the SDK: the two are compared here."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import httpx2
import pytest

from console_app.domain.settings import ProviderConfig
from console_app.providers.endpoint.address import EndpointAddress
from console_app.providers.endpoint.client import ANTHROPIC_VERSION, EndpointClient
from tests.examples import turns
from tests.wire_bytes import APIS, Api
from tests.wire_server import Reply, Request, WireServer

BODY = {"model": "m", "messages": [{"role": "user", "content": "Größe \u2028 😀"}], "temperature": 0.5, "stop": None}
PATHS: dict[Api, str] = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic": "/v1/messages",
}
ENVIRONS: list[dict[str, str]] = [
    {},
    {"OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": "project"},
    {"OPENAI_CUSTOM_HEADERS": "X-Gate: a:b\nX-More: c", "ANTHROPIC_CUSTOM_HEADERS": "X-Gate: a:b\nX-More: c"},
    {"OPENAI_CUSTOM_HEADERS": "Authorization: Bearer other", "ANTHROPIC_CUSTOM_HEADERS": "nonsense"},
]
HEADERS: list[dict[str, str]] = [{}, {"X-Own": "1", "user-agent": "mine"}, {"authorization": "Bearer mine"}]


async def by_sdk(api: Api, url: str, headers: dict[str, str], method: str) -> None:
    """Send a request with the SDK of `api`, whose environment and address belong together."""
    if api == "anthropic":
        sdk: Any = import_module("anthropic")
        client = sdk.AsyncAnthropic(api_key="sk-key", base_url=url, default_headers=headers, max_retries=0)
    else:
        sdk = import_module("openai")
        client = sdk.AsyncOpenAI(api_key="sk-key", base_url=url, default_headers=headers, max_retries=0)
    more: dict[str, Any] = {"body": BODY} if method == "POST" else {}
    path = PATHS[api] if method == "POST" else "/models"
    async with client:
        await getattr(client, method.lower())(path, cast_to=httpx2.Response, **more)


async def by_us(api: Api, url: str, headers: dict[str, str], method: Any) -> None:
    """Send the same with ours."""
    client = EndpointClient(EndpointAddress(ProviderConfig("test", api, "m", url, "sk-key", headers=headers)))
    path = PATHS[api] if method == "POST" else "/models"
    async with client.request(method, path, BODY if method == "POST" else None) as response:
        await response.aread()
    await client.close()


def told(request: Request, own: dict[str, str]) -> tuple[str, str, Any, dict[str, str]]:
    """Return a request without the sender's name and compressions; `own` are headers of one's own."""
    named = {"user-agent", "host", "accept-encoding", "x-api-key", "anthropic-version"} - {*map(str.lower, own)}
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in named and not name.startswith("x-stainless-")
    }
    return request.method, request.path, request.body, headers


METHODS = ["GET", "POST"]
CASES = [
    (api, *row)
    for number, api in enumerate(APIS)
    for row in turns(METHODS[:: (-1) ** number], HEADERS[number:] + HEADERS[:number], ENVIRONS)
]


@pytest.mark.parametrize(("api", "method", "headers", "environ"), CASES)
async def test_a_request_is_that_of_the_sdk(
    api: Api, method: str, headers: dict[str, str], environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with WireServer(lambda _: Reply.json({})) as server:
        url = server.base_url(api)
        monkeypatch.setenv("ANTHROPIC_BASE_URL" if api == "anthropic" else "OPENAI_BASE_URL", url)
        await by_sdk(api, url, headers, method)
        await by_us(api, url, headers, method)
        theirs, ours = (told(request, headers) for request in server.requests)
        assert ours == theirs
        assert json.loads(server.requests[0].raw or b"0") == json.loads(server.requests[1].raw or b"0")
        assert server.requests[0].raw == server.requests[1].raw


async def test_the_vendor_is_asked_for_the_version_that_its_sdk_knows() -> None:
    with WireServer(lambda _: Reply.json({})) as server:
        await by_sdk("anthropic", server.url, {}, "POST")
    assert server.requests[0].headers["anthropic-version"] == ANTHROPIC_VERSION
    assert "x-api-key" not in server.requests[0].headers
