"""Landlock and seccomp by the system calls themselves: a process gives up rights, for itself and all that it starts.

The numbers are those of linux/landlock.h, linux/seccomp.h, linux/bpf_common.h and linux/capability.h. Reading and
writing are confined to folders. A socket can be made of no family (but pairs of connected ones can): without a network
that is what keeps the network away, and with one still keeps away the services of this machine that listen on paths.
Left free are modes and times of files outside, which Landlock doesn't know. In bubblewrap too are refused keys that the
kernel keeps for the user, and sockets that lead out of a network of one's own.
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
_READ: Final = 0b11 << 2  # files, and which there are
_WRITE_FILE, _MAKE_AND_REMOVE, _REFER, _TRUNCATE = 1 << 1, 0b1_1111_1111 << 4, 1 << 13, 1 << 14
_TCP: Final = 0b11  # bind and connect, from version 4
_SCOPES, _SCOPED = 0b11, 6  # abstract sockets and signals, and the version that knows them
# The name that audit has, the number of socket(), and those of add_key(), request_key() and keyctl().
_MACHINES: Final = {"x86_64": (0xC000003E, 41, (248, 249, 250)), "aarch64": (0xC00000B7, 198, (217, 218, 219))}
_URING_SETUP: Final = 425  # its rings make sockets that no filter sees
_UNIX, _INTERNET = 1, (2, 10, 16)  # families, netlink among them
_NO_RIGHTS: Final = (0x20080522).to_bytes(4, "little") + bytes(4), bytes(24)  # of capset()
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


def restrict(write: Sequence[str], read: Sequence[str] | None, *, network: bool) -> None:
    """Let this process write only below some folders, and read only these and others; None leaves reading free.

    Raises OSError where it can't be had: then nothing may run.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not (known := version()):
        raise OSError("Landlock is not to be had")
    reading = _READ if read is not None else 0
    files = _WRITE_FILE | _TRUNCATE | (reading & 1 << 2)
    folders = files | _MAKE_AND_REMOVE | _REFER | reading
    attributes = struct.pack("=QQQ", folders, 0 if network else _TCP, _SCOPES)[
        : 8 if known < 4 else 16 if known < _SCOPED else 24
    ]
    ruleset = _checked(libc.syscall(_CREATE, attributes, len(attributes), 0))
    for path, rights in [
        *((one, folders) for one in (*write, _SHARED_MEMORY, *_DEVICES)),
        *((one, reading) for one in read or ()),
    ]:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = struct.pack("=Qi", rights if os.path.isdir(path) else rights & files, descriptor)
        _checked(libc.syscall(_ADD, ruleset, 1, rule, 0))
        os.close(descriptor)
    _enforce(libc, ruleset)
    _checked(libc.capset(*_NO_RIGHTS))  # those of root are over more than files
    program = socket_filter(_INTERNET if network else ())
    code = ctypes.create_string_buffer(program)
    pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked(libc.prctl(_SET_SECCOMP, _FILTER, pointer, 0, 0))


def keep_apart() -> None:
    """Keep this process from abstract sockets and signals of others, where Landlock can: a network doesn't do that."""
    libc = ctypes.CDLL(None, use_errno=True)
    if version() >= _SCOPED:
        attributes = struct.pack("=QQQ", 0, 0, _SCOPES)
        _enforce(libc, _checked(libc.syscall(_CREATE, attributes, len(attributes), 0)))


def _enforce(libc: ctypes.CDLL, ruleset: int) -> None:
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def socket_filter(families: Sequence[int] = (_UNIX, *_INTERNET)) -> bytes:
    """Return the program of a filter that lets sockets be made of these families alone; b"" for an unknown machine."""
    if platform.machine() not in _MACHINES:
        return b""
    machine, socket_call, keys = _MACHINES[platform.machine()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    refused = (_URING_SETUP, *keys)
    end = 4 + len(refused) + 2 + len(families)  # where it is refused; behind that it is allowed
    code = [
        (load, 0, 0, 4),
        (equal, 0, end - 2, machine),  # calls of another machine's kind have other numbers
        (load, 0, 0, 0),
        (at_least, end - 4, 0, 0x40000000),  # x32
        *((equal, end - at - 1, 0, number) for at, number in enumerate(refused, 4)),
        (equal, 0, len(families) + 2, socket_call),
        (load, 0, 0, 16),
        *((equal, end - at, 0, family) for at, family in enumerate(families, end - len(families))),
        (give, 0, 0, _REFUSE),
        (give, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
