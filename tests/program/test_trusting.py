"""`fanout mcp trust` and `/trust` in a terminal: what would run is shown, and a yes is typed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.files.trusted import is_trusted
from tests.each import each
from tests.program.process import Fanout
from tests.program.terminal import Terminal

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "faulty_server.py"


@each(("typed", "code"), [("y\r", 0), ("n\r", 1), ("\r", 1)])
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
    assert is_trusted(Paths.find(environment), file) is (code == 0)


SERVERS = {"mcpServers": {"mine": {"command": sys.executable, "args": ["-S", str(SERVER), "plain"]}}}


@pytest.fixture
def project(tmp_path: Path) -> Fanout:
    """A project whose files would start a server and loosen a setting."""
    fanout = Fanout(tmp_path)
    fanout.write("mcp.json", json.dumps(SERVERS))
    fanout.write(".fanout/config.toml", "max_steps = 1000\n")
    return fanout


def console(project: Fanout) -> Terminal:
    environment = project.environment({"TERM": "xterm-256color"})
    return Terminal(project.argv("-m", "offline/rehearsal"), env=environment, cwd=project.cwd)


def trusted(project: Fanout) -> list[bool]:
    known = Paths.find(project.environment())
    return [is_trusted(known, project.cwd / name) for name in ("mcp.json", ".fanout/config.toml")]


def test_the_console_shows_what_waits_for_trust_and_a_y_has_it_take_effect(project: Fanout) -> None:
    with console(project) as terminal:
        assert "fanout trust" not in terminal.expect(
            r"mcp\.json and\s+\.fanout/config\.toml of\s+this\s+project\s+wait"
        )
        terminal.press("alt+t")
        terminal.expect("Trust this project's files?")
        terminal.expect(r"runs +\S+python\S* -S")
        terminal.expect("max_steps = 1000")
        terminal.decide("y", "y trust them")
        terminal.expect("counts from the next start on")
        terminal.expect(r"used now:\s+mine")
        assert trusted(project) == [True, True]
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
    with console(project) as terminal:
        terminal.expect(r"trusted,\s+sets:\s+max_steps\s+=\s+1000")  # the path before it may break the line anywhere
        terminal.type("/trust\r")
        terminal.expect("Nothing of this project waits for your trust")


def test_servers_that_were_trusted_are_told_once_and_wait_no_more(tmp_path: Path) -> None:
    project = Fanout(tmp_path)
    project.write("mcp.json", json.dumps(SERVERS))
    with console(project) as terminal:
        terminal.expect(r"wait[s]?\s+for\s+your\s+trust")
        terminal.press("alt+t")
        terminal.decide("y", "y trust them")
        terminal.expect(r"used now:\s+mine")
        terminal.expect(r"is\s+trusted\s+as\s+it\s+was\s+shown\.")
        assert "trust:" not in terminal.text(), "nothing waits any more"
        project.write("mcp.json", json.dumps({"mcpServers": {"other": SERVERS["mcpServers"]["mine"]}}))
        terminal.type("/reload\r")
        terminal.decide("y", "y trust them")
        terminal.expect_gone("Trust this project's files")
        terminal.expect("added other")
        terminal.type("/trust\r")
        terminal.expect("Nothing of this project waits for your trust")
        assert "your trust:" not in " ".join(terminal.text().split())
        project.write("mcp.json", json.dumps(SERVERS))
        terminal.type("/reload\r")
        terminal.expect("y trust them")
        terminal.press("n")
        terminal.expect(r"waits\s+for\s+your\s+trust:\s+alt\+t")


def test_the_console_trusts_nothing_by_n_or_by_a_file_that_changed_meanwhile(project: Fanout) -> None:
    with console(project) as terminal:
        terminal.expect(r"wait\s+for\s+your\s+trust")
        terminal.type("/trust\r")
        terminal.expect("Trust this project's files?")
        terminal.press("n")
        terminal.expect_gone("Trust this project's files?")
        terminal.type("/trust\r")
        terminal.expect("Trust this project's files?")
        for name in ("mcp.json", ".fanout/config.toml"):
            (project.cwd / name).write_text((project.cwd / name).read_text() + "\n")
        terminal.decide("y", "y trust them")
        terminal.expect(r"changed\s+while\s+you\s+were\s+asked")
        assert trusted(project) == [False, False]
