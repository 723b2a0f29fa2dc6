"""Which proxy of the environment requests to an endpoint go through: what fails there is not the endpoint's fault."""

from __future__ import annotations

from urllib.parse import urlsplit

from console_app.domain.safe_text import one_line
from console_app.domain.settings import is_loopback


def proxy_in_use(url: str) -> str:
    """`HOST:PORT` of the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY (or the system) names for `url`, without what
    it may hold of a password; "" when none is used, as for this machine."""
    from urllib.request import getproxies, proxy_bypass  # 50 ms, and only for what failed

    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return ""
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all") or ""
    place = named.partition("://")[2] or named
    return one_line(place.rpartition("@")[2].partition("/")[0], 120)
