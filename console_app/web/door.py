"""The door lets in a host that this server goes by, a page of that very host, and whoever showed the token.

The host is checked because a name of a stranger's may point here. The origin is, because any page that you have open
can make a browser connect, and the token, because others use the same machine. A page that showed the token gets a
ticket, which its storage keeps for one scheme, host and port. A cookie would go to every port of the host, whoever
listens there.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from typing import Final, Literal
from urllib.parse import urlsplit

from console_app.records import dataclass

LEAST_TOKEN: Final = 16  # characters of a token that was chosen, without blanks and what can't be seen
LEAST_DIFFERENT: Final = 5

Answer = Literal["in", "no", "used"]


@dataclass(frozen=True, slots=True)
class Addresses:
    """The names that this server goes by.

    `any_host` is for one that listens on every address of the machine. `here` is where `localhost` is sent on to: at
    that name and the same port, another user may listen on the other kind of address.
    """

    origins: frozenset[str]
    any_host: bool
    port: int
    here: str

    @classmethod
    def of(cls, host: str, port: int, public_urls: Iterable[str]) -> Addresses:
        """Loopback always, the host that it listens on, and the addresses that others see it under."""
        own = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, bracketed(host))
        names = {"127.0.0.1", "[::1]", own, bracketed(host)}
        origins = {_origin("http", name, port) for name in names}
        every, here = frozenset({*origins, *map(origin_of, public_urls)}), _origin("http", own, port)
        return cls(every, host in ("0.0.0.0", "::"), port, here)

    def is_localhost(self, host: str) -> bool:
        return f"http://{host}".lower() == _origin("http", "localhost", self.port)

    def knows_host(self, host: str) -> bool:
        return any(f"{scheme}://{host}".lower() in self.origins for scheme in ("http", "https")) or (
            self.any_host and _is_address(host, self.port)
        )

    def knows_origin(self, origin: str, host: str) -> bool:
        """Return whether a page of `origin` may connect to this `host`: its own, and one of ours."""
        scheme, _, name = origin.lower().partition("://")
        if name != host.lower():
            return False
        return origin.lower() in self.origins or (self.any_host and scheme == "http" and _is_address(name, self.port))


class Door:
    """The token and the ticket. A token that was made here works once; one that was chosen, for each device.

    Wrong tokens are not counted: others could shut the owner out with them, and none of this length is guessed.
    """

    def __init__(self, chosen: str | None = None) -> None:
        self.reusable = chosen is not None
        self.token = chosen or secrets.token_urlsafe(32)
        self.ticket = secrets.token_urlsafe(32)
        self._used = False

    def redeem(self, token: str) -> Answer:
        if not _same(token, self.token):
            return "no"
        if self._used and not self.reusable:
            return "used"
        self._used = True
        return "in"

    def lets_in(self, ticket: str) -> bool:
        """Return whether a page that shows `ticket` came in before."""
        return _same(ticket, self.ticket)


def origin_of(url: str) -> str:
    """Return the origin of a web address, as browsers write it. Raises ValueError for one that is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ValueError(url)
    default = 443 if parts.scheme == "https" else 80
    return _origin(parts.scheme, bracketed(parts.hostname), parts.port or default)


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


def _origin(scheme: str, host: str, port: int) -> str:
    usual = port == (443 if scheme == "https" else 80)
    return f"{scheme}://{host}" if usual else f"{scheme}://{host}:{port}"


def _is_address(host: str, port: int) -> bool:
    """Return whether a `Host` is a bare address with our port: what no stranger's name is."""
    try:
        parts = urlsplit(f"http://{host}")
        ipaddress.ip_address(parts.hostname or "")
        return (parts.port or 80) == port
    except ValueError:
        return False


def _same(given: str, ours: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), ours.encode())
