"""The console in a real Chromium (`make web`): keys, panels, approvals, sizes, reloads, tabs, and who is kept out.

Pictures of what was seen are left in the folder that WEB_PICTURES names.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from selenium.webdriver.common.keys import Keys

from tests.patience import until_so, until_told
from tests.web.chromium import TO_PROMPT, Chromium, opened
from tests.web.parts import OFFLINE, TOKEN, console_processes, gone, page_of, serving
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
        await chromium.see("1 needs you", "y run it")
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
    async with serving(tmp_path, token=TOKEN) as server, serving(tmp_path) as foreign:
        await chromium.open(f"{server.url}#token=wrong")
        await chromium.see("That is not the token.")
        assert await chromium.ask("return location.hash") == ""
        await chromium.press("another-wrong-one", Keys.ENTER)
        await chromium.see("That is not the token.")
        chromium.picture("wrong-token")
        await chromium.press(TOKEN, Keys.ENTER)
        await chromium.see(TO_PROMPT[1:])
        (mine,) = console_processes()
        await chromium.open(foreign.link)  # a page of another origin, in the same browser
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


class _Neighbour(BaseHTTPRequestHandler):
    """Another program of the same machine: it keeps whatever a browser gives it."""

    def do_GET(self) -> None:
        self.server.given += [f"{name}: {value}" for name, value in self.headers.items()]  # pyright: ignore[reportAttributeAccessIssue]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>neighbour</title>")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def neighbour() -> Iterator[ThreadingHTTPServer]:
    """It listens on another port of the very host; `given` is what it was sent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Neighbour)
    server.given = []  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_program_on_another_port_is_given_nothing_that_opens_a_console(
    chromium: Chromium, tmp_path: Path
) -> None:
    async with opened(chromium, tmp_path, keep=600.0, most=2) as server:
        with neighbour() as other:
            for host in ("127.0.0.1", "localhost"):
                await chromium.open(f"http://{host}:{other.server_port}/")
                assert await chromium.ask("return document.title") == "neighbour"
                assert await chromium.ask("return [document.cookie, sessionStorage.length, localStorage.length]") == [
                    "",
                    0,
                    0,
                ]
            given: list[str] = other.given  # pyright: ignore[reportAttributeAccessIssue]
        assert [line for line in given if "fanout" in line.lower() or "cookie" in line.lower()] == []
        assert await asyncio.to_thread(chromium.driver.get_cookies) == []
        sent = {"Origin": f"http://127.0.0.1:{server.port}", "Cookie": "; ".join(given)}
        async with page_of(server, {"ticket": "; ".join(given)}, **sent) as page:
            await page.until(lambda page: page.told)
            assert "closed" in page.told[0], "a forged origin alone opens nothing"
        assert len(console_processes()) == 1


async def test_nothing_that_opens_a_console_is_left_in_an_address(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path) as server:
        secrets = (server.door.token, server.door.ticket)
        history = await asyncio.to_thread(chromium.driver.execute_cdp_cmd, "Page.getNavigationHistory", {})
        addresses = [one["url"] for one in history["entries"]] + [
            *await chromium.ask("return performance.getEntriesByType('resource').map((one) => one.name)"),
            *await chromium.ask("return [location.href, document.referrer, JSON.stringify(history.state)]"),
        ]
        assert [one for one in addresses for secret in secrets if secret in one] == []
        assert server.url in addresses
        kept = await chromium.ask(
            "return [Object.values(sessionStorage), Object.values(localStorage), document.cookie]"
        )
        assert server.door.ticket in kept[0], "this tab's, of this scheme, host and port"
        assert kept[1:] == [[], ""]


async def test_a_new_link_opens_in_the_tab_of_the_old_one(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path) as before:
        port = before.port
    await chromium.see("The connection is gone")
    async with serving(tmp_path, port=port) as server:
        await chromium.open(server.url)
        await chromium.see("opens with the link")
        await chromium.open(server.link)  # of the same page but for what stands behind #
        await chromium.see(TO_PROMPT[1:])


async def test_a_link_that_was_used_opens_no_other_browser(chromium: Chromium, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path) as server:
        other = Chromium(tmp_path / "other")
        try:
            await other.open(server.link)
            await other.see("This link was used")
            await other.open(server.url)
            await other.see("opens with the link")
        finally:
            other.driver.quit()
        assert len(console_processes()) == 1


async def test_a_link_opens_here_and_a_file_is_downloaded(chromium: Chromium, tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with opened(chromium, tmp_path, arguments=ARGUMENTS):
        await chromium.see("● 1 server")
        await chromium.press("filing.report {}", Keys.ENTER)
        await chromium.see("✓ done ·")
        await chromium.chord(Keys.ALT, Keys.UP)
        await chromium.see("enter menu")
        await chromium.press("f")

        def saved() -> list[str]:  # the browser makes an empty file first
            return [text for one in (tmp_path / "downloads").glob("*.html") if (text := one.read_text())]

        await until_so(lambda: bool(saved()), "the download")
        chromium.picture("downloaded")
        assert saved() == ["<script>alert(1)</script>"]
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
