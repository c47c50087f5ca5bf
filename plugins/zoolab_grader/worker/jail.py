"""The jail of a submission: namespaces, or a filter of system calls, or only a process with limits.

The zygote calls `enter` once. For each submission the monitor calls `begin` with what the student's process
is to do. In that process, `surrender` gives up every right for good.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from zoolab_grader.worker import system
from zoolab_grader.worker.opener import Opener
from zoolab_grader.worker.seccomp import Refusals

# The kinds of jail, strongest first. The last is none: a submission in it can do what its user can.
NAMESPACES, FILTER, FORK = STEPS = ("namespaces", "seccomp", "fork")
UNPROTECTED = ("the file system", "the network", "other processes")


# The limit on processes if the system counts all of a user's: those of a desktop must fit in.
_MANY = 4096
STATUS = struct.Struct("=iq")
_NOBODY = 65534
_KEPT = "/.below-tmp"
_SMALL = "size=64m,nr_inodes=4096,mode=1777"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process of a submission may use: bytes of address space and of one file, open files, CPU
    seconds; and how many processes and threads there may be at once, and the bytes of all `together`."""

    memory: int = 2 << 30
    file: int = 32 << 20
    files: int = 256
    processes: int = 64
    cpu: int = 600
    together: int = 3 << 30


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """How to build a worker.

    `uses` are modules to import before any submission, `path` where they are found, `places` what of the
    disk stays readable, and `masked` the folders within them that do not. `steps` are tried in order.
    """

    uses: Sequence[str] = ()
    path: Sequence[str] = ()
    places: Sequence[str] = ()
    masked: Sequence[str] = ()
    steps: Sequence[str] = STEPS
    bounds: Bounds = field(default_factory=Bounds)


def forked(work: Callable[[], int | None]) -> int:
    """Fork a process that does this alone, and return its id. Its exit code is what comes back; 1 after an
    exception.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work() or 0
        except SystemExit:
            code = 0
        finally:
            os._exit(code)
    return child


def bound(bounds: Bounds, processes: int) -> None:
    """Put limits on this process that it cannot lift."""
    import resource  # Windows has no such module, but reads `WorkerPlan` from this one

    limits = {
        "RLIMIT_AS": bounds.memory,
        "RLIMIT_FSIZE": bounds.file,
        "RLIMIT_NOFILE": bounds.files,
        "RLIMIT_NPROC": processes,
        "RLIMIT_CPU": bounds.cpu,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_MEMLOCK": 0,
    }
    for name, limit in limits.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        hard = resource.getrlimit(number)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        # macOS knows some of these limits by name only.
        with suppress(OSError, ValueError):
            resource.setrlimit(number, (least, least))


class Jail:
    """A process and its limits, which is what every Unix has; stronger jails are made of it.

    `missing` says in plain words what it does not keep away. Each method raises OSError if the system does
    not allow what it does.
    """

    missing: tuple[str, ...] = UNPROTECTED
    #: A descriptor that the student's process keeps until it has surrendered, beside the first four.
    kept = 3
    opener: Opener | None = None

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self.system = system.System()

    def enter(self) -> None:
        """Do what is done once, in the zygote."""

    def begin(self, student: Callable[[], None], _report: int, /) -> int:
        """Start the student's process; the process that holds all of it, for the monitor to wait for."""
        return forked(student)

    def surrender(self) -> None:
        """Give up every right that is left, in the student's process."""
        os.setsid()
        bound(self.plan.bounds, _MANY)

    def become_nobody(self, of_root: bool) -> None:
        """Give up every privilege, for good; a root becomes a user who owns nothing."""
        self.system.no_new_privileges()
        self.system.bound_capabilities()
        if of_root:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        self.system.drop_capabilities()
        self.system.keep_memory_private()


class Filtered(Jail):
    """Without namespaces: a filter keeps it from the network, from other processes, from starting any, and
    from every file. The monitor opens those that it may read. A root becomes nobody if nobody finds them."""

    missing: tuple[str, ...] = ("a file system of its own (it can write nothing at all)",)
    of_root = False

    def enter(self) -> None:
        """Find out whether a root can become nobody."""
        if os.geteuid() == 0:
            self.of_root = os.waitpid(forked(self._is_hidden_from_nobody), 0)[1] == 0
            if not self.of_root:
                self.missing += ("a user of its own (it runs as root, without the rights of root)",)

    def begin(self, student: Callable[[], None], report: int, /) -> int:
        """Start it, and wait until it can open nothing any more."""
        here, there = socket.socketpair()
        self.kept = there.fileno()
        child = super().begin(student, report)
        there.close()
        with here:
            given = socket.recv_fds(here, 1, 2)[1]
        if given:  # else it has ended, and the monitor will see how
            self.opener = Opener(given[0], given[1], self.plan.places, self.plan.masked)
            if not self.opener.works():
                raise OSError("this kernel cannot hand over files")
        return child

    def surrender(self) -> None:
        """Give up what Linux lets a process give up by itself."""
        os.chdir("/")
        memory = os.open("/proc/self/mem", os.O_RDONLY)
        bound(self.plan.bounds, _MANY)
        self.become_nobody(of_root=self.of_root)
        self.system.die_with_parent()
        listener = Refusals(alone=True).install(self.system)
        with socket.socket(fileno=self.kept) as monitor:
            socket.send_fds(monitor, [b"f"], [listener, memory])
        os.close(listener)
        os.close(memory)

    def _is_hidden_from_nobody(self) -> bool:
        os.seteuid(_NOBODY)
        return not all(os.access(place, os.R_OK, effective_ids=True) for place in self.plan.places)


class Namespaces(Jail):
    """Namespaces of every kind, and a file system of a few read-only places."""

    missing = ()

    def __init__(self, plan: WorkerPlan) -> None:
        super().__init__(plan)
        self.uid = os.geteuid()

    def enter(self) -> None:
        """Leave the system's namespaces and its file system."""
        spaces = system.CLONE_NEWNS | system.CLONE_NEWIPC | system.CLONE_NEWUTS | system.CLONE_NEWNET
        self._leave(system.CLONE_NEWUSER | spaces)
        self.system.mount("", "/", "", system.MS_REC | system.MS_PRIVATE)
        self._build("/proc")
        self.system.change_root("/proc")

    def begin(self, student: Callable[[], None], report: int, /) -> int:
        """Begin a process namespace whose first process reaps, and reports on the student's."""
        self.system.unshare(system.CLONE_NEWPID | system.CLONE_NEWNS | system.CLONE_NEWIPC)
        return forked(lambda: self._reap(student, report))

    def surrender(self) -> None:
        """Become nobody, without capabilities, behind a filter of system calls."""
        release = re.findall(r"\d+", os.uname().release)[:2]
        counts_by_namespace = [int(part) for part in release] >= [5, 14]
        bounds = self.plan.bounds
        bound(bounds, bounds.processes if self.uid == 0 or counts_by_namespace else _MANY)
        self.become_nobody(of_root=self.uid == 0)
        Refusals().install(self.system)

    def _leave(self, namespaces: int) -> None:
        """Leave for the user of the submission. Root keeps a second user to become, since limits on processes
        do not bind root. That takes a helper outside of the new user namespace; a user who is not root does
        without.
        """
        gid = os.getegid()
        mapped = False
        if self.uid == 0:
            here, there = os.pipe()
            helper = _map_ids_when_told(here, there, os.getpid())
            os.close(here)
            try:
                self.system.unshare(namespaces)
                os.write(there, b"w")
            finally:
                os.close(there)
            mapped = os.waitpid(helper, 0)[1] == 0
        else:
            self.system.unshare(namespaces)
        if not mapped:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/gid_map").write_text(f"{_NOBODY} {gid} 1\n")
            Path("/proc/self/uid_map").write_text(f"{_NOBODY} {self.uid} 1\n")
            self.uid = _NOBODY

    def _reap(self, student: Callable[[], None], report: int) -> int:
        """Run the first process of the namespace: when it ends, every other one in there is killed."""
        self.system.die_with_parent()
        self.system.keep_memory_private()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        self._furnish()
        child = forked(student)
        os.closerange(0, report)
        os.closerange(max(report + 1, 0), 1 << 16)
        pid, status, used = os.wait4(-1, 0)
        while pid != child:
            pid, status, used = os.wait4(-1, 0)
        if report < 0:
            return os.waitstatus_to_exitcode(status)
        os.write(report, STATUS.pack(status, used.ru_maxrss))
        return 0

    def _furnish(self) -> None:
        """Furnish folders to write in that nobody else sees, and that are gone with the namespace."""
        flags = system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC
        for folder in ("/tmp", "/dev/shm"):
            self.system.mount("tmpfs", folder, "tmpfs", flags, _SMALL)
        # Python itself may lie below /tmp, which is covered now.
        kept = Path(_KEPT)
        for entry in kept.iterdir() if kept.is_dir() else ():
            target = Path("/tmp", entry.name)
            target.mkdir() if entry.is_dir() else target.touch()
            self._bind(str(entry), str(target))
        os.chdir("/tmp")

    def _build(self, root: str) -> None:
        self.system.mount("tmpfs", root, "tmpfs", 0, "size=1m,mode=755")
        for place in (*self.plan.places, *_DEVICES):
            target = Path(root + place)
            if Path(place).is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            if place not in _DEVICES:
                self._bind(place, root + place)
            # Cover a masked folder with an empty one; what is needed of it follows in `places`.
            for mask in self.plan.masked:
                if mask.startswith(f"{place}/"):
                    self.system.mount("tmpfs", root + mask, "tmpfs", 0, "size=1m,mode=755")
        for folder in ("/tmp", "/dev/shm", "/etc"):
            Path(root + folder).mkdir(parents=True, exist_ok=True)
        if any(place.startswith("/tmp/") for place in self.plan.places):
            Path(root + _KEPT).mkdir()
            self._bind(f"{root}/tmp", root + _KEPT)
        Path(f"{root}/etc/passwd").write_text(f"student:x:{_NOBODY}:{_NOBODY}::/tmp:\n")
        self.system.protect(root, system.MS_RDONLY | system.MS_NOSUID | system.MS_NODEV)
        for device in _DEVICES:
            self._bind(device, root + device)

    def _bind(self, place: str, target: str) -> None:
        self.system.mount(place, target, "", system.MS_BIND | system.MS_REC)


def _map_ids_when_told(here: int, there: int, zygote: int) -> int:
    def map_ids() -> None:
        os.close(there)
        os.read(here, 1)
        for kind in ("gid_map", "uid_map"):
            Path(f"/proc/{zygote}/{kind}").write_text(f"0 0 1\n{_NOBODY} {_NOBODY} 1\n")

    return forked(map_ids)


_JAILS = dict(zip(STEPS, (Namespaces, Filtered, Jail), strict=True))


def strongest(plan: WorkerPlan) -> Jail:
    """Return the strongest jail of the plan's steps that this system allows. A child tries each one out."""
    for step in plan.steps:
        jail = _JAILS[step]
        if step == FORK or _works(jail(plan)):
            return jail(plan)
    raise OSError(f"this {os.uname().sysname} allows neither {' nor '.join(plan.steps)}")


def _works(jail: Jail) -> bool:
    def attempt() -> int:
        jail.enter()
        inner = jail.begin(jail.surrender, -1)
        return os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])

    return os.waitpid(forked(attempt), 0)[1] == 0
