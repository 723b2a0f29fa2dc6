"""A client small enough to see every byte: one request at a time to a bundled server, over its pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


class StdioClient:
    """Runs `python -m module`; use it as a context manager."""

    def __init__(
        self, module: str, *, command: str = sys.executable, env: Mapping[str, str] | None = None, cwd: Path = ROOT
    ) -> None:
        self._process = subprocess.Popen(
            [command, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=cwd,
            env=dict(os.environ if env is None else env),
        )
        self._next = self._ends_with = 0
        self.notified: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert self.request("initialize", **params)["protocolVersion"] == "2025-06-18"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == self._ends_with
        self._process.stdout.close()

    def kill(self) -> None:
        """End the server as `kill -9` does."""
        self._process.kill()
        self._ends_with = -signal.SIGKILL

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def send(self, method: str, **params: Any) -> int:
        self._next += 1
        self.write(
            json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}).encode() + b"\n"
        )
        return self._next

    def answer(self, identifier: int) -> dict[str, Any]:
        """The answer to a request; notifications before it are kept in `notified`."""
        while "id" not in (message := self.read()):
            self.notified.append(message)
        assert message["id"] == identifier
        return message

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.send(method, **params))["result"]

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.send(method, **params))["error"]

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """Text of the result and whether it is an error."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        return result["content"][0]["text"], result["isError"]
