"""`fanout serve` as a program: what it says, what it refuses, and that nothing outlives it."""

from __future__ import annotations

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
        (["--host", "0.0.0.0"], "--host 0.0.0.0 can be reached from elsewhere. Give a --token with it."),
        (["--token", "short"], "--token has fewer than 16 characters."),
        (["--public-url", "nowhere"], "--public-url nowhere is no web address."),
        (["--env", "NOT_SET_ANYWHERE"], "--env NOT_SET_ANYWHERE is not set."),
        (["--env", "=x"], "--env has no name."),
        (["--port", "70000"], "argument --port: invalid port from 0 to 65535 value: '70000'"),
        (["--keep", "-1"], "argument --keep: invalid number of minutes value"),
        (["--", "run", "hello"], "'run hello' opens no console."),
        (["--", "-p", "hello"], "'-p hello' opens no console."),
        (["--", "--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["--host", "no.such.host.invalid", "--token", "a-token-that-was-chosen"], "can't listen on"),
    ],
)
def test_what_is_wrong_is_one_line(inside: Inside, arguments: list[str], says: str) -> None:
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
    assert done.err.endswith("[web]'\n")
    assert len(done.err.splitlines()) == 1


@contextmanager
def console_at(origin: str, cookie: str) -> Iterator[None]:
    """A page whose console is there to be typed into."""
    address = f"{origin.replace('http', 'ws')}/socket?columns=80&rows=24"
    headers = {"Cookie": cookie}
    with connect(address, origin=Origin(origin), additional_headers=headers, proxy=None, **PATIENT) as page:
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
        opened = httpx2.get(link, timeout=PATIENCE)
        assert opened.status_code == 200
        cookie, origin = opened.headers["set-cookie"].partition(";")[0], link.partition("/?")[0]
        with console_at(origin, cookie):
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


def test_keys_of_providers_and_what_is_named_reach_the_console_and_nothing_else(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    env = {"OPENAI_API_KEY": "sk-aaaaaaaaaaaaaaaa", "NAMED": "yes", "UNRELATED": "no", "FANOUT_THEME": "fanout-dark"}
    arguments = ("--port", "0", "--env", "NAMED", "--env", "GIVEN=1=2", "--", "-m", "offline/rehearsal", "--no-mcp")
    serving = fanout.start("serve", *arguments, env=env)
    try:
        assert serving.stdout is not None
        link = serving.stdout.readline().decode().strip()
        opened = httpx2.get(link, timeout=PATIENCE)
        cookie, origin = opened.headers["set-cookie"].partition(";")[0], link.partition("/?")[0]
        with console_at(origin, cookie):
            (console,) = [one for one in psutil.Process(serving.pid).children() if one.terminal()]
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
