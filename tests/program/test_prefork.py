"""A copy of a program that has imported everything is what a program is that a user starts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until_there
from tests.program.process import Fanout, copyable
from tests.program.terminal import Terminal

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells of the end of any process")


def state_of(pid: int) -> tuple[dict[str, str], list[str]]:
    """Return how a process treats signals, and its open files, once two looks agree: its start closes some."""
    seen: list[list[str]] = []

    def rests() -> bool:
        try:
            seen.append(sorted(os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()))
        except FileNotFoundError:
            return False
        return seen[-2:-1] == seen[-1:]

    until_there(rests, "a process that opens and closes nothing")
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    signals = {line.partition(":")[0]: line for line in lines if line.startswith(("SigIgn", "SigCgt", "SigBlk"))}
    return signals, [re.sub(r"\d+", "N", one) for one in seen[-1]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--modle", "x"], 2),
        (["run", "-m", "offline/rehearsal", "(1) 355/113, (2) sqrt(2)"], 0),
        (["run", "-m", "offline/rehearsal", "--no-mcp", "-"], 0),
        (["config", "show"], 0),
        (["mcp", "get", "nobody"], 2),
        (["hello"], 2),
    ],
)
def test_it_writes_and_ends_as_one_that_was_started(fanout: Fanout, arguments: list[str], code: int) -> None:
    assert copyable(fanout.environment()) is not None
    copy = fanout.run(*arguments, stdin=b"hello")
    assert (copy.code, bool(copy.out or copy.err)) == (code, True)
    if arguments[0] != "run" or "--no-mcp" in arguments:  # the others tell how long their calls took
        assert copy == fanout.run(*arguments, stdin=b"hello", anew=True)


LOOK = "env | grep -v SERVER_OF | sort; pwd; umask; ulimit -n; grep 'Sig[BCI]' /proc/self/status; ls /proc/self/fd"


@pytest.mark.parametrize("given", [{}, {"LC_ALL": "C.UTF-8"}])
def test_a_server_that_is_a_copy_gives_what_one_gives_that_was_started(fanout: Fanout, given: dict[str, str]) -> None:
    program = {"command": sys.executable, "args": ["-m", "console_app.servers.shell"]}
    environment = {"FANOUT_SHELL_SANDBOX": "off", **given}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"shell": {**program, "env": environment}}}))
    looks = [fanout.run("call", "shell.run", json.dumps({"command": LOOK}), anew=anew) for anew in (False, True)]
    copied, started = (re.sub(r"(?<=out-shell-)\w+|\d+:\d+|\d{3,}|\d\.\d s", "N", one.out) for one in looks)
    assert [one.code for one in looks] == [0, 0], looks
    assert "SigIgn" in started
    assert copied == started


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_has_an_id_and_ends_by_a_signal(fanout: Fanout, number: signal.Signals) -> None:
    codes, states = set[int](), list[object]()
    for anew in (False, True):
        os.mkfifo(waits := fanout.cwd / f"items-{int(anew)}")
        process = fanout.start("batch", waits.name, "-o", "r.jsonl", "-m", "offline/rehearsal", "--no-mcp", anew=anew)
        with waits.open("w"):  # which waits for its reader
            states.append(state_of(process.pid))
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0)
            assert process.poll() is None
            process.send_signal(number)
            process.communicate(timeout=PATIENCE)
        assert process.wait() == process.poll() == process.returncode
        codes.add(process.returncode)
    assert states[0] == states[1]
    assert codes == {-number if number is signal.SIGKILL else 130}


def test_it_has_a_terminal_of_its_own(fanout: Fanout) -> None:
    environment = fanout.environment({"TERM": "xterm-256color"})
    for anew in (False, True):
        with Terminal(fanout.argv("--no-mcp"), env=environment, cwd=fanout.cwd, anew=anew) as terminal:
            terminal.expect("Ask, or / for commands")
            assert os.getsid(terminal.process.pid) == os.getpgid(terminal.process.pid) == terminal.process.pid
            # Of the kernel: psutil names the terminals that there were when it was first asked.
            assert int(Path(f"/proc/{terminal.process.pid}/stat").read_text().rpartition(")")[2].split()[4])
            terminal.hang_up()
            assert terminal.wait_exit() == 128 + signal.SIGHUP


def test_what_the_interpreter_reads_at_its_start_is_not_for_a_copy(fanout: Fanout) -> None:
    for name in ("PYTHONPATH", "PYTHONUNBUFFERED", "LC_ALL", "LANG"):
        assert copyable(fanout.environment({name: "x"})) is None
