"""Makes the HTTP client below both SDKs: with our times, and never following a redirect, which could carry the key.

What a response holds is counted once it is decoded, as a little gzip can be a lot of text.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

from console_app.domain.settings import ProviderConfig
from console_app.providers.endpoint.address import EndpointAddress

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER: Final = 256 * 2**20  # bytes of one response, decoded; a long answer is a few of them
LARGEST_REFUSAL: Final = 2**20  # bytes of one with an error; only its beginning is ever shown
LONGEST_REFUSAL: Final = 10.0  # seconds of one, from its first byte: a byte now and then would put off every time-out


def make_http_client(config: ProviderConfig, where: EndpointAddress) -> httpx2.AsyncClient:
    """A client for one endpoint. Takes 30 ms where certificates are loaded: the caller is in a thread."""
    import httpx2  # 0.1 s; the SDKs load it in any case

    timeout = httpx2.Timeout(config.read_timeout, connect=config.connect_timeout)
    # Nothing on loopback needs certificates; a context without any would refuse whatever did.
    plain = where.url.startswith("http://") and where.is_loopback
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True
    client = httpx2.AsyncClient(
        timeout=timeout,
        follow_redirects=False,
        verify=verify,
        headers={"Accept-Encoding": "gzip, deflate"},
        trust_env=not plain,  # which is proxies and certificates: a proxy can't reach this machine
        mounts={"http://": None, "https://": None, "all://": None} if where.is_loopback else None,
    )
    longest = min(LONGEST_REFUSAL, config.read_timeout)

    async def limit(response: httpx2.Response) -> None:
        await _limit(response, longest)

    client.event_hooks = {"response": [limit]}
    return client


async def _limit(response: httpx2.Response, longest: float) -> None:
    """Has the response count what is read of it, and end in `longest` seconds if it is a refusal. Before it is read, so
    a hook is early enough."""
    import httpx2

    whole = response.aiter_bytes
    response.encoding = "utf-8"  # whatever it names: some of Python's codecs (punycode) take minutes for a megabyte

    async def counted(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        size, most = 0, LARGEST_ANSWER if response.is_success else LARGEST_REFUSAL
        until = time.monotonic() + longest
        async for piece in whole(chunk_size):
            size += len(piece)
            if not response.is_success and time.monotonic() > until:
                return
            if size > most and not response.is_success:
                yield piece[: most - size]
                return
            if size > most:
                raise httpx2.DecodingError(f"the answer is larger than {most // 2**20} MB", request=response.request)
            yield piece

    response.aiter_bytes = counted
