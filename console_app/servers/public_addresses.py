"""Connections to public addresses only: a name is looked up once, and what was looked at is what is connected to.

An address of any family may carry another one inside; that is judged too, since a gateway on the way takes it out.
Sources: the IANA special-purpose registries, as `ipaddress` knows them; RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380
(Teredo), RFC 4291 (IPv4-mapped and -compatible), RFC 5214 (ISATAP).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_NAT64: Final = IPv6Network("64:ff9b::/96")
_REFUSED: Final = (
    IPv6Network("64:ff9b:1::/48"),  # NAT64 of a local network: RFC 8215
    IPv6Network("fec0::/10"),  # site-local, no longer assigned and still routed somewhere
    IPv6Network("2001::/23"),  # protocol assignments: Teredo, ORCHID, benchmarks
    IPv6Network("3fff::/20"),  # documentation: RFC 9637
    IPv6Network("5f00::/16"),  # segment routing: RFC 9602
)
_REFUSED_4: Final = (
    IPv4Network("168.63.129.16/32"),  # a cloud's own services, though its range is public
    IPv4Network("192.0.0.0/24"),  # protocol assignments, a cloud's metadata among them: not in every Python's list
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
)


LookUp = Callable[[str, int], Awaitable[list[str]]]
Judge = Callable[[IPv4Address | IPv6Address], bool]


class NotPublic(Exception):
    """An address that isn't to be connected to: a few words."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether this is an address of the public internet, and not one machine, network or service near to us."""
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
        if any(address in network for network in _REFUSED) or int(address) >> 32 == 0:
            return False
        if (int(address) >> 32) & 0xFDFFFFFF == 0x00005EFE:  # ISATAP, which holds an IPv4 address at its end
            return False
    elif any(address in network for network in _REFUSED_4):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a gateway would go on to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system orders them. Raises OSError or UnicodeError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]).partition("%")[0] for entry in found]


async def addresses_of(host: str, port: int, look_up: LookUp, is_allowed: Judge) -> list[str]:
    """The addresses to connect to for `host`, as they stand in a URL.

    Raises NotPublic, also where only one of them is not allowed: a name with both kinds is meant to be taken for the
    other.
    """
    try:
        found = [ip_address(text) for text in await look_up(host, port)]
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise NotPublic(f"{host} is not known")
    if not all(map(is_allowed, found)):
        raise NotPublic(f"{host} is on a private network")
    return [f"[{one}]" if one.version == 6 else str(one) for one in found]
