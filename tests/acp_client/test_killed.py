"""No agent of others outlives the program, however it ends, nor what the agent started."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.examples import turns
from tests.patience import until_there
from tests.program.process import Fanout

SCRIPT = Path(__file__).with_name("scripted_agent.py")


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("how", "kind"), turns([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ["acp/helper", "scripted/../script.toml"])
)
def test_no_agent_outlives_the_program(tmp_path: Path, how: signal.Signals, kind: str) -> None:
    """One that answers by itself, and one that is a call of a model."""
    command = json.dumps([sys.executable, "-S", str(SCRIPT), "hangs"])
    fanout = Fanout(tmp_path)
    fanout.write("home/config.toml", f"[agents.helper]\ncommand = {command}\n")
    (tmp_path / "script.toml").write_text(
        '[[answer]]\nsteps = [{ call = "fanout.agent", arguments = { kind = "helper", task = "go" } }]\n'
    )
    process = fanout.start("run", "-m", kind, "--output-format", "stream-json", "go")
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
