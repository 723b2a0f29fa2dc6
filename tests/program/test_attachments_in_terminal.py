"""Files attached in the whole program, in a real terminal of 80x24: also when they were named on the first page."""

from __future__ import annotations

from pathlib import Path

from tests.program.process import Fanout
from tests.program.terminal import Terminal


def test_what_is_named_before_the_console_is_ready_is_shown_and_sent(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    (fanout.cwd / "a name.txt").write_text("what is in it\n" * 600)
    argv = fanout.argv("-m", "offline/rehearsal", "--no-mcp")
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd, rows=24, columns=80) as it:
        it.expect("/ for commands")
        it.type('sum up @"a name.txt" and @gone.md')
        it.expect(r"! gone\.md · no such file   \+ a name\.txt · ~2\.1k tokens")
        it.press("enter")
        it.expect(r"▸ a name\.txt  ~2\.1k tokens")
        it.expect("Not attached, since no such file is there: @gone")
        it.type("\x03\x03\x03")  # in one go: what comes behind the end is a signal
        assert it.wait_exit() == 0
