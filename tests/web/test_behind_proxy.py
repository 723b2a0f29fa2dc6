"""Behind a proxy that ends TLS: its address is the server's, over https alone."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.patience import PATIENCE
from tests.web.parts import PATIENT, TOKEN, Page, serving
from tests.web.tls_proxy import CERTIFICATE, NAME, tls_proxy


def trusting() -> ssl.SSLContext:
    """The proxy's certificate is taken, whatever name it is for."""
    context = ssl.create_default_context(cafile=CERTIFICATE)
    context.check_hostname = False
    return context


async def test_a_page_behind_tls_has_its_console_and_one_of_http_has_none(tmp_path: Path) -> None:
    async with tls_proxy() as proxy, serving(tmp_path, token=TOKEN, public_urls=(proxy.url,)) as server:
        proxy.to = server.port
        address = f"wss://{NAME}:{proxy.port}/socket"

        def page(origin: str) -> connect:
            return connect(
                address,
                host="127.0.0.1",
                origin=origin,  # pyright: ignore[reportArgumentType]  # a NewType of a text
                ssl=trusting(),
                max_size=None,
                max_queue=None,
                proxy=None,
                **PATIENT,
            )

        for foreign in (f"http://{NAME}:{proxy.port}", f"https://{NAME}", "https://elsewhere.example"):
            with pytest.raises(InvalidStatus):
                async with page(foreign):
                    pass
        async with page(proxy.url.rstrip("/")) as socket:
            await socket.send(json.dumps({"token": TOKEN, "size": [80, 24]}))
            shown = Page(socket, 80, 24)
            await shown.see("sk, or / for commands")
            await shown.type("typed through TLS")
            await shown.see("typed through TLS")


async def test_a_proxy_that_sends_another_host_is_told_so(tmp_path: Path) -> None:
    async with tls_proxy() as proxy, serving(tmp_path, token=TOKEN, public_urls=(proxy.url,)) as server:
        proxy.to = server.port
        async with httpx2.AsyncClient(verify=trusting(), timeout=PATIENCE, trust_env=False) as client:
            answer = await client.get(f"https://127.0.0.1:{proxy.port}/", headers={"Host": "inner.example"})
    assert (answer.status_code, answer.text) == (421, "This server does not go by that name.\n")
