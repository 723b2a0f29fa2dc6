"""A process counts as running only until it has ended, whether or not its parent has looked."""

from __future__ import annotations

import os
import subprocess
import sys

from console_app.config.machine import process_runs


def test_processes_that_run_and_those_that_do_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert process_runs(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not process_runs(process.pid), "it has ended, and nobody has looked yet"
    assert not process_runs(process.pid)
    assert process_runs(os.getpid())
    assert process_runs(os.getppid())
    assert not any(map(process_runs, (0, -1, 2**22 + 1, 2**70)))
