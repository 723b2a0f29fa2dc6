"""The console in a real Chromium (`make web`): keys, panels, approvals, sizes, reloads, tabs, and who is kept out.

Pictures of what was seen are left in the folder that WEB_PICTURES names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from selenium.webdriver.common.keys import Keys

from tests.patience import until_so, until_told
from tests.web.chromium import TO_PROMPT, Chromium, opened
from tests.web.parts import OFFLINE, console_processes, gone, serving
from tests.web.test_opening import ARGUMENTS, with_filing_server

pytestmark = pytest.mark.filterwarnings("ignore")  # selenium's own
ASKING = ("-m", "offline/rehearsal", "--mcp", "filing")


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Chromium]:
    browser = Chromium(tmp_path / "downloads")
    try:
        yield browser
    finally:
        browser.driver.quit()


async def test_typing_panels_and_an_approval(chromium: Chromium, tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with opened(chromium, tmp_path, arguments=ASKING) as server:
        columns, rows = await chromium.ask("return fanout.size()")
        assert (columns > 100, rows > 25) == (True, True)
        lines = (await chromium.ask("return fanout.text()")).splitlines()
        assert max(map(len, lines)) >= columns - 1, "as wide as the page from the first paint on"
        assert await chromium.ask("return location.search") == "", "the token is not kept in the address"
        await chromium.see("● 1 server")
        await chromium.press("one line")
        await chromium.chord(Keys.SHIFT, Keys.ENTER)
        await chromium.press("and_another")
        shown = await chromium.see("one line", "and_another")
        assert not any("one line" in line and "and_another" in line for line in shown.splitlines())
        chromium.picture("typed")
        await chromium.press(Keys.BACKSPACE * len("one line and_another"))
        await chromium.see(TO_PROMPT[1:])
        await chromium.press("filing.report {}", Keys.ENTER)
        await chromium.see("Approve 1 of 1", "y allow once")
        chromium.picture("approval")
        await chromium.decide(lambda: chromium.press("y"), "✓ done")
        chromium.picture("done")
        assert chromium.faults() == []
        assert len(console_processes()) == 1
        assert len(server.consoles) == 1


async def test_a_window_of_another_size_is_filled(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path):
        for width, height in ((1300, 900), (700, 500)):
            await asyncio.to_thread(chromium.driver.set_window_size, width, height)

            async def filled(shown: str) -> bool:
                wide, _ = await chromium.ask("return fanout.size()")
                ends = [len(line.rstrip()) for line in shown.splitlines() if line.rstrip().endswith("╮")]
                return bool(ends) and abs(ends[-1] - wide) <= 2

            await chromium.until(filled)
            chromium.picture(f"size-{width}")
        await chromium.press("still typed")
        await chromium.see("still typed")


async def test_a_reload_begins_anew_and_with_keep_goes_on(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path):
        await chromium.press("written before")
        await chromium.see("written before")
        (before,) = console_processes()
        await asyncio.to_thread(chromium.driver.refresh)
        await chromium.see(TO_PROMPT[1:])
        await gone(before)
    async with opened(chromium, tmp_path, keep=600.0):
        await chromium.press("written before")
        await chromium.see("written before")
        kept = console_processes()
        await asyncio.to_thread(chromium.driver.refresh)
        await chromium.see("written before")
        await chromium.press(" and behind")
        await chromium.see("written before and behind")
        chromium.picture("reloaded")
        assert console_processes() == kept


async def test_two_tabs_are_two_consoles_and_a_closed_one_ends(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, most=2) as server:
        first = chromium.driver.current_window_handle
        await chromium.press("in the first")
        await chromium.see("in the first")
        await asyncio.to_thread(chromium.driver.switch_to.new_window, "tab")
        await chromium.open(server.url)
        await chromium.see(TO_PROMPT[1:])
        assert len(console_processes()) == 2
        second = chromium.driver.current_window_handle
        await asyncio.to_thread(chromium.driver.switch_to.new_window, "tab")
        await chromium.open(server.url)
        await chromium.see("As many consoles run as may", "Try again")
        chromium.picture("too-many")
        await asyncio.to_thread(chromium.driver.switch_to.window, second)
        processes = console_processes()
        await asyncio.to_thread(chromium.driver.close)
        done, _ = await asyncio.wait(
            [asyncio.create_task(gone(one)) for one in processes], return_when=asyncio.FIRST_COMPLETED
        )
        assert len(done) == 1
        await asyncio.to_thread(chromium.driver.switch_to.window, first)
        await chromium.see("in the first")


async def test_a_wrong_token_and_a_foreign_page_get_nothing(chromium: Chromium, tmp_path: Path) -> None:
    async with serving(tmp_path, token="a-token-that-was-chosen") as server, serving(tmp_path) as foreign:
        await chromium.open(f"{server.url}?token=wrong")
        await chromium.see("That is not the token.")
        await chromium.press("another-wrong-one", Keys.ENTER)

        async def refused(shown: str) -> bool:
            return "not the token" in shown and await chromium.ask("return location.pathname") == "/sign-in"

        await chromium.until(refused)
        chromium.picture("wrong-token")
        await chromium.press("a-token-that-was-chosen", Keys.ENTER)
        await chromium.see(TO_PROMPT[1:])
        (mine,) = console_processes()
        await chromium.open(foreign.link)  # a page of another origin, in the same browser with the same cookies
        await chromium.see(TO_PROMPT[1:])
        script = """
            const done = arguments[0];
            const socket = new WebSocket("ws://127.0.0.1:%d/socket");
            socket.onopen = () => done("open");
            socket.onerror = () => done("refused");
        """
        answer = await asyncio.to_thread(chromium.driver.execute_async_script, script % server.port)
        assert answer == "refused"
        await gone(mine)


async def test_a_link_opens_here_and_a_file_is_downloaded(chromium: Chromium, tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with opened(chromium, tmp_path, arguments=ARGUMENTS):
        await chromium.see("● 1 server")
        await chromium.press("filing.report {}", Keys.ENTER)
        await chromium.see("✓ done ·")
        await chromium.chord(Keys.ALT, Keys.UP)
        await chromium.see("f files")
        await chromium.press("f")
        await until_so(lambda: any((tmp_path / "downloads").glob("*.html")), "the download")
        chromium.picture("downloaded")
        assert [one.read_text() for one in (tmp_path / "downloads").glob("*.html")] == ["<script>alert(1)</script>"]
        assert chromium.faults() == []


async def test_an_end_is_told_and_another_can_be_started(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, arguments=OFFLINE):
        for _ in range(3):
            await chromium.chord(Keys.CONTROL, "c")
        await chromium.see("The console has ended.", "Start another")
        chromium.picture("ended")
        await chromium.ask("document.querySelector('#notice button').click()")
        await chromium.see(TO_PROMPT[1:])


async def test_what_is_copied_is_on_the_browsers_clipboard(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, arguments=OFFLINE):
        allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
        await asyncio.to_thread(chromium.driver.execute_cdp_cmd, "Browser.grantPermissions", allowed)
        await chromium.press("what can you do", Keys.ENTER)
        await chromium.see("✓ done ·")
        await chromium.press("/copy", Keys.ENTER)
        reads = "navigator.clipboard.readText().then(arguments[0], () => arguments[0](''))"

        async def copied() -> bool:
            return "rehearsal model" in await asyncio.to_thread(chromium.driver.execute_async_script, reads)

        await until_told(copied, "what was copied")
        assert chromium.faults() == []


async def test_a_browser_that_is_killed_takes_its_console_with_it(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, arguments=OFFLINE):
        (console,) = console_processes()
        driver = psutil.Process(chromium.driver.service.process.pid)
        for process in driver.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        await gone(console)
