"""Packages whose names are imported when they are first used, so that importing the package costs little."""

import sys
from collections.abc import Callable
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lazily(package: str, others: str = "") -> tuple[Callable[[str], "Any"], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that offers its modules and more.

    Those stand in `__init__.pyi`, if it is there, in lines such as `from package.module import name as name`.
    A name from another package (`from other_package import name as name`) is not imported from there. The
    function `registered` of the module `others` gets this package, the name and that package, or "" for a
    name that is not in the stub; it returns the value or raises AttributeError.

    `__all__` has the names of packages that are installed; they are looked for when somebody asks for it.

    >>> get, names = lazily("zoolab.models")
    >>> get("replay").__name__, get("Replay").__module__, "Replay" in get("__all__")
    ('zoolab.models.replay', 'zoolab.models.replay', True)
    >>> get("typo")
    Traceback (most recent call last):
    AttributeError: module 'zoolab.models' has no attribute 'typo'
    """
    home_of = _names_in(f"{sys.modules[package].__file__}i")
    home_of = {name: home for name, home in home_of.items() if home != package}
    top = package.partition(".")[0]

    def get(name: str) -> "Any":
        from importlib.util import find_spec

        home = home_of.get(name, "")
        if home.partition(".")[0] == top:
            value = getattr(import_module(home), name)
        elif home and others:
            value = import_module(others).registered(package, name, home.partition(".")[0])
        elif name == "__all__" and home_of:
            tops = {home.partition(".")[0] for home in home_of.values()}
            here = {top, *(other for other in tops - {top} if find_spec(other) is not None)}
            value = sorted(name for name, home in home_of.items() if home.partition(".")[0] in here)
        elif name.startswith("_") or not name.isidentifier():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        elif find_spec(f"{package}.{name}") is not None:
            value = import_module(f"{package}.{name}")
        elif others:
            value = import_module(others).registered(package, name, "")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        from pkgutil import iter_modules

        module = sys.modules[package]
        inner = [info.name for info in iter_modules(module.__path__)]
        special = [name for name in vars(module) if name.startswith("__")]
        return sorted({*home_of, *special, *(name for name in inner if not name.startswith("_"))})

    return get, names


def _names_in(stub: str) -> dict[str, str]:
    """Return the module of each name in a stub; nothing if there is no such file."""
    try:
        # Not with pathlib: `python -m zoolab` comes here before it can leave out the folder it is started in.
        with open(stub, encoding="utf-8") as file:  # noqa: PTH123
            imports = [line.split() for line in file if line.startswith("from ")]
    except FileNotFoundError:
        return {}
    return {name: module for _, module, _, name, *_ in imports}
