"""`make pictures`: docs/pictures/*.svg, each from the session beside it; with --record sessions and screens are new.

A session is recorded in the real console: it runs in a pseudo-terminal on a scripted model and the bundled servers, and
keys are pressed. What is drawn of it then is the same on every machine. Stills of the screens (`screens.py`) show times
as they were measured.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.pictures import screens
from tests.program.process import ROOT, Fanout
from tests.program.terminal import Terminal

FOLDER = ROOT / "docs" / "pictures"
SIZE = (88, 28)  # columns and rows
PROMPT = "Work out 355/113 and e^pi, index the docs, run the checks, and write a report"
SERVERS = {
    "mcpServers": {
        name: {"command": "python", "args": ["-m", f"console_app.servers.{name}"]}
        for name in ("calculator", "demo", "files")
    }
}


def record(script: Path, session: Path) -> None:
    """Plays `script`, approves what asks, and keeps the session."""
    with tempfile.TemporaryDirectory() as folder:
        fanout = Fanout(Path(folder))
        fanout.write("servers.json", json.dumps(SERVERS))
        (fanout.cwd / ".git").mkdir()
        allowed = ("--allow-tool", "calculator.*", "--allow-tool", "demo.*")
        argv = fanout.argv("-m", f"scripted/{script}", "--mcp-config", "servers.json", *allowed, PROMPT)
        environment = fanout.environment({"TERM": "xterm-256color"})
        with Terminal(argv, env=environment, cwd=fanout.cwd, rows=SIZE[1], columns=SIZE[0]) as terminal:
            terminal.expect("allow once")
            terminal.expect("3 done")  # the numbers and a long call: meanwhile one waits for you
            terminal.press("y")
            terminal.expect("✓ done ·")
            terminal.press("ctrl+d")
            terminal.process.wait(60)
        stored = fanout.run("sessions", "list", "--jsonl").events
        session.write_text(fanout.run("sessions", "export", str(stored[0]["id"]), "--format", "jsonl").out)


def draw(session: Path, picture: Path) -> None:
    """The picture of a kept session."""
    with tempfile.TemporaryDirectory() as folder:
        fanout = Fanout(Path(folder))
        session_id = fanout.run("sessions", "import", str(session)).out.strip()
        size = f"{SIZE[0]}x{SIZE[1]}"
        done = fanout.run("sessions", "export", session_id, "--format", "svg", "--size", size)
        if done.code:
            raise SystemExit(done.err)
        picture.write_text(done.out)


def main() -> None:
    """Every script of the folder."""
    for script in sorted(FOLDER.glob("*.toml")):
        session, picture = script.with_suffix(".jsonl"), script.with_suffix(".svg")
        if "--record" in sys.argv or not session.exists():
            record(script, session)
        draw(session, picture)
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size:,} bytes")
    if "--record" in sys.argv:
        screens.draw(FOLDER, FOLDER / "parallel.toml", SERVERS, PROMPT)


if __name__ == "__main__":
    main()
