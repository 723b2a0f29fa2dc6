"""Pages are served over HTTP to those who may have them, with strict headers."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from console_app.web.server import SERVED
from tests.each import each
from tests.patience import PATIENCE
from tests.web.parts import browsing, serving


async def test_the_page_holds_nothing_of_anyone_and_no_answer_sets_a_cookie(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            for path in ("/", "/sign-in", "/socket", "/files/x", *(f"/static/{name}" for name in SERVED)):
                answer = await client.request(method, path, params={"token": server.door.token})
                assert "set-cookie" not in answer.headers
                assert server.door.token not in answer.text
                assert server.door.ticket not in answer.text
        opened = await client.get("/")
        assert (opened.status_code, "start.js" in opened.text) == (200, True)
        assert server.door.redeem(server.door.token) == "in", "nothing used the link up"


async def test_a_name_that_is_not_ours_gets_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        for host in ("evil.example", f"evil.example:{server.port}", "localhost"):
            assert (await client.get("/", headers={"Host": host})).status_code == 421


@each("listens", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"])
async def test_localhost_is_sent_on_to_the_address_since_another_user_may_listen_at_that_name(
    tmp_path: Path, listens: str
) -> None:
    async with serving(tmp_path, host=listens, token=None) as server:
        url = httpx2.URL(server.url)
        if listens not in ("0.0.0.0", "::"):
            assert url.host == ipaddress.ip_address(url.host).compressed, "an address is printed"
        here = f"http://{'[::1]' if ':' in listens or ':' in url.host else '127.0.0.1'}:{server.port}"
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            for name in ("localhost", "LocalHost"):
                for path in ("/", "/static/page.js", "//evil.example/"):
                    answer = await client.get(f"{here}{path}", headers={"Host": f"{name}:{server.port}"})
                    assert (answer.status_code, answer.headers["location"]) == (307, f"{here}/")
                    assert answer.text == ""
            assert (await client.get(f"{here}/")).status_code == 200
        origin = Origin(f"http://localhost:{server.port}")
        with pytest.raises(InvalidStatus):
            async with connect(f"ws://localhost:{server.port}/socket", origin=origin, host=url.host, proxy=None):
                pass


@each(
    "path",
    ["/static", "/static/", "/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py",
     "/static/page.html", "/static/LICENSE-xterm.txt", "/files/", "/files/x", "/docs", "/openapi.json", "/.git/config"],
)  # fmt: skip
async def test_no_folder_is_listed_and_nothing_else_is_served(tmp_path: Path, path: str) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        assert (await client.get(path)).status_code == 404


async def test_every_answer_says_that_scripts_are_of_this_server_alone(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        paths = ["/", "/nothing", *(f"/static/{name}" for name in SERVED)]
        for path in paths:
            answer = await client.get(path)
            headers = answer.headers
            assert "default-src 'none'; script-src 'self';" in headers["content-security-policy"]
            assert "form-action 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "server" not in headers
            if path.startswith("/static/"):
                assert (answer.status_code, headers["content-type"].partition(";")[0]) == (200, SERVED[path[8:]])


def test_nothing_of_the_page_comes_from_elsewhere() -> None:
    folder = Path(__file__).parents[2] / "console_app" / "web" / "static"
    ours = [folder / name for name in ("page.html", "page.css", "page.js", "start.js", "door.js")]
    live = [folder.parents[1] / "page" / f"live.{ending}" for ending in ("html", "css", "js")]
    for path in (*ours, *live):
        text = path.read_text(encoding="utf-8")
        assert "//" not in text.replace("// ", "").replace("http://", "x").replace("https://", "x"), path.name
        assert "style=" not in text
        assert "onclick=" not in text
