"""Packages whose names are imported when they are first used, so that importing the package costs little."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lazily(
    package: str, homes: Mapping[str, str] | None = None
) -> tuple[Callable[[str], "Any"], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package: names from their modules, and the modules themselves.

    Args:
        package: The name of the package.
        homes: For each module of the package, the names that the package offers from it, with blanks between.

    >>> get, names = lazily("zoolab.plots", {"frames": "check_frame"})
    >>> get("frames").__name__, get("check_frame").__module__
    ('zoolab.plots.frames', 'zoolab.plots.frames')
    >>> get("typo")
    Traceback (most recent call last):
    AttributeError: module 'zoolab.plots' has no attribute 'typo'
    """
    home_of = {name: home for home, names in (homes or {}).items() for name in names.split()}

    def get(name: str) -> "Any":
        from importlib.util import find_spec

        if name in home_of:
            value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        elif name.startswith("_") or not name.isidentifier() or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        else:
            value = import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        from pkgutil import iter_modules

        module = sys.modules[package]
        inner = [info.name for info in iter_modules(module.__path__)]
        special = [name for name in vars(module) if name.startswith("__")]
        return sorted({*home_of, *special, *(name for name in inner if not name.startswith("_"))})

    return get, names
