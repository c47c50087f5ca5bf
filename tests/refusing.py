"""`python refusing.py CALLS COMMAND...`: runs a command on a Linux that refuses these system calls, as a
container may; nothing of the command can tell the difference."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

# Each call with its numbers on x86_64 and aarch64.
NUMBERS = {"unshare": (272, 97), "landlock_create_ruleset": (444, 444), "seccomp": (317, 277)}
NAMESPACES, NOTHING = "unshare,landlock_create_ruleset", "unshare,landlock_create_ruleset,seccomp"


def refuse(calls: list[str]) -> None:
    """Make these calls fail with EPERM, in this process and all that it starts."""
    column = ("x86_64", "aarch64").index(platform.machine())
    lines = [(0x20, 0, 0, 0)]  # load the number of the call
    for call in calls:
        lines += [(0x15, 0, 1, NUMBERS[call][column]), (0x06, 0, 0, 0x00050001)]
    lines.append((0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, by_filter = 38, 22, 2
    for option, value, more in ((no_new_privileges, 1, None), (set_seccomp, by_filter, head)):
        if libc.prctl(option, ctypes.c_ulong(value), more, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])
