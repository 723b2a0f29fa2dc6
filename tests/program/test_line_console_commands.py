"""The commands of the line console that look, copy, shorten, choose, queue and trust, typed in a real terminal."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pytest

from tests.program.lines import OVER, PICK, ended, typed
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


def test_commands_that_look_copy_shorten_queue_and_choose(fanout: Fanout) -> None:
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "go", "^First done.$", OVER)
        typed(terminal, "/inspect 1", "^call ", '"text": "one"', "^did one$", "JSON-RPC")
        typed(terminal, "/copy", r"^Copied answer: 11 characters\.")
        assert base64.b64encode(b"First done.") in terminal.raw
        typed(terminal, "/context", "tokens in the newest request", "^  instructions ")
        typed(terminal, "turn two", "^To turn two.$", OVER)
        typed(terminal, "turn three", "^To turn three.$", OVER)
        typed(terminal, "/compact", "^Compacted: the model reads a summary in place of the oldest")
        typed(terminal, "/compact undo", "^Compaction taken back")
        typed(terminal, "/compact undo", "^There is no compaction to take back")
        queued(terminal)
        typed(terminal, "ask me", "asks: Who are you")
        typed(terminal, "/decline", "declined", "^To ask me.$", OVER)
        typed(terminal, "/decline", "^Nothing is asked")
        typed(terminal, "turn last", "^To turn last.$", OVER)
        typed(terminal, "/undo", "^The last turn is undone")
        chosen(terminal)
        typed(terminal, "/doctor", "^Versions", "fanout: ", "^Servers$", "lab: 2 tools over stdio")
        typed(terminal, "/log", "could be read by others")
        ended(terminal)
    assert 'theme = "nord"' in (fanout.home / "config.toml").read_text()


def test_a_call_goes_on_in_the_background_and_what_files_were_changed_is_told(fanout: Fanout) -> None:
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "hold on", "^Call 1 runs")
        typed(terminal, "/background 1", "^Call 1 goes on in the background", "^To hold on.$", OVER)
        typed(terminal, "/background 1", "^This call runs in the background already")
        typed(terminal, "/cancel 1", "^Call 1, lab.hold, stopped")
        typed(terminal, "/diff", "^No call of this conversation changed a file")
        ended(terminal)


def queued(terminal: Terminal) -> None:
    """Messages wait behind a turn that runs: one is taken back, one is sent once the turn was stopped."""
    typed(terminal, "/unsend", "^Nothing is queued")
    typed(terminal, "/go", "^Nothing waits to be sent")
    typed(terminal, "hold on", "Call 2 runs")
    typed(terminal, "not this", "^Queued")
    typed(terminal, "/unsend", "^Yours again, not sent: not this")
    typed(terminal, "/draft", "^Queued")
    typed(terminal, "/stop", "^Stopped")
    typed(terminal, "/go", "^Turn 5 begins", "not this.$", OVER)


def chosen(terminal: Terminal) -> None:
    """Colours and protocol, and what is none."""
    typed(terminal, "/theme nosuch", "There is no theme nosuch")
    typed(terminal, "/config theme nosuch2", "[Tt]here is no theme nosuch2")
    typed(terminal, "/theme nord", "opens with nord")
    typed(terminal, "/protocol morse", "[Tt]here is no protocol morse")
    typed(terminal, "/protocol", "1. auto", "4. xml", PICK)
    typed(terminal, "text", "^Protocol text, from the next request on")


def test_trust_reload_and_go_without_a_server_that_is_slow(fanout: Fanout) -> None:
    slow = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    project = fanout.write("mcp.json", (fanout.home / "mcp.json").read_text())
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"slow": slow}}))
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("mcp.json of this project waits for your trust")
        typed(
            terminal, "hello there", "^(Waiting for|Started without) server slow"
        )  # on a busy machine it began already
        terminal.type("/go\n")
        terminal.expect(f"^hello there$(?s:.*)^To hello there.$(?s:.*){OVER}")
        typed(terminal, "/trust", "would start:", "Type yes or no")
        typed(terminal, "no", "^Not trusted")
        typed(terminal, "/trust", "would start:", "Type yes or no")
        typed(terminal, "yes", "mcp.json is trusted as it was shown", "its servers are used now: lab, asking")
        typed(terminal, "/reload", "no server has changed")
        project.write_text("{")
        typed(terminal, "/reload", "^Error: .*mcp.json")
        ended(terminal)


def test_calls_by_state_rules_plan_to_dos_and_settings_are_changed(fanout: Fanout) -> None:
    with opened(fanout, "-m", "scripted/script.toml") as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "go", "^First done.$", OVER)
        typed(terminal, "/calls ok", "^1 of them: ok. There are 1 ok", r"^  1\. lab.do, ok")
        typed(terminal, "/files 1", "^Call 1 has no file")
        typed(terminal, "/copy 1", r"1\. result of do", PICK)
        typed(terminal, "result", r"^Copied result.*: 7 characters\.")
        assert base64.b64encode(b"did one") in terminal.raw
        typed(terminal, "/plan", "^Mode: plan")
        typed(terminal, "/plan", "^Mode: yolo")
        typed(terminal, "/permissions allow lab.do", "^How long does allow lab.do hold", PICK)
        typed(terminal, "session", "^Until you leave: ")
        typed(terminal, "/config max_steps 7", "is written to")
        typed(terminal, "/config unset max_steps", "is taken out of")
        typed(terminal, "/todo add Read it", "^To-do list")
        typed(terminal, "/todo edit 1 Send it", "^To-do list")
        typed(terminal, "/todo start 1", "^To-do list")
        typed(terminal, "/todo", r"^  1\. in progress: Send it$")
        typed(terminal, "/mcp lab", "^What with lab", PICK)
        typed(terminal, "wire", "sent request initialize", "sent request tools/list")
        ended(terminal)
