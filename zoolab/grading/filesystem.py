"""What of the disk Python needs: the interpreter's own folders, shared libraries, the packages of a lab."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and files that a worker may read, the folders of packages within them that it may not, and
    where Python finds the packages."""

    readable: tuple[str, ...]
    masked: tuple[str, ...]
    path: tuple[str, ...]


def places_for(uses: Iterable[str]) -> Places:
    """What a worker reads that imports the modules `uses`."""
    packages = sorted({place for module in uses for place in _files_of(module.partition(".")[0])})
    base = [*_standard_library(), *_shared_libraries(), "/etc/ld.so.cache", "/usr/share/zoneinfo"]
    masked = _package_folders(base)
    readable = [*dict.fromkeys(place for place in base if Path(place).exists()), *packages]
    outermost = [place for place in readable if not _lies_in(place, readable, masked)]
    path = dict.fromkeys(str(Path(place).parent) for place in packages)
    return Places(tuple(outermost), tuple(masked), tuple(path))


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
    return [*folders, "/lib64", "/usr/lib64", *(str(path) for path in sorted(own.glob("libpython*.so*")))]


def _package_folders(base: list[str]) -> list[str]:
    """Where others' packages lie within Python's own folders; zoolab or a solution may be among them."""
    patterns = [f"{under}{kind}-packages" for kind in ("site", "dist") for under in ("", "python3*/")]
    found = {path for place in base for pattern in patterns for path in Path(place).glob(pattern)}
    return sorted(str(path) for path in found if path.is_dir())


def _files_of(module: str) -> list[str]:
    """The files of a module's distribution, and of every distribution that it requires; for a module that no
    distribution lists, its folder or its file."""
    if module in sys.stdlib_module_names:
        return []
    try:
        waiting = [metadata.distribution(module).metadata["Name"]]
    except metadata.PackageNotFoundError:
        waiting = metadata.packages_distributions().get(module, [])[:1]
    found: dict[str, list[str]] = {}
    while waiting:
        name = waiting.pop()
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in found:
            continue
        found[plain] = []
        with suppress(metadata.PackageNotFoundError):
            distribution = metadata.distribution(name)
            found[plain] = _tops(distribution)
            wanted = [text for text in distribution.requires or () if "extra ==" not in text]
            waiting += [match.group() for text in wanted if (match := _REQUIREMENT.match(text))]
    places = [place for tops in found.values() for place in tops]
    spec = None if places else find_spec(module)
    if spec is not None:
        folders = [str(Path(folder)) for folder in spec.submodule_search_locations or ()]
        places = folders or [str(spec.origin)]
    return places


def _tops(distribution: metadata.Distribution) -> list[str]:
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
    paths = [Path(str(distribution.locate_file(top))).absolute() for top in sorted(tops)]
    return [str(path) for path in paths if path.exists() and path.suffix != ".pth"]
