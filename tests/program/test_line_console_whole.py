"""The line console can do all that the console on a screen can: the list, and each of its commands by typing."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sys
from pathlib import Path

import pytest
from textual.binding import Binding

from console_app.tui.lineview.view import KEYS
from tests.docs.made import live_help
from tests.patience import until_there
from tests.program.lines import OVER, PICK, ended, typed
from tests.program.process import Fanout
from tests.program.terminal import Terminal

HOLDING = Path(__file__).with_name("holding_server.py")
NOTES = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "offering_server.py"
ANSWERS = r"""
[[answer]]
when = "go"
steps = [{ call = "lab.do", arguments = { text = "one" } }, { call = "notes.picture" }]
[[answer]]
when = "go"
steps = [{ text = "Look:\n\n```python\nprint(1)\n```\n" }]
[[answer]]
times = 0
steps = [{ text = "To {{prompt}}." }]
"""
SCREEN_ALONE = {
    "panel.menu": "every act is a command of its own",
    "panel.toggle": "nothing is folded: /show and /read say all",
    "panel.more": "nothing is cut short: /show says all",
    "panel.unfold": "nothing is folded",
    "panel.fold": "nothing is folded",
    "panel.help": "/help, as everywhere",
    "panel.leave": "you are always in the prompt",
    "panel.previous": "calls are named by number",
    "panel.next": "calls are named by number",
    "find.next": "/find says every line at once",
    "find.previous": "/find says every line at once",
}
BY_LINE = {
    "panel.cancel": "cancel",
    "panel.retry": "retry",
    "panel.retry_all": "retry",
    "panel.edit": "edit",
    "panel.copy": "copy",
    "panel.copy_part": "copy",
    "panel.inspect": "inspect",
    "panel.extend": "extend",
    "panel.background": "background",
    "panel.send": "results",
    "panel.files": "files",
    "panel.filter": "calls",
    "panel.failed": "calls",
    "panel.raw": "show",
}


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """The line console with a server of tools and one of everything, and a desktop that writes down what it opens."""
    fanout = Fanout(tmp_path)
    lab = {"command": sys.executable, "args": [str(HOLDING), str(tmp_path / "calls.log")]}
    notes = {"command": sys.executable, "args": [str(NOTES)]}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {"lab": lab, "notes": notes}}))
    script = fanout.write("script.toml", ANSWERS)
    programs = [
        fanout.write(f"home/bin/{name}", f'#!/bin/sh\necho "$1" > {tmp_path / "opened"}\n')
        for name in ("xdg-open", "open")
    ]
    for program in programs:
        program.chmod(0o755)
    environment = fanout.environment({"TERM": "dumb", "PATH": f"{programs[0].parent}:{os.environ['PATH']}"})
    argv = fanout.argv("--screen-reader", "--approval-mode", "yolo", "-m", f"scripted/{script}")
    return Terminal(argv, env=environment, cwd=fanout.cwd, rows=400, columns=240)


def test_every_command_and_every_key_of_a_call_has_its_line(terminal: Terminal) -> None:
    named = [name.partition(" ")[0] for name, _ in asyncio.run(live_help())[-1].keys]
    own = {
        name[1:] for name in named if name[0] == "/" and ":" not in name
    }  # without /server:prompt, which the page has
    keys = {one.id for one in KEYS if isinstance(one, Binding)}
    with terminal:
        terminal.expect("Fanout, as lines")
        said = typed(terminal, "/help", "^  /files")  # the last of them
        lines = set(re.findall(r"^  /([a-z]+)[ :]", said, re.MULTILINE))
        for name in own - lines:
            typed(terminal, f"/{name}", f"/{name} is no command here: ")
        ended(terminal)
    assert {"model", "plan", "todo", "quit"} <= own
    assert {key for key in keys if key and not key.startswith("conversation.")} == {*SCREEN_ALONE, *BY_LINE}
    assert set(BY_LINE.values()) <= lines
    tests = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_line_console*.py"))
    tests += "\n".join(path.read_text() for path in (Path(__file__).parents[1] / "line_console").glob("test_*.py"))
    assert {name for name in lines if not re.search(rf"/{name}\b", tests)} == set()


def test_results_rules_lists_and_settings_by_line(terminal: Terminal, tmp_path: Path) -> None:
    with terminal:
        typed(terminal, "go", r"^print\(1\)$", OVER)
        typed(terminal, "/calls ok", "^2 of them: ok. There are 2 ok", r"^  1\. lab.do, ok")
        typed(terminal, "/calls failed", "^0 of them: failed")
        typed(terminal, "/copy code", r"^Copied code 1: 8 characters\.")
        assert base64.b64encode(b"print(1)") in terminal.raw
        typed(terminal, "/copy 1", r"1\. result of do", "arguments of do", PICK)
        typed(terminal, "arguments", r"^Copied arguments.*: \d+ characters\.")
        typed(terminal, "/copy poem", "There is no poem to copy.*answer, code 1")
        typed(terminal, "/run", "^No answer of this conversation showed a call")
        typed(terminal, '/run lab.do {"text": "by hand"}', "^Call 3 needs approval", "/approve 3")
        typed(terminal, "/deny 3", "^Call 3 is denied by you", "^Ended without success: call 3")
        typed(terminal, "/files 1", "^Call 1 has no file")
        typed(terminal, "/files 2", "^Open which file", r"\.png", PICK)
        typed(terminal, ".png", r"^Opened /.*\.png$")
        told = tmp_path / "opened"  # by a program of its own
        until_there(lambda: told.exists() and told.read_text().endswith(".png\n"), "the file to be opened")
        typed(terminal, "/files 2", "note://2", PICK)
        typed(terminal, "note://2", "^the note 2$", "^@notes:note://2 in a message attaches it")
        typed(terminal, "/clear", "/clear is no command here: nothing is drawn here")
        typed(terminal, "/keys", "^  /log")
        typed(terminal, "/tools", "lab: ready", PICK)
        terminal.type(".\n")
        typed(terminal, "/effort high", "^Effort: high")
        typed(terminal, "/resume none", "^Error: Sessions: no session")
        typed(terminal, "/plan", "^Mode: plan")
        typed(terminal, "/plan", "^Mode: yolo")
        typed(terminal, "/permissions deny ((", "is no rule")
        typed(terminal, "/permissions allow lab.do", "^How long does allow lab.do hold", PICK)
        typed(terminal, "session", "^Until you leave: ")
        typed(terminal, "/permissions", r"^  \d+\. allow lab.do")
        typed(terminal, "/config max_steps 7", "is written to")
        typed(terminal, "/config unset max_steps", "is taken out of")
        typed(terminal, "/config unset max_steps", "max_steps is not set")
        for line in ("add Read it", "add Write it", "start 1", "edit 2 Send it"):
            typed(terminal, f"/todo {line}", "^To-do list")
        typed(terminal, "/todo", r"^  1\. in progress: Read it$", r"^  2\. pending: Send it$")
        typed(terminal, "/todo reopen 1", "^To-do list")
        typed(terminal, "/todo", r"^  1\. pending: Read it$")
        ended(terminal)


def test_servers_are_examined_and_used_by_line(terminal: Terminal) -> None:
    with terminal:
        terminal.expect("Fanout, as lines")
        typed(terminal, "hello", "^To hello.$", OVER)  # the servers are there
        acted(terminal, "ping", "^notes answered in ")
        acted(terminal, "about", "^state +ready", "^offers .*prompts", "offers tools")
        acted(terminal, "wire", "^  .*sent request initialize", "received result initialize", "sent request tools/list")
        path = acted(terminal, "wire file", r"messages written to (/.*jsonl)$")
        written = re.search(r"written to (\S+)", path)
        assert written is not None
        assert '"tools/list"' in Path(written[1]).read_text()
        acted(terminal, "level", "^Lines from which level on", PICK)
        typed(terminal, "warning", "^notes writes warning and above")
        acted(terminal, "log", "^(It is empty|.*\\S)")
        used(terminal, "tool weather", "^notes.weather: ", "^It takes: ")
        used(terminal, "resource note://1", "^the note 1$", "^@notes:note://1 in a message attaches it")
        used(terminal, "resource note://in/", "^language")
        typed(terminal, "python", "^path")
        typed(terminal, "a", "^the note in/python/a$")
        used(terminal, "prompt review", "^language, Which language")
        typed(terminal, "python", "^style")
        terminal.type("\n")  # its style may be left empty
        terminal.expect("^To User: Review this python, as you like(?s:.*)^Done")
        ended(terminal)


def acted(terminal: Terminal, act: str, *patterns: str) -> str:
    """Picks what is done with the server."""
    typed(terminal, "/mcp notes", "^What with notes", PICK)
    return typed(terminal, act, *patterns)


def used(terminal: Terminal, what: str, *patterns: str) -> None:
    """Picks a thing of the server, and uses it."""
    acted(terminal, "tools", "^Which one", PICK)
    typed(terminal, what, "^What with ", PICK)
    typed(terminal, "use", *patterns)
