"""The limits that a Unix puts on one process."""

from __future__ import annotations

import os
import re
import resource
from contextlib import suppress

from zoolab.grading.worker.plan import Bounds

#: Where the count of processes is that of the whole user, a desktop's own ones must fit in.
MANY = 4096


def counts_by_namespace() -> bool:
    """Whether Linux counts the processes of each user namespace apart, as it does since 5.14.

    >>> isinstance(counts_by_namespace(), bool)
    True
    """
    release = re.findall(r"\d+", os.uname().release)[:2]
    return [int(part) for part in release] >= [5, 14]


def bound(bounds: Bounds, processes: int) -> None:
    """Put limits on this process that it cannot lift.

    >>> bound.__name__
    'bound'
    """
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
        if number is not None:
            _bound_one(number, limit)


def _bound_one(number: int, limit: int) -> None:
    hard = resource.getrlimit(number)[1]
    least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    # macOS knows some of these limits by name only.
    with suppress(OSError, ValueError):
        resource.setrlimit(number, (least, least))
