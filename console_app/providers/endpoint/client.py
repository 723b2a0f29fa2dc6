"""Sends requests to one endpoint: with our times, our headers, and no redirect, which could carry the key to another
host.

A request is what the vendors' SDKs would send, but for the headers that name them; `tests/providers/test_sdk_wire.py`
compares the two. Their import alone (openai 0.4 s, anthropic 1.1 s) takes longer than all else before a request.

As with the SDKs, the environment may add headers (`OPENAI_CUSTOM_HEADERS`, `ANTHROPIC_CUSTOM_HEADERS`, an organisation)
that may hold credentials. They go to the host that the same environment names, or to the vendor, and nowhere else. What
a response holds is counted once it is decoded, as a little gzip can be a lot of text.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from console_app._version import __version__
from console_app.providers.endpoint.address import EndpointAddress
from console_app.providers.faults.error_bodies import StatusFault

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER: Final = 256 * 2**20  # bytes of one response, decoded; a long answer is a few of them
LARGEST_REFUSAL: Final = 2**20  # bytes of one with an error; only its beginning is ever shown
LONGEST_REFUSAL: Final = 10.0  # seconds of one, from its first byte: a byte now and then would put off every time-out
PLACEHOLDER = "none"  # what a server on this machine gets for a key: some want one, whatever it is
ANTHROPIC_VERSION = "2026-10-21"  # of the API, as the SDK of the vendor asks for it
COMPATIBLE_VERSION = "2023-06-01"  # what servers other than Anthropic's know of it
_ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}


class EndpointClient:
    """The connections to one endpoint. The first request imports the HTTP library in a thread, 0.1 s."""

    def __init__(self, where: EndpointAddress) -> None:
        self._where = where
        self._config = where.config
        self._is_anthropic = where.config.api == "anthropic"
        self._client: httpx2.AsyncClient | None = None
        self._connecting = asyncio.Lock()

    @asynccontextmanager
    async def request(
        self,
        method: Literal["GET", "POST"],
        path: str,
        body: dict[str, Any] | None = None,
        *,
        on_sent: Callable[[], None] = lambda: None,
        at_root: bool = False,
    ) -> AsyncGenerator[httpx2.Response]:
        """Send one request and give its response, unread; `on_sent` is called once all of it has left. `at_root`: the
        path begins before the address's `/v1`. Raises StatusFault where the answer is a refusal."""
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
            client = self._client
        url, headers, content = self._where.url.rstrip("/"), self._headers(), None
        if self._is_anthropic or at_root:
            url = url.removesuffix("/v1")

        async def traced(event: str, _: dict[str, Any]) -> None:
            if event.endswith("send_request_body.complete"):
                on_sent()

        if body is not None:
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        extensions = {"trace": traced}
        request = client.build_request(method, url + path, headers=headers, content=content, extensions=extensions)
        response = await client.send(request, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                raise StatusFault(response.status_code, response.headers, response.text)
            yield response
        finally:
            await response.aclose()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    # -- headers

    def _headers(self) -> httpx2.Headers:
        """Return the headers of every request: what is configured wins, and a value of "" leaves one out."""
        import httpx2

        headers = httpx2.Headers({"Accept": "application/json", "User-Agent": f"fanout/{__version__}"})
        key = PLACEHOLDER if self._where.is_loopback and not self._where.has_key else self._config.api_key
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if self._is_anthropic:
            headers["anthropic-version"] = ANTHROPIC_VERSION if self._where.is_vendor else COMPATIBLE_VERSION
            if key and key != PLACEHOLDER and not self._where.is_vendor:
                headers["x-api-key"] = key
        vendor, account = ("ANTHROPIC", {}) if self._is_anthropic else ("OPENAI", _ACCOUNT)
        named = os.environ.get(f"{vendor}_BASE_URL", "").rstrip("/")
        if self._where.is_vendor or self._where.url.rstrip("/") == named:
            headers.update({header: os.environ[name] for name, header in account.items() if os.environ.get(name)})
            lines = (one.partition(":") for one in os.environ.get(f"{vendor}_CUSTOM_HEADERS", "").split("\n"))
            headers.update({name.strip(): value.strip() for name, found, value in lines if found})
            if not key:
                headers.pop("Authorization", None)
        for name, value in self._config.headers.items():
            headers.pop(name, None)
            if value:
                headers[name] = value
        return headers

    # -- the connections

    def _connect(self) -> httpx2.AsyncClient:
        """Make the HTTP client; 30 ms where certificates are loaded."""
        import httpx2

        # Nothing on loopback needs certificates; a context without any would refuse whatever did.
        plain = self._where.url.startswith("http://") and self._where.is_loopback
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(self._config.read_timeout, connect=self._config.connect_timeout),
            follow_redirects=False,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
            headers={"Accept-Encoding": "gzip, deflate"},
            trust_env=not plain,  # which is proxies and certificates: a proxy can't reach this machine
            mounts={"http://": None, "https://": None, "all://": None} if self._where.is_loopback else None,
        )
        longest = min(LONGEST_REFUSAL, self._config.read_timeout)

        async def limit(response: httpx2.Response) -> None:
            _limit(response, longest)

        client.event_hooks = {"response": [limit]}
        return client


def _limit(response: httpx2.Response, longest: float) -> None:
    """Have the response count what is read of it, and end in `longest` seconds if it is a refusal. Nothing was read
    yet, so a hook is early enough."""
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
