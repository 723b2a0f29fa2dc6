"""A stand-in for the web on loopback: a search page in DuckDuckGo's form, and the pages it leads to.

A search waits until the test lets it go on, so that the order in which searches end is the test's to say.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from urllib.parse import parse_qs

from tests.raw_server import raw_server

Page = tuple[int, str, bytes]
HTML = "text/html; charset=utf-8"


def results_page(*results: tuple[str, str, str]) -> Page:
    """A page of results: title, address and snippet of each."""
    parts = [
        f'<div class="result__body"><h2 class="result__title"><a href="{escape(url)}">{escape(title)}</a></h2>'
        f'<a class="result__snippet" href="{escape(url)}">{escape(snippet)}</a></div>'
        for title, url, snippet in results
    ]
    return 200, HTML, f"<html><body>{''.join(parts)}</body></html>".encode()


@dataclass
class WebStandIn:
    """A site, and the requests that it got. `search` answers a query; None ends the connection without an answer."""

    url: str
    search: Callable[[str], Page | None]
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    gates: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    asked: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    open_gates: bool = True  # False: a search waits for its gate

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, path, _ = head.decode("latin-1").split(" ", 2)
        length = next(
            (
                int(line[15:])
                for line in head.decode("latin-1").split("\r\n")
                if line.lower().startswith("content-length:")
            ),
            0,
        )
        body = (await reader.readexactly(length)).decode()
        if method == "POST":
            query = parse_qs(body)["q"][0]
            self.asked[query].set()
            if not self.open_gates:
                await self.gates[query].wait()
            page = self.search(query)
        else:
            page = self.pages.get(path, (404, HTML, b"no such page"))
        if page is not None:
            status, kind, content = page
            location = f"Location: {content.decode()}\r\n" if status == 302 else ""
            writer.write(
                f"HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\n{location}Connection: close\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
            )
            writer.write(content)
        try:
            await writer.drain()
        except ConnectionError:
            pass  # a page that is too large is not read to its end
        writer.close()


@asynccontextmanager
async def web_stand_in(search: Callable[[str], Page | None]) -> AsyncIterator[WebStandIn]:
    """Serves until the test is done."""
    web = WebStandIn("", search)
    async with raw_server(web.handle) as port:
        web.url = f"http://127.0.0.1:{port}"
        yield web
        for gate in web.gates.values():
            gate.set()
