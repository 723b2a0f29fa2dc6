"""From exec to the first byte of the first request: `python -m benchmarks.bench_first_request [RUNS]`.

`fanout run` and the first item of a batch, with a server on and without any, and `fanout call`, whose request is the
call. The least and the median of some runs count, and the processor time that the process has spent by then.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.console import fanout_env, parser, row

# An MCP server that says `argv[2]`, messages by method, and passes a byte to the port `argv[1]` when it is called.
SERVER = """
import json, socket, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/call":
        socket.create_connection(("127.0.0.1", int(sys.argv[1]))).send(b"x")
    elif "id" in asked:
        said = json.loads(sys.argv[2]).get(asked["method"], {"error": {"code": -32601, "message": "no"}})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""
INFO = {"name": "s", "version": "1"}
SAYS: dict[str, Any] = {
    "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}},
    "tools/list": {"result": {"tools": [{"name": "do", "inputSchema": {"type": "object"}}]}},
}


class FirstByte:
    """Listens, notes when the first byte comes in, and hangs up."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None
        self.stamps: list[tuple[float, float]] = []  # the time, and the processor's
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(1)
                now = time.monotonic()
                process = self.process
                if process is not None:
                    self.stamps.append((now, _spent(process.pid)))
                    process.kill()

    def measure(self, arguments: Sequence[str], home: Path) -> tuple[float, float]:
        """Seconds from exec to the first byte, and of the processor."""
        self.stamps.clear()
        environ = fanout_env(home, f"http://127.0.0.1:{self.port}")
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "console_app", *arguments],
            env=environ,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        _, said = self.process.communicate(timeout=60)
        if not self.stamps:
            raise SystemExit(f"no request came in: {said.decode(errors='replace')}")
        at, spent = self.stamps[0]
        return at - begun, spent


def _spent(pid: int) -> float:
    """Processor seconds of a process, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Prints the figures."""
    words = parser(__doc__)
    words.add_argument("runs", nargs="?", type=int, default=15)
    runs: int = words.parse_args().runs
    first = FirstByte()
    home = Path(tempfile.mkdtemp(prefix="fanout-bench-"))
    model = ("-m", "openai/tokens-1")
    (home / "items.txt").write_text("one\n")
    server = {"command": sys.executable, "args": ["-c", SERVER, str(first.port), json.dumps(SAYS)]}
    (home / "servers.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    for name, arguments in (
        ("fanout run, no servers", ("run", "hi", "--no-mcp", *model)),
        ("fanout run, a server on", ("run", "hi", "--mcp", "calculator", *model)),
        ("fanout batch, no servers", ("batch", "items.txt", "-o", "-", "--no-mcp", *model)),
        ("fanout batch, a server on", ("batch", "items.txt", "-o", "-", "--mcp", "calculator", *model)),
        ("fanout call", ("call", "--mcp-config", "servers.json", "s.do", "{}")),
    ):
        _print(name, [first.measure(arguments, home) for _ in range(runs)])


def _print(name: str, measured: list[tuple[float, float]]) -> None:
    wall, spent = zip(*measured, strict=True)
    figures = f"median {median(wall):.2f} s, CPU {min(spent):.2f} s"
    row(f"first byte: {name}", f"{min(wall):.2f} s", figures)


if __name__ == "__main__":
    main()
