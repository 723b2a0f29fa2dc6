"""No agent of others outlives the program, however it ends, nor what the agent started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.patience import until_there

SCRIPT = Path(__file__).with_name("scripted_agent.py")


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", [False, True])
def test_no_agent_outlives_the_program(tmp_path: Path, how: signal.Signals, kind: bool) -> None:
    command = json.dumps([sys.executable, "-S", str(SCRIPT), "hangs"])
    (tmp_path / "config.toml").write_text(f"[agents.helper]\ncommand = {command}\n")
    (tmp_path / "script.toml").write_text(
        '[[answer]]\nsteps = [{ call = "fanout.agent", arguments = { kind = "helper", task = "go" } }]\n'
    )
    model = f"scripted/{tmp_path / 'script.toml'}" if kind else "acp/helper"
    words = ["run", "-m", model, "--output-format", "stream-json", "go"]
    process = subprocess.Popen(
        [sys.executable, "-m", "console_app", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "FANOUT_HOME": str(tmp_path)},
    )
    with process:
        try:
            assert process.stdout is not None
            events = map(json.loads, process.stdout)
            pids = [int(word) for word in next(one["text"] for one in events if one["type"] == "text.delta").split()]
            assert all(map(alive, pids))
            process.send_signal(how)
            until_there(lambda: not any(map(alive, pids)), "the end of the agent and of what it started")
        finally:
            process.kill()
    assert process.returncode in {-how, -signal.SIGKILL, 130, 143}
