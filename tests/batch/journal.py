"""Items that are calls of `changing_server`, and what their server saw of them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.batch.conftest import results
from tests.patience import until_there
from tests.program.process import Fanout

SERVER = Path(__file__).with_name("changing_server.py")


class Journal:
    """The working folder of a run of such items."""

    def __init__(self, program: Fanout) -> None:
        self.program = program
        self.path = program.cwd / "journal"
        self.results = program.cwd / "r.jsonl"
        self.notes = program.cwd / "r.jsonl.changes"
        server = {"command": sys.executable, "args": [str(SERVER)], "env": {"JOURNAL": str(self.path)}}
        program.write("home/mcp.json", json.dumps({"mcpServers": {"s": server}}))

    def write(self, *calls: tuple[str, str]) -> None:
        """Items of one call each: (tool, name); the name is the item's id."""
        rows = [{"id": name, "tool": f"s.{tool}", "arguments": {"name": name}} for tool, name in calls]
        self.program.write("calls.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def arguments(self, *more: str) -> tuple[str, ...]:
        """The command line of a run."""
        return ("call", "--from", "calls.jsonl", "-o", "r.jsonl", "--approval-mode", "yolo", *more)

    def begun(self) -> Counter[str]:
        """How often each call began at the server."""
        return Counter(self.path.read_text().split()) if self.path.exists() else Counter()

    def wait(self, *names: str) -> None:
        """Until all these have begun."""
        until_there(lambda: set(names) <= set(self.begun()), f"{names} to begin")

    def go(self) -> None:
        """Lets all calls end."""
        self.path.with_name("go").touch()

    def statuses(self) -> dict[str, str]:
        """Return the status of each item, by its last line."""
        return {name: one["status"] for name, one in results(self.results).items()} if self.results.exists() else {}
