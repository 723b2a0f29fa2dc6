"""Makes the HTTP client below both SDKs: with our times, and never following a redirect, which could carry the key."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from console_app.domain.endpoint import ProviderConfig
from console_app.providers.endpoint_address import EndpointAddress

if TYPE_CHECKING:
    import httpx2


def make_http_client(config: ProviderConfig, where: EndpointAddress) -> httpx2.AsyncClient:
    """A client for one endpoint. Takes 30 ms where certificates are loaded: the caller is in a thread."""
    import httpx2  # 0.1 s; the SDKs load it in any case

    timeout = httpx2.Timeout(config.read_timeout, connect=config.connect_timeout)
    if where.url.startswith("http://") and where.is_loopback:
        # Nothing here needs certificates; a context without any would refuse whatever did.
        nothing_trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx2.AsyncClient(timeout=timeout, follow_redirects=False, verify=nothing_trusted)
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False)
