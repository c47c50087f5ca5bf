"""A class on a cluster: dask's workers grade as the processes of this machine do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from zoolab.errors import InvalidInput

# A cluster that grows with its work has few workers, or none, when it begins.
_FEWEST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Cluster:
    """The executor of a cluster, and how many submissions it should have at a time."""

    executor: Executor
    at_once: int


@contextmanager
def dask_cluster(address: str) -> Iterator[Cluster]:
    """The workers of the dask scheduler at `address`, as an executor.

    Raises `InvalidInput` where dask is not installed or no scheduler answers.

    >>> with dask_cluster("nowhere://x"):
    ...     pass
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: ...
    """
    try:
        from dask.distributed import Client as Untyped
    except ImportError:
        raise InvalidInput("dask is not installed", advice='pip install "zoolab[cluster]"') from None
    Client: Any = Untyped
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"no dask scheduler answers at {address}", advice="give the address that dask scheduler prints"
        ) from error
    with client:
        threads = sum(client.nthreads().values())
        # A worker that dies hands its tasks on; one whose code raised is asked again.
        executor = client.get_executor(pure=False, retries=3)
        yield Cluster(executor, max(2 * threads, _FEWEST_AT_ONCE))
