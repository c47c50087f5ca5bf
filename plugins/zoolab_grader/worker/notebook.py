"""The cells of a submission, run one after the other as a notebook would."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import linecache
import re
import sys
import types
from collections.abc import Callable
from typing import Any

# The flags of all `from __future__ import`s.
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


# %magic, !command, ?help, help?, and a variable that is given what a magic or a command returns.
_MAGIC_LINE = re.compile(r"^([ \t]*+)((?:[%!?]|[\w.]++\?|\w++ *+= *+[%!]).*)$", re.MULTILINE)
_PASS = r"\1pass  # \2"


def without_magics(cell: str) -> str:
    """A cell that is not Python: lines and cells that only IPython or another language knows do nothing."""
    first, newline, rest = cell.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        runs = first.split()[0] in ("%%time", "%%timeit", "%%capture")
        return f"# {first}{newline}{_MAGIC_LINE.sub(_PASS, rest)}" if runs else ""
    return _MAGIC_LINE.sub(_PASS, cell)


class Notebook:
    """The names that the cells define."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self._features = 0

    def run(self, cell: str, number: int) -> None:
        """Run a cell; one that fails costs what it would have defined, no more."""
        name = f"<cell {number}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        try:
            code = self._compiled(cell, name)
        except SyntaxError:
            code = self._compiled(without_magics(cell), name)
        self._features |= code.co_flags & _FUTURE
        result = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio

            asyncio.run(result)

    def _compiled(self, cell: str, name: str) -> types.CodeType:
        flags = self._features | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: types.CodeType = compile(cell, name, "exec", flags=flags, dont_inherit=True)
        return code


class Nothing:
    """Whatever is asked of it, it does nothing."""

    def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        """Nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def importing(usual: Callable[..., Any]) -> Callable[..., Any]:
    """An `__import__` for submissions: what cells import from zoolab and IPython does nothing here."""

    def find(name: str, *rest: Any, **more: Any) -> Any:
        top, _, below = name.partition(".")
        if top.partition("_")[0] == "zoolab" != top:
            refuse(name)
        if top not in ("zoolab", "IPython"):
            return usual(name, *rest, **more)
        module = types.ModuleType(name)
        if top == "IPython":
            vars(module).update(get_ipython=Nothing, __getattr__=Nothing().__getattr__)
        elif below:
            refuse(below)
        else:
            names = dict.fromkeys(("check", "predict", "inspect"), Nothing())
            vars(module).update(names, __getattr__=refuse)
        return module

    return find


def refuse(name: str) -> Any:
    """Say that a part of zoolab cannot be imported."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"{name} of zoolab cannot be imported while a submission is graded; write the code yourself"
    )


def install() -> types.ModuleType:
    """Make a fresh `__main__` the program that runs, with what a notebook has, and zoolab the stand-in."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(module).update(get_ipython=Nothing, display=Nothing())
    builtins.__import__ = importing(builtins.__import__)
    return module
