"""Web pages as plain text, for `duckduckgo`: bounded in time and size, and from public addresses only."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import httpx2

PAGE_SECONDS: Final = 10.0
LARGEST_PAGE: Final = 2_000_000  # bytes; the rest is not read
LONGEST_TEXT: Final = 4000  # characters of a page
_REDIRECTS: Final = 4
_IGNORED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "form", "head"}
)
_BREAKS: Final = frozenset(
    {"p", "div", "br", "li", "ul", "ol", "tr", "table", "section", "article", "pre", "blockquote", "hr"}
    | {f"h{level}" for level in range(1, 7)}
)
_READABLE: Final = ("text/", "application/xhtml", "application/json", "application/xml")


class PageError(Exception):
    """Why a page could not be had: a few words."""


@dataclass(frozen=True, slots=True)
class PageFetcher:
    """Fetches pages. `private` also lets it go to addresses that aren't public, for a stand-in on this machine."""

    private: bool = False

    async def text(self, url: str) -> str:
        """The text of a page. Raises PageError."""
        import httpx2  # 0.2 s

        try:
            async with asyncio.timeout(PAGE_SECONDS):
                async with httpx2.AsyncClient(timeout=PAGE_SECONDS, headers={"User-Agent": "Mozilla/5.0"}) as client:
                    return await self._follow(client, url)
        except TimeoutError:
            raise PageError(f"no answer within {PAGE_SECONDS:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:  # ValueError: no address at all
            raise PageError(str(error).partition("\n")[0] or type(error).__name__) from error

    async def _follow(self, client: httpx2.AsyncClient, url: str) -> str:
        for _ in range(_REDIRECTS):
            await self._check(url)
            async with client.stream("GET", url) as response:
                if response.is_redirect:
                    url = urljoin(url, response.headers["location"])
                    continue
                return await _body(response)
        raise PageError("too many redirects")

    async def _check(self, url: str) -> None:
        """Refuses what is no web page, and hosts on private networks: a result must not reach into yours."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise PageError("not a web address")
        if self.private:
            return
        try:
            found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM)
        except OSError:
            raise PageError(f"{parts.hostname} is not known") from None
        if not all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_global for entry in found):
            raise PageError(f"{parts.hostname} is on a private network")


async def _body(response: httpx2.Response) -> str:
    if response.status_code != 200:
        raise PageError(f"HTTP {response.status_code}")
    kind = response.headers.get("content-type", "text/html").lower()
    if not kind.startswith(_READABLE):
        raise PageError(f"not text ({kind.partition(';')[0]})")
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) >= LARGEST_PAGE:
            break
    try:
        text = bytes(data[:LARGEST_PAGE]).decode(response.encoding or "utf-8", "replace")
    except LookupError:
        text = bytes(data[:LARGEST_PAGE]).decode("utf-8", "replace")
    if "html" in kind:
        text = await asyncio.to_thread(plain_text, text)
    return text[:LONGEST_TEXT] + ("…" if len(text) > LONGEST_TEXT else "")


def plain_text(html: str) -> str:
    """The text of an HTML page: a line a block, without menus, scripts and the like."""
    reader = _TextReader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _TextReader(HTMLParser):
    """Gathers text; what stands inside an ignored element is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._ignored = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """An element begins."""
        if self._ignored:
            self._depth += tag == self._ignored
        elif tag in _IGNORED:
            self._ignored, self._depth = tag, 1
        elif tag in _BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if self._ignored:
            self._depth -= tag == self._ignored
            if self._depth == 0:
                self._ignored = ""
        elif tag in _BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Text between tags; line ends in it are spaces."""
        if not self._ignored:
            self.parts.append(re.sub(r"\s+", " ", data))
