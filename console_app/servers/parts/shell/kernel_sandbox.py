"""Landlock and seccomp by the system calls themselves: a process gives up rights, for itself and all that it starts.

The numbers are those of linux/landlock.h, linux/seccomp.h, linux/bpf_common.h and linux/capability.h. Reading and
writing are confined to folders. A socket can be made of no family (but pairs of connected ones can): without a network
that is what keeps the network away, and with one still keeps away the services of this machine that listen on paths.
Landlock doesn't know owners, attributes, modes and times of files. The filter refuses to change the first two anywhere,
since it can't see of which file they are, and memory and limits of other processes. The last two are left free: builds
live on them. In bubblewrap too are refused keys that the kernel keeps for the user, and sockets that lead out of a
network of one's own.
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
# The name that audit has, the number of socket(), those of keys, of calls that change owners and attributes of files or
# reach memory and queues of System V and POSIX, and of ioctl(), prlimit64() and setpriority().
_MACHINES: Final = {
    "x86_64": (
        *(0xC000003E, 41, (248, 249, 250)),
        (*(29, 30, *range(64, 72), 92, 93, 94, 260), *range(188, 191), *range(197, 200), 220, 240, 241, 31),
        (16, 302, 141),
    ),
    "aarch64": (
        0xC00000B7,
        198,
        (217, 218, 219),
        (5, 6, 7, 14, 15, 16, 54, 55, 180, 181, *range(186, 198)),
        (29, 261, 140),
    ),
}
_NEW_SETTERS: Final = (463, 466, 469)  # of attributes, the same everywhere
_SET_FLAGS: Final = (0x40086602, 0x40046602, 0x401C5820)  # of a file: ioctls
_OfArgument = tuple[int, int, Sequence[int], bool]
_URING_SETUP: Final = 425  # its rings make sockets that no filter sees
INTERNET: Final = (2, 10, 16)  # families, netlink among them
ALL_FAMILIES: Final = (1, *INTERNET)  # and those of this machine
_NO_RIGHTS: Final = (0x20080522).to_bytes(4, "little") + bytes(4), bytes(24)  # of capset()
_REFUSE: Final = 0x00050001  # with EPERM
_ALLOW: Final = 0x7FFF0000
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/ptmx")
_SHARED_MEMORY: Final = "/dev/shm"  # locks between processes are made there
# A read-only mount doesn't hold named pipes. Landlock does, but may only come after the mounts: by the one program that
# nearly every machine has and that can make system calls, in 2 ms.
_PERL: Final = """
delete $ENV{PERL_BADLANG};
my $rights = pack('Q', 0x2002);
my $set = syscall(444, $rights, 8, 0);
sub let_write { my $rule = pack('Qi', -d $_[0] ? 0x2002 : 2, fileno $_[0]); syscall(445, $set, 1, $rule, 0) }
let_write($_) for *STDOUT, *STDERR;
for (splice @ARGV, 0, shift) { my $place; sysopen($place, $_, 0x200000) and let_write($place) }
syscall(446, $set, 0) and die "Landlock: $!\\n";
exec {$ARGV[0]} @ARGV or die "$ARGV[0]: $!\\n";
"""


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
    terminal = ("/dev/stdout",) if os.isatty(1) else ()
    for path, rights in [
        *((one, folders) for one in (*write, _SHARED_MEMORY, *_DEVICES, *terminal)),
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
    *_, changes, (ioctl, limit, priority) = _MACHINES[platform.machine()]
    others = ((ioctl, 1, _SET_FLAGS, True), (limit, 0, (0,), False), (priority, 1, (0,), False))
    program = socket_filter(INTERNET if network else (), (*changes, *_NEW_SETTERS), others)
    code = ctypes.create_string_buffer(program)
    pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked(libc.prctl(_SET_SECCOMP, _FILTER, pointer, 0, 0))


def writing_only_in(folders: Sequence[str]) -> list[str]:
    """Return the beginning of a command line that lets the rest of it open files to write only below these folders."""
    return ["/usr/bin/perl", "-e", _PERL, str(len(folders)), *folders]


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


def socket_filter(families: Sequence[int], more: Sequence[int] = (), arguments: Sequence[_OfArgument] = ()) -> bytes:
    """Return the program of a filter that refuses sockets of all but these families, and `more` calls.

    It is b"" for an unknown machine. `arguments` refuse a call where an argument is, or is not, one of some values.
    """
    if platform.machine() not in _MACHINES:
        return b""
    machine, socket_call, keys = _MACHINES[platform.machine()][:3]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    code = [
        *((load, 0, 0, 4), (equal, 1, 0, machine), (give, 0, 0, _REFUSE)),  # others' calls have other numbers
        *((load, 0, 0, 0), (at_least, 0, 1, 0x40000000), (give, 0, 0, _REFUSE)),  # x32
    ]
    for number in (_URING_SETUP, *keys, *more):
        code += [(equal, 0, 1, number), (give, 0, 0, _REFUSE)]
    for number, at, values, refused in (*arguments, (socket_call, 0, families, False)):
        many = len(values)
        code += [(load, 0, 0, 0), (equal, 0, many + 3, number), (load, 0, 0, 16 + 8 * at)]
        code += [(equal, many - one, 0, value) for one, value in enumerate(values)]
        code += [(give, 0, 0, _ALLOW if refused else _REFUSE), (give, 0, 0, _REFUSE if refused else _ALLOW)]
    return b"".join(struct.pack("=HBBI", *one) for one in (*code, (give, 0, 0, _ALLOW)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
