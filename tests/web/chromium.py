"""A real Chromium, headless, and what a user does with it. Needs chromium, its driver and selenium."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains

from console_app.web.server import WebServer
from tests.patience import PATIENCE, until_told
from tests.web.parts import serving

TO_PROMPT = "sk, or / for commands"
ALWAYS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1000,700")
CELLS = """
    const box = document.querySelector(".xterm-screen").getBoundingClientRect();
    const [columns, rows] = fanout.size();
    return [box.left, box.top, box.width / columns, box.height / rows];
"""


class Chromium:
    """A headless browser. Whatever asks it runs in a thread, as the server runs on the test's own loop."""

    def __init__(self, downloads: Path, *arguments: str, **experimental: Any) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for argument in (*ALWAYS, *arguments):
            options.add_argument(argument)
        for name, value in experimental.items():
            options.add_experimental_option(name, value)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    async def ask(self, script: str) -> Any:
        return await asyncio.to_thread(self.driver.execute_script, script)

    async def open(self, address: str) -> None:
        await asyncio.to_thread(self.driver.get, address)

    async def press(self, *keys: str) -> None:
        await self._listening()
        await self.send(*keys)

    async def send(self, *keys: str) -> None:
        """Keys to whatever has the keyboard, if anything has."""
        await asyncio.to_thread(ActionChains(self.driver).send_keys(*keys).perform)

    async def chord(self, held: str, key: str) -> None:
        """`key` with a key held down."""
        await self._listening()
        chain = ActionChains(self.driver).key_down(held).send_keys(key).key_up(held)
        await asyncio.to_thread(chain.perform)

    async def _listening(self) -> None:
        """Until something has the keyboard: a page gives it away after it has shown its text."""
        field = "return Boolean(document.activeElement?.matches('input, textarea'))"
        await until_told(lambda: self.ask(field), "a place for keys")

    async def tap(self, words: str) -> None:
        """A finger on the middle of what the terminal shows; on nothing where it isn't shown any more."""
        lines = (await self.ask("return fanout.text()")).splitlines()
        row = next((n for n, line in enumerate(lines) if words in line), None)
        if row is None:
            return
        column = lines[row].index(words) + len(words) / 2
        left, top, cell, line = await self.ask(CELLS)
        at = {"x": left + column * cell, "y": top + (row + 0.5) * line}
        for kind, points in (("touchStart", [at]), ("touchEnd", [])):
            touched = {"type": kind, "touchPoints": points}
            await asyncio.to_thread(self.driver.execute_cdp_cmd, "Input.dispatchTouchEvent", touched)

    async def text(self) -> str:
        shown = "return (window.fanout ? fanout.text() : '') + '\\n' + document.body.innerText"
        return await self.ask(shown)

    async def see(self, *texts: str) -> str:
        """Until the page shows all of `texts`."""

        async def there(shown: str) -> bool:
            return all(text in shown for text in texts)

        return await self.until(there)

    async def until(self, fact: Callable[[str], Awaitable[bool]]) -> str:
        """Return the page's text once it holds."""
        shown = ""

        async def look() -> bool:
            nonlocal shown
            return await fact(shown := await self.text())

        try:
            await until_told(look, "the page")
        except TimeoutError:
            size = await self.ask("return [window.fanout?.size(), innerWidth, innerHeight]")
            raise AssertionError(f"it did not come, at {size}:\n{shown}") from None
        return shown

    async def decide(self, answer: Callable[[], Awaitable[None]], *then: str) -> None:
        """Answers a board until the page shows `then`: a key that comes with the board isn't taken for an answer."""
        shown = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    shown = await self.text()
                    if all(text in shown for text in then):
                        return
                    await answer()
                    try:
                        async with asyncio.timeout(3):  # keys that come sooner put the board's answer off
                            await self.see(*then)
                        return
                    except TimeoutError:
                        continue
        except TimeoutError:
            raise AssertionError(f"{then} did not come:\n{shown}") from None

    def picture(self, name: str) -> None:
        folder = os.environ.get("WEB_PICTURES")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    def faults(self) -> list[str]:
        """Return the browser's complaints: scripts that failed, and loads that the policy forbade."""
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]


@asynccontextmanager
async def opened(chromium: Chromium, tmp_path: Path, **options: Any) -> AsyncIterator[WebServer]:
    """A server whose link the browser has opened, and the prompt seen."""
    async with serving(tmp_path, **options) as server:
        await chromium.open(server.link)
        await chromium.see(TO_PROMPT[1:])
        yield server
