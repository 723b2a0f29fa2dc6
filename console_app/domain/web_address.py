"""Web addresses, taken apart for people to see. What browsers and `urlsplit` read differently (backslashes, spaces,
unseen characters, escapes in the host) is no web page here: nobody could say what would be opened."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from console_app.domain.safe_text import is_safe
from console_app.records import dataclass

_HOST = re.compile(r"[\w.-]+|\[[0-9a-fA-F:.]+\]")
_NEVER = re.compile(r"[\s\\<>\"\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class WebAddress:
    """`before`, `host` and `after` are the whole address; `warnings` are sentences on what to look out for."""

    before: str
    host: str
    after: str
    warnings: tuple[str, ...] = ()


LONGEST_PAGE = 2_100  # characters of a line that names a page to open, as half an address leads nowhere


def length_of(line: str, most: int) -> int:
    """Return how much of a line to show: `most` characters, and more where it names a page to open."""
    return LONGEST_PAGE if "open http" in line else most


def is_web_link(url: str) -> bool:
    """Tell whether a link may be opened from the screen: http and https only."""
    return url.lower().startswith(("http://", "https://"))


def is_web_page(url: str) -> bool:
    """Tell whether it is an http or https address that can mean only one thing."""
    return _parts(url) is not None


def read_address(url: str) -> WebAddress | None:
    parts = _parts(url)
    if parts is None:
        return None
    userinfo, at, place = parts.netloc.rpartition("@")
    host = place if place.endswith("]") else re.sub(r":\d*$", "", place)
    before = f"{url[: url.index('//') + 2]}{userinfo}{at}"
    return WebAddress(before, host, url[len(before) + len(host) :], tuple(_warnings(parts, host, bool(at))))


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of `url`: a key that was given for one origin goes to no other."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def host(url: str) -> str:
    """`HOST`, or `HOST:PORT` where the port isn't the scheme's own."""
    return urlsplit(url).netloc.rpartition("@")[2]


def is_loopback(url: str) -> bool:
    """Tell whether `url` names this machine, where servers need no key."""
    return is_loopback_host(urlsplit(url).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Return whether only this machine reaches `host`, a name or an address without brackets."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parts(url: str) -> SplitResult | None:
    if _NEVER.search(url) or not is_safe(url):
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not url[len(parts.scheme) :].startswith("://") or not host:
        return None
    place = parts.netloc.rpartition("@")[2]
    return parts if _HOST.fullmatch(re.sub(r":\d*$", "", place)) else None


def _warnings(parts: SplitResult, host: str, userinfo: bool) -> list[str]:
    found: list[str] = []
    if userinfo:
        found.append(f"what stands before the @ says nothing: the page is on {host}")
    if not host.isascii() or "xn--" in host.lower():
        try:
            plainly = "" if host.isascii() else f": {host.encode('idna').decode('ascii')}"
        except UnicodeError:
            plainly = ""
        found.append(f"the host has letters that may only look familiar{plainly}")
    local = host.lower() in {"localhost", "[::1]"} or host.startswith("127.")
    if local:
        found.append("it is served by this machine")
    elif _is_number(host):
        found.append("the host is a bare number, not a name")
    if parts.scheme == "http" and not local:
        found.append("http: what you send there is not encrypted")
    return found


def _is_number(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return host.replace(".", "").isdigit()
    return True
