"""Sends requests to one endpoint through its vendor's SDK: with our times, our headers, and no redirect, which could
carry the key to another host.

Both SDKs add headers of their own accord (`OPENAI_CUSTOM_HEADERS`, the organisation, `ANTHROPIC_CUSTOM_HEADERS`), and
those may hold credentials. They go to the host that the same environment names, or to the vendor, and nowhere else.
What a response holds is counted once it is decoded, as a little gzip can be a lot of text.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from console_app.domain.settings import Api
from console_app.providers.endpoint.address import EndpointAddress

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER: Final = 256 * 2**20  # bytes of one response, decoded; a long answer is a few of them
LARGEST_REFUSAL: Final = 2**20  # bytes of one with an error; only its beginning is ever shown
LONGEST_REFUSAL: Final = 10.0  # seconds of one, from its first byte: a byte now and then would put off every time-out
PLACEHOLDER = "none"  # what a server on this machine gets for a key: some want one, whatever it is
COMPATIBLE_VERSION = "2023-06-01"  # what servers other than Anthropic's know of its API
_ACCOUNT_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


def sdk_of(api: Api) -> Literal["openai", "anthropic"]:
    """Return the package of the SDK that speaks `api`."""
    match api:
        case "openai-chat" | "openai-responses":
            return "openai"
        case "anthropic":
            return "anthropic"
        case _:
            assert_never(api)


class EndpointClient:
    """The connections to one endpoint. The first request imports its SDK in a thread: openai 0.5 s, anthropic 1.2 s."""

    def __init__(self, where: EndpointAddress) -> None:
        self._where = where
        self._config = where.config
        self._sdk = sdk_of(where.config.api)
        self._client: Any = None
        self._connecting = asyncio.Lock()

    @asynccontextmanager
    async def request(
        self, method: Literal["get", "post"], path: str, body: dict[str, Any] | None = None
    ) -> AsyncGenerator[Any]:
        """Send one request and give its response, unread; the SDK raises on an error status."""
        import httpx2  # loaded by the SDK in any case

        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
        sdk = import_module(self._sdk)
        options: dict[str, Any] = {"headers": dict.fromkeys(self._left_out(), sdk.Omit())}
        content = {"body": body} if method == "post" else {}
        response: Any = await getattr(self._client, method)(
            path, options=options, cast_to=httpx2.Response, stream=True, stream_cls=sdk.AsyncStream[object], **content
        )
        try:
            yield response
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _connect(self) -> Any:
        """Make the SDK's client, without retries of its own."""
        http_client = self._http_client()
        common: dict[str, Any] = {"max_retries": 0, "timeout": http_client.timeout, "http_client": http_client}
        if self._sdk == "anthropic":
            from anthropic import AsyncAnthropic

            return AsyncAnthropic(
                api_key=self._config.api_key or "none",  # None would have it look in the environment and on disk
                base_url=self._where.url.rstrip("/").removesuffix("/v1"),
                default_headers={**self._compatible(), **self._sent()},
                **common,
            )
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._config.api_key or "",
            base_url=self._where.url,
            default_headers=self._sent(),
            _enforce_credentials=False,
            **common,
        )

    # -- headers

    def _sent(self) -> dict[str, str]:
        """Return the headers of every request, over the SDK's own."""
        sent = {name: value for name, value in self._config.headers.items() if value}
        key = PLACEHOLDER if self._where.is_loopback and not self._where.has_key else self._config.api_key
        # Else one of the environment would take its place.
        if key and not (self._config.api_key and self._belongs) and "authorization" not in map(str.lower, sent):
            sent["Authorization"] = f"Bearer {key}"
        return sent

    def _left_out(self) -> list[str]:
        """Return the names of the headers that no request may carry."""
        left_out = [name for name, value in self._config.headers.items() if not value]
        if not self._config.api_key:
            left_out.append("Authorization")
        if not self._belongs:
            lines = os.environ.get(f"{self._sdk.upper()}_CUSTOM_HEADERS", "").split("\n")
            left_out += [line.partition(":")[0].strip() for line in lines if ":" in line]
            left_out += _ACCOUNT_HEADERS
        sent = {name.lower() for name in self._sent()}
        return [name for name in left_out if name.lower() not in sent]

    @property
    def _belongs(self) -> bool:
        """Tell whether the environment's headers are meant for this endpoint."""
        named = os.environ.get(f"{self._sdk.upper()}_BASE_URL", "").rstrip("/")
        return self._where.is_vendor or self._where.url.rstrip("/") == named

    def _compatible(self) -> dict[str, str]:
        """Return what servers other than Anthropic's expect, where the configuration doesn't say otherwise."""
        if self._where.is_vendor:
            return {}
        configured = {name.lower() for name in self._config.headers}
        wanted = {"anthropic-version": COMPATIBLE_VERSION, "x-api-key": self._config.api_key or ""}
        return {name: value for name, value in wanted.items() if value and name not in configured}

    # -- what lies below the SDK

    def _http_client(self) -> httpx2.AsyncClient:
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
