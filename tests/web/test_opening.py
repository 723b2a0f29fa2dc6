"""Files and links of the console are opened and saved by the browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psutil

from tests.web import filing_server
from tests.web.parts import browsing, page_of, serving

ARGUMENTS = ("-m", "offline/rehearsal", "--mcp", "filing", "--approval-mode", "yolo")


def with_filing_server(tmp_path: Path) -> None:
    """Has the console know the server."""
    home = tmp_path / "home"
    home.mkdir()
    server = {"command": sys.executable, "args": ["-S", filing_server.__file__]}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"filing": server}}))


async def test_a_file_of_a_result_downloads_once(tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with (
        serving(tmp_path, arguments=ARGUMENTS) as server,
        page_of(server) as page,
        browsing(server) as client,
    ):
        await page.see("● 1 server")
        await page.type("filing.report {}\r")
        await page.until(lambda page: "✓ done ·" in page.text)
        await page.type("\x1b[1;3A")
        await page.see("enter menu")
        await page.type("f")
        await page.until(lambda page: any("download" in one for one in page.told))
        (told,) = [one for one in page.told if "download" in one]
        assert told["name"].endswith(".html")
        path = f"/{told['download']}"
        assert (await client.head(path)).status_code == 404, "uses nothing up"
        answer = await client.get(path)
        assert (answer.status_code, answer.text) == (200, "<script>alert(1)</script>")
        assert answer.headers["content-disposition"].startswith("attachment;")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert (await client.get(path)).status_code == 404


async def test_a_link_of_a_result_opens_in_the_browser_and_not_here(tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with serving(tmp_path, arguments=ARGUMENTS) as server, page_of(server) as page:
        await page.see("● 1 server")
        await page.type("filing.link {}\r")
        await page.until(lambda page: "✓ done ·" in page.text)
        before = {one.pid for one in psutil.Process().children(recursive=True)}
        await page.type("\x1b[1;3A")
        await page.see("enter menu")
        await page.type("f")
        await page.see("enter select · esc cancel")  # the panel shows the address too
        await page.see("https://example.org/page")
        await page.type("\r")
        await page.until(lambda page: {"open": "https://example.org/page"} in page.told)
        assert {one.pid for one in psutil.Process().children(recursive=True)} <= before, "no browser was started"
