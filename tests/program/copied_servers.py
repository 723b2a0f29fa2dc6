"""The servers that come along begin as copies too: a start costs a third of what it costs anew.

Each is a process of its own under a keeper of its own, with its own pipes, environment and folder. A copy of the
program (prefork.py) starts them as copies of itself. The tests that run the program within their own process have them
from one that has imported nothing else (`Servers`), and they are the children of the tests then.

What `/proc` tells of such a server, its words and its environment, is that of the process that was copied. A server
that isn't one of ours, or is asked for otherwise than by `python -m`, starts as it always does.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import io
import json
import logging
import os
import runpy
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from console_app.mcp_client.transport import server_keeper

ROOT = Path(__file__).parents[2]
KEEPER = [sys.executable, "-I", "-S", server_keeper.__file__]
SERVERS = tuple(
    f"console_app.servers.{name}"
    for name in ("calculator", "csv_reporter", "demo", "files", "order_database", "pptx_generator", "shell", "web")
)
_READ_AT_THE_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_")
_SAFE = {"PYTHONPATH", "PYTHONSAFEPATH"}
_UTF_8 = "C.UTF-8"  # what Python takes for the language of a machine that has none
_STREAMS: list[io.TextIOWrapper] = []  # those of before: what one has yet to write isn't for this process
_NUMBER = struct.Struct("!i")


def import_all() -> None:
    """Imports what a server imports, before the first copy."""
    for name in SERVERS:
        importlib.import_module(name)


def be_given(words: list[str], folder: str, environment: Mapping[str, str]) -> None:
    """Gives this process its words, folder and environment, and objects for its streams."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        _STREAMS.append(old := getattr(sys, f"__{name}__"))
        raw = open(number, "rb" if number == 0 else "wb", closefd=False)  # noqa: SIM115  # open to the end
        lines = number == 2 or raw.isatty()
        new = io.TextIOWrapper(raw, encoding=old.encoding, errors=old.errors, line_buffering=lines)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    sys.argv = words


def is_at_its_end() -> bool:
    """Does what the interpreter does at its end, but takes no module apart: of memory that a copy shares with the
    program that is copied, this costs 0.1 s. Where it can't write what is left, it has the interpreter say so."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True


@contextmanager
def copied_servers(begin: Callable[[Sequence[Any]], int] | None = None) -> Iterator[None]:
    """Meanwhile servers start as copies: of this process, or of what `begin` copies."""
    start, own = subprocess._fork_exec, dict(os.environ)  # type: ignore[attr-defined]

    def fork_exec(*given: Any) -> int:
        return (begin or _forked)(given) if _is_kept(given, own) else start(*given)

    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess._fork_exec = start  # type: ignore[attr-defined]


def _forked(given: Sequence[Any]) -> int:
    if (pid := os.fork()) == 0:
        _run(lambda: _keep(*_wanted(given), _streams(given)))
    return pid


def _keep(words: list[str], folder: str, environment: dict[str, str], streams: Sequence[int]) -> None:
    """Run in the process that becomes a keeper."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    _close_all_but({0, 1, 2, int(words[1]), int(words[2])})
    os.setsid()
    _is_new()
    be_given(words, folder, environment)
    execute = os.execvp

    def start_server(_: str, words: list[str]) -> None:
        os.execvp = execute
        _run(lambda: _serve(words))

    os.execvp = start_server  # type: ignore[assignment]
    server_keeper.main()


def _serve(words: list[str]) -> None:
    """Run in the keeper's child."""
    _close_all_but({0, 1, 2})
    environment = dict(os.environ)
    if not environment.keys() & {"LC_ALL", "LC_CTYPE", "LANG"}:
        environment["LC_CTYPE"] = _UTF_8
    _is_new()
    be_given(words[2:], str(Path.cwd()), environment)
    if "PYTHONSAFEPATH" not in environment:
        sys.path.insert(0, str(Path.cwd()))
    del sys.modules[words[2]]
    runpy.run_module(words[2], run_name="__main__", alter_sys=True)


def _run(work: Callable[[], None]) -> None:
    """Does what a new process does, to its end."""
    code = 1
    try:
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        is_at_its_end()
        os._exit(code)


def _is_kept(given: Sequence[Any], own: Mapping[str, str]) -> bool:
    """Tell whether `subprocess` is to start the keeper of one of our servers, and no other Python would run it."""
    called = [os.fsdecode(word) for word in given[0]]
    if called[: len(KEEPER)] != KEEPER or called[8:9] != ["-m"] or called[9] not in SERVERS:
        return False
    _, folder, environment = _wanted(given)
    read = {name for name in environment.keys() - _SAFE if name.startswith(_READ_AT_THE_START)}
    if any(environment[name] != own.get(name) for name in read):
        return False
    runs = shutil.which(called[7], path=environment.get("PATH")) == sys.executable
    return runs and Path(folder).is_dir() and min(_streams(given)) > 2


def _wanted(given: Sequence[Any]) -> tuple[list[str], str, dict[str, str]]:
    """Return the words, the folder and the environment of what `subprocess` starts."""
    words, folder = [os.fsdecode(word) for word in given[0]], os.fsdecode(given[4] or Path.cwd())
    return words[3:], folder, dict(os.fsdecode(one).split("=", 1) for one in given[5] or ())


def _streams(given: Sequence[Any]) -> list[int]:
    return [given[6], given[9], given[11]]


def _close_all_but(kept: set[int]) -> None:
    for one in map(int, os.listdir("/proc/self/fd")):
        if one not in kept:
            with contextlib.suppress(OSError):  # the one that read the folder
                os.close(one)


def _is_new() -> None:
    """Makes this process what Python is at its start: a copy has what the program has set."""
    gc.freeze()
    atexit._clear()
    asyncio._set_running_loop(None)
    logging.root.handlers.clear()
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Servers:
    """The process that is copied for the servers of tests which run the program within their own."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._control, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                env={**os.environ, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def begin(self, given: Sequence[Any]) -> int:
        """Makes a keeper, which becomes a child of this process once what made it has ended."""
        words, folder, environment = _wanted(given)
        asked = json.dumps([words, folder, environment]).encode()
        with self._one_at_a_time, _adopting():
            descriptors = [*_streams(given), int(words[1]), int(words[2])]
            socket.send_fds(self._control, [_NUMBER.pack(len(asked))], descriptors)
            self._control.sendall(asked)
            return _NUMBER.unpack(self._control.recv(_NUMBER.size, socket.MSG_WAITALL))[0]

    def close(self) -> None:
        """Ends it; servers that still run go on."""
        self._control.close()
        self._process.wait()


@functools.cache
def servers() -> Servers:
    """Return the process that this one copies servers from; it starts when it is first asked for."""
    made = Servers()
    atexit.register(made.close)
    return made


@contextmanager
def _adopting() -> Iterator[None]:
    """Meanwhile a process whose parent ends is adopted by this one, if it descends from it."""
    prctl = ctypes.CDLL(None).prctl
    prctl(server_keeper.SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(server_keeper.SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    import_all()
    gc.collect()
    gc.freeze()
    while True:
        head, descriptors, _, _ = socket.recv_fds(control, _NUMBER.size, 5)
        if not head:
            return
        words, folder, environment = json.loads(control.recv(_NUMBER.unpack(head)[0], socket.MSG_WAITALL))
        told, tells = os.pipe()
        if (between := os.fork()) == 0:
            if pid := os.fork():
                os.write(tells, _NUMBER.pack(pid))
                os._exit(0)
            *streams, kept, failure = descriptors
            words[1:3] = str(kept), str(failure)
            _run(functools.partial(_keep, words, folder, environment, streams))
        os.waitpid(between, 0)  # from here on it is a child of who asked
        control.sendall(os.read(told, _NUMBER.size))
        for one in (*descriptors, told, tells):
            os.close(one)


if __name__ == "__main__":
    _main()
