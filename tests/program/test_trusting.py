"""`fanout mcp trust` in a terminal: what would run is shown, and a yes is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console_app.config import trust
from console_app.config.paths import Paths
from tests.program.process import Fanout
from tests.program.terminal import Terminal


@pytest.mark.parametrize(("typed", "code"), [("y\r", 0), ("n\r", 1), ("\r", 1)])
def test_only_a_yes_trusts_a_file(tmp_path: Path, typed: str, code: int) -> None:
    fanout = Fanout(tmp_path)
    file = fanout.cwd / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}))
    environment = fanout.environment({"TERM": "xterm-256color"})
    with Terminal(fanout.argv("mcp", "trust"), env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect("runs         uvx mcp-server-time")
        terminal.expect(r"\[y/N\]")
        terminal.type(typed)
        assert terminal.wait_exit() == code
    assert trust.is_trusted(Paths.find(environment), file) is (code == 0)
