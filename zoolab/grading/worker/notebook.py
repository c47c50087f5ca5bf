"""The cells of a submission, run one after the other as a notebook would."""

from __future__ import annotations
import __future__

import ast
import importlib.abc
import importlib.machinery
import inspect
import linecache
import sys
import types
from collections.abc import Sequence
from typing import Any

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


class Notebook:
    """The names that the cells define.

    >>> book = Notebook({})
    >>> book.run(["x = 1", "1 / 0", "y = x + 1"])
    [(2, ZeroDivisionError('division by zero'))]
    >>> book.names["y"]
    2
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self._features = 0

    def run(self, cells: Sequence[str], first: int = 1) -> list[tuple[int, BaseException]]:
        """Run the cells, numbered from `first`; one that fails costs what it would have defined, no more."""
        problems: list[tuple[int, BaseException]] = []
        for number, cell in enumerate(cells, start=first):
            try:
                self._run_cell(cell, f"<cell {number}>")
            except BaseException as error:
                problems.append((number, error))
        return problems

    def _run_cell(self, cell: str, name: str) -> None:
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        flags = self._features | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(cell, name, "exec", flags=flags, dont_inherit=True)
        self._features |= code.co_flags & _FUTURE
        result = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio

            asyncio.run(result)


class Nothing:
    """Whatever is asked of it, it does nothing."""

    def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        """Nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The cells of a notebook import `check` and `predict` from zoolab, and `display` from IPython; here
    they do nothing."""

    def __init__(self, names: tuple[str, ...] = ("zoolab", "IPython", "IPython.display")) -> None:
        self.names = names

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        """Only these modules are here."""
        if name not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name == "IPython")

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """A module whose names do nothing; of zoolab there are three, and any other is an ImportError."""
        module: Any = types.ModuleType(spec.name)
        if spec.name == "zoolab":
            module.check = module.predict = module.inspect = Nothing()
            module.__getattr__ = _refuse
        else:
            module.get_ipython = Nothing
            module.__getattr__ = Nothing().__getattr__
        made: types.ModuleType = module
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        """It is complete as it is made."""


def main_module() -> types.ModuleType:
    """A fresh `__main__`, with what a notebook has beside Python's own names.

    >>> main_module().get_ipython().run_line_magic("matplotlib", "inline")
    """
    module: Any = types.ModuleType("__main__")
    module.get_ipython = Nothing
    module.display = Nothing()
    made: types.ModuleType = module
    return made


def install(module: types.ModuleType) -> None:
    """Make `module` the program that runs, and zoolab the stand-in.

    >>> install.__name__
    'install'
    """
    sys.modules["__main__"] = module
    sys.meta_path.insert(0, StandIn())


def _refuse(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"zoolab.{name} is not there while a submission is graded: write it yourself")
