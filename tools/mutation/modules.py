"""Mutants of zoolab's own modules: a drawn number of them, each with the tests of its module.

`modules.toml` says which files belong together, which tests have to notice a fault in them, and which mutants
are no faults. Texts are left out: most of them are wording, which tests of wording hold.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutation.mutants import Mutant, mutants_of_module

CHECKOUT = Path(__file__).resolve().parents[2]
_OPTIONS = (
    "-q",
    "-x",
    "-n0",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=-m 'not slow and not browser'",
    "--hypothesis-profile",
    "unshrunk",
)
#: A mutant may go on for ever. It is noticed then, too.
_SECONDS = 300
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "notebooks", "node_modules")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of zoolab: its files and its tests, as paths in the checkout, and mutants that are no faults."""

    files: Sequence[str]
    tests: Sequence[str]
    #: The changes that nobody could notice, by the reason.
    equivalent: dict[str, list[str]]

    def drawn(self, number: int, seed: str, checkout: Path = CHECKOUT) -> list[tuple[str, Mutant]]:
        """Draw mutants of all files together, the same ones for the same seed, in the order of the lines."""
        found = [
            (file, mutant)
            for file in self.files
            for mutant in mutants_of_module((checkout / file).read_text(encoding="utf-8"))
            if not _is_text(mutant.before) and not self.is_equivalent(mutant)
        ]
        chosen = random.Random(seed).sample(range(len(found)), min(number, len(found)))
        return [found[at] for at in sorted(chosen)]

    def is_equivalent(self, mutant: Mutant) -> bool:
        """Tell whether a mutant is listed as no fault. Lines move, so the list names the changes alone."""
        change = mutant.name.partition(": ")[2]
        return any(change in changes for changes in self.equivalent.values())


def parts() -> dict[str, Part]:
    """Read the parts of zoolab that can be tested so, by their names."""
    listed = tomllib.loads(Path(__file__).with_name("modules.toml").read_text(encoding="utf-8"))
    return {
        name: Part(part["files"], part["tests"], part.get("equivalent", {})) for name, part in listed.items()
    }


def survivors(
    part: Part, number: int, seed: str, checkout: Path = CHECKOUT
) -> Iterator[tuple[str, Mutant, bool]]:
    """Run the tests with each drawn mutant in a copy of the checkout; True if no test fails.

    Raises:
        RuntimeError: The tests fail without a mutant.
    """
    with _copy(checkout) as copy:
        if not _passes(copy, part.tests):
            raise RuntimeError(f"without a mutant, these tests fail: {', '.join(part.tests)}")
        for file, mutant in part.drawn(number, seed, checkout):
            whole = (copy / file).read_text(encoding="utf-8")
            (copy / file).write_text(mutant.code, encoding="utf-8")
            yield file, mutant, _passes(copy, part.tests)
            (copy / file).write_text(whole, encoding="utf-8")


@contextmanager
def _copy(checkout: Path) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(checkout, copy, ignore=_LEFT_OUT)
        yield copy


def _passes(copy: Path, tests: Sequence[str]) -> bool:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "plugins")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", *_OPTIONS, *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _is_text(code: str) -> bool:
    try:
        return isinstance(ast.literal_eval(code), str)
    except (ValueError, SyntaxError):
        return False
