"""Whatever a user may call says what it does; what a room offers at its door shows it as well."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import zoolab

# What a command does is shown by the command line's own tests; a download needs a network.
WITHOUT_EXAMPLE = {
    "zoolab.commands.cli.main",
    "zoolab_course.magic.load_ipython_extension",  # IPython calls it
}
PACKAGES = ("zoolab", "zoolab_connect", "zoolab_course", "zoolab_grader", "zoolab_study")
INTERNAL = (*(f"{package}.commands" for package in PACKAGES), "zoolab.__main__")


def modules() -> Iterator[pkgutil.ModuleInfo]:
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        yield from pkgutil.walk_packages(path, f"{package}.")


def public() -> Iterator[tuple[str, Any]]:
    """Every public function and class, under the module that defines it."""
    for info in modules():
        if info.name.startswith(INTERNAL):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            defined_here = getattr(value, "__module__", None) == info.name
            if (
                defined_here
                and not name.startswith("_")
                and (inspect.isclass(value) or inspect.isfunction(value))
            ):
                yield f"{info.name}.{name}", value


def offered() -> set[int]:
    """What `zoolab` itself, a room of it (`zoolab.trace`) or a module beside the rooms offers."""
    doors = [
        zoolab,
        *(importlib.import_module(f"zoolab.{info.name}") for info in pkgutil.iter_modules(zoolab.__path__)),
    ]
    doors.remove(zoolab.mini)  # one file to be read whole; README has its example
    names = [(door, name) for door in doors for name in (getattr(door, "__all__", None) or vars(door))]
    return {id(getattr(door, name)) for door, name in names if not name.startswith("_")}


PUBLIC = dict(public())
OFFERED = offered()
FUNCTIONS = [
    name
    for name, value in PUBLIC.items()
    if inspect.isfunction(value) and id(value) in OFFERED and name not in WITHOUT_EXAMPLE
]
CLASSES = [name for name, value in PUBLIC.items() if inspect.isclass(value)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_shows_an_example(name):
    assert ">>>" in (inspect.getdoc(PUBLIC[name]) or "")


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_and_its_methods_say_what_they_do(name):
    methods = {
        key: getattr(inspect.getattr_static(PUBLIC[name], key), "fget", None) or getattr(PUBLIC[name], key)
        for key, value in vars(PUBLIC[name]).items()
        if (not key.startswith("_") and isinstance(value, (classmethod, staticmethod, property)))
        or inspect.isfunction(value)
    }
    silent = [
        key for key, method in methods.items() if not key.startswith("_") and not inspect.getdoc(method)
    ]
    assert PUBLIC[name].__doc__
    assert silent == []


def test_the_names_of_the_package_are_among_them():
    assert {f"{value.__module__}.{value.__name__}" for value in map(zoolab.__getattr__, zoolab.__all__)} <= {
        *PUBLIC
    }
