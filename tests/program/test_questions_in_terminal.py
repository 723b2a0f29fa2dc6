"""Questions of servers, in a real terminal, are answered by keys that were meant, and go with their server."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.patience import until_there
from tests.program.process import Fanout
from tests.program.terminal import Terminal

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "asking_server.py"
SCRIPT = """
[[answer]]
steps = [{steps}]
[[answer]]
times = 0
steps = [{{ text = "All answered." }}]
"""


@pytest.fixture
def console(fanout: Fanout, tmp_path: Path) -> Callable[..., Terminal]:
    """Opens the console on a model that makes these calls at once; its browser writes down what it is to open."""

    def opened(*calls: tuple[str, dict[str, Any]], rows: int = 24, columns: int = 80) -> Terminal:
        servers = {"asking": {"command": sys.executable, "args": [str(SERVER), str(tmp_path / "pid")]}}
        fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
        steps = ", ".join(
            f'{{ call = "asking.{tool}", arguments = {json.dumps(json.dumps(arguments))} }}'
            for tool, arguments in calls
        )
        script = fanout.write("script.toml", SCRIPT.format(steps=steps))
        browser = fanout.write("browser", f"#!/bin/sh\nprintf '%s\\n' \"$1\" >> '{tmp_path}/opened'\n")
        browser.chmod(0o755)
        argv = fanout.argv("-m", f"scripted/{script}", "--approval-mode", "yolo", "--", "go")
        environment = fanout.environment({"TERM": "xterm-256color", "BROWSER": str(browser)})
        return Terminal(argv, env=environment, cwd=fanout.cwd, rows=rows, columns=columns)

    return opened


def opened(folder: Path) -> list[str]:
    """The pages that the browser was given."""
    return (folder / "opened").read_text().splitlines() if (folder / "opened").exists() else []


def test_a_form_a_page_and_the_model_one_after_the_other_in_a_small_terminal(
    console: Callable[..., Terminal], tmp_path: Path
) -> None:
    with console(("form", {}), ("page", {}), ("ask_model", {})) as terminal:
        terminal.expect("1 of 3")
        left = {"Who are you": "y accept", "Pay here": "y open", "wants to use the model": "y allow once"}
        for count in (3, 2, 1):
            shown: list[str] = []
            assert terminal.wait_until(
                lambda text, shown=shown: (
                    shown.extend(ask for ask, yes in left.items() if ask in text and yes in text) or shown
                )
            )
            yes = left.pop(asked := shown[0])
            if "Pay here" in [asked, *left]:
                assert opened(tmp_path) == []
            terminal.decide("y", yes)
            terminal.expect_gone(f"1 of {count}" if count > 1 else asked)
            if asked == "Pay here":  # a browser is a program of its own
                until_there(lambda: opened(tmp_path) == ["https://example.com/pay?to=us"], "the page in a browser")
        terminal.expect("All answered")
        terminal.expect("3 ok")
    assert opened(tmp_path) == ["https://example.com/pay?to=us"]


def test_what_is_typed_ahead_held_or_pasted_opens_nothing(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console(("page", {})) as terminal:
        terminal.type("yes yy")
        terminal.expect("wants you to open a page")
        terminal.press("tab")
        terminal.expect("y open")
        terminal.type("y" * 200)
        terminal.paste("y\n")
        terminal.type("yy")
        terminal.press("ctrl+t")  # behind them: once it has acted, they have
        terminal.expect("Timeline")
        terminal.press("escape")
        terminal.expect("wants you to open a page")
        assert opened(tmp_path) == []
        terminal.decide("n", "n decline")
        terminal.expect_gone("wants you to open")
        terminal.expect("decline")
    assert opened(tmp_path) == []


def test_a_server_that_is_killed_takes_its_question_with_it(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console(("form", {}), rows=40, columns=100) as terminal:
        terminal.expect("enter fill in")
        terminal.decide("enter", "enter fill in")
        terminal.expect("enter next field")
        terminal.type("Lovelace")
        terminal.expect("AdaLovelace")
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        terminal.expect("The question was withdrawn")
        terminal.type("who is not there any more")
        terminal.decide("enter", "enter close")
        terminal.expect("All answered")
        assert "not there" not in terminal.text()
