"""However the program ends, beside servers and threads that end for nobody: soon, its screen kept, and nothing left.

How soon is a figure of `benchmarks/bench_limits.py`; here it is only that it ends.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.patience import PATIENCE, until_there
from tests.program.process import Fanout
from tests.program.terminal import Terminal

READY = "Ask, or / for commands"
SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "faulty_server.py"
SCRIPT = '[[answer]]\nsteps = [{ call = "silent.work", arguments = "{}" }]\n'


@pytest.fixture
def fanout(tmp_path: Path) -> Fanout:
    """With a server that never answers a call, one that ignores every signal and one that leaves a process."""
    fanout = Fanout(tmp_path)
    modes = {"silent": "never-answers", "stubborn": "stubborn", "escaping": "escaping"}
    servers = {
        name: {"command": sys.executable, "args": ["-S", str(SERVER), mode, str(tmp_path / f"{name}.pids")]}
        for name, mode in modes.items()
    }
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    fanout.write("script.toml", SCRIPT)
    return fanout


def _of_model(fanout: Fanout) -> list[str]:
    return ["-m", f"scripted/{fanout.cwd / 'script.toml'}", "--approval-mode", "yolo"]


@pytest.fixture
def console(fanout: Fanout) -> Iterator[Terminal]:
    """A console whose call runs."""
    argv = fanout.argv(*_of_model(fanout), "--", "go")
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd) as terminal:
        yield terminal


def _pids(folder: Path) -> list[int]:
    return [int(pid) for name in ("stubborn", "escaping") for pid in (folder / f"{name}.pids").read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _until_gone(pids: list[int]) -> None:
    until_there(lambda: not any(map(_alive, pids)), "the end of what may not be left behind")


def _quit(terminal: Terminal) -> None:
    terminal.press("escape")
    terminal.expect_gone("1 running")
    terminal.type("/quit")
    terminal.press("enter")


def _ctrl_c(terminal: Terminal) -> None:
    terminal.press("ctrl+c")
    terminal.expect_gone("1 running")
    terminal.type("\x03\x03")  # in one go: the first of them may be the end, and one behind it a signal


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
    console.expect(r"1▎ . work +[0-9.]+ (ms|s)")
    pids = _pids(tmp_path)
    assert len(pids) == 4
    assert all(map(_alive, pids))
    end(console)
    assert console.wait_exit() == code
    _until_gone(pids)
    if way not in ("SIGKILL", "the terminal goes"):
        said, left = console.whole().find(b"Ending"), console.whole().find(b"\x1b[?1049l")
        assert 0 < said < left


# A handler of messages that fails, as one with a fault would, from when there is a file of that name.
CRASHING = """
import os, sys
from console_app.tui.main_screen.bars.status_bar import StatusBar
def fault(*_):
    if os.path.exists("crash"): raise RuntimeError("the fault")
StatusBar.on_resize = fault
sys.argv = ["fanout", *{arguments!r}]
from console_app.cli import main
main()
"""


def test_an_internal_error_leaves_no_process(fanout: Fanout, tmp_path: Path) -> None:
    argv = [sys.executable, "-P", "-c", CRASHING.format(arguments=[*_of_model(fanout), "--", "go"])]
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd) as terminal:
        terminal.expect("1▎ . work")
        pids = _pids(tmp_path)
        (fanout.cwd / "crash").touch()
        terminal.resize(30, 100)
        assert terminal.wait_exit() == 1
        assert b"ended by an internal error" in terminal.whole()
        _until_gone(pids)


def _calling(fanout: Fanout) -> subprocess.Popen[bytes]:
    """`fanout run` and what it prints, once its call runs."""
    process = fanout.start("run", *_of_model(fanout), "--output-format", "stream-json", "go")
    assert process.stdout is not None
    while b'"call.started"' not in (line := process.stdout.readline()):
        assert line, "no call was started"
    return process


def _closed(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    process.stdout.close()


RUNS: dict[str, tuple[Callable[[subprocess.Popen[bytes]], None], int]] = {
    **{
        number.name: (lambda process, number=number: process.send_signal(number), code)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL))
    },
    "nobody reads": (_closed, 1),
}


@pytest.mark.parametrize("way", RUNS)
def test_a_run_leaves_no_process_however_it_ends(fanout: Fanout, tmp_path: Path, way: str) -> None:
    end, code = RUNS[way]
    with _calling(fanout) as process:
        pids = _pids(tmp_path)
        assert all(map(_alive, pids))
        end(process)
        assert process.wait(PATIENCE) == code
    _until_gone(pids)


CALL = ("call", "--approval-mode", "yolo", "stubborn.work", "{}", "escaping.work", "{}")
COMMANDS: dict[str, tuple[Callable[[Fanout], tuple[str, ...]], bytes, int]] = {
    "a run at its limit": (lambda fanout: ("run", *_of_model(fanout), "--timeout", "1", "go"), b"", 124),
    "the end of piped input": (lambda fanout: ("run", "-m", "offline/rehearsal", "-"), b"hello", 0),
    "piped input to the console": (lambda fanout: ("-p", "-m", "offline/rehearsal"), b"hello", 0),
    "call": (lambda fanout: CALL, b"", 0),
    "call at its limit": (lambda fanout: (CALL[0], "--timeout", "1", *CALL[1:], "silent.work", "{}"), b"", 124),
    "mcp test": (lambda fanout: ("mcp", "test"), b"", 0),
    "mcp list": (lambda fanout: ("mcp", "list"), b"", 0),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_ends_by_itself_leaves_no_process(fanout: Fanout, tmp_path: Path, name: str) -> None:
    words, stdin, code = COMMANDS[name]
    done = fanout.run(*words(fanout), stdin=stdin)
    assert done.code == code, done.err
    pids = _pids(tmp_path)
    assert len(pids) == 4
    _until_gone(pids)


# The real program beside something of its own that never ends; SIGUSR1 stops its event loop for good.
HUNG = """
import concurrent.futures, signal, sys, threading
signal.signal(signal.SIGUSR1, lambda *_: (open("it hangs", "w").close(), threading.Event().wait()))
{fault}
sys.argv = ["fanout", *{arguments!r}]
from console_app.cli import main
main()
"""
THREADS = {
    "a thread": "threading.Thread(target=threading.Event().wait).start()",
    "a worker": "concurrent.futures.ThreadPoolExecutor(1).submit(threading.Event().wait)",
}
KEYS: dict[str, Callable[[Terminal], None]] = {
    "Ctrl+D": lambda terminal: terminal.press("ctrl+d"),
    "/quit": lambda terminal: terminal.type("/quit\r"),
}


def _hung(tmp_path: Path, fault: str = "", *arguments: str) -> tuple[Fanout, list[str]]:
    script = HUNG.format(fault=fault, arguments=[*arguments, "--no-mcp"])
    return Fanout(tmp_path), [sys.executable, "-P", "-c", script]


@pytest.mark.parametrize("fault", THREADS)
@pytest.mark.parametrize("key", KEYS)
def test_a_thread_that_never_ends_keeps_no_console(tmp_path: Path, fault: str, key: str) -> None:
    fanout, argv = _hung(tmp_path, THREADS[fault])
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd) as terminal:
        terminal.expect(READY)
        KEYS[key](terminal)
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


@pytest.mark.parametrize("way", ["Ctrl+C again and again", "SIGTERM"])
def test_a_console_that_hangs_can_be_ended_and_gives_the_terminal_back(tmp_path: Path, way: str) -> None:
    fanout, argv = _hung(tmp_path)
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd) as terminal:
        terminal.expect(READY)
        terminal.signal(signal.SIGUSR1)
        until_there((fanout.cwd / "it hangs").exists, "a loop that hangs")  # of two signals at once one would be lost
        if way == "SIGTERM":
            terminal.signal(signal.SIGTERM)
        else:
            terminal.press("ctrl+c", "ctrl+c", "ctrl+c")
        assert terminal.wait_exit() == 128 + (signal.SIGTERM if way == "SIGTERM" else signal.SIGINT)
        assert terminal.left_changed() == []


def test_a_key_ends_a_console_whose_terminal_takes_no_bytes(tmp_path: Path) -> None:
    fanout, argv = _hung(tmp_path)
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd, columns=200) as terminal:
        terminal.expect(READY)
        terminal.stop_reading()
        for number in range(60):  # frames enough to fill what the kernel keeps
            terminal.resize(20 + number % 20, 200)
        terminal.press("ctrl+d")
        assert terminal.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("fault", THREADS)
def test_a_thread_that_never_ends_keeps_no_run(tmp_path: Path, fault: str) -> None:
    fanout, argv = _hung(tmp_path, THREADS[fault], "run", "-m", "offline/rehearsal", "hello")
    done = subprocess.run(
        argv, env=fanout.environment(), cwd=fanout.cwd, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "offline rehearsal model" in done.stdout
