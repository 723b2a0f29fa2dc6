"""The commands of the line console that look, copy, shorten, choose, queue and trust, typed in a real terminal."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal

ASKING = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "asking_server.py"
HOLDING = Path(__file__).with_name("holding_server.py")
ANSWERS = """
[[answer]]
when = "go"
steps = [{ call = "lab.do", arguments = { text = "one" } }]
[[answer]]
when = "go"
steps = [{ text = "First done." }]
[[answer]]
when = "hold on"
steps = [{ call = "lab.hold", arguments = { text = "long" } }]
[[answer]]
when = "ask me"
steps = [{ call = "asking.form" }]
[[answer]]
times = 0
steps = [{ text = "To {{prompt}}." }]
"""


@pytest.fixture
def fanout(tmp_path: Path) -> Fanout:
    """A home with two servers and a model that plays ANSWERS."""
    fanout = Fanout(tmp_path)
    lab = {"command": sys.executable, "args": [str(HOLDING), str(tmp_path / "calls.log")]}
    asking = {"command": sys.executable, "args": [str(ASKING), str(tmp_path / "pid")]}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"lab": lab, "asking": asking}}))
    fanout.write("script.toml", ANSWERS)
    return fanout


def opened(fanout: Fanout, *arguments: str) -> Terminal:
    argv = fanout.argv("--screen-reader", "--approval-mode", "yolo", *arguments)
    return Terminal(argv, env=fanout.environment({"TERM": "dumb"}), cwd=fanout.cwd, rows=800, columns=400)


def after(terminal: Terminal, line: str, *patterns: str) -> None:
    """Types a line, and waits for what comes of it: seen below that line, in this order."""
    terminal.type(f"{line}\n")
    terminal.expect(rf"^{line}$(?s:.*)" + "(?s:.*)".join(patterns))


def test_commands_that_look_copy_shorten_queue_and_choose(fanout: Fanout) -> None:
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("Fanout, as lines")
        after(terminal, "go", "^First done.$", "^Done")
        after(terminal, "/inspect 1", "^call ", '"text": "one"', "^did one$", "JSON-RPC")
        after(terminal, "/copy", r"^Copied 11 characters\.")
        assert base64.b64encode(b"First done.") in terminal.raw
        after(terminal, "/context", "tokens in the newest request", "^  instructions ")
        after(terminal, "turn two", "^To turn two.$", "^Done")
        after(terminal, "turn three", "^To turn three.$", "^Done")
        after(terminal, "/compact", "^Compacted: the model reads a summary in place of the oldest")
        after(terminal, "/compact undo", "^Compaction taken back")
        after(terminal, "/compact undo", "^There is no compaction to take back")
        queued(terminal)
        after(terminal, "ask me", "asks: Who are you")
        after(terminal, "/decline", "declined", "^To ask me.$", "^Done")
        after(terminal, "/decline", "^Nothing is asked")
        after(terminal, "turn last", "^To turn last.$", "^Done")
        after(terminal, "/undo", "^The last turn is undone")
        chosen(terminal)
        after(terminal, "/doctor", "^Versions", "fanout: ", "^Servers$", "lab: 2 tools over stdio")
        after(terminal, "/log", "could be read by others")
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []
    assert 'theme = "nord"' in (fanout.home / "config.toml").read_text()


def queued(terminal: Terminal) -> None:
    """Messages wait behind a turn that runs: one is taken back, one is sent once the turn was stopped."""
    after(terminal, "/unsend", "^Nothing is queued")
    after(terminal, "/go", "^Nothing waits to be sent")
    after(terminal, "hold on", "Call 2 runs")
    after(terminal, "not this", "^Queued")
    after(terminal, "/unsend", "^Yours again, not sent: not this")
    after(terminal, "/draft", "^Queued")
    after(terminal, "/stop", "^Stopped")
    after(terminal, "/go", "^Turn 5 begins", "not this.$", "^Done")


def chosen(terminal: Terminal) -> None:
    """Colours and protocol, and what is none."""
    after(terminal, "/theme nosuch", "there is no theme nosuch")
    after(terminal, "/config theme nosuch2", "there is no theme nosuch2")
    after(terminal, "/theme nord", "opens with nord")
    after(terminal, "/protocol morse", "there is no protocol morse")
    after(terminal, "/protocol", "1. auto", "4. xml")
    after(terminal, "text", "^Protocol text, from the next request on")


def test_trust_reload_and_go_without_a_server_that_is_slow(fanout: Fanout) -> None:
    slow = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    project = fanout.write("mcp.json", (fanout.home / "mcp.json").read_text())
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"slow": slow}}))
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("mcp.json of this project waits for your trust")
        after(
            terminal, "hello there", "^(Waiting for|Started without) server slow"
        )  # on a busy machine it began already
        terminal.type("/go\n")
        terminal.expect("^hello there$(?s:.*)^To hello there.$(?s:.*)^Done")
        after(terminal, "/trust", "would start:", "Type yes or no")
        after(terminal, "no", "^Not trusted")
        after(terminal, "/trust", "would start:", "Type yes or no")
        after(terminal, "yes", "^Trusted", "added lab, asking")
        after(terminal, "/reload", "no server has changed")
        project.write_text("{")
        after(terminal, "/reload", "^Error: .*mcp.json")
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0


def test_calls_by_state_rules_plan_to_dos_and_settings_are_changed(fanout: Fanout) -> None:
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("Fanout, as lines")
        after(terminal, "go", "^First done.$", "^Done")
        after(terminal, "/calls done", "^1 of them: done. There are 1 done", r"^  1\. lab.do, done")
        after(terminal, "/files 1", "^Call 1 has no file")
        after(terminal, "/copy 1", r"1\. result of do", "^Type a number")
        after(terminal, "result", r"^Copied 7 characters\.")
        assert base64.b64encode(b"did one") in terminal.raw
        after(terminal, "/plan", "^Approvals: plan")
        after(terminal, "/plan", "^Approvals: yolo")
        after(terminal, "/permissions allow lab.do", "^How long does allow lab.do hold")
        after(terminal, "session", "^Until you leave: ")
        after(terminal, "/config max_steps 7", "is written to")
        after(terminal, "/config unset max_steps", "is taken out of")
        after(terminal, "/todo add Read it", "^To-do list")
        after(terminal, "/todo edit 1 Send it", "^To-do list")
        after(terminal, "/todo start 1", "^To-do list")
        after(terminal, "/todo", r"^  1\. in progress: Send it$")
        after(terminal, "/mcp lab", "^What with lab", "^Type a number")
        after(terminal, "wire", "sent request initialize", "sent request tools/list")
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0
