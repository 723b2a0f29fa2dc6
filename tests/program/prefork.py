"""Programs that begin as copies of one that has imported everything: a start costs a fifth of what it costs anew.

Each is a process of its own, with its own arguments, environment, folder and streams, and ends as any other. What the
interpreter reads for itself at its start can't be given to a copy: `fits` says so. How the program starts, and what it
imports, is tested without this.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import re
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console_app.domain.tools import Frozen
from console_app.providers.offline.planner import RULES
from console_app.providers.offline.rule import Wording
from console_app.textcalls.provenance.given import letters
from tests.program import copied_servers

IMPORTED = (
    *("console_app.command_line", "console_app.commands.dispatch", "console_app.wiring"),
    *("console_app.headless.run", "console_app.mcp_client.hub", "console_app.mcp_client.connecting.session"),
    *("console_app.sessions", "console_app.providers.offline.answer", "console_app.commands.console"),
    *("console_app.tui.app", "console_app.tui.main_screen.screen", "openai", "anthropic"),
    "anyio._backends._asyncio",
    *("console_app.commands.acp", "console_app.acp_agent.agent", "console_app.acp_agent.session"),
)
_READ_AT_THE_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_")
_NUMBER = struct.Struct("!i")


def _at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_THE_START)}


class Prefork:
    """The program that is copied, from its first use to the end of the process that uses it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._given = _at_the_start(environment)
        self._one_at_a_time = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__)), str(theirs.fileno())],
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Tell whether a copy is as good as a start of its own."""
        return _at_the_start(environment) == self._given

    def begin(self, wanted: _Wanted, streams: Sequence[int]) -> tuple[int, int]:
        """Makes a copy: its id, and a pipe in which its status will stand when it has ended."""
        reading, writing = os.pipe()
        asked = json.dumps(vars(wanted)).encode()
        with self._one_at_a_time:
            socket.send_fds(self._control, [_NUMBER.pack(len(asked))], [*streams, writing])
            self._control.sendall(asked)
        os.close(writing)
        if not (pid := os.read(reading, _NUMBER.size)):
            raise RuntimeError("the program that is copied has ended")
        return _NUMBER.unpack(pid)[0], reading

    def close(self) -> None:
        """Ends it; copies that still run go on."""
        self._control.close()
        self._process.wait()


@dataclass(frozen=True)
class _Wanted:
    """The order for a copy."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    session: bool  # a session of its own
    controlling: bool  # its standard input is the terminal of that
    code: str = ""  # Python in place of `fanout`


class Copy(subprocess.Popen[bytes]):
    """A copy, as `subprocess` knows a program. Its parent is the program that was copied, which tells how it ended, and
    lets go of its id when that was read."""

    def __init__(
        self,
        copied: Prefork,
        arguments: Sequence[str],
        *,
        cwd: Path | None,
        env: Mapping[str, str],
        session: bool = False,
        controlling: bool = False,
        code: str = "",
        **streams: Any,
    ) -> None:
        self._copied = copied
        self._wanted = _Wanted(list(arguments), str(cwd or Path.cwd()), dict(env), session, controlling, code)
        self._reading = threading.Lock()
        super().__init__(["fanout", *arguments], **streams)

    @staticmethod
    def words(argv: Sequence[str]) -> dict[str, Any] | None:
        """Return the order for a copy with such a command line; nothing where a copy can't be that."""
        match list(argv):
            case [sys.executable, "-P", "-m", "console_app", *arguments]:
                return {"arguments": arguments}
            case [sys.executable, "-P", "-c", code, *arguments]:
                return {"arguments": arguments, "code": code}
            case _:
                return None

    def _execute_child(self, *given: Any) -> None:
        pipes = given[10:16]  # behind the arguments, each for the child and for us: input, output, errors
        inherited = zip((pipes[0], pipes[3], pipes[5]), range(3), strict=True)
        streams = [own if pipe == -1 else pipe for pipe, own in inherited]
        self.pid, self._status = self._copied.begin(self._wanted, streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *_: Any, **_more: Any) -> int | None:
        with self._reading:
            if self.returncode is None and select.select([self._status], [], [], 0)[0]:
                (self.returncode,) = _NUMBER.unpack(os.read(self._status, _NUMBER.size))
                os.close(self._status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end."""
        if self.returncode is None:
            with contextlib.suppress(OSError, ValueError):  # another thread has read it meanwhile
                select.select([self._status], [], [], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code


def _serve(control: socket.socket) -> tuple[_Wanted, list[int]] | None:
    """In the program that is copied: nothing, at its end. In each copy: what it is to be, with its streams."""
    running: dict[int, tuple[int, int]] = {}  # by the descriptor of a process: its id, and where its status goes
    ended: dict[int, int] = {}  # ids by where the status went: the system keeps a process until that was read
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in running:
                pid, told = running.pop(ready)
                over = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                _tell(told, over.si_status if over.si_code == os.CLD_EXITED else -over.si_status)
                ended[told] = pid
                poll.unregister(ready)
                poll.register(told, 0)  # an error, once nobody reads there
                os.close(ready)
                continue
            if ready in ended:
                os.waitpid(ended.pop(ready), 0)
                poll.unregister(ready)
                os.close(ready)
                continue
            head, descriptors, _, _ = socket.recv_fds(control, _NUMBER.size, 4)
            if not head:
                return None
            wanted = _Wanted(**json.loads(control.recv(_NUMBER.unpack(head)[0], socket.MSG_WAITALL)))
            *streams, told = descriptors
            if (pid := os.fork()) == 0:
                control.close()
                for one in (told, *running, *(where for _, where in running.values()), *ended):
                    os.close(one)
                return wanted, streams
            running[process := os.pidfd_open(pid)] = (pid, told)
            poll.register(process, select.POLLIN)
            _tell(told, pid)
            for one in streams:
                os.close(one)


def _tell(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody wants to know any more
        os.write(pipe, _NUMBER.pack(number))


def _become(wanted: _Wanted, streams: list[int]) -> None:
    """Makes a copy what a new process would be."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if wanted.session:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if wanted.controlling:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    copied_servers.be_given(["-c" if wanted.code else "fanout", *wanted.arguments], wanted.folder, wanted.environment)


def _is_warm() -> None:
    """Makes what a program makes when it is first used, and what is the same in each: models, patterns and tables."""
    below = [Frozen]
    for model in below:  # grows while it is gone through
        model.model_rebuild()
        below += model.__subclasses__()
    for reader in (reader for rule in RULES for reader in rule.readers):
        if isinstance(wording := getattr(reader, "__self__", None), Wording):
            re.compile(wording.pattern, re.IGNORECASE)
    letters("é")


def _main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in IMPORTED:
        importlib.import_module(name)
    copied_servers.import_all()
    _is_warm()
    gc.collect()
    gc.freeze()  # copies look for no garbage among what was imported
    if (asked := _serve(control)) is not None:
        _become(*asked)
        try:
            with copied_servers.copied_servers():
                if code := asked[0].code:
                    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
                else:
                    runpy.run_module("console_app", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            if isinstance(end.code, int | None) and copied_servers.is_at_its_end():
                os._exit(end.code or 0)
            raise


if __name__ == "__main__":
    _main()
