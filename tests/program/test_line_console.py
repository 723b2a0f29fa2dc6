"""The console as lines, in a real terminal: what happens is said, and everything is done by typing."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.program.lines import OVER, PICK, ended, typed
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


def test_what_the_terminal_shows_of_ctrl_c_stands_on_a_line_of_its_own(console: Callable[..., Terminal]) -> None:
    with console() as terminal:
        terminal.expect("Fanout, as lines")
        terminal.type("half a li")
        terminal.expect("half a li")
        terminal.type("\x03")
        lines = terminal.expect(r"^Press Ctrl\+C again to leave\.$").splitlines()
        assert "Press Ctrl+C again to leave." in lines
        assert lines[lines.index("Press Ctrl+C again to leave.") - 1].endswith("^C")
        terminal.type("\x03")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


def test_calls_are_approved_and_denied_by_number_and_nothing_is_drawn(
    console: Callable[..., Terminal], tmp_path: Path
) -> None:
    with console({"text": "one"}, {"text": "two"}) as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "go", "^I look.$", "Call 1 needs approval: spy.do", "Call 2 needs approval: spy.do")
        typed(terminal, "/approve 9", "There is no call 9")
        typed(terminal, "/deny 1 not that one", "Call 1 is denied by you")
        typed(terminal, "/approve 2", "Call 2, spy.do, ok", "^All decided.$", OVER)
        typed(terminal, "/calls", r"1\. spy.do, denied")
        typed(terminal, "/find decided", "Turn 1, Answer: All decided")
        typed(terminal, "/policy", PICK)
        typed(terminal, "2", "Policy: sequential")
        typed(terminal, "/nothing", "no command /nothing")
        typed(terminal, "/sessions", "^Sessions", PICK)
        typed(terminal, "1", "What with it", PICK)
        typed(terminal, "resume", "A session of 1 turn is open")
        ended(terminal)
        assert b"\x1b" not in terminal.raw
    assert ran(tmp_path) == [{"text": "two"}]


def test_ctrl_c_stops_the_turn_and_then_leaves(console: Callable[..., Terminal], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[ui]\nscreen_reader = true\n")
    with console({"text": "one"}, flag=False) as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "go", "Call 1 needs approval")
        terminal.press("ctrl+c")
        terminal.expect("^Stopped")
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_exit() == 143
    assert ran(tmp_path) == []


def test_what_was_typed_before_a_question_does_not_decide_it(console: Callable[..., Terminal], tmp_path: Path) -> None:
    with console({"text": "one"}) as terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "go", "Call 1 needs approval")
        terminal.type("/approve\nall\n")  # in one go: before the list is there
        terminal.expect("Yours again, not sent: all")
        terminal.type(".\n/calls\n")
        terminal.expect(r"1\. spy.do, needs approval")
        assert ran(tmp_path) == []
        again = typed(terminal, "/approve", "^Call 1 needs approval, .*spy.do: text one", "^Which")
        assert "/approve 1, /deny 1" not in again, "a call is said whole once"
        assert "after 0.0 s" not in typed(terminal, "all", "^All decided.$", OVER)
        ended(terminal)
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
        typed(terminal, "/help", "/greet: Greets somebody")
        decide(terminal)
        while_it_runs(terminal)
        questions(terminal)
        settings(terminal)
        typed(terminal, "/greet Ada", "^I am the offline rehearsal model", OVER)
        typed(terminal, "/read", "You: Say hello to Ada.")
        ended(terminal)
        assert b"\x1b" not in terminal.raw
    log = [json.loads(line)["text"] for line in (tmp_path / "calls.log").read_text().splitlines()]
    assert log == ["two", "other", "two", "long", "longer"]
    assert 'approval_mode = "plan"' in (tmp_path / "home" / "config.toml").read_text()


def decide(terminal: Terminal) -> None:
    """Approve, deny with words, edit, and run again."""
    terminal.type("go\n")
    for number in (1, 2, 3):
        terminal.expect(f"Call {number} needs approval")
    typed(terminal, "/deny 1 not that one", "Call 1 is denied by you")
    typed(terminal, "/approve 2", "Call 2, lab.do, ok")
    typed(terminal, "/edit 3", "1 of 1: text")
    typed(terminal, "other", "Call 3, lab.do, ok.*did other", "^First done.$", OVER)
    typed(terminal, "/show 1", "not that one")
    typed(terminal, "/retry 2", "Call 2 needs approval.*It ran already")
    typed(terminal, "/approve 2", "Call 2 runs again, attempt 2", "Call 2, lab.do, ok")


def while_it_runs(terminal: Terminal) -> None:
    """Steer, cancel by number, stop."""
    typed(terminal, "again", "Call 4 needs approval")
    typed(terminal, "/approve 4", "Call 4 runs")
    terminal.type("/steer and hurry\n/cancel 4\n")
    terminal.expect("Call 4, lab.hold, stopped")
    terminal.expect(f"^Hurried.$(?s:.*){OVER}")
    typed(terminal, "/read", "You, while it ran: and hurry")
    typed(terminal, "once more", "Call 5 needs approval")
    typed(terminal, "/approve 5", "Call 5 runs")
    typed(terminal, "/stop", "^Stopped")


def questions(terminal: Terminal) -> None:
    """The questions of a server are answered: a form, value by value."""
    typed(terminal, "ask me", "Call 6 needs approval")
    typed(terminal, "/approve 6", "asks: Who are you")
    terminal.type("/answer\n")
    for place, value in ((1, "Grace"), (2, "12\n"), (2, "21"), (3, "1")):
        terminal.expect(f"{place} of 3: " if value != "21" else "Again:")
        terminal.type(f"{value.strip()}\n")
    terminal.expect("Grace")
    terminal.expect(f"^Answered.$(?s:.*){OVER}")


def settings(terminal: Terminal) -> None:
    """Sessions, servers, models, settings, plan mode."""
    typed(terminal, "/rename A day", "called “A day”")
    typed(terminal, "/new", "A new session begins")
    typed(terminal, "/sessions day", r"1\. .* A day: 4 turns", PICK)
    typed(terminal, "1", "What with it", PICK)
    typed(terminal, "resume", "A session of 4 turns is open")
    typed(terminal, "/mcp asking", "What with asking", PICK)
    typed(terminal, "off", "Server asking is disabled")
    typed(terminal, "/mcp", r"\. add a server$", PICK)
    typed(terminal, "add a server", "Name of the server")
    typed(terminal, "more", "Its command with arguments")
    typed(terminal, "python 'no end", "Not added: python 'no end has a quote that is not closed")
    typed(terminal, "/model", "^Model$", PICK)
    terminal.type(".\n/model offline/rehearsal\n")
    terminal.expect("Model: offline/rehearsal, from the next answer on")
    typed(terminal, "/status", "Model offline/rehearsal")
    typed(terminal, "/config max_steps", "max_steps: .*by default")
    typed(terminal, "/config max_steps many", "^max_steps takes a whole number")
    typed(terminal, "/config approval_mode plan", "approval_mode is written to")
    typed(terminal, "/mode plan", "Mode: plan")
    typed(terminal, 'lab.do {"text": "never"}', "lab.do, denied", OVER)


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
        typed(terminal, "/export md told.md", "Exported to .*told.md")
        assert "First done." in (fanout.cwd / "told.md").read_text()
        what_is_written(terminal)
        ended(terminal)


def rules_and_time(terminal: Terminal) -> None:
    """A rule from the board's own, and a running call's time."""
    typed(terminal, "go", "Call 1 needs approval")
    typed(terminal, "/allow 1", "Never ask again about", PICK)
    typed(terminal, "1", "How long does .* hold", PICK)
    typed(terminal, "session", "Call 1, lab.do, ok", "^First done.$", OVER)
    typed(terminal, "more", "Call 3 needs approval")
    terminal.expect("^Call 2, lab.do, ok")  # unasked
    typed(terminal, "/approve 3", "Call 3 runs")
    typed(terminal, "/extend 3", "Call 3 has its whole time again")
    typed(terminal, "/results", "^Next done.$", OVER)
    typed(terminal, "/timeline 2", r"calls, elapsed (?s:.*)Call 2, lab.do: at .* ran .*, ok")
    typed(terminal, "/permissions", "allow lab.do")


def the_session(terminal: Terminal) -> None:
    """The session is looked at and changed: its cost, copies, and back to before a message."""
    typed(terminal, "/request", "The last request, as it was sent(?s:.*)It had sent nothing so far")
    typed(terminal, "/cost", "tokens of these came from the provider's cache(?s:.*)  more$")
    typed(terminal, "/fork 1", "A session of 1 turn is open")
    typed(terminal, "again", "Turn 2 begins", "^Next done.$", OVER)
    typed(terminal, "/rewind again", "The last turn is undone|Yours again, not sent: again")


def what_is_written(terminal: Terminal) -> None:
    """The to-do list, and a message from the editor."""
    terminal.type("/todo add Read it\n/todo done 1\n/todo\n")
    terminal.expect("1. completed: Read it")
    typed(terminal, "/todo delete 1", "To-do list: 0 of 0")
    typed(terminal, "/editor", "Yours again, not sent: from the editor")
    typed(terminal, "/draft", "Turn 3 begins", "^Next done.$", OVER)
    typed(terminal, "/read", "You: from the editor")
