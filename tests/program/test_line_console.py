"""The console as lines, in a real terminal: what happens is said, and everything is done by typing."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal

SCRIPT = """
[[answer]]
steps = [{{ text = "I look.\\n" }}, {steps}]
[[answer]]
times = 0
steps = [{{ text = "All decided." }}]
"""


@pytest.fixture
def console(tmp_path: Path) -> Callable[..., Terminal]:
    """Opens it on a model that makes these calls of the spy at once."""

    def opened(*arguments: dict[str, Any], flag: bool = True) -> Terminal:
        fanout = Fanout(tmp_path)
        spy = [str(Path(__file__).with_name("spy_server.py")), str(tmp_path / "spy.log")]
        fanout.write("home/mcp.json", json.dumps({"mcpServers": {"spy": {"command": sys.executable, "args": spy}}}))
        steps = ", ".join(f'{{ call = "spy.do", arguments = {json.dumps(json.dumps(one))} }}' for one in arguments)
        script = fanout.write("script.toml", SCRIPT.format(steps=steps))
        argv = fanout.argv("-m", f"scripted/{script}", *(["--screen-reader"] if flag else []))
        return Terminal(argv, env=fanout.environment({"TERM": "dumb"}), cwd=fanout.cwd, rows=200, columns=200)

    return opened


def ran(folder: Path) -> list[Any]:
    """The arguments of every call that the server was sent."""
    log = folder / "spy.log"
    lines = [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []
    return [line["params"]["arguments"] for line in lines if line.get("method") == "tools/call"]


def test_calls_are_approved_and_denied_by_number_and_nothing_is_drawn(
    console: Callable[..., Terminal], tmp_path: Path
) -> None:
    with console({"text": "one"}, {"text": "two"}) as terminal:
        terminal.expect("Fanout, as lines")
        terminal.type("go\n")
        terminal.expect("^I look.$")
        terminal.expect("Call 1 needs approval: spy.do")
        terminal.expect("Call 2 needs approval: spy.do")
        terminal.type("/approve 9\n")
        terminal.expect("there is no call 9")
        terminal.type("/deny 1 not that one\n")
        terminal.expect("Call 1 is denied by you")
        terminal.type("/approve 2\n")
        terminal.expect("Call 2, spy.do, done")
        terminal.expect("^All decided.$")
        terminal.expect("^Done.")
        terminal.type("/calls\n")
        terminal.expect(r"1\. spy.do, denied")
        terminal.type("/find decided\n")
        terminal.expect("Turn 1, Answer: All decided")
        terminal.type("/policy\n2\n")  # the second line is typed ahead of the list
        terminal.expect("Policy: sequential")
        terminal.type("/nothing\n")
        terminal.expect("no command /nothing")
        terminal.type("/sessions\n1\nresume\n")
        terminal.expect("A session of 1 turn is open")
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0
        assert b"\x1b" not in terminal.raw
        assert terminal.left_changed() == []
    assert ran(tmp_path) == [{"text": "two"}]


def test_ctrl_c_stops_the_turn_and_then_leaves(console: Callable[..., Terminal], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[ui]\nscreen_reader = true\n")
    with console({"text": "one"}, flag=False) as terminal:
        terminal.expect("Fanout, as lines")
        terminal.type("go\n")
        terminal.expect("Call 1 needs approval")
        terminal.press("ctrl+c")
        terminal.expect("^Stopped")
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_exit() == 143
    assert ran(tmp_path) == []
