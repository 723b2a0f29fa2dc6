"""Once the console is ready, what is done for the first time imports no module, and compiles no large pattern, where
the keys are answered."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import console_app
from console_app.tui.warm_up import MODULES
from tests.program.process import Fanout
from tests.program.terminal import Terminal

# The real program, with a record of what its main thread imports and compiles from the moment on when all is loaded.
RECORDED = """
import os, re, sys, threading, traceback
from console_app import wiring
main, record, ready = threading.get_ident(), open(os.environ["RECORD"], "a", buffering=1), threading.Event()
def imported(event, arguments):
    if event == "import" and ready.is_set() and threading.get_ident() == main:
        frame, asked = sys._getframe(1), []
        while frame is not None:
            if "importlib" not in frame.f_code.co_filename:
                asked.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
            frame = frame.f_back
        record.write(f"{arguments[0]} in {' in '.join(asked[1:5])}\\n")
        if arguments[0] == "rich.traceback":  # of what failed
            record.write(traceback.format_exc())
sys.addaudithook(imported)
compiled = re._compiler.compile
def compile(pattern, flags=0):
    if ready.is_set() and threading.get_ident() == main and len(pattern) > 1000:
        record.write(f"a pattern of {len(pattern):,} characters: {pattern[:60]!r}\\n")
    return compiled(pattern, flags)
re._compiler.compile = compile
freeze = wiring.freeze_collector
def all_loaded():
    freeze()
    ready.set()
    record.write("ready\\n")
wiring.freeze_collector = all_loaded
from console_app.cli import main as run
run()
"""
SCRIPT = '''
[[answer]]
steps = [
  { text = """
# A title

| a | b |
|---|---|
| 1 | *two* |

```python
def f(x): return x  # a comment
```

```diff
- a
+ b
```

1. one
2. a [link](https://example.org), `code`

> quoted
""" },
  { call = "calculator.evaluate", arguments = { expression = "6*7" } },
  { call = "demo.fail", arguments = { message = "on purpose" } },
  { call = "files.write_file", arguments = { path = "a.txt", content = "one" } },
  { call = "files.write_file", arguments = { path = "b.txt", content = "one" } },
]
'''
# What opens a screen, and the title it has.
SCREENS = {
    "ctrl+t": "─ Timeline",
    "ctrl+l": "─ Servers ─",
    "ctrl+p": "Search for commands|─ Commands",
    "f1": "─ Help ─",
    "ctrl+r": "─ Prompt history ─",
    "/model\r": "─ Model ─",
    "/connect\r": "─ Connect a model ─",
    "/theme\r": "─ Theme ─",
    "/sessions\r": "─ Sessions ─",
    "/permissions\r": "─ Permissions ─",
    "/config\r": "─ Settings ─",
    "/rewind\r": "─ Rewind to before ─",
    "/call demo.fail\r": "─ Call demo.fail ─",
    "/log\r": "─ Log ─",
    "/context\r": "─ Context ─",
    "/doctor\r": "─ Doctor ─",
}


def test_nothing_is_imported_where_keys_are_answered_once_all_is_loaded(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    record = tmp_path / "record"
    record.touch()
    (fanout.cwd / "script.toml").write_text(SCRIPT)
    servers = {
        name: {"command": "python", "args": ["-m", f"console_app.servers.{name}"]}
        for name in ("calculator", "demo", "files")
    }
    (fanout.cwd / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    arguments = ["-m", "scripted/script.toml", "--mcp-config", "servers.json", "--allow-tool", "[cd]*"]
    environment = fanout.environment({"TERM": "xterm-256color", "RECORD": str(record)})
    with Terminal(
        [sys.executable, "-P", "-c", RECORDED, *arguments], env=environment, cwd=fanout.cwd, anew=True
    ) as terminal:
        assert terminal.wait_until(lambda _: record.read_text() == "ready\n"), record.read_text()
        terminal.type("go\r")
        terminal.expect("2 need you")
        terminal.decide("y", "y run it")
        terminal.expect("1 needs you")
        terminal.decide("e", "e change it")
        terminal.expect("Edit the arguments")
        terminal.press("escape")
        terminal.expect_gone("Edit the arguments")
        terminal.press("escape")  # leaves the board, which then says how to come back
        terminal.expect("tab to review")
        terminal.press("escape")
        terminal.expect("stopped")
        for keys, title in SCREENS.items():
            if keys.startswith("/"):
                terminal.type(keys)
            else:
                terminal.press(keys)
            terminal.expect(title)
            terminal.press("escape")
            terminal.expect_gone(title)
        terminal.press("alt+up", "i")
        terminal.expect("Request|request")
        # What the end imports keeps no key waiting.
        assert record.read_text() == "ready\n", record.read_text()


def test_what_the_screens_import_when_they_are_opened_is_loaded_ahead() -> None:
    ahead = {
        *MODULES,
        "console_app.tui.main_screen.screen",
        "console_app.tui.terminal.driver",
    }  # these before the console is ready
    ahead |= {"console_app.tui.lineview.palette", "console_app.tui.lineview.lines"}
    root = Path(console_app.__file__).parent
    late = {
        node.module: path.name
        for path in (root / "tui").rglob("*.py")
        if path.name != "warm_up.py" and re.search(r"^ +from console_app\.", code := path.read_text(), re.MULTILINE)
        for function in ast.walk(ast.parse(code))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("console_app.")
    }
    assert {name: where for name, where in late.items() if name not in ahead} == {}
