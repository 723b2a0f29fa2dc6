"""The guard: a process that outlives the console only long enough to end the servers it left behind.

Run by path with `python -I -S`, so it starts in some 10 ms. Its stdin is a pipe that only the console holds: lines
`+PGID` and `-PGID` say which keepers of servers are alive, and its end that the console is gone. What outlives the
keepers gets SIGTERM and then SIGKILL, as does, where /proc shows it, whatever carries the marker that is given.
"""

import os
import sys
import time

TERM, KILL = 15, 9
KEEPERS_SECONDS = 2.0  # that the keepers may take
GRACE_SECONDS = 0.3


def marked(marker: bytes) -> list[int]:
    """Return the processes that were started with `marker` in their environment, without ourselves."""
    found: list[int] = []
    try:
        entries = os.listdir("/proc")
    except OSError:
        return found
    for entry in entries:
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if marker in file.read():
                    found.append(int(entry))
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def send(groups: set[int], processes: list[int], signal: int) -> bool:
    """Signal all of them; return whether any was still there."""
    alive = False
    for kill, targets in ((os.killpg, groups), (os.kill, processes)):
        for target in targets:
            try:
                kill(target, signal)
                alive = True
            except OSError:
                pass  # gone
    return alive


def main() -> None:
    """Wait for the end of stdin, then end what is left."""
    marker = sys.argv[1].encode()
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        try:
            number = int(line[1:])
        except ValueError:
            continue  # a line cut off by the console's death
        if line[:1] == b"+" and number > 1:
            groups.add(number)
        else:
            groups.discard(number)
    deadline = time.monotonic() + KEEPERS_SECONDS
    while time.monotonic() < deadline and send(groups, [], 0):
        time.sleep(0.02)
    if send(groups, marked(marker), TERM):
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and send(groups, marked(marker), 0):
            time.sleep(0.02)
        send(groups, marked(marker), KILL)


if __name__ == "__main__":
    main()
