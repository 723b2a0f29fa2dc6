"""Landlock and seccomp by the system calls themselves: a process gives up rights, for itself and all that it starts.

The numbers are those of linux/landlock.h, linux/seccomp.h and linux/bpf_common.h. Writing is confined to folders. A
socket can be made of no family (but pairs of connected ones can): without a network that is what keeps the network
away, and with one still keeps away the services of this machine that listen on paths. Left free are modes and times
of files outside, which Landlock doesn't know.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Sequence
from typing import Final

OLDEST: Final = 3  # Landlock's version: before it, files outside could be cut to nothing
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same everywhere
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_WRITE_FILE, _MAKE_AND_REMOVE, _REFER, _TRUNCATE = 1 << 1, 0b1_1111_1111 << 4, 1 << 13, 1 << 14
_TCP: Final = 0b11  # bind and connect, from version 4
_SCOPES: Final = 0b11  # abstract sockets and signals, from version 6
_MACHINES: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}  # audit's name, number of socket()
_URING_SETUP: Final = 425  # its rings make sockets that no filter sees
_UNIX: Final = 1
_REFUSE: Final = 0x00050001  # with EPERM
_ALLOW: Final = 0x7FFF0000
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/ptmx")
_SHARED_MEMORY: Final = "/dev/shm"  # locks between processes are made there


def version() -> int:
    """Return the version of Landlock here; 0 where it can't be used, or not together with a filter."""
    if platform.system() != "Linux" or platform.machine() not in _MACHINES:
        return 0
    found = ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, 1)
    return found if found >= OLDEST else 0


def restrict(write: Sequence[str], *, network: bool) -> None:
    """Let this process write only below these folders. Raises OSError where it can't be had: then nothing may run."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not (known := version()):
        raise OSError("Landlock is not to be had")
    files = _WRITE_FILE | _TRUNCATE
    folders = files | _MAKE_AND_REMOVE | _REFER
    attributes = struct.pack("=QQQ", folders, 0 if network else _TCP, _SCOPES)[
        : 8 if known < 4 else 16 if known < 6 else 24
    ]
    ruleset = _checked(libc.syscall(_CREATE, attributes, len(attributes), 0))
    for path in (*write, _SHARED_MEMORY, *_DEVICES):
        if not os.path.exists(path):
            continue
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", folders if os.path.isdir(path) else files, descriptor)
        _checked(libc.syscall(_ADD, ruleset, 1, rule, 0))
        os.close(descriptor)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    program = _filter(network=network)
    code = ctypes.create_string_buffer(program)
    pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked(libc.prctl(_SET_SECCOMP, _FILTER, pointer, 0, 0))


def _filter(*, network: bool) -> bytes:
    machine, socket_call = _MACHINES[platform.machine()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    families = [(equal, 0, 2, socket_call), (load, 0, 0, 16), (equal, 1, 0, _UNIX)]
    sockets = families if network else [(equal, 1, 0, socket_call)]
    refuse = 6 + len(sockets)  # where the last instruction is; a jump counts those that it passes over
    code = [
        (load, 0, 0, 4),
        (equal, 0, refuse - 2, machine),  # calls of another machine's kind have other numbers
        (load, 0, 0, 0),
        (at_least, refuse - 4, 0, 0x40000000),  # x32
        (equal, refuse - 5, 0, _URING_SETUP),
        *sockets,
        (give, 0, 0, _ALLOW),
        (give, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
