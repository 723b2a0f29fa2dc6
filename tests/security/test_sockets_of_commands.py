"""Every socket that a command opens, as the system tells of it, and what another user of the machine can do there.

Commands that end by themselves listen nowhere: test_canaries_kept.py runs each."""

from __future__ import annotations

import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.batch.cluster import cluster_of
from tests.headless.test_mcp_command import Site, site
from tests.patience import PATIENCE, until_there
from tests.program.process import ROOT, Fanout
from tests.program.terminal import Terminal
from tests.security.every_command import MODEL, prepare
from tests.web.parts import TOKEN

__all__ = ["site"]

TOOL = "calculator.evaluate"
SLOW = '{"task": "a long one", "duration_seconds": 100}'


@dataclass(frozen=True)
class Found:
    """A socket at which somebody else could arrive."""

    pid: int
    address: str


def sockets_of(process: psutil.Process) -> set[Found]:
    """Return the sockets that this process and its children listen on, or have bound."""
    found: set[Found] = set()
    for one in (process, *_children(process)):
        try:
            connections = one.net_connections(kind="all")
        except psutil.Error:
            continue  # ended meanwhile
        for each in connections:
            if each.family == socket.AF_UNIX:
                if each.laddr:
                    found.add(Found(one.pid, str(each.laddr)))
            elif each.status == psutil.CONN_LISTEN or (
                each.type == socket.SOCK_DGRAM and not each.raddr and each.laddr
            ):
                host = f"[{each.laddr.ip}]" if ":" in each.laddr.ip else each.laddr.ip
                found.add(Found(one.pid, f"{host}:{each.laddr.port}"))
    return found


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


class Watch:
    """Looks again and again, in a thread, for all that a process and those it starts ever listened on."""

    def __init__(self, pid: int) -> None:
        self._process, self._over, self._looks = psutil.Process(pid), threading.Event(), 0
        self._found: set[Found] = set()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        begun = time.monotonic()
        pause = 0.03  # each look costs as much as half of that, so fewer are taken of what has run for long
        while not self._over.wait(pause):
            self._found |= sockets_of(self._process)
            self._looks += 1
            pause = max(0.03, min((time.monotonic() - begun) / 10, 0.3))

    def now(self) -> set[Found]:
        """Return all that was found until two more looks were taken."""
        looks = self._looks
        until_there(lambda: self._looks > looks + 1, "a look")
        return set(self._found)

    def end(self) -> set[Found]:
        """Stop looking, and return all that was found."""
        self._over.set()
        self._thread.join()
        return self._found


@contextmanager
def watched(process: subprocess.Popen[bytes]) -> Iterator[Watch]:
    """A program that runs, and ends with the block."""
    watch = Watch(process.pid)
    try:
        yield watch
    finally:
        watch.end()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


@pytest.fixture
def fanout(tmp_path: Path) -> Fanout:
    program = Fanout(tmp_path)
    prepare(program, TOOL)
    return program


def stranger(addresses: Iterable[str], *forged: object, waits: float = 2.0) -> dict[str, list[str]]:
    """Return the acts of another user at each, who shows `fanout serve` each of `forged`.

    What refuses often never answers: a test that wants an answer `waits` longer.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    user = str(pwd.getpwnam("nobody").pw_uid)
    argv = [sys.executable, "-m", "tests.security.stranger", user, str(waits), json.dumps(forged or [{}]), *addresses]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", [("call", "demo.long_task", SLOW), ("run", *MODEL, f"demo.long_task {SLOW}")])
def test_a_command_listens_nowhere_while_its_tools_run(fanout: Fanout, words: Sequence[str]) -> None:
    process = fanout.start(*words, "--mcp", "demo", "--approval-mode", "yolo", "--output-format", "stream-json")
    assert process.stdout is not None
    with watched(process) as watch:
        assert any(b"call.started" in line for line in iter(process.stdout.readline, b""))
        assert watch.now() == set()


def test_the_console_listens_nowhere(fanout: Fanout) -> None:
    with Terminal(fanout.argv(*MODEL, "--mcp", "demo"), env=fanout.environment(), cwd=fanout.cwd) as terminal:
        watch = Watch(terminal.process.pid)
        try:
            terminal.expect("1 server")
            terminal.type(f"demo.long_task {SLOW}")
            terminal.press("enter")
            terminal.expect("step 1 of")
            assert watch.now() == set()
        finally:
            watch.end()


def test_an_agent_of_an_editor_listens_nowhere(fanout: Fanout) -> None:
    process = fanout.start("acp", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with watched(process) as watch:
        for number, method, params in (
            (1, "initialize", {"protocolVersion": 1}),
            (2, "session/new", {"cwd": str(fanout.cwd), "mcpServers": []}),
        ):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            assert any(json.loads(line).get("id") == number for line in iter(process.stdout.readline, b""))
        assert watch.now() == set()


def test_a_console_in_a_browser_is_nobody_elses(fanout: Fanout) -> None:
    (fanout.cwd / "token").write_text(TOKEN)
    process = fanout.start("serve", "--port", "0", "--token-file", "token", "--", *MODEL, "--no-mcp")
    assert process.stdout is not None
    with watched(process) as watch:
        link = process.stdout.readline().decode().strip()
        found = {one.address for one in watch.now()}
        assert found == {link.removeprefix("http://").rstrip("/")}, "one port, on loopback"
        shown = {one: [f"was shown something at ws://{one}/{at}" for at in ("socket", "page-socket")] for one in found}
        assert stranger(found, {"token": TOKEN}, waits=PATIENCE / 4) == shown, "who has the token"
        forged = ({}, {"token": "", "ticket": ""}, {"token": "wrong" * 4}, {"console": "x", "size": [80, 24]})
        assert stranger(found, *forged) == {one: [] for one in found}
        assert {one.address for one in watch.now()} == found, "nor does its console listen"


def test_a_sign_in_is_finished_by_its_own_browser_alone(fanout: Fanout, site: Site) -> None:
    browser = fanout.cwd / "browser"
    browser.write_text('#!/bin/sh\nprintf "%s" "$1" > address.part && mv address.part address\n')
    browser.chmod(0o700)
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"web": {"url": site.mcp}}}))
    process = fanout.start("mcp", "auth", "web", env={"BROWSER": str(browser)})
    watch = Watch(process.pid)
    try:
        until_there((fanout.cwd / "address").exists, "the page to sign in at")
        found = {one.address for one in watch.now()}
        assert len(found) == 1
        assert [address.partition(":")[0] for address in found] == ["127.0.0.1"]
        assert stranger(found) == {one: [] for one in found}
        urllib.request.urlopen((fanout.cwd / "address").read_text(), timeout=PATIENCE).read()
        out, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told.decode()
        assert "✓ web" in out.decode()
    finally:
        watch.end()
        process.kill()
        process.communicate()


def test_the_processes_of_a_batch_are_nobody_elses(fanout: Fanout) -> None:
    fanout.write("calls.jsonl", json.dumps({"id": "a", "tool": "demo.long_task", "arguments": json.loads(SLOW)}) + "\n")
    options = ("--from", "calls.jsonl", "-o", "r.jsonl", "--mcp", "demo", "--approval-mode", "yolo", "--engine", "dask")
    process = fanout.start("call", *options)
    with watched(process) as watch:
        until_there(lambda: runs(process.pid, "demo"), "the tool's server in a worker")
        found = {one.address for one in watch.now()}
        assert found
        assert {host for one in found if one[0] not in "/@" for host in [one.rpartition(":")[0]]} <= {"127.0.0.1"}
        assert stranger(found) == {one: [] for one in found}


def runs(pid: int, server: str) -> bool:
    """Tell whether a bundled server was started by this process."""
    for one in _children(psutil.Process(pid)):
        with suppress(psutil.Error):
            if f"console_app.servers.{server}" in one.cmdline():
                return True
    return False


def test_the_stranger_does_what_nothing_forbids(fanout: Fanout, tmp_path: Path) -> None:
    with cluster_of(fanout, tmp_path, 1) as cluster:
        address = cluster.address.removeprefix("dask://")
        assert stranger([address], waits=PATIENCE / 4) == {address: [f"ran in a Scheduler as {os.getuid()}"]}


LISTENER = """
import socket, sys
kept = [socket.create_server(("127.0.0.1", 0)), socket.create_server(("::1", 0), family=socket.AF_INET6)]
kept += [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
kept[2].bind(("127.0.0.1", 0))
kept[3].bind("named")
kept[4].bind(f"\\0{sys.argv[1]}")
kept[4].listen()
print(flush=True)
sys.stdin.read()
"""


def test_what_the_system_tells_of_is_every_kind_of_socket(tmp_path: Path) -> None:
    name = f"fanout-test-{os.getpid()}"
    argv = [sys.executable, "-c", LISTENER, name]
    process = subprocess.Popen(argv, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    watch = Watch(process.pid)
    try:
        process.stdout.readline()
        found = {one.address for one in watch.now()}
        assert len(found) == 5
        assert {f"@{name}", "named"} <= found
        assert stranger([f"@{name}"], waits=PATIENCE / 4) == {f"@{name}": ["connected"]}
    finally:
        watch.end()
        process.communicate(timeout=PATIENCE)
