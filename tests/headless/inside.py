"""`fanout` run inside the test's own process: the same code as the program, with the SDKs imported once for all tests.

What the process itself must do (signals, exit, what is imported) is tested in tests/program.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from console_app import cli
from tests.program.copied_servers import copied_servers, servers
from tests.program.process import Done


class Inside:
    """Runs command lines with a home and a working folder of their own; standard input is a file."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.home, self.cwd = root / "home", root / "work"
        self.cwd.mkdir()
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def run(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
        """Runs one command line to its end."""
        with self._monkeypatch.context() as patch:
            patch.chdir(self.cwd)
            return self.run_here(*arguments, stdin=stdin, env=env)

    def run_here(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
        """The same in the working folder of the test."""
        self._capfd.readouterr()
        with self._monkeypatch.context() as patch, _stdin(stdin):
            for name in os.environ:
                if name.startswith(("FANOUT_", "OPENAI_", "ANTHROPIC_", "OLLAMA_")):
                    patch.delenv(name)
            for name, value in {"FANOUT_HOME": str(self.home), **(env or {})}.items():
                patch.setenv(name, value)
            try:
                code = cli.run(arguments)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
        captured = self._capfd.readouterr()
        return Done(code, captured.out, captured.err)

    def write(self, name: str, text: str) -> Path:
        """A file below the home (`home/...`) or the working folder."""
        path = self.home / name.removeprefix("home/") if name.startswith("home/") else self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def write_servers(self, name: str, **more: Mapping[str, object]) -> Path:
        """An mcp.json with the bundled servers and `more`."""
        bundled = json.loads((Path(__file__).parents[2] / "mcp.json").read_text())
        bundled["mcpServers"].update(more)
        return self.write(name, json.dumps(bundled))


@contextmanager
def _stdin(data: bytes) -> Iterator[None]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        before = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)


@contextmanager
def process_restored() -> Iterator[None]:
    """Puts back what a run changes in its process: log handlers, signal handlers, the garbage collector.

    What is frozen for all tests (tests/conftest.py) stays so, and a run freezes nothing beside it: what it leaves is
    looked through as ever. Servers start as copies meanwhile (tests/program/copied_servers.py).
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    ending = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            pytest.MonkeyPatch.context() as patch,
            copied_servers(servers().begin) if hasattr(os, "pidfd_open") else nullcontext(),
        ):
            patch.setattr(gc, "freeze", lambda: None)
            yield
    finally:
        for handler in root.handlers:
            if handler not in handlers:
                handler.close()
        root.handlers[:], root.level = handlers, level
        logging.captureWarnings(False)
        logging.raiseExceptions = True
        for number, handler in ending.items():
            signal.signal(number, handler)
        gc.enable()
