"""A day with the console at 80x24: a model is connected, twelve calls run, three ask; it goes on the next day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, Request, WireServer

ANSWER = "Eleven are done.\n\n```python\ndef total(items):\n    return sum(items)\n```\n\nAnything else?"
EDITS = {"alpha.py": ("return 1", "return 2"), "beta.py": ("colour", "color"), "gamma.py": ("TODO", "done")}


def twelve() -> Iterator[Text | Call]:
    """Five sums, two long tasks, a failure, a large result, and three edits, which have to be asked for."""
    yield Text("I calculate, run the jobs and mend the files.\n\n")
    for sum_ in ("355/113", "sqrt(2)", "e^pi", "2^64", "17*23"):
        yield Call("calculator_evaluate", json.dumps({"expression": sum_}))
    yield Call("demo_long_task", json.dumps({"task": "index the archive", "duration_seconds": 3000}))
    yield Call("demo_long_task", json.dumps({"task": "warm the cache", "duration_seconds": 0.1}))
    yield Call("demo_fail", json.dumps({"message": "No such region: mars"}))
    yield Call("demo_big", json.dumps({"bytes": 4000}))
    for path, (old, new) in EDITS.items():
        yield Call("files_edit_file", json.dumps({"path": path, "old_text": old, "new_text": new}))


def model(request: Request) -> Reply | Answer:
    """Lists one model, and answers by what was said last."""
    if request.method == "GET":
        return Reply.json({"object": "list", "data": [{"id": "stranger-7b", "object": "model"}]})
    last = request.body["messages"][-1]
    if last["role"] == "tool":
        return Answer(Text(ANSWER))
    return Answer(*twelve()) if "mend" in json.dumps(last) else Answer(Text("Fine, thanks."))


@pytest.fixture
def fanout(tmp_path: Path) -> Fanout:
    """With servers of the user's own, and three files to mend."""
    fanout = Fanout(tmp_path)
    servers = {
        name: {"command": "python", "args": ["-m", f"console_app.servers.{name}"]}
        for name in ("calculator", "demo", "files")
    }
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    for path, (old, _) in EDITS.items():
        fanout.write(path, f"# {path}\n    {old}\n")
    return fanout


def console(fanout: Fanout, *arguments: str) -> Terminal:
    environment = fanout.environment({"TERM": "xterm-256color", "OLLAMA_HOST": "127.0.0.1:9"})
    return Terminal(fanout.argv(*arguments), env=environment, cwd=fanout.cwd, rows=24, columns=80)


def test_a_day_and_the_next(fanout: Fanout) -> None:
    with WireServer(model) as server:
        with console(fanout) as terminal:
            connect(terminal, server.url)
            twelve_calls(terminal)
            look_around(terminal)
            terminal.press("ctrl+d")
            assert terminal.wait_exit() == 0
        files = {path: (fanout.cwd / path).read_text() for path in EDITS}
        assert [EDITS[path][1] in text for path, text in files.items()] == [True, True, False]
        with console(fanout, "-c") as terminal:
            the_next_day(terminal)
            terminal.press("ctrl+d")
            assert terminal.wait_exit() == 0
            assert terminal.left_changed() == []


def connect(terminal: Terminal, url: str) -> None:
    terminal.expect("/connect adds a real one")
    terminal.expect("● 3 servers")
    terminal.type("/connect\r")
    terminal.expect("Connect a model")
    terminal.expect("Address")
    terminal.type(url)
    terminal.expect(url)
    terminal.press("enter")
    terminal.expect("1 model. Enter tries the highlighted one")
    terminal.press("enter")
    terminal.expect_gone("Connect a model")
    terminal.expect("· stranger-7b answered in")


def twelve_calls(terminal: Terminal) -> None:
    terminal.type("please mend it\r")
    terminal.expect("12 calls.*3 need you")
    terminal.expect("━ 3 need you")
    terminal.expect(r"\+ 2 +│ +return 2")  # the diff against the file as it is
    terminal.write(b"\x1b6")  # Alt+6
    terminal.expect("6▌ . long_task")
    terminal.press("enter")
    terminal.expect("stop +x|x +stop")
    terminal.press("x")
    terminal.expect("6▌ ■ long_task.*stopped")
    terminal.write(b"\x1b8")
    terminal.expect("8▌ ✗ fail")
    terminal.press("enter")
    terminal.expect("change and run +e|e +change and run")
    terminal.press("e")
    terminal.expect("Edit the arguments of demo · fail")
    terminal.expect("message +text")
    terminal.press("end")
    terminal.type(" or venus")
    terminal.expect("mars or venus")
    # The form takes Ctrl+S half a second after it came.
    assert terminal.wait_until(lambda text: "Edit the arguments" not in text or terminal.press("ctrl+s"))
    terminal.expect("8▌ ✗ fail")
    terminal.press("escape")
    terminal.decide("y", "y run it")
    terminal.expect("2 need you")
    terminal.expect(r"\+ 2 +│ +color")
    terminal.decide("y", "y run it")
    terminal.expect("1 needs you")
    terminal.decide("n", "n no")
    terminal.expect("Anything else?")
    terminal.expect("✓ done ·")


def look_around(terminal: Terminal) -> None:
    terminal.press("ctrl+f")
    terminal.expect("^ Find ")
    terminal.type("line        40")
    terminal.expect("1 of 1")
    terminal.press("enter")
    terminal.expect(r"▎ +line +40 \.")
    terminal.press("escape")
    terminal.expect_gone("^ Find ")
    terminal.type("/copy code 1\r")
    terminal.expect("Copied code 1: 2 lines")


def the_next_day(terminal: Terminal) -> None:
    terminal.expect("Anything else")
    terminal.expect(r"● \d+ tools")
    terminal.type("/fork\r")
    terminal.expect("─ Fork ─")
    terminal.press("enter")
    terminal.expect_gone("─ Fork ─")
    terminal.type("how are you?\r")
    terminal.expect("Fine, thanks(?s:.*)✓ done")  # of this turn
    terminal.type("/rewind\r")
    terminal.expect("turn 2 · how are you")
    terminal.press("enter")
    terminal.expect("│ how are you")
    terminal.expect_gone("Fine, thanks")
    terminal.press("ctrl+c")
    terminal.expect("Ask, or /")
