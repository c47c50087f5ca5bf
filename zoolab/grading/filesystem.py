"""What of the disk Python needs: the interpreter's own folders, shared libraries, the packages of a lab."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_LIBRARIES = ("/lib64", "/usr/lib64")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and files that a worker may read, the folders of packages within them that it may not, and
    where Python finds the packages."""

    readable: tuple[str, ...]
    masked: tuple[str, ...]
    path: tuple[str, ...]


def places_for(uses: Iterable[str]) -> Places:
    """What a worker reads that imports the modules `uses`.

    >>> [place for place in places_for(("json",)).readable if Path(__file__).is_relative_to(place)]
    []
    """
    packages = sorted({place for name in uses for place in _places_of(name)})
    base = [*_standard_library(), *_shared_libraries(), "/etc/ld.so.cache", "/usr/share/zoneinfo"]
    masked = _package_folders(base)
    readable = [*dict.fromkeys(place for place in base if Path(place).exists()), *packages]
    outermost = [place for place in readable if not _lies_in(place, readable, masked)]
    return Places(tuple(outermost), tuple(masked), tuple(_parents(packages)))


def _lies_in(place: str, places: list[str], masked: list[str]) -> bool:
    """Whether another of the places shows this one already."""
    above = {str(parent) for parent in Path(place).parents}
    return not above.isdisjoint(places) and above.isdisjoint(masked)


def _standard_library() -> list[str]:
    # Not the folder of a virtual environment: it may lie in the checkout, and holds packages only.
    own = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    return [sysconfig.get_path(name, vars=own) for name in ("stdlib", "platstdlib")]


def _shared_libraries() -> list[str]:
    several = sysconfig.get_config_var("MULTIARCH")
    folders = [f"/lib/{several}", f"/usr/lib/{several}"] if several else ["/lib", "/usr/lib"]
    own = Path(str(sysconfig.get_config_var("LIBDIR") or "/nowhere"))
    return [*folders, *_LIBRARIES, *(str(path) for path in sorted(own.glob("libpython*.so*")))]


def _package_folders(base: list[str]) -> list[str]:
    """Where others' packages lie within Python's own folders; zoolab or a solution may be among them."""
    masked = {path for place in base for path in _folders_named_packages(Path(place))}
    return sorted(str(path) for path in masked)


def _folders_named_packages(place: Path) -> list[Path]:
    patterns = [f"{under}{kind}-packages" for kind in ("site", "dist") for under in ("", "python3*/")]
    return [path for pattern in patterns for path in place.glob(pattern) if path.is_dir()]


def _places_of(module: str) -> list[str]:
    """The files of a module's distribution, and of every distribution that it requires."""
    name = _distribution_of(module)
    if name is None:
        return _places_of_module(module)
    found: dict[str, list[str]] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if _plain(name) in found:
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            found[_plain(name)] = []
            continue
        found[_plain(name)] = _tops(distribution)
        waiting += _requirements(distribution)
    return [place for places in found.values() for place in places] or _places_of_module(module)


def _distribution_of(module: str) -> str | None:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return None
    try:
        return metadata.distribution(top).metadata["Name"]
    except metadata.PackageNotFoundError:
        return next(iter(metadata.packages_distributions().get(top, ())), None)


def _places_of_module(module: str) -> list[str]:
    """For a module that no distribution lists: its folder or its file."""
    top = module.partition(".")[0]
    spec = None if top in sys.stdlib_module_names else find_spec(top)
    if spec is None:
        return []
    folders = [str(Path(folder)) for folder in spec.submodule_search_locations or ()]
    return folders or [str(spec.origin)]


def _tops(distribution: metadata.Distribution) -> list[str]:
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
    paths = [Path(str(distribution.locate_file(top))).absolute() for top in sorted(tops)]
    return [str(path) for path in paths if path.exists() and path.suffix != ".pth"]


def _requirements(distribution: metadata.Distribution) -> list[str]:
    wanted = [text for text in distribution.requires or () if "extra ==" not in text]
    return [match.group() for text in wanted if (match := _REQUIREMENT.match(text))]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _parents(packages: list[str]) -> list[str]:
    return list(dict.fromkeys(str(Path(place).parent) for place in packages))
