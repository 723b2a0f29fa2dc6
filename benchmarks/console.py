"""A console in a real pseudo-terminal, timed from outside: when bytes reach the terminal, what the process spends."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

SERVERS = ("--mcp", "calculator", "--mcp", "demo")  # with a model, `demo` is off where nothing is said
# Letters that no screen shows by itself: one is typed, and timed until its bytes are written.
PROBES = [chr(c) for c in range(0x410, 0x450)]
QUERIES = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[0c": b"\x1b[?62;22c"}


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Of a benchmark's words and options; its help is what the module says of itself."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


class Endpoint:
    """The local endpoint of benchmarks.provider, in a process of its own."""

    def __enter__(self) -> Endpoint:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.provider"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(5)

    def events(self) -> list[dict[str, Any]]:
        """What happened since the last time this was asked: `{"event", "at"}`."""
        with urllib.request.urlopen(self.url + "/times") as answer:
            return json.load(answer)


class Console:
    """A program in a 120 x 40 terminal whose output is kept with the time of every piece."""

    def __init__(self, argv: Sequence[str], env: dict[str, str]) -> None:
        self.pieces: list[tuple[float, bytes]] = []
        self._master, slave = pty.openpty()
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        # The terminal's own echo would answer the first key before the program does.
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            list(argv),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._ps = psutil.Process(self.process.pid)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        os.close(self._master)

    def _read(self) -> None:
        while True:
            try:
                select.select([self._master], [], [])
                data = os.read(self._master, 1 << 16)
            except (OSError, ValueError):
                return
            self.pieces.append((time.monotonic(), data))
            for query, answer in QUERIES.items():
                if query in data:
                    os.write(self._master, answer)

    def type(self, text: str) -> None:
        """Writes text as if typed."""
        os.write(self._master, text.encode())

    def seen(self, text: str, timeout: float = 60.0, since: int = 0) -> float:
        """When `text` was written to the terminal, in monotonic seconds; `since` is a count of pieces to pass over."""
        want, index, tail, end = text.encode(), since, b"", time.monotonic() + timeout
        while time.monotonic() < end:
            while index < len(self.pieces):
                at, data = self.pieces[index]
                index += 1
                if want in tail + data:
                    return at
                tail = (tail + data)[-len(want) :]
            if self.process.poll() is not None:
                break
            time.sleep(0.001)
        shown = b"".join(data for _, data in self.pieces)[-2000:]
        raise TimeoutError(f"not seen in {timeout:g} s: {text!r}; the end of the output: {shown!r}")

    def echo(self, probe: str) -> float:
        """Types one letter and gives the seconds until it is written."""
        since, start = len(self.pieces), time.monotonic()
        self.type(probe)
        return self.seen(probe, since=since) - start

    def first_echo(self) -> float:
        """Types letters until one is written; the time of that. What is typed before the program reads may be lost."""
        typed: list[bytes] = []
        index, end = 0, time.monotonic() + 30
        while time.monotonic() < end:
            typed.append(PROBES[len(typed) % len(PROBES)].encode())
            os.write(self._master, typed[-1])
            again = time.monotonic() + 0.01
            while time.monotonic() < again:
                for at, data in self.pieces[index:]:
                    index += 1
                    if any(probe in data for probe in typed):
                        return at
                time.sleep(0.001)
        raise TimeoutError("no key was answered")

    def cpu(self) -> float:
        """Processor seconds of the console's own process so far."""
        times = self._ps.cpu_times()
        return times.user + times.system

    def memory(self) -> float:
        """Its resident megabytes."""
        return self._ps.memory_info().rss / 1e6


def fanout_env(home: Path, url: str) -> dict[str, str]:
    """An environment with nothing in it but what the console needs."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "FANOUT_HOME": str(home),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": url + "/v1",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": url,
    }


def fanout(url: str, model: str, *arguments: str, more: Mapping[str, str] | None = None) -> Console:
    """The console on a model of the local endpoint; ready when this returns."""
    home = Path(tempfile.mkdtemp(prefix="fanout-bench-"))
    argv = [sys.executable, "-m", "console_app", "-m", model, "--approval-mode", "yolo", *SERVERS, *arguments]
    console = Console(argv, {**fanout_env(home, url), **(more or {})})
    console.seen("sk, or / for commands", 30)  # the cursor stands on the first letter, in a style of its own
    return console


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def row(what: str, *cells: Any) -> None:
    """Prints a line of the table at once, so that a long run can be watched."""
    print(f"{what:<58}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
