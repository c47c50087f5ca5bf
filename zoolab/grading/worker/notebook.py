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
from typing import Any

# The flags of all `from __future__ import`s.
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


class Notebook:
    """The names that the cells define."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self._features = 0

    def run(self, cell: str, number: int) -> None:
        """Run a cell; one that fails costs what it would have defined, no more."""
        name = f"<cell {number}>"
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

    def exec_module(self, module: types.ModuleType) -> None:
        """Its names do nothing; of zoolab there are three, and any other is an ImportError."""
        if module.__name__ == "zoolab":
            names = dict.fromkeys(("check", "predict", "inspect"), Nothing())
            vars(module).update(names, __getattr__=refuse)
        else:
            vars(module).update(get_ipython=Nothing, __getattr__=Nothing().__getattr__)


def refuse(name: str) -> Any:
    """Say that a part of zoolab cannot be imported."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"zoolab.{name} cannot be imported while a submission is graded; write the code yourself"
    )


def install() -> types.ModuleType:
    """Make a fresh `__main__` the program that runs, with what a notebook has, and zoolab the stand-in."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(module).update(get_ipython=Nothing, display=Nothing())
    sys.meta_path.insert(0, StandIn())
    return module
