"""The filter of system calls: which number passes, on both architectures, and that no other one does."""

from __future__ import annotations

import errno
import re
import struct
from importlib.resources import files
from pathlib import Path

import pytest

from zoolab_grader.worker.seccomp import Refusals

TEXT = files("zoolab_grader.worker").joinpath("syscalls.txt").read_text(encoding="utf-8")
_, *PARTS = re.split(r"\n(?:allowed|denied|alone|absent):\n", TEXT)
ALLOWED, DENIED, ALONE, ABSENT = (
    {name: numbers for name, *numbers in re.findall(r"(\w+) (\d+|-) (\d+|-)", part)} for part in PARTS
)
KNOWN = {**ABSENT, **DENIED, **ALLOWED}
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: The newest calls, which have one number on all architectures, up to Linux 7.0.
NEWEST = re.findall(
    r"\w+",
    """
    pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount
    fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2
    process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
    landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv
    set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait
    futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
    setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr
    listns rseq_slice_yield
    """,
)
FIRST = 424
#: What gives a submission more than a process of its own needs, or reaches what is not its own.
NEVER = re.findall(
    r"\w+",
    """
    ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd execve execveat
    unshare setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen
    fsconfig fsmount fspick mount_setattr statmount listmount listns add_key request_key keyctl
    bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register io_setup
    io_submit init_module finit_module delete_module kexec_load kexec_file_load syslog reboot
    swapon swapoff acct quotactl quotactl_fd name_to_handle_at open_by_handle_at fanotify_init
    fanotify_mark memfd_create clone3 migrate_pages move_pages process_mrelease
    lsm_set_self_attr clock_settime sethostname
    """,
)
PASSES, KILLED, REFUSED, ASKED = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
EPERM, ENOSYS = REFUSED | errno.EPERM, REFUSED | errno.ENOSYS
#: A process of its own; a stream; the usual way to wait for the CPU; no namespace, and a thread.
ARGUMENTS = {"clone": (0x00010000, 0), "socket": (1, 1), "socketpair": (1, 1)}


def answer(
    alone: bool, machine: str, number: int, arguments: tuple[int, ...] = (), arch: int | None = None
) -> int:
    """What the filter says of a call: its program, run as the kernel runs it."""
    program = [
        struct.unpack("=HBBI", part) for (part,) in struct.iter_unpack("8s", Refusals(alone).program(machine))
    ]
    words = dict(enumerate(struct.unpack("=2I", struct.pack("=2I", number, arch or MACHINES[machine][0]))))
    words |= {4 + 2 * at: value for at, value in enumerate(arguments)}
    place, word = 0, 0
    while True:
        code, yes, no, value = program[place]
        place += 1
        match code:
            case 0x20:
                word = words.get(value // 4, 0)
            case 0x15:
                place += yes if word == value else no
            case 0x35:
                place += yes if word >= value else no
            case 0x45:
                place += yes if word & value else no
            case 0x06:
                return value


BOTH = pytest.mark.parametrize("machine", MACHINES)
EITHER = pytest.mark.parametrize("alone", [False, True])


@BOTH
@EITHER
def test_only_what_is_allowed_passes(machine, alone):
    column = MACHINES[machine][1]
    numbers = {int(each[column]): name for name, each in KNOWN.items() if each[column] != "-"}
    for number in range(1_000):
        name = numbers.get(number, "")
        said = answer(alone, machine, number, ARGUMENTS.get(name, ()))
        if alone and name in ("open", "openat"):
            assert said == ASKED
        elif name in DENIED or (alone and (name in ALONE or name in ("kill", "tgkill"))):
            assert said == EPERM, name
        else:
            assert said == (PASSES if name in ALLOWED else ENOSYS), (number, name)


@BOTH
@EITHER
def test_what_is_newer_than_the_list_is_refused(machine, alone):
    for number in (len(NEWEST) + FIRST, 600, 0x3FFFFFFF, 0x40000000, 0x40000001, 0xFFFFFFFF):
        assert answer(alone, machine, number) == ENOSYS
    assert answer(alone, machine, 0, arch=0x40000003) == KILLED


def test_the_newest_calls_are_known():
    for number, name in enumerate(NEWEST, FIRST):
        assert KNOWN[name] == [str(number)] * 2, name
    beyond = {name for name, (one, two) in KNOWN.items() if one == two and int(one) >= FIRST}
    assert beyond == set(NEWEST)


def test_what_reaches_beyond_the_process_is_not_allowed():
    assert [name for name in NEVER if name in ALLOWED or name not in KNOWN] == []


def test_each_call_is_in_one_list():
    assert len(KNOWN) == len(ALLOWED) + len(DENIED) + len(ABSENT)
    assert ALONE.keys() <= ALLOWED.keys()
    assert all(ALLOWED[name] == numbers for name, numbers in ALONE.items())
    for column in (0, 1):
        numbers = [each[column] for each in KNOWN.values() if each[column] != "-"]
        assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    ("file", "column"), [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)]
)
def test_the_numbers_are_those_of_the_system_headers(file, column):
    header = Path("/usr/include", file)
    if not header.is_file():
        pytest.skip("the headers of the kernel are not here")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", header.read_text(), re.MULTILINE))
    listed = {name: each[column] for name, each in KNOWN.items() if each[column] != "-"}
    renamed = {"newfstatat": "fstatat"} if column else {}
    told = {name: found.get(renamed.get(name, name), number) for name, number in listed.items()}
    assert told == listed
    if column == 0:
        assert found.keys() - {"syscalls"} <= listed.keys()
