"""Every command of the parser's own table, with what each is given so that it runs to its end without a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence

from console_app.command_line import COMMANDS
from tests.program.process import Fanout

MODEL = ("-m", "offline/rehearsal")
ENDPOINT_MODEL = ("-m", "openai/test-model")
LEAVES = {
    "console",
    *(name for name, one in COMMANDS.items() if not one.actions),
    *(f"{name} {action.name}" for name, one in COMMANDS.items() for action in one.actions),
}
# Behind each name; ID stands for a kept session, SERVER, TOOL and URL (of an endpoint) for those of `lines`.
ENDING: dict[str, Sequence[Sequence[str]]] = {
    "run": [[*MODEL, "--mcp", "SERVER", "TOOL {}"]],
    "batch": [
        ["items.txt", "-o", "r.jsonl", *MODEL, "--no-mcp", "--report", "r.html"],
        ["items.txt", "-o", "tape.jsonl", *MODEL, "--mcp", "SERVER", "--record", "tape"],
    ],
    "diff": [["r.jsonl", "tape.jsonl", "--junit", "d.xml"]],
    "call": [["TOOL", "{}"], ["--from", "calls.jsonl", "-o", "c.jsonl"]],
    "program": [["program.py"]],
    "parse": [["--tools", "tools.json"]],
    "mcp list": [[]],
    "mcp get": [["SERVER"]],
    "mcp test": [["SERVER"]],
    "mcp add": [["mine", "--", "true"]],
    "mcp remove": [["SERVER"]],
    "mcp import": [[]],
    "mcp trust": [["mcp.json"]],
    "mcp find": [["weather"]],
    "trust": [["--yes"]],
    "sessions list": [[]],
    "sessions search": [["one"]],
    "sessions show": [["ID"], ["ID", "--json"]],
    "sessions export": [["ID"], ["ID", "-o", "s.html"], ["ID", "--format", "cast", "-o", "s.cast"]],
    "sessions import": [["none.jsonl"]],
    "sessions rename": [["ID", "title"]],
    "sessions fork": [["ID"]],
    "sessions delete": [["ID"]],
    "models": [["--json"]],
    "endpoint test": [
        ["URL", *ENDPOINT_MODEL, "--yes"],
        ["URL", *ENDPOINT_MODEL, "--yes", "--json", "--junit", "e.xml"],
    ],
    "themes": [[]],
    "agents list": [[]],
    "agents show": [["explore"]],
    "agents make": [["mine"]],
    "agents add": [[], ["codex", "--yes"], ["mine", "--yes", "--", "true"]],
    "auth set": [["openai"]],
    "auth remove": [["openai"]],
    "auth list": [[]],
    "doctor": [["--json"]],
    "config path": [[]],
    "config show": [[]],
    "config list": [[]],
    "config get": [["providers"]],
    "config set": [["max_steps", "9"]],
    "config unset": [["max_steps"]],
    "config edit": [[]],
    "config validate": [[]],
    "schema": [["run"]],
    "completion": [["bash"]],
    "man": [["mcp"]],
}
# Each needs somebody at the other end: why, and the test of its secrets.
RUNNING = {
    "console": ("a terminal", "test_canaries.py::test_the_console_shows_and_keeps_no_secret"),
    "serve": ("a browser", "test_canaries_elsewhere.py::test_a_browsers_server_and_its_pages_say_no_secret"),
    "acp": ("an editor", "test_canaries_elsewhere.py::test_an_editor_is_told_no_secret"),
    "mcp auth": ("a browser", "test_canaries_by_hand.py::test_what_is_done_by_hand_says_no_secret"),
}


def prepare(fanout: Fanout, tool: str) -> None:
    """Writes the files that the commands are given."""
    fanout.write("items.txt", "one\ntwo\n")
    fanout.write("calls.jsonl", json.dumps({"id": "a", "tool": tool, "arguments": {}}) + "\n")
    fanout.write("program.py", f"await {tool.replace('.', '_')}()\n")
    fanout.write("tools.json", "[]")


def lines(name: str, *, session: str, server: str, tool: str, url: str) -> list[list[str]]:
    """The command lines of a command that ends by itself."""
    words = {"ID": session, "SERVER": server, "TOOL": tool, "TOOL {}": f"{tool} {{}}", "URL": url}
    return [[*name.split(), *(words.get(word, word) for word in given)] for given in ENDING[name]]
