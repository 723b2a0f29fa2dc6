"""A program whose console was killed goes on where it waited: what ended isn't run again, what was cut asks."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.patience import PATIENCE
from tests.program.lines import ended, typed
from tests.program.process import Fanout
from tests.program.terminal import Terminal

CODE = """
import asyncio
first = await holding_do(text="one")
print("first", first)
both = await asyncio.gather(holding_do(text="two"), holding_hold(text="again"))
last = await holding_do(text="four")
print(both, last)
"""
SCRIPT = """
[[answer]]
steps = [{{ call = "fanout.program", arguments = {arguments} }}]
[[answer]]
times = 0
steps = [{{ text = "So be it." }}]
"""


class Killed:
    """A console that was killed while a call of its program held."""

    def __init__(self, root: Path) -> None:
        self.fanout = Fanout(root)
        self._log = root / "calls.log"
        server = [str(Path(__file__).with_name("holding_server.py")), str(self._log)]
        servers = {"mcpServers": {"holding": {"command": sys.executable, "args": server}}}
        self.fanout.write("home/mcp.json", json.dumps(servers))
        self.fanout.write("home/config.toml", 'programs = "auto"\n')
        arguments = json.dumps(json.dumps({"code": CODE}))
        self._script = self.fanout.write("script.toml", SCRIPT.format(arguments=arguments))
        with self.opened() as terminal:
            typed(terminal, "go", "holding.hold")
            terminal.wait_until(lambda text: len(self.ran) == 3 and "did two" in text)
            started = psutil.Process(terminal.process.pid).children(recursive=True)
            terminal.signal(signal.SIGKILL)
            terminal.wait_exit()
        self.left = psutil.wait_procs(started, timeout=PATIENCE)[1]  # processes that outlive their console

    def opened(self, *flags: str) -> Terminal:
        argv = self.fanout.argv("-m", f"scripted/{self._script}", "--screen-reader", "--approval-mode", "yolo", *flags)
        return Terminal(argv, env=self.fanout.environment({"TERM": "dumb"}), cwd=self.fanout.cwd, rows=200, columns=200)

    @property
    def ran(self) -> list[str]:
        """The arguments of every call that reached the server."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(line)["text"] for line in lines]

    @property
    def kept(self) -> list[Path]:
        """The files of programs that wait."""
        return list(self.fanout.home.rglob("programs/*"))


def going_on(terminal: Terminal) -> None:
    """Has the program go on, which waits for its server."""
    terminal.expect("Turn 1 cancelled")
    typed(terminal, "/retry", "/edit 1 decides")


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    return Killed(tmp_path)


def test_it_goes_on_from_there_and_nothing_that_ended_runs_again(killed: Killed) -> None:
    assert killed.left == []
    assert sorted(killed.ran) == ["again", "one", "two"]
    assert len(killed.kept) == 1
    assert killed.kept[0].stat().st_mode & 0o77 == 0
    with killed.opened("-c") as terminal:
        going_on(terminal)
        typed(
            terminal,
            "/approve 1",
            "Call 4 needs approval: holding.hold",
            "It ran already, and may do its work twice",
            "/edit 4 decides",
        )
        typed(terminal, "/approve 4", r"fanout.program, ok .*first did one \['did two', 'did again'\] did four")
        ended(terminal)
    assert sorted(killed.ran) == ["again", "again", "four", "one", "two"]
    assert killed.kept == []


def test_a_call_that_was_cut_and_is_denied_is_an_error_in_the_program(killed: Killed) -> None:
    with killed.opened("-c") as terminal:
        going_on(terminal)
        typed(terminal, "/approve 1", "Call 4 needs approval: holding.hold", "/edit 4 decides")
        typed(terminal, "/deny 4", "fanout.program, failed .*RuntimeError: The user denied this call")
        ended(terminal)
    assert sorted(killed.ran) == ["again", "one", "two"]
    assert killed.kept == []
