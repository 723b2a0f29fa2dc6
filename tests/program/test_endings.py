"""However the console ends, beside servers that end for nobody: soon, with its screen until then, and nothing left."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.program.terminal import Terminal

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "faulty_server.py"
SCRIPT = '[[answer]]\nsteps = [{ call = "silent.work", arguments = "{}" }]\n'


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Terminal]:
    """A console whose call is never answered, with a server that ignores every signal and one that left a process."""
    fanout = Fanout(tmp_path)
    modes = {"silent": "never-answers", "stubborn": "stubborn", "escaping": "escaping"}
    servers = {
        name: {"command": sys.executable, "args": ["-S", str(SERVER), mode, str(tmp_path / f"{name}.pids")]}
        for name, mode in modes.items()
    }
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    script = fanout.write("script.toml", SCRIPT)
    argv = fanout.argv("-m", f"scripted/{script}", "--approval-mode", "yolo", "--", "go")
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd) as terminal:
        yield terminal


def _pids(folder: Path) -> list[int]:
    return [int(pid) for name in ("stubborn", "escaping") for pid in (folder / f"{name}.pids").read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _quit(terminal: Terminal) -> None:
    terminal.press("escape")
    terminal.expect_gone("1 running")
    terminal.type("/quit")
    terminal.press("enter")


def _ctrl_c(terminal: Terminal) -> None:
    terminal.press("ctrl+c")
    terminal.expect_gone("1 running")
    terminal.press("ctrl+c")
    terminal.press("ctrl+c")


def _signal(number: signal.Signals) -> Callable[[Terminal], None]:
    return lambda terminal: terminal.signal(number)


WAYS: dict[str, tuple[Callable[[Terminal], None], int]] = {
    "Esc and /quit": (_quit, 0),
    "Ctrl+C": (_ctrl_c, 0),
    "Ctrl+D while a call runs": (lambda terminal: terminal.press("ctrl+d"), 0),
    **{
        number.name: (_signal(number), 128 + number)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
    },
    "SIGKILL": (_signal(signal.SIGKILL), -signal.SIGKILL),
    "the terminal goes": (Terminal.hang_up, 128 + signal.SIGHUP),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_and_the_screen_stays_until_the_end(console: Terminal, tmp_path: Path, way: str) -> None:
    end, code = WAYS[way]
    console.expect("1 running")
    pids = _pids(tmp_path)
    assert len(pids) == 4
    assert all(map(_alive, pids))
    end(console)
    assert console.wait_exit() == code
    until = time.monotonic() + PATIENCE
    while any(map(_alive, pids)):
        assert time.monotonic() < until, "a process was left behind"
        time.sleep(0.02)
    if way not in ("SIGKILL", "the terminal goes"):
        said, left = console.whole().find(b"Ending"), console.whole().find(b"\x1b[?1049l")
        assert 0 < said < left
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}") and _alive(pid)]
