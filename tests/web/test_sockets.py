"""A page and its console, over a real socket with the real program behind it."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from console_app.web.server import WebServer
from tests.each import each
from tests.escape_reader import read
from tests.patience import PATIENCE
from tests.web.parts import OFFLINE, TOKEN, Page, console_processes, gone, page_of, serving

TO_PROMPT = "Ask, or / for commands"


@each(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"name": "evil.example"},
    ],
)
async def test_a_page_from_elsewhere_starts_nothing_whatever_it_shows(tmp_path: Path, headers: dict[str, str]) -> None:
    async with serving(tmp_path) as server:
        with pytest.raises(InvalidStatus) as refused:
            async with page_of(server, **headers):
                pass
        assert refused.value.response.status_code == 403
        assert console_processes() == []


NO_PROOF: list[Any] = ["", None, 5, True, [], {}, ["x"], "x", "é", "\ud800", "x" * 100_000]


@each("token", [None, TOKEN])
@each("field", ["ticket", "token"])
async def test_a_forged_origin_without_the_token_starts_nothing(tmp_path: Path, token: str | None, field: str) -> None:
    async with serving(tmp_path, token=token) as server, serving(tmp_path) as other:
        for value in [*NO_PROOF, other.door.ticket, other.door.token]:
            async with page_of(server, {field: value}, Cookie=f"fanout_{server.port}={value!a}"[:4000]) as page:
                await page.until(lambda page: page.told)
                assert set(page.told[0]) == {"closed", "asks"}
                assert page.told[0]["asks"] is (token is not None)
                assert "closed" in (await ended(page))
        assert console_processes() == []


async def ended(page: Page) -> str:
    """Until the server has closed the socket, having said nothing else."""
    with pytest.raises(ConnectionClosed):
        await page.until(lambda _: False)
    return " ".join(name for one in page.told for name in one)


async def test_the_link_opens_once_and_what_it_gave_from_then_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        link = {"token": server.link.partition("#token=")[2]}
        async with page_of(server, link) as page:
            await page.see(TO_PROMPT)
            ticket = page.told[0]["ticket"]
        async with page_of(server, link) as page:
            await page.until(lambda page: page.told)
            assert "This link was used" in page.told[0]["closed"]
            await ended(page)
        async with page_of(server, {"ticket": ticket}) as page:
            await page.see(TO_PROMPT)
            assert "ticket" not in page.told[0]


async def test_tokens_that_others_guess_do_not_shut_the_owner_out(tmp_path: Path) -> None:
    async with serving(tmp_path, token=TOKEN) as server:
        for number in range(30):
            async with page_of(server, {"token": f"wrong-{number}"}) as page:
                await page.until(lambda page: page.told)
                assert "not the token" in page.told[0]["closed"]
        async with page_of(server, {"token": TOKEN}) as page:
            await page.see(TO_PROMPT)


HALVES = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half of the headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n",
    "a form without an end": b"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000\r\n\r\nx",
    "a whole request and half of another": b"GET /none HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\nGET / HT",
    "a socket that says nothing": (
        b"GET /socket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    ),
}
HALVES["half a first message"] = HALVES["a socket that says nothing"] + b"\x81\xfe\x10\x00"


async def test_half_a_request_is_not_held(tmp_path: Path) -> None:
    async with serving(tmp_path, patience=0.2) as server:
        async with asyncio.timeout(9):  # uvicorn alone waits for ten until a close is answered
            await asyncio.gather(*(ended_by(server, half) for half in HALVES.values()))
        assert console_processes() == []
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            await asyncio.wait_for(pass_by(server), PATIENCE)
            await page.type("longer than a half one")
            await page.see("longer than a half one")


async def ended_by(server: WebServer, half: bytes) -> None:
    """Until the server has ended a connection on which it got no more than that."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(half.replace(b"{port}", str(server.port).encode()))
        await reader.read()
    finally:
        writer.close()


async def pass_by(server: WebServer) -> None:
    """Until a connection that came after this page's was ended for what it did not send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    await reader.read()
    writer.close()


NO_MESSAGES = ("", "{", "[]", "[" * 100_000, '{"size": 3}', '{"size": ["a", 1]}', '{"size": [1e999, 2]}',
               '{"size": [NaN, 2]}', '{"size": [1, 2, 3]}', '{"resize": [1, 2]}')  # fmt: skip


async def test_a_console_has_the_size_the_keys_and_the_environment_that_its_page_gives_and_no_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRELATED_SECRET", "s3cret")
    async with serving(tmp_path) as server, page_of(server, columns=133, rows=33) as page:
        await page.see(TO_PROMPT)
        (process,) = console_processes()
        found = process.environ()
        assert "UNRELATED_SECRET" not in found
        assert found["TERM"] == "xterm-256color"
        assert set(found) - {"FANOUT_HOME", "FANOUT_PAGE", "TERM", "COLORTERM"} <= {
            *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"),
            *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "VISUAL", "EDITOR"),
            *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
            *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
            *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "LC_ALL", "LC_CTYPE"),
        }
        assert page.text.splitlines()[29].rstrip().endswith("╮"), "the prompt's box is as wide as the page"
        assert len(page.text.splitlines()[29].rstrip()) >= 131
        await page.type("hello there")
        await page.see("hello there")
        await page.resize(90, 25)
        await page.until(lambda page: len(page.text.splitlines()[21].rstrip()) in (88, 89))
        await page.see("hello there")
        for text in NO_MESSAGES:  # which change nothing
            await page.socket.send(text)
        await page.type(" as before")
        await page.see("hello there as before")
        assert len(page.text.splitlines()[21].rstrip()) in (88, 89)
        await page.type("\x1a")
        await page.see("There is no shell behind this page")
        await page.type(" goes on")
        await page.see("as before goes on")


async def test_what_is_foreign_is_cleaned_on_this_way_too(tmp_path: Path) -> None:
    hostile = json.dumps({"message": "\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://evil.example\x07owned\x1b[2J\x9b31m\u202e"})
    arguments = ("-m", "offline/rehearsal", "--mcp", "demo", "--approval-mode", "yolo")
    async with serving(tmp_path, arguments=arguments) as server, page_of(server) as page:
        await page.see("● 1 server")
        await page.type(f"demo.fail {hostile}\r")
        await page.until(lambda page: "failed" in page.text and "owned" in page.text)
        await page.until(lambda page: read(bytes(page.raw), newlines=True).faults == [])  # half a sequence may be there
        found = read(bytes(page.raw), newlines=True)
        assert found.clipboard == []


async def test_a_page_that_goes_ends_its_console(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        async with page_of(server) as page, page_of(server) as other:
            await page.see(TO_PROMPT)
            await other.see(TO_PROMPT)
            first, second = console_processes()
            await page.socket.close()
            done, _ = await asyncio.wait(
                [asyncio.create_task(gone(first)), asyncio.create_task(gone(second))],
                return_when=asyncio.FIRST_COMPLETED,
            )
            assert len(done) == 1, "each page has a console of its own"
            await other.type("still here")
            await other.see("still here")
        for process in (first, second):
            await gone(process)


async def test_a_kept_console_is_shown_by_a_reload_as_it_was(tmp_path: Path) -> None:
    async with serving(tmp_path, keep=600.0) as server:
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            await page.type("written before")
            await page.see("written before")
            console = page.told[0]["console"]
            assert page.told[0] == {"console": console, "kept": True, "lost": False}
        (process,) = console_processes()
        async with page_of(server, console=console, columns=110, rows=28) as page:
            await page.see("written before")
            assert page.told[0]["console"] == console
            # The new size may be painted before the console hears that another page shows it.
            await page.until(lambda page: b"\x1b[?1049h" in page.raw and b"\x1b[?1003h" in page.raw)
            await page.type(" and behind")
            await page.see("written before and behind")
            assert console_processes() == [process]
            async with page_of(server, console=console) as other:
                await other.see("written before and behind")
                await page.until(lambda page: {"moved": True} in page.told)
        async with page_of(server, console="unknown") as page:
            await page.until(lambda page: page.told)
            assert page.told[0]["lost"] is True
            assert page.told[0]["console"] != console


async def test_a_console_is_kept_so_long_and_no_longer(tmp_path: Path) -> None:
    async with serving(tmp_path, keep=0.05) as server:
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            (process,) = console_processes()
        await gone(process)


async def test_there_are_as_many_as_may_and_a_reload_takes_its_own_place(tmp_path: Path) -> None:
    async with serving(tmp_path, most=1) as server:
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            async with page_of(server) as other:
                await other.until(lambda page: page.told)
                assert "As many consoles run as may" in other.told[0]["refused"]
        async with page_of(server) as page:
            await page.see(TO_PROMPT)


async def test_a_console_that_ends_says_so_and_with_what(tmp_path: Path) -> None:
    arguments = (*OFFLINE, "--theme", "there-is-none")
    async with serving(tmp_path, arguments=("--resume", "nothing", *OFFLINE)) as server, page_of(server) as page:
        await page.until(lambda page: any("ended" in one for one in page.told))
        assert {"ended": 2} in page.told
        assert "fanout: " in page.text, "what was wrong is there to be read"
    async with serving(tmp_path, arguments=arguments) as server, page_of(server) as page:
        await page.see(TO_PROMPT)
        await page.type("\x11")
        await page.until(lambda page: {"ended": 0} in page.told)


async def test_a_console_that_hangs_is_ended_by_force(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            (process,) = console_processes()
            process.send_signal(signal.SIGSTOP)
        await gone(process)


async def test_the_end_of_the_server_is_the_end_of_all_consoles(tmp_path: Path) -> None:
    async with serving(tmp_path, keep=600.0) as server:
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
        async with page_of(server) as page:
            await page.see(TO_PROMPT)
            processes: list[psutil.Process] = console_processes()
            assert len(processes) == 2
            server.stop()
            for process in processes:
                await gone(process)
