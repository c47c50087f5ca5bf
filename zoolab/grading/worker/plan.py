"""What the grader tells a worker before it starts: nothing of it is secret."""

from __future__ import annotations

from dataclasses import dataclass, field

# How far a submission is shut in, strongest first; see `jail`.
NAMESPACES, LANDLOCK, FORK = STEPS = ("namespaces", "landlock", "fork")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process of a submission may use: bytes of address space and of one file, open files, CPU
    seconds; and how many processes and threads there may be at once."""

    memory: int = 2 << 30
    file: int = 32 << 20
    files: int = 256
    processes: int = 64
    cpu: int = 600


@dataclass(frozen=True, slots=True)
class Plan:
    """How to build a worker.

    `uses` are modules to import before any submission, `path` where they are found, `places` what of the
    disk stays readable, and `masked` the folders within them that do not. `steps` are tried in order.
    `task` is what a submission's process does: `cells`, or `kernel` for a notebook's own kernel.
    """

    uses: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    steps: tuple[str, ...] = STEPS
    task: str = "cells"
    bounds: Bounds = field(default_factory=Bounds)
