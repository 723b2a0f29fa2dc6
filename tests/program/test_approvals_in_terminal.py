"""Approvals in a real terminal, with a server that writes down what it is sent: nothing runs that wasn't approved."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal

ODD: dict[str, Any] = {
    "text": "first\r\nsecond\ttab \u202egnp.exe\u202c \u200b “ü” 🙂 " + "x" * 5000,
    "nested": {"b": [1, 2.5, None, True], "a": {}},
    "empty": "",
}
OF_ONE_CELL = re.compile(rb"\x1b\[\?2026h\x1b\[1;1H\x1b\[[0-9;]*m[^\x1b]\x1b\[0m(?:\x1b\[1;1H)?\x1b\[\?2026l")
SCRIPT = """
[[answer]]
steps = [{steps}]
[[answer]]
times = 0
steps = [{{ text = "All decided." }}]
"""


@pytest.fixture
def console(fanout: Fanout, tmp_path: Path) -> Callable[..., Terminal]:
    """Opens the console on a model that makes these calls of the spy at once."""

    def opened(*arguments: dict[str, Any], rows: int = 40, columns: int = 120, more: str = "") -> Terminal:
        spy = [str(Path(__file__).with_name("spy_server.py")), str(tmp_path / "spy.log")]
        servers = {"spy": {"command": sys.executable, "args": spy}}
        fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
        steps = ", ".join(f'{{ call = "spy.do", arguments = {json.dumps(json.dumps(one))} }}' for one in arguments)
        script = fanout.write("script.toml", SCRIPT.format(steps=steps))
        argv = fanout.argv("-m", f"scripted/{script}", *more.split(), "--", "go")
        environment = fanout.environment({"TERM": "xterm-256color"})
        return Terminal(argv, env=environment, cwd=fanout.cwd, rows=rows, columns=columns)

    return opened


def ran(folder: Path) -> list[Any]:
    """The arguments of every call that the server was sent, in the order they came."""
    log = folder / "spy.log"
    lines = [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []
    return [line["params"]["arguments"] for line in lines if line.get("method") == "tools/call"]


def test_what_is_typed_ahead_held_or_pasted_approves_nothing(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console({"n": 1}, {"n": 2}, {"n": 3}) as terminal:
        terminal.type("yes Y yy")  # before there is anything to approve
        terminal.expect("3 need you")
        terminal.press("tab")
        terminal.expect("y run it")
        terminal.type("y" * 200)
        terminal.paste("y\nY\n")
        terminal.type("YyaAy")
        terminal.press("enter", "3")
        terminal.expect("3 need you")
        assert ran(tmp_path) == []
        terminal.decide("y", "y run it")
        terminal.expect("━ 2 need you")
        terminal.decide("N", "y run it")  # its hint stands below: the keys of a board count together
        terminal.expect("All decided")
    assert ran(tmp_path) == [{"n": 3}]


def test_what_was_approved_is_what_runs_byte_for_byte(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console(ODD) as terminal:
        terminal.expect("1 needs you")
        terminal.expect(r"<U\+202E>gnp.exe<U\+202C> <U\+200B>")
        terminal.expect("invisible or direction-changing")
        terminal.expect("y run it")
        terminal.decide("y", "y run it")  # goes to what was not displayed yet
        terminal.expect("empty")
        terminal.decide("y", "y run it")
        terminal.expect("All decided")
    assert ran(tmp_path) == [ODD]
    assert json.dumps(ran(tmp_path)[0]) == json.dumps(ODD)  # the order of its keys too


def test_a_window_of_nothing_escape_and_a_lost_terminal_approve_nothing(
    console: Callable[..., Terminal], tmp_path: Path
) -> None:
    with console({"n": 1}) as terminal:
        terminal.expect("1 needs you")
        terminal.expect("y run it")  # the board took the focus: nobody was typing
        seen = len(terminal.raw)
        terminal.resize(1, 1)
        assert terminal.wait_until(lambda _: OF_ONE_CELL.search(terminal.raw, seen)), "a frame of one cell"
        terminal.type("y")
        terminal.press("y", "Y")
        terminal.resize(40, 120)
        terminal.expect("1 needs you")
        terminal.press("escape")
        terminal.expect("tab to review")
        terminal.signal(signal.SIGHUP)  # the terminal is gone
        assert terminal.wait_exit() == 128 + signal.SIGHUP
    assert ran(tmp_path) == []


def test_forty_waiting_calls_in_a_small_terminal(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console(*({"path": f"part-{n}.md"} for n in range(40)), rows=24, columns=80) as terminal:
        terminal.expect("40 need you")
        terminal.expect("y run it")
        terminal.expect("Y all 40")
        terminal.press("up")
        terminal.expect("40 need you")
        terminal.expect(r"▸ changes  do  part-39\.md")
        terminal.decide("y", "y run it")
        terminal.expect("39 need you")
        while "All decided" not in terminal.text():  # page by page: a row is seen before it is decided
            assert terminal.wait_until(lambda text: "All decided" in text or terminal.counts("y run it"))
            terminal.press("Y")
            terminal.wait_until(lambda _: not terminal.counts("y run it"))  # a key that is held decides nothing
    assert len(ran(tmp_path)) == 40
    assert ran(tmp_path)[0] == {"path": "part-39.md"}


def test_always_writes_the_rule_it_showed(console: Callable[..., Terminal], fanout: Fanout, tmp_path: Path) -> None:
    config = fanout.write("home/config.toml", '# mine\ntheme = "fanout-light"\n')
    with console({"n": 1}, {"n": 2}) as terminal:
        terminal.expect("2 need you")
        terminal.expect("y run it")
        terminal.decide("A", "y run it")
        terminal.expect(r"allow  spy\.do")
        terminal.expect("config.toml")
        assert ran(tmp_path) == []
        terminal.decide("enter", "enter write the rule")
        terminal.expect("All decided")
    assert config.read_text() == '# mine\ntheme = "fanout-light"\n\n[rules]\nallow = ["spy.do"]\n'
    assert ran(tmp_path) == [{"n": 1}, {"n": 2}]
