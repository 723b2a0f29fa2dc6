"""The console in a real Chromium (`make web`): keys, panels, approvals, sizes, reloads, tabs, and who is kept out.

Needs chromium, its driver and selenium. Pictures of what was seen are left in the folder that WEB_PICTURES names.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from console_app.web.server import WebServer
from tests.patience import PATIENCE
from tests.web.parts import OFFLINE, console_processes, gone, serving
from tests.web.test_opening import ARGUMENTS, with_filing_server

pytestmark = pytest.mark.filterwarnings("ignore")  # selenium's own
TO_PROMPT = "sk, or / for commands"
ASKING = ("-m", "offline/rehearsal", "--mcp", "filing")


class Chromium:
    """A headless browser. Whatever asks it runs in a thread, as the server runs on the test's own loop."""

    def __init__(self, downloads: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.add_argument("--window-size=1000,700")
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    async def ask(self, script: str) -> Any:
        return await asyncio.to_thread(self.driver.execute_script, script)

    async def open(self, address: str) -> None:
        await asyncio.to_thread(self.driver.get, address)

    async def press(self, *keys: str) -> None:
        await asyncio.to_thread(ActionChains(self.driver).send_keys(*keys).perform)

    async def chord(self, held: str, key: str) -> None:
        """`key` with a key held down."""
        chain = ActionChains(self.driver).key_down(held).send_keys(key).key_up(held)
        await asyncio.to_thread(chain.perform)

    async def text(self) -> str:
        shown = "return (window.fanout ? fanout.text() : '') + '\\n' + document.body.innerText"
        return await self.ask(shown)

    async def see(self, *texts: str) -> str:
        """Until the page shows all of `texts`."""
        return await self.until(lambda shown: all(text in shown for text in texts))

    async def until(self, fact: Callable[[str], bool]) -> str:
        shown = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while not fact(shown := await self.text()):  # noqa: ASYNC110  # a browser tells nobody
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"it did not come:\n{shown}") from None
        return shown

    def picture(self, name: str) -> None:
        folder = os.environ.get("WEB_PICTURES")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    def faults(self) -> list[str]:
        """What the browser complained of: scripts that failed, what the policy forbade."""
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Chromium]:
    browser = Chromium(tmp_path / "downloads")
    try:
        yield browser
    finally:
        browser.driver.quit()


@asynccontextmanager
async def opened(chromium: Chromium, tmp_path: Path, **options: Any) -> AsyncIterator[WebServer]:
    """A server whose link the browser has opened, and the prompt seen."""
    async with serving(tmp_path, **options) as server:
        await chromium.open(server.link)
        await chromium.see(TO_PROMPT[1:])
        yield server


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
        while "✓ done" not in await chromium.text():  # a key that comes with the board is not taken for an answer
            await chromium.press("y")
        await chromium.see("✓ done")
        chromium.picture("done")
        assert chromium.faults() == []
        assert len(console_processes()) == 1
        assert len(server.consoles) == 1


async def test_a_window_of_another_size_is_filled(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path):
        for width, height in ((1300, 900), (700, 500)):
            await asyncio.to_thread(chromium.driver.set_window_size, width, height)
            wide = [0]

            def filled(shown: str, wide: list[int] = wide) -> bool:
                lines = shown.splitlines()
                return any(line.rstrip().endswith("╮") and abs(len(line.rstrip()) - wide[0]) <= 2 for line in lines)

            async with asyncio.timeout(PATIENCE):
                while True:
                    wide[0] = (await chromium.ask("return fanout.size()"))[0]
                    if filled(await chromium.text()):
                        break
                    await asyncio.sleep(0.1)
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
        await chromium.until(
            lambda shown: chromium.driver.current_url.endswith("/sign-in") and "not the token" in shown
        )
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
        async with asyncio.timeout(PATIENCE):
            while not list((tmp_path / "downloads").glob("*.html")):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
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
