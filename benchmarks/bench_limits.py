"""How long after its limit a turn has ended, in real time: `python -m benchmarks.bench_limits [NAME ...]`.

A turn may take five seconds, and must have ended within two more. What comes is ten thousand calls, a hundred megabytes
of arguments, a server that answers nothing, servers and models that never stop sending; beside them always a server
that ends for nothing but SIGKILL. The figures are seconds behind
the limit: of `turn.finished`, and of the end of the whole process (which also stores all results and ends the servers).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.console import Console, Endpoint, fanout_env, parser, row

LIMIT = 5.0
MOST = 2.0  # seconds behind the limit
SERVER = Path(__file__).parents[1] / "tests" / "mcp_client" / "fixtures" / "faulty_server.py"
MODES = {
    "silent": "never-answers",
    "logs": "log-flood",
    "progress": "progress-flood",
    "garbage": "garbage-flood",
    "stubborn": "stubborn",
}
WHAT = {
    "10,000 calls of a server that answers nothing": ("hangs-10000", ()),
    "10,000 calls, one after the other": ("hangs-10000", ("--policy", "sequential")),
    "10,000 calls, the first alone": ("hangs-10000", ("--policy", "single")),
    "100 MB of arguments in a hundred calls": ("arguments-100", ()),
    "100 MB of arguments in one call": ("argument-100", ()),
    "a flood of progress from 256 calls": ("news-256-progress", ()),
    "a flood of log lines from 256 calls": ("news-256-logs", ()),
    "a flood of nonsense from 256 calls": ("news-256-garbage", ()),
    "text without end": ("endless-0", ()),
}


def environment(url: str) -> dict[str, str]:
    """A home whose mcp.json has the servers."""
    home = Path(tempfile.mkdtemp(prefix="fanout-bench-"))
    servers = {
        name: {"command": sys.executable, "args": ["-S", str(SERVER), mode, str(home / name)]}
        for name, mode in MODES.items()
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return fanout_env(home, url)


def argv(command: str, model: str, options: tuple[str, ...]) -> list[str]:
    words = [sys.executable, "-m", "console_app", *([command] if command else []), "-m", f"openai/{model}"]
    return [*words, "--approval-mode", "yolo", *options]


def headless(url: str, model: str, options: tuple[str, ...]) -> tuple[float, float, float]:
    """Seconds behind the limit of the turn's end as it is written and of the process's, and its most megabytes."""
    command = [*argv("run", model, options), "--timeout", str(LIMIT), "--output-format", "stream-json", "go"]
    process = subprocess.Popen(
        command, env=environment(url), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout
    begun = finished = memory = 0.0
    for line in process.stdout:
        if b'"type":"turn.' not in line[:400]:
            continue
        memory = max(memory, psutil.Process(process.pid).memory_info().rss / 1e6)
        begun, finished = begun or json.loads(line)["at"], time.time()
    process.wait()
    return finished - begun - LIMIT, time.time() - begun - LIMIT, memory


def console(endpoint: Endpoint, model: str, options: tuple[str, ...]) -> tuple[float, float]:
    """Seconds behind the limit at which the console says that it was reached, and seconds that its end takes then."""
    env = environment(endpoint.url) | {"FANOUT_TIMEOUT": str(LIMIT)}
    with Console(argv("", model, options), env) as shown:
        shown.seen("sk, or / for commands", 60)
        time.sleep(3)
        endpoint.events()
        shown.type("go\r")
        since = len(shown.pieces)
        said = shown.seen("ime limit" if not model.startswith("argument-") else "cut off", 120, since=since)
        begun = next(noted["at"] for noted in endpoint.events() if noted["event"] == "request")
        asked = time.monotonic()
        shown.type("\x04")
        shown.process.wait(60)
        return said - begun - LIMIT, time.monotonic() - asked


def main() -> None:
    """All, or those that have one of the words in their names."""
    words = parser(__doc__)
    words.add_argument("names", metavar="NAME", nargs="*", help="a part of: " + "; ".join(WHAT))
    names: list[str] = words.parse_args().names
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    row("seconds behind a limit of 5 s", "turn", "process", "console", "its end", "memory")
    with Endpoint() as endpoint:
        for name, (model, options) in WHAT.items():
            if names and not any(word in name for word in names):
                continue
            turn, process, memory = headless(endpoint.url, model, options)
            seen, end = console(endpoint, model, options)
            row(name, f"{turn:.2f}", f"{process:.2f}", f"{seen:.2f}", f"{end:.2f}", f"{memory:.0f} MB")


if __name__ == "__main__":
    main()
