"""The filter of system calls: a list of those that pass (`syscalls.txt`); every other one fails."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoolab_grader.worker.system import System

_PASS = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
_NOTIFY = 0x7FC00000
_SET_FILTER = 1
_NEW_LISTENER = 8
_EPERM = 1
EACCES = 13
_ENOSYS = 38
# load a word; jump if equal, if at least, if any bit is set; return
_LOAD = 0x20
_JEQ = 0x15
_JGE = 0x35
_JSET = 0x45
_RETURN = 0x06
_NUMBER = 0
_ARCH = 4
_ARGS = 16
_NAMESPACE_FLAGS = 0x7E020000
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000
_F_SETOWN = 8
_F_SETSIG = 10
_F_SETOWN_EX = 15
# AF_UNIX, AF_INET, AF_INET6: the kinds of socket that a submission may open.
_SOCKETS = (1, 2, 10)

_ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_CALL = re.compile(r"\w+ (\d+|-) (\d+|-)")
# Read before the files are shut off; without the lists no worker starts.
_TEXT = Path(__file__).with_name("syscalls.txt").read_text("utf-8")
_ALLOWED, _DENIED, _DENIED_TOO, _ = re.split(r"\n(?:allowed|denied|alone|absent):\n", _TEXT)[1:]
_CLONE = (56, 220)
_SOCKET = (41, 198)
_KILL_CALL = (62, 129)
_TGKILL = (234, 131)
_FCNTL = (72, 25)
_PRLIMIT = (302, 261)
_IOCTL = (16, 29)
_SCHEDULER = (144, 119)
_FIOSETOWN = 0x8901
_SIOCSPGRP = 0x8902
_SOCKETPAIR = (53, 199)
_NOT_A_STREAM = 0b110
OPEN = (2, 56)
_OPENAT = (257, 56)
_SECCOMP = (317, 277)
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
        for call in (OPEN, _OPENAT) if self.alone else ():
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
        number = _SECCOMP[_ARCHES[platform.machine()][1]]
        flags = _NEW_LISTENER * self.alone
        return system.syscall(number, _SET_FILTER, flags, ctypes.create_string_buffer(head))

    def _by_argument(self, column: int) -> list[Line]:
        if not self.alone:
            return [
                *_when(_CLONE[column], 0, [(_JSET, 0, 1, _NAMESPACE_FLAGS), _refuse(_EPERM)]),
                *_when(_SOCKET[column], 0, _only(_SOCKETS, EACCES)),
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
    look = (_LOAD, 0, 0, _ARGS + 8 * argument)
    again = (_LOAD, 0, 0, _NUMBER)
    return [(_JEQ, 0, len(then) + 2, number), look, *then, again]


def _only(values: tuple[int, ...], error: int) -> list[Line]:
    last = len(values)
    return [*((_JEQ, last - place, 0, value) for place, value in enumerate(values)), _refuse(error)]


def _none_of(values: Iterable[int], error: int) -> list[Line]:
    return [line for value in values for line in ((_JEQ, 0, 1, value), _refuse(error))]
