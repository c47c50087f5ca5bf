"""System calls of Linux that Python has no name for, and the filter made of them.

Every call raises OSError, as Python's own calls do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 1, 4, 24, 28
_PR_SET_NO_NEW_PRIVS = 38
# noroot, no_setuid_fixup, keep_caps off, no_cap_ambient_raise; each of them locked
_SECUREBITS = 0b11101111
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63


class System:
    """The C library of this process."""

    def __init__(self) -> None:
        self._libc: Any = ctypes.CDLL(None, use_errno=True)

    def call(self, name: str, *args: Any) -> int:
        """Call a function of the C library that answers below 0 for an error."""
        result = int(getattr(self._libc, name)(*args))
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")
        return result

    def syscall(self, number: int, *args: Any) -> int:
        """Make a system call that the C library may not know by name."""
        return self.call("syscall", ctypes.c_long(number), *args)

    def prctl(self, option: int, value: int = 0, more: Any = 0) -> None:
        """Change something of this process."""
        self.call("prctl", option, ctypes.c_ulong(value), more, 0, 0)

    def unshare(self, flags: int) -> None:
        """Leave namespaces for fresh ones."""
        self.call("unshare", flags)

    def mount(self, source: str, target: str, kind: str, flags: int, options: str = "") -> None:
        """Mount a file system, or bind a place of the disk to another."""
        texts = [text.encode() for text in (source, target, kind)]
        self.call("mount", *texts, ctypes.c_ulong(flags), options.encode())

    def protect(self, target: str, flags: int) -> None:
        """Add `flags` (MS_RDONLY, …) to a mount and all mounts under it."""
        attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
        size = ctypes.c_size_t(ctypes.sizeof(attributes))
        self.syscall(442, _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, size)

    def change_root(self, root: str) -> None:
        """Make `root` the file system of this process and let go of the old one."""
        os.chdir(root)
        self.call("pivot_root", b".", b".")
        self.call("umount2", b".", _MNT_DETACH)
        os.chdir("/")

    def die_with_parent(self) -> None:
        """Be killed when the parent ends."""
        self.prctl(_PR_SET_PDEATHSIG, 9)

    def keep_memory_private(self) -> None:
        """Keep other processes of this user from looking into this one."""
        self.prctl(_PR_SET_DUMPABLE, 0)

    def no_new_privileges(self) -> None:
        """Keep what this process starts from getting more rights than it has."""
        self.prctl(_PR_SET_NO_NEW_PRIVS, 1)

    def bound_capabilities(self) -> None:
        """Keep what this process becomes or starts from capabilities that it does not hold now."""
        # An error: the kernel knows no more of them, or this process has none to give up.
        with suppress(OSError):
            for capability in range(_LAST_CAPABILITY + 1):
                self.prctl(_PR_CAPBSET_DROP, capability)
        with suppress(OSError):
            self.prctl(_PR_SET_SECUREBITS, _SECUREBITS)

    def drop_capabilities(self) -> None:
        """Give up every capability, for good."""
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        self.call("capset", header, (ctypes.c_uint32 * 6)())

    def fewer_arenas(self) -> None:
        """Keep threads from reserving 64 MB of address space each, if the C library is glibc."""
        mallopt = getattr(self._libc, "mallopt", None)
        if mallopt is not None:
            mallopt(-8, 2)


def memory_group(limit: int) -> tuple[str, int]:
    """Make a control group whose processes may use `limit` bytes together: its folder, and a descriptor
    through which a process joins it by writing 0. OSError if this process may not make one.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, own = line.split(":", 2)
        if "memory" in kinds.split(","):
            group, bound = Path(f"/sys/fs/cgroup/memory{own}"), "memory.limit_in_bytes"
        else:
            # Version 2 has processes in leaves only: a sibling of our own group has its kinds of limits.
            group, bound = Path(f"/sys/fs/cgroup{own}").parent, "memory.max"
        for left in group.glob("zoolab-*"):  # by a grader that was killed
            with suppress(OSError):
                if not Path("/proc", left.name.removeprefix("zoolab-")).exists():
                    left.rmdir()
        group /= f"zoolab-{os.getpid()}"
        with suppress(OSError):
            group.mkdir()
            try:
                (group / bound).write_text(str(limit))
                return str(group), os.open(group / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
            except OSError:
                group.rmdir()
    raise OSError("no group for memory can be made")


_PASS, _KILL, _ERRNO, _NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_SET_FILTER, _NEW_LISTENER = 1, 8
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
# load a word; jump if equal, if at least, if any bit is set; return
_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGS = 0, 4, 16
_NAMESPACE_FLAGS = 0x7E020000
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
# AF_UNIX, AF_INET, AF_INET6: the kinds of socket that a submission may open.
_SOCKETS = (1, 2, 10)

_ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_CALL = re.compile(r"\w+ (\d+|-) (\d+|-)")
# Read before the files are shut off; without the lists no worker starts.
_TEXT = Path(__file__).with_name("syscalls.txt").read_text("utf-8")
_ALLOWED, _DENIED, _DENIED_TOO, _ = re.split(r"\n(?:allowed|denied|alone|absent):\n", _TEXT)[1:]
_CLONE = (56, 220)
_SOCKET, _KILL_CALL, _TGKILL = (41, 198), (62, 129), (234, 131)
_FCNTL, _PRLIMIT, _IOCTL, _SCHEDULER = (72, 25), (302, 261), (16, 29), (144, 119)
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_SOCKETPAIR, _NOT_A_STREAM = (53, 199), 0b110
_OPEN, _OPENAT, _SECCOMP = (2, 56), (257, 56), (317, 277)
# One line of a filter: what to do, where to jump if it is so and if not, and a value.
Line = tuple[int, int, int, int]


class Refusals:
    """A seccomp filter: a call passes if it is in the list of those that are allowed, and no other one does.

    What is known and denied fails as it would for want of rights, and all else as a call that the kernel does
    not have, so that libraries take another way.

    `alone` is for a process that shares its namespaces with others: it may start threads but no process, open
    no socket, and signal nobody but itself. It changes no file, and an `Opener` has to open each one for it.
    """

    def __init__(self, alone: bool = False) -> None:
        self.alone = alone

    def program(self, machine: str | None = None) -> bytes:
        """Return the filter as the kernel reads it; LookupError on an architecture that it was not written
        for.
        """
        arch, column = _ARCHES[machine or platform.machine()]
        lines = [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
        if column == 0:
            lines += [(_JGE, 0, 1, _X32), _refuse(_ENOSYS)]
        lines += _none_of(_numbers(_DENIED + _DENIED_TOO if self.alone else _DENIED, column), _EPERM)
        # Threads of some libraries ask for the usual way to wait for the CPU, and abort if that is refused.
        lines += _when(_SCHEDULER[column], 1, _only((0,), _EPERM))
        for call in (_OPEN, _OPENAT) if self.alone else ():
            lines += [(_JEQ, 0, 1, call[column]), (_RETURN, 0, 0, _NOTIFY)]
        lines += self._by_argument(column)
        lines += [*_any_of(_numbers(_ALLOWED, column)), _refuse(_ENOSYS)]
        return b"".join(struct.pack("=HBBI", *line) for line in lines)

    def install(self, system: System) -> int:
        """Put the filter on this process and all that come of it, for good; if it is `alone`, return the
        descriptor where its questions come."""
        program = self.program()
        memory = ctypes.create_string_buffer(program)
        head = struct.pack("@HP", len(program) // 8, ctypes.addressof(memory))
        number, flags = _SECCOMP[_ARCHES[platform.machine()][1]], _NEW_LISTENER * self.alone
        return system.syscall(number, _SET_FILTER, flags, ctypes.create_string_buffer(head))

    def _by_argument(self, column: int) -> list[Line]:
        if not self.alone:
            return [
                *_when(_CLONE[column], 0, [(_JSET, 0, 1, _NAMESPACE_FLAGS), _refuse(_EPERM)]),
                *_when(_SOCKET[column], 0, _only(_SOCKETS, _EACCES)),
            ]
        own = os.getpid()
        return [
            *_when(_CLONE[column], 0, [(_JSET, 1, 0, _CLONE_THREAD), _refuse(_EPERM)]),
            *_when(_KILL_CALL[column], 0, _only((own,), _EPERM)),
            *_when(_TGKILL[column], 0, _only((own,), _EPERM)),
            *_when(_PRLIMIT[column], 0, _only((0, own), _EPERM)),
            *_when(_FCNTL[column], 1, _none_of((_F_SETOWN, _F_SETSIG, _F_SETOWN_EX), _EPERM)),
            *_when(_IOCTL[column], 1, _none_of((_FIOSETOWN, _SIOCSPGRP), _EPERM)),
            *_when(_SOCKETPAIR[column], 1, [(_JSET, 0, 1, _NOT_A_STREAM), _refuse(_EPERM)]),
        ]


def _numbers(calls: str, column: int) -> list[int]:
    """Return the numbers of these calls on an architecture."""
    return [int(each[column]) for each in _CALL.findall(calls) if each[column] != "-"]


def _any_of(numbers: Iterable[int]) -> Iterator[Line]:
    """Let these numbers pass; what lies side by side is one comparison."""
    left = sorted(numbers)
    while left:
        first = end = left[0]
        while left and left[0] == end:
            end = left.pop(0) + 1
        yield from ((_JGE, 0, 2, first), (_JGE, 1, 0, end), (_RETURN, 0, 0, _PASS))


def _refuse(error: int) -> Line:
    return (_RETURN, 0, 0, _ERRNO | error)


def _when(number: int, argument: int, then: list[Line]) -> list[Line]:
    """Look at an argument of one call only; what comes after finds the call's number loaded again."""
    look, again = (_LOAD, 0, 0, _ARGS + 8 * argument), (_LOAD, 0, 0, _NUMBER)
    return [(_JEQ, 0, len(then) + 2, number), look, *then, again]


def _only(values: tuple[int, ...], error: int) -> list[Line]:
    last = len(values)
    return [*((_JEQ, last - place, 0, value) for place, value in enumerate(values)), _refuse(error)]


def _none_of(values: Iterable[int], error: int) -> list[Line]:
    return [line for value in values for line in ((_JEQ, 0, 1, value), _refuse(error))]


# What the kernel says and is told of a call that waits: struct seccomp_notif, _notif_addfd and _notif_resp.
_WAITING, _HAND_OVER, _REPLY = struct.Struct("=QII iIQ 6Q"), struct.Struct("=Q4I"), struct.Struct("=QqiI")
_RECEIVE, _ADD, _SEND = 0xC0502100, 0x40182103, 0xC0182101
_LONGEST_PATH = 4096


class Opener:
    """Opens files for a process that can open none itself: those of `places`, read only, and no others.

    The path is read once from its `memory`, so that it cannot be exchanged after it was looked at.
    """

    def __init__(self, listener: int, memory: int, places: Iterable[str], masked: Iterable[str]) -> None:
        self.listener, self.memory = listener, memory
        self.places = {os.path.realpath(place) for place in (*places, "/dev/null", "/dev/urandom")}
        self.masked = {os.path.realpath(place) for place in masked}

    def works(self) -> bool:
        """Return whether this kernel can hand a file over (Linux 5.9)."""
        import fcntl

        try:
            fcntl.ioctl(self.listener, _ADD, _HAND_OVER.pack(0, 0, self.memory, 0, 0))
        except OSError as error:
            return error.errno == errno.ENOENT
        return False

    def serve(self) -> None:
        """Answer a call that waits; OSError if its process has ended meanwhile."""
        import fcntl

        asked = bytearray(_WAITING.size)
        fcntl.ioctl(self.listener, _RECEIVE, asked)
        call, _, _, number, _, _, *args = _WAITING.unpack(asked)
        first = 0 if number == _OPEN[0] and platform.machine() == "x86_64" else 1
        given, failed = 0, 0
        try:
            opened = self._open(args[first], args[first + 1])
            try:
                how = args[first + 1] & os.O_CLOEXEC
                order = bytearray(_HAND_OVER.pack(call, 0, opened, 0, how))
                given = fcntl.ioctl(self.listener, _ADD, order)
            finally:
                os.close(opened)
        except OSError as error:
            failed = error.errno or _EACCES
        fcntl.ioctl(self.listener, _SEND, _REPLY.pack(call, given, -failed, 0))

    def _open(self, address: int, flags: int) -> int:
        path, end, _ = os.pread(self.memory, _LONGEST_PATH, address).partition(b"\0")
        real = os.path.realpath(os.fsdecode(path)) if end and path.startswith(b"/") else ""
        known = [str(each) for each in (Path(real), *Path(real).parents)]
        nearest = next((each for each in known if each in self.places or each in self.masked), "")
        reads = flags & os.O_ACCMODE == os.O_RDONLY or real == "/dev/null"
        if nearest not in self.places or not reads:
            raise PermissionError(_EACCES, os.strerror(_EACCES))
        kept = flags & (os.O_ACCMODE | os.O_DIRECTORY)
        return os.open(real, kept | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
