"""Many pages at once, a page that takes nothing, sizes in a storm: what one page does is no other page's trouble."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.typing import Origin

from tests.patience import PATIENCE, until_so
from tests.web.parts import console_processes, gone, page_of, serving

TO_PROMPT = "Ask, or / for commands"
FLOOD = """
[[answer]]
times = 0
steps = [{ text = "All work and no play makes dull lines {{n}}.\\n", times = 20000 }]
"""


async def test_of_a_hundred_pages_at_once_as_many_as_may_have_a_console(tmp_path: Path) -> None:
    async with serving(tmp_path, most=2) as server, AsyncExitStack() as stack:
        pages = await asyncio.gather(*[stack.enter_async_context(page_of(server)) for _ in range(100)])
        await asyncio.gather(*[page.until(lambda page: page.told) for page in pages])
        inside = [page for page in pages if "refused" not in page.told[0]]
        assert len(inside) == len(console_processes()) == 2
        assert all("As many consoles run as may" in page.told[0]["refused"] for page in pages if page not in inside)
        for page in inside:
            await page.see(TO_PROMPT)
            await page.type("still here")
            await page.see("still here")


async def test_a_page_that_takes_nothing_holds_up_no_other_and_its_end_is_its_consoles(tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD)
    async with (
        serving(tmp_path, arguments=("-m", "scripted/flood.toml", "--no-mcp")) as server,
        connect(
            f"ws://127.0.0.1:{server.port}/socket",
            origin=Origin(f"http://127.0.0.1:{server.port}"),
            max_queue=1,  # what comes is not even read from the network
            proxy=None,
            open_timeout=PATIENCE,
            ping_interval=None,
        ) as deaf,
    ):
        await deaf.send(json.dumps({"ticket": server.door.ticket, "size": [200, 60]}))
        await until_so(lambda: len(console_processes()) == 1, "the first console")
        (first,) = console_processes()
        await deaf.send(b"go\r")
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            await page.type("go\r")
            await page.see("dull lines")
            deaf.transport.abort()
            await gone(first)
            await page.type("next")
            await page.see("next")


async def test_of_a_storm_of_sizes_the_last_holds(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, page_of(server) as page:
        await page.see(TO_PROMPT)
        await page.type("a draft")
        for step in range(1000):
            await page.resize(60 + step % 90, 20 + step % 30)
        await page.resize(91, 24)
        await page.until(lambda page: len(page.text.splitlines()[20].rstrip()) in (89, 90) and "a draft" in page.text)
