"""A draft of a console that was killed stands in the prompt of the next one."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.patience import until_there
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.tui.test_drafts import kept


def test_a_draft_outlives_kill(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    environment = fanout.environment({"TERM": "xterm-256color"})
    argv = fanout.argv("-m", "offline/rehearsal", "--no-mcp")

    with Terminal(argv, env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect("Ask, or /")
        terminal.type("half a thought")
        terminal.expect("half a thought")
        until_there(lambda: kept(fanout.home) == ["half a thought"], "the draft on disk")
        terminal.signal(signal.SIGKILL)
        assert terminal.wait_exit() == -signal.SIGKILL
    with Terminal(argv, env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect("half a thought")
        terminal.press("ctrl+c")
        until_there(lambda: kept(fanout.home) == [], "no draft any more")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
