"""Web pages as plain text, for `duckduckgo` and `web`: bounded in time and size, and from public addresses only."""

from __future__ import annotations

import asyncio
import codecs
import functools
import re
import socket
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import ssl

    import httpx2


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
PAGE_SECONDS: Final = 10.0
LARGEST_PAGE: Final = 2_000_000  # bytes; the rest is not read
LONGEST_TEXT: Final = 4000  # characters of a page
READING_SECONDS: Final = 2.0  # of the processor's time for the tags of a page
_PIECE: Final = 32_768  # characters that are read between two looks at the time
_LONGEST_END: Final = 8_192  # characters of a tag without an end: Python reads one by squares of its length
_REDIRECTS: Final = 4
_IGNORED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "form", "head"}
)
_NO_CHARSETS: Final = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined"})
_BREAKS: Final = frozenset(
    {"p", "div", "br", "li", "ul", "ol", "tr", "table", "section", "article", "pre", "blockquote", "hr"}
    | {f"h{level}" for level in range(1, 7)}
)
_READABLE: Final = ("text/", "application/xhtml", "application/json", "application/xml")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether this is an address of the public internet, and not one machine, network or service near to us."""
    if isinstance(address, IPv6Address):
        nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
        if (inner := address.ipv4_mapped or address.sixtofour or nat64) is not None:  # that a gateway goes on to
            return is_public(inner)
        if any(address in network for network in _REFUSED) or int(address) >> 32 == 0:
            return False
        if (int(address) >> 32) & 0xFDFFFFFF == 0x00005EFE:  # ISATAP, which holds an IPv4 address at its end
            return False
    elif any(address in network for network in _REFUSED_4):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name, as the system orders them. Raises OSError or UnicodeError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]).partition("%")[0] for entry in found]


async def addresses_of(host: str, port: int, look_up: LookUp, is_allowed: Judge) -> list[str]:
    """Return the addresses to connect to for `host`, as they stand in a URL.

    Raises PageError, also where only one of them is not allowed: a name with both kinds is meant to be taken for the
    other.
    """
    try:
        found = [ip_address(text) for text in await look_up(host, port)]
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise PageError(f"{host} is not known")
    if not all(map(is_allowed, found)):
        raise PageError(f"{host} is on a private network")
    return [f"[{one}]" if one.version == 6 else str(one) for one in found]


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return what this machine trusts, which all pages share: reading it takes 25 ms."""
    import httpx2

    return httpx2.create_ssl_context()


class PageError(Exception):
    """The reason why a page could not be had, in a few words."""


@dataclass(frozen=True, slots=True)
class PageFetcher:
    """Fetches pages, from addresses that `is_allowed` says yes to."""

    is_allowed: Judge = is_public
    look_up: LookUp = look_up
    longest: int = LONGEST_TEXT  # characters
    same_host: bool = False  # a page that leads to another host is not followed, its address is told

    async def text(self, url: str) -> str:
        """Return the text of a page. Raises PageError."""
        import httpx2  # 0.2 s

        # No connection is kept: the next request to a name is looked up and judged anew. No cookies, no .netrc.
        limits = httpx2.Limits(max_keepalive_connections=0)
        headers = {"User-Agent": "Mozilla/5.0", "Accept-Encoding": "gzip"}
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                async with httpx2.AsyncClient(
                    timeout=PAGE_SECONDS, headers=headers, limits=limits, verify=_trusted()
                ) as client:
                    return await self._follow(client, url)
        except TimeoutError:
            raise PageError(f"no answer within {PAGE_SECONDS:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:  # ValueError: no address at all
            raise PageError(str(error).partition("\n")[0] or type(error).__name__) from error

    async def _follow(self, client: httpx2.AsyncClient, url: str) -> str:
        host = urlsplit(url).hostname
        for _ in range(_REDIRECTS):
            if self.same_host and urlsplit(url).hostname != host:
                raise PageError(f"it leads to another host: fetch {url} for that")
            response = await self._send(client, url)
            try:
                if not response.has_redirect_location:
                    return await _body(response, self.longest)
                url = urljoin(url, response.headers["location"])
            finally:
                await response.aclose()
        raise PageError("too many redirects")

    async def _send(self, client: httpx2.AsyncClient, url: str) -> httpx2.Response:
        """Ask the very address that was judged, in the name of the host.

        A result must not reach into your network, nor may its name lead there when it is looked up a second time.
        """
        import httpx2

        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise PageError("not a web address")
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")  # a result gives us no password
        port = parts.port or (443 if parts.scheme == "https" else 80)
        names = {"sni_hostname": parts.hostname}  # the certificate is checked against the name
        failure: httpx2.ConnectError | None = None
        for address in await addresses_of(parts.hostname, port, self.look_up, self.is_allowed):
            checked = plain._replace(netloc=f"{address}:{port}").geturl()
            request = client.build_request("GET", checked, headers={"Host": plain.netloc}, extensions=names)
            try:
                return await client.send(request, stream=True, auth=None)
            except httpx2.ConnectError as error:
                failure = error
        raise failure or PageError(f"{parts.hostname} is not known")


async def _body(response: httpx2.Response, longest: int) -> str:
    if response.status_code != 200:
        raise PageError(f"HTTP {response.status_code}")
    kind = response.headers.get("content-type", "text/html").lower()
    if not kind.startswith(_READABLE):
        raise PageError(f"not text ({kind.partition(';')[0]})")
    data = await _decoded(response)
    text = data.decode(_charset(response.charset_encoding), "replace")
    if "html" in kind:
        text = await asyncio.to_thread(plain_text, text)
    return text[:longest] + ("…" if len(text) > longest else "")


def _charset(named: str | None) -> str:
    """Return the codec that a page names; UTF-8 where it is none that pages are written in: punycode takes minutes."""
    try:
        found = codecs.lookup(named or "utf-8").name
        b"x".decode(found, "replace")  # LookupError for those that are none of text
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if found in _NO_CHARSETS else found


async def _decoded(response: httpx2.Response) -> bytes:
    """Return at most LARGEST_PAGE bytes of the body; no piece is unpacked further, since a few bytes may stand for
    gigabytes."""
    packed = response.headers.get("content-encoding", "identity").strip().lower() or "identity"
    if packed not in {"identity", "gzip", "x-gzip", "deflate"}:
        raise PageError(f"packed in a way that was not asked for ({packed[:20]})")
    unpack = None if packed == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: gzip or zlib, by its head
    data = bytearray()
    async for part in response.aiter_raw():
        room = LARGEST_PAGE - len(data)
        try:
            data += part[:room] if unpack is None else unpack.decompress(part, room)
        except zlib.error:
            raise PageError("its packing is broken") from None
        if len(data) >= LARGEST_PAGE:
            break
    return bytes(data)


def plain_text(html: str) -> str:
    """Return the text of an HTML page, a line a block, without menus and scripts; of a long one its beginning."""
    reader = _TextReader()
    until = time.thread_time() + READING_SECONDS
    for begin in range(0, len(html), _PIECE):
        if reader.length > LONGEST_TEXT * 4 or time.thread_time() > until:
            reader.parts.append("\n…")
            break
        reader.feed(html[begin : begin + _PIECE])
    else:
        if len(reader.rawdata) <= _LONGEST_END:
            reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _TextReader(HTMLParser):
    """Gathers text, and leaves out the text inside an ignored element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.length = 0  # characters of text so far
        self._ignored = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if self._ignored:
            self._depth += tag == self._ignored
        elif tag in _IGNORED:
            self._ignored, self._depth = tag, 1
        elif tag in _BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._ignored:
            self._depth -= tag == self._ignored
            if self._depth == 0:
                self._ignored = ""
        elif tag in _BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._ignored:
            text = re.sub(r"\s+", " ", data)
            self.parts.append(text)
            self.length += len(text) if text != " " else 0
