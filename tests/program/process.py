"""The real `fanout` as a process of its own, with a home, a working folder and no key from outside."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.patience import PATIENCE
from tests.program.prefork import Copy, Prefork

ROOT = Path(__file__).parents[2]
_OURS = ("FANOUT_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "COVERAGE_")


@dataclass(frozen=True)
class Done:
    """What came of a run."""

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
    """Those of this process whose command line has `words`; one that is ending just now has none any more."""

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
