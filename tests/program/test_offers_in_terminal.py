"""Prompts and resources of a server in the whole program, in a real terminal of 80x24."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.program.terminal import Terminal

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "offering_server.py"
SCRIPT = """
[[answer]]
times = 0
steps = [{ text = "So be it." }]
"""


def test_a_prompt_and_a_resource_are_completed_sent_and_read(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    servers = {"notes": {"command": sys.executable, "args": ["-S", str(SERVER), "hostile"]}}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    script = fanout.write("script.toml", SCRIPT)
    argv = fanout.argv("-m", f"scripted/{script}")
    with Terminal(argv, env=fanout.environment({"TERM": "xterm-256color"}), cwd=fanout.cwd, rows=24, columns=80) as it:
        it.expect("● 3 servers")
        it.type("/notes:rev")
        it.expect("Review code: Asks for a review")
        it.press("tab")
        it.expect("language · Which language it is written in")
        it.type("p")
        it.expect("prolog")
        it.press("tab", "tab")
        it.expect("/notes:review python")
        it.press("enter")
        it.expect("Review this python, as you like.")
        it.expect("▸ notes note://embedded  text/plain · 16 B")
        it.expect("So be it.")
        it.type("and @notes:note://1")
        it.expect("The first note")
        it.press("tab", "enter")
        it.expect("▸ notes note://1  text/plain · 10 B")
        it.type("read @notes:note://nowhere")
        it.press("enter")
        it.expect("notes: Resource not found")
        it.expect("read @notes:note://nowhere")
        it.type("\x03\x03\x03")  # in one go: what comes behind the end is a signal
        assert it.process.wait(PATIENCE) == 0
    assert b"]52;c;eA==" not in it.raw
