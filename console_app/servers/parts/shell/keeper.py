"""Starts commands and ends all that they leave behind, whatever session or group it has given itself.

The server forks the starter before it has threads; a fork of that costs 2 ms, a Python of its own 20. Each command gets
a keeper that its orphans are given to (Linux: PR_SET_CHILD_SUBREAPER). A keeper ends everything when its command has
ended, and when its control pipe says so or closes: the server's own end closes it, however that ends.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from console_app.servers.parts.shell import kernel_sandbox

GRACE: Final = 1.0  # seconds between SIGTERM and SIGKILL
_MOST_ROUNDS: Final = 2000  # of killing: a command that forks faster than it is killed must not hold its keeper
_CHILD_SUBREAPER: Final = 36  # prctl
_LIBC: Final = ctypes.CDLL(None)
_LONGEST: Final = 1 << 20  # bytes of a request
_BEGUN: Final = 3  # the descriptor on which bubblewrap says how the command ended that it began


@dataclass(frozen=True, slots=True)
class Start:
    """A command to start. `write` and `read` are what Landlock lets it write and read; None leaves it free.

    With `no_sockets` bubblewrap lets it make none that lead to services of this machine.
    """

    argv: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    write: Sequence[str] | None = None
    read: Sequence[str] | None = None
    network: bool = True
    no_sockets: bool = False


class Starter:
    """The process that starts commands. Create it before the first thread."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            _serve(theirs)
        theirs.close()
        self._socket = ours

    def start(self, start: Start, output: int, errors: int) -> tuple[int, int]:
        """Start a command that writes to these descriptors. Return the keeper's status and control.

        The first gives its exit code as all of it ended, and ` not begun` behind it where bubblewrap failed before.
        A byte written to the second, or its close, ends it.
        """
        status, tell = os.pipe()
        told, control = os.pipe()
        data = json.dumps(asdict(start)).encode()
        try:
            if len(data) > _LONGEST:
                raise OSError("the command is too long")
            socket.send_fds(self._socket, [len(data).to_bytes(4, "big")], [output, errors, tell, told])
            self._socket.sendall(data)
        except OSError:
            os.close(status)
            os.close(control)
            raise
        finally:
            os.close(tell)
            os.close(told)
        return status, control


def _serve(requests: socket.socket) -> None:
    """Start what is asked for until the server is gone."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are nobody's to wait for
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        gc.freeze()  # memory that no collection touches is shared with every fork
        gc.disable()
        while True:
            size, descriptors, _, _ = socket.recv_fds(requests, 4, 4)
            if not size:
                os._exit(0)
            length, data = int.from_bytes(size, "big"), b""
            while len(data) < length and (more := requests.recv(length - len(data))):
                data += more
            if os.fork() == 0:
                requests.close()
                _keep(json.loads(data), *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
    except BaseException as error:  # a traceback of a copy of the server would be taken for its own
        os.write(2, f"the starter of commands ended: {error!r}\n".encode())
    finally:
        os._exit(1)


def _keep(start: dict[str, Any], output: int, errors: int, tell: int, told: int) -> None:
    """Run one command and end all of it. Never returns."""
    code, state = 127, ""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if sys.platform == "linux":
            _LIBC.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # it only wakes
        begun, says = os.pipe()
        command = os.fork()
        if command == 0:
            _become(start, output, errors, says)
        for descriptor in (output, errors, says):
            os.close(descriptor)
        code = _wait(command, woken, told)
        if code == 1 and _in_bwrap(start) and b"exit-code" not in os.read(begun, 4096):
            state = " not begun"
    finally:
        with suppress(OSError):
            os.write(tell, f"{code}{state}\n".encode())
        os._exit(0)


def _wait(command: int, woken: int, told: int) -> int:
    """Wait for the command's end, or for the word to end it. Return its exit code, 128 and the signal that ended it."""
    code: int | None = None
    deadline: float | None = None  # of the grace
    while code is None:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([woken, *([told] if deadline is None else [])], [], [], left)
        if woken in ready:
            os.read(woken, 4096)
        code = _reap(command)
        if told in ready and code is None:
            deadline = time.monotonic() + GRACE
            for process in _descendants():
                if not _is_bwrap(process):  # its end is a SIGKILL to all that is in it
                    _signal(process, signal.SIGTERM)
        elif deadline is not None and time.monotonic() >= deadline:
            break
    killed: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        for process in [] if sys.platform == "linux" else [-command]:
            _signal(process, signal.SIGKILL)
        there = set(_descendants())
        if code is not None and there <= killed and all(map(_is_ending, there)):
            break  # the kernel takes 20 ms to clear a sandbox away, in which nothing of it runs
        for process in there:
            _signal(process, signal.SIGKILL)
        killed |= there
        try:
            process, status = os.waitpid(-1, os.WNOHANG if code is not None else 0)
        except ChildProcessError:
            break
        if process == command:
            code = os.waitstatus_to_exitcode(status)
        elif not process:
            time.sleep(0.0005)
    code = 137 if code is None else code
    return 128 - code if code < 0 else code


def _is_ending(process: int) -> bool:
    """Tell whether a process has given up its memory, so that it runs nothing any more."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return file.read().split()[:1] == ["0"]
    except OSError:
        return True


def _reap(command: int) -> int | None:
    """Wait for all that has ended. Return the command's code if it is among them."""
    code: int | None = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == command:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def _descendants() -> list[int]:
    """Return all processes below this one (Linux; elsewhere none are known)."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        above = waiting.pop()
        try:
            tasks = os.listdir(f"/proc/{above}/task")
        except OSError:
            continue
        for task in tasks:
            with suppress(OSError), open(f"/proc/{above}/task/{task}/children", encoding="ascii") as file:
                below = [int(word) for word in file.read().split()]
                found += below
                waiting += below
    return found


def _is_bwrap(process: int) -> bool:
    with suppress(OSError), open(f"/proc/{process}/comm", encoding="utf-8") as file:
        return file.read().strip() == "bwrap"
    return False


def _signal(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(-process, number) if process < 0 else os.kill(process, number)


def _in_bwrap(start: dict[str, Any]) -> bool:
    return os.path.basename(start["argv"][0]) == "bwrap"


def _become(start: dict[str, Any], output: int, errors: int, says: int) -> None:
    """Become the command. Never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.dup2(says, _BEGUN)
        os.set_inheritable(_BEGUN, _in_bwrap(start))
        os.closerange(_BEGUN + 1, 256)
        os.chdir(start["folder"])
        argv = start["argv"]
        families = kernel_sandbox.INTERNET if start["no_sockets"] else kernel_sandbox.ALL_FAMILIES
        if start["write"] is not None:
            kernel_sandbox.restrict(start["write"], start["read"], network=start["network"])
        elif _in_bwrap(start):
            program = kernel_sandbox.socket_filter(families)
            read, write = os.pipe()
            os.write(write, program)
            os.close(write)
            os.set_inheritable(read, True)
            argv[1:1] = ["--json-status-fd", str(_BEGUN), *(["--seccomp", str(read)] if program else [])]
            if start["network"]:
                kernel_sandbox.keep_apart()
        os.execvpe(argv[0], argv, start["environment"])
    except BaseException as error:
        os.write(2, f"the command can't be started: {error}\n".encode())
    finally:
        os._exit(127)
