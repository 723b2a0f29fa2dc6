"""Who may come in: a host that this server goes by, a page of that very host, and whoever showed the token.

The host is checked because a name of a stranger's may point here; the origin because any page that you have open can
make a browser connect; the token because others use the same machine. Who showed it gets a cookie, which pages of
other sites never send.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

LEAST_TOKEN: Final = 16  # characters of a token that was chosen
WRONG_TOKENS: Final = 20  # in a minute; then nobody is let in for as long
MINUTE: Final = 60.0

Answer = Literal["in", "no", "used", "wait"]


@dataclass(frozen=True, slots=True)
class Addresses:
    """What this server goes by. `any_host` is for one that listens on every address of the machine."""

    origins: frozenset[str]
    any_host: bool
    port: int

    @classmethod
    def of(cls, host: str, port: int, public_urls: Iterable[str]) -> Addresses:
        """Loopback always, the host that it listens on, and the addresses that others see it under."""
        names = {"127.0.0.1", "localhost", "[::1]", bracketed(host)}
        origins = {_origin("http", name, port) for name in names}
        return cls(frozenset({*origins, *map(origin_of, public_urls)}), host in ("0.0.0.0", "::"), port)

    def knows_host(self, host: str) -> bool:
        """Whether a request for this `Host` is one for us."""
        return any(f"{scheme}://{host}".lower() in self.origins for scheme in ("http", "https")) or (
            self.any_host and _is_address(host, self.port)
        )

    def knows_origin(self, origin: str, host: str) -> bool:
        """Whether a page of `origin` may connect to this `host`: its own, and one of ours."""
        scheme, _, name = origin.lower().partition("://")
        if name != host.lower():
            return False
        return origin.lower() in self.origins or (self.any_host and scheme == "http" and _is_address(name, self.port))

    def is_secure(self, host: str) -> bool:
        """Whether browsers reach this host over https alone."""
        return f"https://{host}".lower() in self.origins and f"http://{host}".lower() not in self.origins


class Door:
    """The token and the cookie. A token that was made here works once; one that was chosen, for each device."""

    def __init__(self, chosen: str | None = None) -> None:
        self.reusable = chosen is not None
        self.token = chosen or secrets.token_urlsafe(32)
        self._pass = secrets.token_urlsafe(32)
        self._used = False
        self._wrong: deque[float] = deque(maxlen=WRONG_TOKENS)

    def redeem(self, token: str, now: float) -> Answer:
        """Whether `token` opens the door; `now` in seconds of a steady clock."""
        if self.reusable and len(self._wrong) == WRONG_TOKENS and now - self._wrong[0] < MINUTE:
            return "wait"
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            self._wrong.append(now)
            return "no"
        if self._used and not self.reusable:
            return "used"
        self._used = True
        return "in"

    def cookie(self) -> str:
        """What whoever came in shows from then on."""
        return self._pass

    def lets_in(self, cookie: str | None) -> bool:
        """Whether this was given by `cookie`."""
        return cookie is not None and hmac.compare_digest(cookie.encode(), self._pass.encode())


def origin_of(url: str) -> str:
    """The origin of a web address, as browsers write it. Raises ValueError for one that is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ValueError(url)
    default = 443 if parts.scheme == "https" else 80
    return _origin(parts.scheme, bracketed(parts.hostname), parts.port or default)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bracketed(host: str) -> str:
    """A host as it stands in a web address."""
    return f"[{host}]" if ":" in host else host.lower()


def _origin(scheme: str, host: str, port: int) -> str:
    usual = port == (443 if scheme == "https" else 80)
    return f"{scheme}://{host}" if usual else f"{scheme}://{host}:{port}"


def _is_address(host: str, port: int) -> bool:
    """Whether a `Host` is a bare address with our port: what no stranger's name is."""
    try:
        parts = urlsplit(f"http://{host}")
        ipaddress.ip_address(parts.hostname or "")
        return (parts.port or 80) == port
    except ValueError:
        return False
