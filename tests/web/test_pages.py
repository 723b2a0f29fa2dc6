"""What is served over HTTP, to whom, and with what headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from console_app.web.pages import SERVED
from tests.web.parts import TOKEN, browsing, serving


async def test_the_link_opens_the_page_once_and_the_cookie_from_then_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(server) as client, browsing(server) as other:
        assert (await client.get("/")).status_code == 403
        assert (await client.head("/", params={"token": server.door.token})).status_code == 403, "uses nothing up"
        wrong = await client.get("/", params={"token": "wrong"})
        assert (wrong.status_code, "not the token" in wrong.text) == (403, True)
        opened = await client.get("/", params={"token": server.door.token})
        assert (opened.status_code, "page.js" in opened.text) == (200, True)
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert server.door.token not in opened.text
        assert (await client.get("/")).status_code == 200
        again = await other.get("/", params={"token": server.door.token})
        assert (again.status_code, "This link was used" in again.text) == (403, True)
        assert "set-cookie" not in again.headers


async def test_a_chosen_token_is_typed_into_a_form_of_this_page_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, token=TOKEN) as server, browsing(server) as client:
        asked = await client.get("/")
        assert (asked.status_code, "<form" in asked.text) == (403, True)
        here = {"Origin": f"http://127.0.0.1:{server.port}"}
        for origin in ({"Origin": "http://evil.example"}, {}):
            refused = await client.post("/sign-in", data={"token": TOKEN}, headers=origin)
            assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        assert (await client.post("/sign-in", data={"token": "wrong"}, headers=here)).status_code == 403
        assert (await client.post("/sign-in", content=b"x" * 10_000, headers=here)).status_code == 413
        assert (await client.post("/sign-in", data={"token": TOKEN}, headers=here)).status_code == 200
        assert (await client.get("/")).status_code == 200


async def test_a_name_that_is_not_ours_gets_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        for host in ("evil.example", f"evil.example:{server.port}", "localhost"):
            answer = await client.get("/", params={"token": server.door.token}, headers={"Host": host})
            assert (answer.status_code, "set-cookie" in answer.headers) == (421, False)
        named = await client.get("/", params={"token": server.door.token}, headers={"Host": f"localhost:{server.port}"})
        assert named.status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/static", "/static/", "/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py",
     "/static/page.html", "/static/LICENSE-xterm.txt", "/files/", "/files/x", "/docs", "/openapi.json", "/.git/config"],
)  # fmt: skip
async def test_no_folder_is_listed_and_nothing_else_is_served(tmp_path: Path, path: str) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        await client.get("/", params={"token": server.door.token})
        assert (await client.get(path)).status_code == 404


async def test_every_answer_says_that_scripts_are_of_this_server_alone(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(server) as client:
        paths = ["/", "/nothing", *(f"/static/{name}" for name in SERVED)]
        for path in paths:
            answer = await client.get(path, params={"token": server.door.token} if path == "/" else None)
            headers = answer.headers
            assert "default-src 'none'; script-src 'self';" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert "server" not in headers
            if path.startswith("/static/"):
                assert (answer.status_code, headers["content-type"].partition(";")[0]) == (200, SERVED[path[8:]])


def test_nothing_of_the_page_comes_from_elsewhere() -> None:
    folder = Path(__file__).parents[2] / "console_app" / "web" / "static"
    for name in ("page.html", "closed.html", "page.css", "page.js"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "//" not in text.replace("// ", "").replace("http://", "x").replace("https://", "x"), name
        assert "style=" not in text
        assert "onclick=" not in text
