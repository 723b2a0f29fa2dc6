"""Sees to it that no server outlives the console, not even one killed by SIGKILL: our end of the guard process."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import subprocess
import sys
from pathlib import Path

log = logging.getLogger(__name__)

MARKER = "FANOUT_SERVER_OF"  # in the environment of every server, so that its descendants can be found
_PROGRAM = Path(__file__).with_name("guard_process.py")
_CLOSE_SECONDS = 1.5


class Guard:
    """Holds the pipe whose end tells the guard process that the console is gone. Started with the first server."""

    def __init__(self) -> None:
        self._token = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()
        self.hurried = False  # servers get hardly any time to leave by themselves

    @property
    def environment(self) -> dict[str, str]:
        """What a server's environment needs so that its descendants are found."""
        return {MARKER: self._token}

    def start(self) -> None:
        """Starts the guard process, again if it died. Without one, servers still end with an orderly close."""
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-I", "-S", str(_PROGRAM), f"{MARKER}={self._token}"]
        try:
            # A session of its own: neither Ctrl+C nor the end of the terminal may reach it before its work is done.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except OSError as error:
            log.warning("no guard for the servers' processes: %s", error)
            return
        for group in self._groups:
            self._write(f"+{group}")

    def watch(self, group: int) -> None:
        """A server's process group is alive."""
        self._groups.add(group)
        self._write(f"+{group}")

    def forget(self, group: int) -> None:
        """A server's process group is gone."""
        self._groups.discard(group)
        self._write(f"-{group}")

    def _write(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())
        except OSError as error:
            log.warning("the guard process is gone: %s", error)

    async def close(self) -> None:
        """Lets the guard end what is left of all servers, and waits for it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, _CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("the guard process %d is still at work", process.pid)
