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

ASKING = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "asking_server.py"
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
        terminal.type("/policy\n")
        terminal.expect("Type a number")
        terminal.type("2\n")
        terminal.expect("Policy: sequential")
        terminal.type("/nothing\n")
        terminal.expect("no command /nothing")
        terminal.type("/sessions\n")
        terminal.expect("^Sessions")
        terminal.type("1\n")
        terminal.expect("What with it")
        terminal.type("resume\n")
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


def test_what_was_typed_before_a_question_does_not_decide_it(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console({"text": "one"}) as terminal:
        terminal.expect("Fanout, as lines")
        terminal.type("go\n")
        terminal.expect("Call 1 needs approval")
        terminal.type("/approve\nall\n")  # in one go: before the list is there
        terminal.expect("Yours again, not sent: all")
        terminal.type(".\n/calls\n")
        terminal.expect(r"1\. spy.do, needs approval")
        assert ran(tmp_path) == []
        terminal.type("/approve\n")
        terminal.expect("^Which.*(?s:.*)^Which")
        again = terminal.expect("Call 1 needs approval, .*spy.do: text one")
        assert again.count("/approve 1, /deny 1") == 1, "a call is said whole once"
        terminal.type("all\n")
        assert "after 0.0 s" not in terminal.expect("^All decided.$")
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0
    assert ran(tmp_path) == [{"text": "one"}]


ANSWERS = """
[[answer]]
steps = [
    { call = "lab.do", arguments = { text = "one" } },
    { call = "lab.do", arguments = { text = "two" } },
    { call = "lab.do", arguments = { text = "three" } },
]
[[answer]]
steps = [{ text = "First done." }]
[[answer]]
steps = [{ call = "lab.hold", arguments = { text = "long" } }]
[[answer]]
steps = [{ text = "Hurried." }]
[[answer]]
steps = [{ call = "lab.hold", arguments = { text = "longer" } }]
[[answer]]
steps = [{ call = "asking.form" }]
[[answer]]
steps = [{ text = "Answered." }]
"""


@pytest.fixture
def equipped(tmp_path: Path) -> Callable[[], Terminal]:
    """Opens the console on two servers, a script and a command that somebody wrote."""

    def opened() -> Terminal:
        fanout = Fanout(tmp_path)
        lab = [str(Path(__file__).with_name("holding_server.py")), str(tmp_path / "calls.log")]
        asking = [str(ASKING), str(tmp_path / "pid")]
        servers = {
            "lab": {"command": sys.executable, "args": lab},
            "asking": {"command": sys.executable, "args": asking},
        }
        fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
        fanout.write("home/commands/greet.md", "---\ndescription: Greets somebody\n---\nSay hello to $1.")
        fanout.write("home/commands/quit.md", "Never.")
        script = fanout.write("script.toml", ANSWERS)
        argv = fanout.argv("-m", f"scripted/{script}", "--screen-reader")
        return Terminal(argv, env=fanout.environment({"TERM": "dumb"}), cwd=fanout.cwd, rows=400, columns=200)

    return opened


def test_a_day_by_typing(equipped: Callable[[], Terminal], tmp_path: Path) -> None:
    with equipped() as terminal:
        terminal.expect("/quit is a command of Fanout")
        terminal.type("/help\n")
        terminal.expect("/greet: Greets somebody")
        decide(terminal)
        while_it_runs(terminal)
        questions(terminal)
        settings(terminal)
        terminal.type("/greet Ada\n")
        terminal.expect("^I am the offline rehearsal model(?s:.*)^Done")
        terminal.type("/read\n")
        terminal.expect("You: Say hello to Ada.")
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0
        assert b"\x1b" not in terminal.raw
    log = [json.loads(line)["text"] for line in (tmp_path / "calls.log").read_text().splitlines()]
    assert log == ["two", "other", "two", "long", "longer"]
    assert 'approval_mode = "plan"' in (tmp_path / "home" / "config.toml").read_text()


def decide(terminal: Terminal) -> None:
    """Approve, deny with words, edit, and run again."""
    terminal.type("go\n")
    for number in (1, 2, 3):
        terminal.expect(f"Call {number} needs approval")
    terminal.type("/deny 1 not that one\n")
    terminal.expect("Call 1 is denied by you")
    terminal.type("/approve 2\n")
    terminal.expect("Call 2, lab.do, done")
    terminal.type("/edit 3\n")
    terminal.expect("1 of 1: text")
    terminal.type("other\n")
    terminal.expect("Call 3, lab.do, done.*did other")
    terminal.expect("^First done.$(?s:.*)^Done")
    terminal.type("/show 1\n")
    terminal.expect("not that one")
    terminal.type("/retry 2\n")
    terminal.expect("Call 2 needs approval.*it ran already")
    terminal.type("/approve 2\n")
    terminal.expect("Call 2, lab.do, done(?s:.*)Call 2 runs again, attempt 2(?s:.*)Call 2, lab.do, done")


def while_it_runs(terminal: Terminal) -> None:
    """Steer, cancel by number, stop."""
    terminal.type("again\n")
    terminal.expect("Call 4 needs approval")
    terminal.type("/approve 4\n")
    terminal.expect("Call 4 runs")
    terminal.type("/steer and hurry\n/cancel 4\n")
    terminal.expect("Call 4, lab.hold, cancelled")
    terminal.expect("^Hurried.$(?s:.*)^Done")
    terminal.type("/read\n")
    terminal.expect("You, while it ran: and hurry")
    terminal.type("once more\n")
    terminal.expect("Call 5 needs approval")
    terminal.type("/approve 5\n")
    terminal.expect("Call 5 runs")
    terminal.type("/stop\n")
    terminal.expect("^Stopped")


def questions(terminal: Terminal) -> None:
    """What a server asks: a form, value by value."""
    terminal.type("ask me\n")
    terminal.expect("Call 6 needs approval")
    terminal.type("/approve 6\n")
    terminal.expect("asks: Who are you")
    terminal.type("/answer\n")
    for place, value in ((1, "Grace"), (2, "12\n"), (2, "21"), (3, "1")):
        terminal.expect(f"{place} of 3: " if value != "21" else "Again:")
        terminal.type(f"{value.strip()}\n")
    terminal.expect("Grace")
    terminal.expect("^Answered.$(?s:.*)^Done")


def settings(terminal: Terminal) -> None:
    """Sessions, servers, models, settings, plan mode."""
    terminal.type("/rename A day\n")
    terminal.expect("called “A day”")
    terminal.type("/new\n")
    terminal.expect("A new session begins")
    terminal.type("/sessions day\n")
    terminal.expect(r"1\. .* A day: 4 turns")
    terminal.type("1\n")
    terminal.expect("What with it")
    terminal.type("resume\n")
    terminal.expect("A session of 4 turns is open")
    terminal.type("/mcp asking\n")
    terminal.expect("What with asking")
    terminal.type("off\n")
    terminal.expect("Server asking is disabled")
    terminal.type("/mcp\n")
    terminal.expect(r"\. add a server\n")
    terminal.type("add a server\n")
    terminal.expect("Name of the server")
    terminal.type("more\n")
    terminal.expect("Its command with arguments")
    terminal.type("python 'no end\n")
    terminal.expect("Not added: python 'no end has a quote that is not closed")
    terminal.type("/model\n")
    terminal.expect("Which model")
    terminal.type(".\n/model offline/rehearsal\n")
    terminal.expect("offline/rehearsal answers")
    terminal.type("/status\n")
    terminal.expect("Model offline/rehearsal")
    terminal.type("/config max_steps\n")
    terminal.expect("max_steps: .*by default")
    terminal.type("/config max_steps many\n")
    terminal.expect("Error: .*max_steps")
    terminal.type("/config approval_mode plan\n")
    terminal.expect("approval_mode is written to")
    terminal.type("/mode plan\n")
    terminal.expect("Approvals: plan")
    terminal.type('lab.do {"text": "never"}\n')
    terminal.expect("lab.do, denied")
    terminal.expect("denied(?s:.*)^Done")


OTHERS = """
[[answer]]
steps = [{ call = "lab.do", arguments = { text = "one" } }]
[[answer]]
steps = [{ text = "First done." }]
[[answer]]
steps = [{ call = "lab.do", arguments = { text = "two" } }, { call = "lab.hold", arguments = { text = "long" } }]
[[answer]]
times = 0
steps = [{ text = "Next done." }]
"""


def test_every_other_command_by_typing(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    lab = [str(Path(__file__).with_name("holding_server.py")), str(tmp_path / "calls.log")]
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"lab": {"command": sys.executable, "args": lab}}}))
    script = fanout.write("script.toml", OTHERS)
    editor = fanout.write("editor", "#!/bin/sh\nprintf 'from the editor' > \"$1\"\n")
    editor.chmod(0o755)
    environment = fanout.environment({"TERM": "dumb", "VISUAL": str(editor)})
    argv = fanout.argv("-m", f"scripted/{script}", "--screen-reader")
    with Terminal(argv, env=environment, cwd=fanout.cwd, rows=400, columns=200) as terminal:
        terminal.expect("Fanout, as lines")
        rules_and_time(terminal)
        the_session(terminal)
        terminal.type("/export md told.md\n")
        terminal.expect("Exported to .*told.md")
        assert "First done." in (fanout.cwd / "told.md").read_text()
        what_is_written(terminal)
        terminal.type("/quit\n")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


def rules_and_time(terminal: Terminal) -> None:
    """A rule from the board's own, and a running call's time."""
    terminal.type("go\n")
    terminal.expect("Call 1 needs approval")
    terminal.type("/allow 1\n")
    terminal.expect("Never ask again about")
    terminal.type("1\n")
    terminal.expect("How long does .* hold")
    terminal.type("session\n")
    terminal.expect("Call 1, lab.do, done(?s:.*)^First done.$(?s:.*)^Done")
    terminal.type("more\n")
    terminal.expect("Call 2, lab.do, done")  # unasked
    terminal.expect("Call 3 needs approval")
    terminal.type("/approve 3\n")
    terminal.expect("Call 3 runs")
    terminal.type("/extend 3\n")
    terminal.expect("Call 3 has its whole time again")
    terminal.type("/results\n")
    terminal.expect("^Next done.$(?s:.*)^Done")
    terminal.type("/timeline 2\n")
    terminal.expect(r"calls, elapsed (?s:.*)Call 2, lab.do: at .* ran .*, done")
    terminal.type("/permissions\n")
    terminal.expect("allow lab.do")


def the_session(terminal: Terminal) -> None:
    """What goes to the model and what it took; copies, and back to before a message."""
    terminal.type("/request\n")
    terminal.expect("The last request, as it was sent(?s:.*)RESULT of lab_do")
    terminal.type("/cost\n")
    terminal.expect("tokens of these came from the provider's cache(?s:.*)  more$")
    terminal.type("/fork 1\n")
    terminal.expect("A session of 1 turn is open")
    terminal.type("again\n")
    terminal.expect("Turn 2 begins(?s:.*)^Next done.$(?s:.*)^Done")
    terminal.type("/rewind again\n")
    terminal.expect("The last turn is undone(?s:.*)Yours again, not sent: again|Yours again, not sent: again")


def what_is_written(terminal: Terminal) -> None:
    """The to-do list, and a message from the editor."""
    terminal.type("/todo add Read it\n/todo done 1\n/todo\n")
    terminal.expect("1. completed: Read it")
    terminal.type("/todo delete 1\n")
    terminal.expect("To-do list: 0 of 0")
    terminal.type("/editor\n")
    terminal.expect("Yours again, not sent: from the editor")
    terminal.type("/draft\n")
    terminal.expect("Turn 3 begins(?s:.*)^Next done.$(?s:.*)^Done")
    terminal.type("/read\n")
    terminal.expect("You: from the editor")
