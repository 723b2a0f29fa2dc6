"""`fanout serve` as a program: what it says, what it refuses, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.each import each
from tests.headless.inside import Inside, process_restored
from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.web.parts import PATIENT


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0 can be reached from elsewhere. Give it a token: --token-file."),
        (["--token", "short"], "the token has fewer than 16 characters."),
        (["--token", " " * 20], "the token has fewer than 16 characters."),
        (["--token", "\u00a0" * 20], "the token has fewer than 16 characters."),
        (["--token", "\u200b" * 40], "the token has fewer than 16 characters."),
        (["--token", "a\u200b\u2060\ufeff" * 10], "the token has fewer than 16 characters."),
        (["--token", "a" * 40], "the token has fewer than 5 different characters."),
        (["--token", "\u2800" * 40], "the token has fewer than 5 different characters."),
        (["--token", "abcd" * 10], "the token has fewer than 5 different characters."),
        (["--token-file", "short"], "the token has fewer than 16 characters."),
        (["--token-file", "none"], "--token-file none can't be read: No such file or directory."),
        (["--token-file", "."], "--token-file . can't be read: Is a directory."),
        (["--token-file", "binary"], "--token-file binary can't be read: it is no UTF-8 text."),
        (["--token-file", "short", "--token", "a-token-that-was-chosen"], "--token and --token-file are two tokens."),
        (["--public-url", "nowhere"], "--public-url nowhere is no web address."),
        (["--env", "NOT_SET_ANYWHERE"], "--env NOT_SET_ANYWHERE is not set."),
        (["--env", "=x"], "--env has no name."),
        (["--port", "70000"], "--port takes a port from 0 to 65535, not '70000'"),
        (["--keep", "-1"], "--keep takes a number of minutes, not"),
        (["--", "run", "hello"], "'run hello' opens no console."),
        (["--", "-p", "hello"], "'-p hello' opens no console."),
        (["--", "--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["--host", "no.such.host.invalid", "--token", "a-token-that-was-chosen"], "can't listen on"),
    ],
)
def test_what_is_wrong_is_one_line(inside: Inside, arguments: list[str], says: str) -> None:
    (inside.cwd / "short").write_text("short\n")
    (inside.cwd / "binary").write_bytes(b"\xff" * 20)
    for name in ("short", "binary"):
        (inside.cwd / name).chmod(0o600)
    done = inside.run("serve", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.splitlines()) == (2 if "no.such" in str(arguments) else 1)
    assert "Traceback" not in done.err


def test_a_port_that_is_taken_is_one_line(inside: Inside) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = inside.run("serve", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "Address already in use. Choose another with --host or --port" in done.err
    assert len(done.err.splitlines()) == 1


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "websockets.py").write_text("raise ModuleNotFoundError('no', name='websockets')\n")
    path = f"{tmp_path / 'hidden'}:{fanout.environment()['PYTHONPATH']}"
    done = fanout.run("serve", env={"PYTHONPATH": path})
    assert done.code == 2
    command = f"Install it with: {shlex.quote(sys.executable)} -m pip install --editable "
    assert f"needs websockets, which is not installed. {command}" in done.err
    assert "web" in done.err.rpartition("[")[2]
    assert len(done.err.splitlines()) == 1


@contextmanager
def console_at(link: str, **shows: str) -> Iterator[None]:
    """A page whose console is there to be typed into."""
    origin, _, token = link.partition("/#token=")
    origin = origin.rstrip("/")
    address = f"{origin.replace('http', 'ws')}/socket"
    with connect(address, origin=Origin(origin), proxy=None, **PATIENT) as page:
        page.send(json.dumps({"size": [80, 24], "token": token, **shows}))
        seen = b""
        while b"sk, or / for" not in seen:  # what is drawn at once may come in pieces
            message = page.recv(timeout=PATIENCE)
            seen += message if isinstance(message, bytes) else b""
        yield


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_link_it_prints_works_and_nothing_outlives_it(tmp_path: Path, how: signal.Signals) -> None:
    fanout = Fanout(tmp_path)
    serving = fanout.start("serve", "--port", "0", "--keep", "60", "--", "-m", "offline/rehearsal", "--no-mcp")
    try:
        assert serving.stdout is not None
        link = serving.stdout.readline().decode().strip()
        assert link.startswith("http://127.0.0.1:")
        assert httpx2.get(link, timeout=PATIENCE).status_code == 200
        with console_at(link):
            pass
        children = psutil.Process(serving.pid).children(recursive=True)
        assert children, "it is kept"
        serving.send_signal(how)
        assert serving.wait(PATIENCE) == (-how if how == signal.SIGKILL else 0)
        assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []
    finally:
        serving.kill()
        _, told = serving.communicate()
    assert b"Traceback" not in told


@each("how", [signal.SIGINT, signal.SIGKILL])
def test_no_server_of_the_shared_conversation_outlives_it(tmp_path: Path, how: signal.Signals) -> None:
    fanout = Fanout(tmp_path)
    serving = fanout.start("serve", "--port", "0", "--", "-m", "offline/rehearsal")
    try:
        assert serving.stdout is not None
        origin, _, token = serving.stdout.readline().decode().strip().partition("/#token=")
        assert psutil.Process(serving.pid).children() == [], "nothing starts before somebody came in"
        with connect(
            f"{origin.replace('http', 'ws')}/page-socket", origin=Origin(origin), proxy=None, **PATIENT
        ) as page:
            page.send(json.dumps({"token": token}))
            page.send(json.dumps({"do": "send", "words": "Show me what you can do"}))
            while "publish needs you" not in (text := str(page.recv(timeout=PATIENCE))):
                assert "Unexpected" not in text
            children = psutil.Process(serving.pid).children(recursive=True)
            assert children, "the servers of its tools"
            serving.send_signal(how)
            assert serving.wait(PATIENCE) == (-how if how == signal.SIGKILL else 0)
            assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []
    finally:
        serving.kill()
        _, told = serving.communicate()
    assert b"Traceback" not in told


def test_keys_of_providers_and_what_is_named_reach_the_console_and_nothing_else(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    env = {"OPENAI_API_KEY": "sk-aaaaaaaaaaaaaaaa", "NAMED": "yes", "UNRELATED": "no", "FANOUT_THEME": "fanout-dark"}
    arguments = ("--port", "0", "--env", "NAMED", "--env", "GIVEN=1=2", "--", "-m", "offline/rehearsal", "--no-mcp")
    serving = fanout.start("serve", *arguments, env=env)
    try:
        assert serving.stdout is not None
        link = serving.stdout.readline().decode().strip()
        with console_at(link):
            (console,) = [one for one in psutil.Process(serving.pid).children() if "offline/rehearsal" in one.cmdline()]
            found = console.environ()
        wanted = {
            "OPENAI_API_KEY": env["OPENAI_API_KEY"],
            "NAMED": "yes",
            "GIVEN": "1=2",
            "FANOUT_THEME": "fanout-dark",
        }
        assert {name: found.get(name) for name in wanted} == wanted
        assert "UNRELATED" not in found
    finally:
        serving.terminate()
        serving.communicate(timeout=PATIENCE)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_file_with_a_token_that_others_can_read_is_told_of(inside: Inside, mode: int, warned: bool) -> None:
    (inside.cwd / "token").write_text("short\n")
    (inside.cwd / "token").chmod(mode)
    assert ("others can read --token-file token" in inside.run("serve", "--token-file", "token").err) == warned


@pytest.mark.parametrize("way", ["file", "pipe", "variable", "variable beside a file"])
def test_a_token_of_ones_own_is_seen_by_nobody_else(tmp_path: Path, way: str) -> None:
    fanout, token = Fanout(tmp_path), "a-token-that-was-chosen"
    (fanout.cwd / "token").write_text(f"  {token}\n")
    (fanout.cwd / "token").chmod(0o600)
    os.mkfifo(fanout.cwd / "pipe")
    named = {"file": ["--token-file", "token"], "pipe": ["--token-file", "pipe"], "variable": []}
    arguments = named.get(way, ["--token-file", "token"])
    env = {"FANOUT_SERVE_TOKEN": {"variable": token}.get(way, "another-token-in-a-variable")}
    console = ("--", "-m", "offline/rehearsal", "--no-mcp")
    serving = fanout.start("serve", "--port", "0", *arguments, *console, env=env if "variable" in way else {})
    try:
        if way == "pipe":
            (fanout.cwd / "pipe").write_text(f"{token}\n")
        assert serving.stdout is not None
        assert serving.stderr is not None
        link = serving.stdout.readline().decode().strip()
        told = serving.stderr.readline().decode()
        with console_at(link, token=token):
            consoles = [one for one in psutil.Process(serving.pid).children() if "offline/rehearsal" in one.cmdline()]
            (console_of_page,) = consoles
            for process in (psutil.Process(serving.pid), console_of_page):
                assert token not in " ".join(process.cmdline())
            assert "FANOUT_SERVE_TOKEN" not in console_of_page.environ(), "nor do consoles have it"
        assert token not in f"{link}{told}"
        assert "unknown" not in told
    finally:
        serving.terminate()
        serving.communicate(timeout=PATIENCE)
