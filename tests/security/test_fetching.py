"""Pages are fetched from public addresses only, from the very address that was judged, and never more than is read."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest

from console_app.servers.duckduckgo import fetcher_for
from console_app.servers.parts import web_pages
from console_app.servers.parts.web_pages import LARGEST_PAGE, PageError, PageFetcher, is_public, plain_text
from tests.each import each
from tests.raw_server import raw_server

PRIVATE = [
    *("127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1"),
    *("169.254.169.254", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:7f00:1", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378::1"),
    *("2001:db8::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "ff0e::1"),
    *("100::1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1", "5f00::1"),
]
PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@each("address", PRIVATE)
async def test_an_address_near_to_us_is_refused_however_it_is_written(address: str) -> None:
    assert not is_public(ip_address(address))

    async def look_up(host: str, port: int) -> list[str]:
        return ["93.184.216.34", address]

    with pytest.raises(PageError, match=r"pages\.test is on a private network"):
        await PageFetcher(look_up=look_up).text("http://pages.test/")


@each("address", PUBLIC)
def test_a_public_address_is_not(address: str) -> None:
    assert is_public(ip_address(address))


@each("url", ["http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://[::ffff:7f00:1]/", "http://0/"])
async def test_odd_ways_to_write_this_machine_are_refused(url: str) -> None:
    with pytest.raises(PageError, match=r"private network|not known"):
        await PageFetcher().text(url)


@dataclass
class Site:
    """Answers every request with the bytes given for its path; `heads` are what it was asked."""

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict[str, bytes])
    heads: list[str] = field(default_factory=list[str])
    written: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        answer = self.answers[head.split(" ")[1]]
        try:
            for begin in range(0, len(answer), 65_536):
                writer.write(answer[begin : begin + 65_536])
                await writer.drain()
                self.written = begin
        except ConnectionError:
            pass  # it had read enough
        writer.close()


@asynccontextmanager
async def site() -> AsyncGenerator[Site]:
    served = Site()
    async with raw_server(served.handle) as served.port:
        yield served


def page(body: bytes, *more: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: text/plain", "Connection: close", *more]
    return "\r\n".join([*head, "", ""]).encode() + body


def anything(address: IPv4Address | IPv6Address) -> bool:
    return True


def public_or_here(address: IPv4Address | IPv6Address) -> bool:
    """The site of the test stands for a public one; the rest of this machine's networks does not."""
    return str(address) == "127.0.0.1" or is_public(address)


class Names:
    """A look-up that gives another address each time, as a name server does that means to get in."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return [self.answers.pop(0)]


async def test_a_name_is_looked_up_once_and_that_address_is_asked() -> None:
    async with site() as served:
        served.answers["/"] = page(b"hello")
        names = Names("127.0.0.1", "127.0.0.2")
        url = f"http://user:word@pages.test:{served.port}/"
        assert await PageFetcher(anything, names).text(url) == "hello"
        assert names.asked == ["pages.test"]
        assert f"host: pages.test:{served.port}" in served.heads[0].lower()
        assert "authorization" not in served.heads[0].lower()


async def test_a_proxy_is_asked_for_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with site() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        proxy.answers["http://93.184.216.34/"] = page(b"by proxy")
        assert await PageFetcher(look_up=Names("93.184.216.34")).text("http://pages.test/") == "by proxy"
        assert "host: pages.test" in proxy.heads[0].lower()
        with pytest.raises(PageError, match="private network"):
            await PageFetcher(look_up=Names("10.0.0.1")).text("http://inside.test/")
        assert len(proxy.heads) == 1


@each(
    ("environ", "allowed"),
    [
        ({}, False),
        ({"FANOUT_SEARCH_PRIVATE": "0"}, False),
        ({"FANOUT_SEARCH_PRIVATE": "1"}, True),
        ({"FANOUT_SEARCH_URL": "http://127.0.0.1/"}, True),
    ],
    ids=str,
)
def test_networks_near_to_us_are_allowed_by_its_environment_alone(environ: dict[str, str], allowed: bool) -> None:
    assert fetcher_for(environ).is_allowed(ip_address("10.0.0.1")) is allowed


async def test_where_a_redirect_leads_is_judged_anew() -> None:
    async with site() as served:
        served.answers["/"] = page(b"", f"Location: http://inside.test:{served.port}/secret", status="302 Found")

        async def judged(host: str, port: int) -> list[str]:
            return ["10.0.0.1"] if host == "inside.test" else ["127.0.0.1"]

        with pytest.raises(PageError, match=r"inside\.test is on a private network"):
            await PageFetcher(public_or_here, judged).text(f"http://pages.test:{served.port}/")
        assert len(served.heads) == 1
        for target, why in [
            ("file:///etc/passwd", "not a web address"),
            ("//[", "Invalid"),
            ("gopher://a.test/", "not a"),
        ]:
            served.answers["/"] = page(b"", f"Location: {target}", status="302 Found")
            with pytest.raises(PageError, match=why):
                await PageFetcher(anything, judged).text(f"http://pages.test:{served.port}/")


async def test_redirects_in_a_circle_end() -> None:
    async with site() as served:
        served.answers["/"] = page(b"", "Location: /", status="302 Found")
        with pytest.raises(PageError, match="too many redirects"):
            await PageFetcher(anything).text(f"http://127.0.0.1:{served.port}/")
        assert len(served.heads) == 4


@each(("packing", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("X-GZIP", gzip.compress)])
async def test_a_packed_page_is_unpacked_no_further_than_it_is_read(
    packing: str, pack: Callable[[bytes], bytes]
) -> None:
    async with site() as served:
        served.answers["/"] = page(pack(b"hello"), f"Content-Encoding: {packing}")
        served.answers["/bomb"] = page(pack(b"a" * 60_000_000), f"Content-Encoding: {packing}")
        fetcher = PageFetcher(anything)
        assert await fetcher.text(f"http://127.0.0.1:{served.port}/") == "hello"
        tracemalloc.start()
        text = await fetcher.text(f"http://127.0.0.1:{served.port}/bomb")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(text) == 4001
        assert most < 10 * LARGEST_PAGE


@each(
    ("head", "body", "why"),
    [
        ("Content-Encoding: br", b"x", r"packed in a way that was not asked for \(br\)"),
        ("Content-Encoding: gzip, gzip", b"x", "not asked for"),
        ("Content-Encoding: gzip", b"no gzip", "its packing is broken"),
    ],
)
async def test_a_packing_that_was_not_asked_for_is_refused(head: str, body: bytes, why: str) -> None:
    async with site() as served:
        served.answers["/"] = page(body, head)
        with pytest.raises(PageError, match=why):
            await PageFetcher(anything).text(f"http://127.0.0.1:{served.port}/")


@each(
    ("charset", "text"),
    [
        *((name, "é") for name in ("utf-8", "UTF8", "nonsense", "zlib_codec", "rot13", "undefined", "idna")),
        ("iso-8859-1", "Ã©"),
    ],
)
async def test_a_page_is_read_in_the_charset_it_names_where_that_is_one(charset: str, text: str) -> None:
    async with site() as served:
        served.answers["/"] = page("é".encode()).replace(b"text/plain", f"text/plain; charset={charset}".encode())
        assert await PageFetcher(anything).text(f"http://127.0.0.1:{served.port}/") == text


async def test_a_page_in_a_charset_that_takes_minutes_is_read_as_utf8() -> None:
    async with site() as served:
        served.answers["/"] = page(b"bcd9" * 400_000).replace(b"text/plain", b"text/plain; charset=punycode")
        assert (await PageFetcher(anything).text(f"http://127.0.0.1:{served.port}/")).startswith("bcd9bcd9")


async def test_a_redirect_to_nowhere_is_no_page() -> None:
    async with site() as served:
        served.answers["/"] = page(b"", status="302 Found")
        with pytest.raises(PageError, match="HTTP 302"):
            await PageFetcher(anything).text(f"http://127.0.0.1:{served.port}/")


async def test_a_page_without_an_end_is_read_to_the_limit() -> None:
    async with site() as served:
        served.answers["/"] = page(b"word " * 20_000_000)
        assert len(await PageFetcher(anything).text(f"http://127.0.0.1:{served.port}/")) == 4001
        assert served.written < 50_000_000


@pytest.mark.parametrize("soup", ["<!--", "<!", "<a ", "</", "<![CDATA[", "<a b='", "<!DOCTYPE ", "<a/", "<title>"])
def test_tags_without_an_end_are_read_within_a_bound(soup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_pages, "READING_SECONDS", 0.2)
    page = "<p>Words</p>" + soup * (web_pages.LARGEST_PAGE // len(soup))
    began = time.thread_time()
    text = plain_text(page)
    assert text.startswith("Words")
    assert time.thread_time() - began < web_pages.READING_SECONDS * 5, "by squares of its length it is minutes"


def test_no_more_of_a_page_is_read_than_is_shown() -> None:
    text = plain_text("<p>some words</p>" * 100_000)
    assert web_pages.LONGEST_TEXT < len(text) < web_pages.LONGEST_TEXT * 20
    assert text.endswith("\n…")
