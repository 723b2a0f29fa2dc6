"""The keeper of one server: starts it, adopts what its processes leave behind, and ends all of them with it.

A process for each server, run by path with `python -I -S`, so that it starts in some 20 ms and imports nothing of ours.
On Linux it is the subreaper of the server: a descendant whose parents have died becomes its child, whatever session,
group or environment it has given itself. Elsewhere the server's process group is what it knows. It ends the rest when
the server has ended, and everything when its control pipe is closed, which happens however the console dies.

    server_keeper.py CONTROL FAILURE LC_CTYPE COMMAND [ARGUMENT ...]

CONTROL is the descriptor to watch, FAILURE one that takes the number of the error when COMMAND can't be run, LC_CTYPE
says whether that variable was given or is Python's own. It exits as the server did, by the same signal or code.
"""

import contextlib
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable

SET_CHILD_SUBREAPER, SET_PARENT_DEATH_SIGNAL = 36, 1  # of Linux's prctl
GRACE_SECONDS = 0.4  # from SIGTERM to SIGKILL
LONGEST_SECONDS = 1.2  # from SIGTERM until what can't be ended is left to itself
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def _prctl() -> Callable[[int, int], None]:
    try:
        import ctypes

        call = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda option, value: None  # not Linux
    return lambda option, value: call(option, value, 0, 0, 0)


def start(prctl: Callable[[int, int], None], control: int, failure: int, command: list[str]) -> int:
    """Start the server in a session of its own; its pid."""
    pid = os.fork()
    if pid:
        os.close(failure)
        return pid
    try:
        os.setsid()
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        os.close(control)
        os.set_inheritable(failure, False)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(failure, str(error.errno).encode())
    finally:
        os._exit(127)


def descendants() -> list[int]:
    """Return all processes below this one, as far as /proc shows them."""
    children: dict[int, list[int]] = {}
    try:
        entries = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    except OSError:
        return []
    for entry in entries:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(entry))
    found = [os.getpid()]
    for pid in found:  # grows while it is gone through
        found += children.get(pid, [])
    return found[1:]


def send(server: int, number: int) -> bool:
    """Signal all that is left; return whether there was anything."""
    found = False
    with contextlib.suppress(OSError):
        os.killpg(server, number)
        found = sys.platform != "linux"  # there /proc says it, and doesn't count the dead
    for pid in descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, number)
            found = True
    return found


class Keeper:
    """The server and those below it."""

    def __init__(self, server: int) -> None:
        self._server = server
        self.status: int | None = None  # of the server, once it has ended

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._server:
                    self.status = ended[1]

    def end(self) -> None:
        """End what is left: SIGTERM, and after a moment SIGKILL until nothing is there."""
        began = time.monotonic()
        left = send(self._server, signal.SIGTERM)
        while left and (passed := time.monotonic() - began) < LONGEST_SECONDS:
            time.sleep(0.01)
            self.reap()
            left = send(self._server, signal.SIGKILL if passed > GRACE_SECONDS else 0)
        self.reap()


def main() -> None:
    control, failure = int(sys.argv[1]), int(sys.argv[2])
    if sys.argv[3] == "0":
        os.environ.pop("LC_CTYPE", None)
    prctl = _prctl()
    prctl(SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    server = start(prctl, control, failure, sys.argv[4:])
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the server's own: it alone holds them, so that their end is seen
        os.dup2(nothing, descriptor)
    keeper = Keeper(server)
    while keeper.status is None:
        ready = select.select([control, woken], [], [])[0]
        if control in ready:
            break
        os.read(woken, 4096)
        keeper.reap()
    keeper.end()
    status = keeper.status or 0
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.set_wakeup_fd(-1)
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler to set
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    main()
