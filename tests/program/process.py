"""The real `fanout` as a process of its own, with a home, a working folder and no key from outside."""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from tests.patience import PATIENCE
from tests.program.prefork import Copy, Prefork

ROOT = Path(__file__).parents[2]
_OURS = ("FANOUT_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "COVERAGE_")


class Piped:
    """A program that is written to and read on the event loop."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
    ) -> None:
        self._process = process
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    async def wait(self) -> int:
        """Waits for its end, and gives its status."""
        return await asyncio.to_thread(self._process.wait)


@dataclass(frozen=True)
class Done:
    """The end of a run."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output read as stream-json."""
        return [json.loads(line) for line in self.out.splitlines()]


class Fanout:
    """Starts `fanout` in `root/work` with its home at `root/home`."""

    def __init__(self, root: Path) -> None:
        self.home, self.cwd = root / "home", root / "work"
        self.cwd.mkdir(parents=True, exist_ok=True)

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a run."""
        return _environment() | {"FANOUT_HOME": str(self.home), **(env or {})}

    def argv(self, *arguments: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-P", "-m", "console_app", *arguments]

    def start(
        self, *arguments: str, env: Mapping[str, str] | None = None, anew: bool = False, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts it, with pipes: a copy (prefork.py), or `anew` as a user starts it."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = self.environment(env)
        if not anew and options.keys() <= streams.keys() and (copied := copyable(environment)) is not None:
            return Copy(copied, arguments, cwd=self.cwd, env=environment, **{**streams, **options})
        return subprocess.Popen(self.argv(*arguments), cwd=self.cwd, env=environment, **{**streams, **options})

    @asynccontextmanager
    async def piped(self, *arguments: str, env: Mapping[str, str] | None = None) -> AsyncGenerator[Piped]:
        """Starts it with pipes for the event loop; it is killed where it outlives the block."""
        process = self.start(*arguments, env=env, stdin=subprocess.PIPE)
        loop, transports = asyncio.get_running_loop(), list[asyncio.BaseTransport]()
        readers = list[asyncio.StreamReader]()
        for pipe in (process.stdout, process.stderr):
            readers.append(reader := asyncio.StreamReader(limit=2**26))
            transports.append((await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe))[0])
        gone = asyncio.StreamReaderProtocol(asyncio.StreamReader())  # says when the other end is gone
        to_it, _ = await loop.connect_write_pipe(lambda: gone, process.stdin)
        try:
            yield Piped(process, asyncio.StreamWriter(to_it, gone, None, loop), *readers)
        finally:
            if process.poll() is None:
                process.kill()
                await asyncio.to_thread(process.wait)
            for transport in (to_it, *transports):
                transport.close()
            await asyncio.sleep(0)

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        **options: Any,
    ) -> Done:
        """Runs it to its end."""
        with self.start(*arguments, env=env, stdin=subprocess.PIPE, **options) as process:
            try:
                out, err = process.communicate(stdin, timeout)
            except BaseException:
                process.kill()
                raise
        return Done(process.returncode, out.decode(), err.decode())

    def write(self, name: str, text: str) -> Path:
        """A file below the home (`home/...`) or the working folder."""
        path = self.home / name.removeprefix("home/") if name.startswith("home/") else self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return kept | {"PYTHONPATH": path}


@functools.cache
def _prefork() -> Prefork:
    copied = Prefork(_environment())
    atexit.register(copied.close)
    return copied


def copyable(environment: Mapping[str, str]) -> Prefork | None:
    """The program to copy, where a copy is as good as a start of its own with this environment."""
    if not hasattr(os, "pidfd_open"):
        return None
    return copied if (copied := _prefork()).fits(environment) else None


def children(words: str) -> list[psutil.Process]:
    """Return the children of this process whose command line has `words`; one that is ending just now has none."""

    def is_meant(process: psutil.Process) -> bool:
        try:
            return words in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return list(filter(is_meant, psutil.Process().children()))


def types(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """The types of events, those that only show dropped."""
    return [
        event["type"] for event in events if not event["type"].endswith((".delta", ".arguments", ".progress", ".log"))
    ]
