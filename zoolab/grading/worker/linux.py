"""The system calls of Linux that Python 3.11 has no name for. Every one raises OSError as Python's own do."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
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
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


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
        """A system call that the C library may not know by name."""
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

    def raise_loopback(self) -> None:
        """Switch on 127.0.0.1 in a network namespace of one's own."""
        import fcntl

        request = struct.pack("16sh22x", b"lo", _IFF_UP)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)

    def die_with_parent(self) -> None:
        """Be killed when the parent ends."""
        self.prctl(_PR_SET_PDEATHSIG, 9)

    def keep_memory_private(self) -> None:
        """No other process of this user may look into this one."""
        self.prctl(_PR_SET_DUMPABLE, 0)

    def no_new_privileges(self) -> None:
        """From here on, nothing that this process starts gets more rights than it has."""
        self.prctl(_PR_SET_NO_NEW_PRIVS, 1)

    def bound_capabilities(self) -> None:
        """Nothing that this process becomes or starts can have a capability that it does not hold now."""
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
        """Keep threads from reserving 64 MB of address space each, where the C library is glibc."""
        mallopt = getattr(self._libc, "mallopt", None)
        if mallopt is not None:
            mallopt(-8, 2)


def touch(path: str) -> None:
    """Make an empty file, and the folders that it lies in.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/a/b"
    >>> touch(file)
    >>> Path(file).read_text()
    ''
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()
