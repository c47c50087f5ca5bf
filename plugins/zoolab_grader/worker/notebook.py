"""The cells of a submission, run one after the other as a notebook would."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import linecache
import sys
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from zoolab_grader.worker.cells import OUTPUT, LeftOut, PlainCell, read_cell

#: The name in the cells of the modules that they write.
WRITTEN = "__zoolab_written__"

# The flags of all `from __future__ import`s.
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


class Notebook:
    """The names that the cells define."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.left_out: list[LeftOut] = []
        self._features = 0
        self._shown: Any = None
        #: Keeps one event loop for all cells, as a notebook does.
        self._runner: Any = None
        shell = Shell(self)
        names.update(get_ipython=lambda: shell, In=[""], Out={})
        names[OUTPUT] = Output
        names[WRITTEN] = self._written = Written()

    def run(self, cell: str, number: int) -> None:
        """Run a cell; `left_out` grows by what of it is not Python and does nothing.

        A cell that fails costs what it would have defined after the error, no more: as in a notebook, each of
        its statements is compiled when the one before has run.
        """
        name = f"<cell {number}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        plain = read_cell(cell)
        self.left_out += plain.left_out
        if plain.module:
            self._written.write(plain, name)
            return
        tree = ast.parse(plain.code, name)
        self._run_tree(tree, name, number, quiet=plain.code.rstrip().endswith(";"))

    def _run_tree(self, tree: ast.Module, name: str, number: int, quiet: bool) -> None:
        if not _awaits(tree):
            with suppress(StopIteration):
                self._running(tree, name, number, quiet).send(None)
            return
        if self._runner is None:
            import asyncio

            self._runner = asyncio.Runner()
        self._runner.run(self._running(tree, name, number, quiet))

    async def _running(self, tree: ast.Module, name: str, number: int, quiet: bool) -> None:
        *before, last = tree.body or [ast.Pass(lineno=1, col_offset=0)]
        for node in before:
            await self._run(ast.Module([node], []), name, "exec")
        if not isinstance(last, ast.Expr):
            await self._run(ast.Module([last], []), name, "exec")
            return
        value = await self._run(ast.Expression(last.value), name, "eval")
        if value is None or quiet:
            return
        out = self.names.get("Out")
        if isinstance(out, dict):
            out[number] = value
        if self.names.get("_") is self._shown:
            self.names["_"] = self._shown = value

    async def _run(self, tree: ast.Module | ast.Expression, name: str, mode: str) -> Any:
        flags = self._features | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: types.CodeType = compile(tree, name, mode, flags=flags, dont_inherit=True)
        self._features |= code.co_flags & _FUTURE
        result = eval(code, self.names)
        return await result if code.co_flags & inspect.CO_COROUTINE else result


def _awaits(tree: ast.Module) -> bool:
    """Whether a cell awaits something outside of its functions."""
    left: list[ast.AST] = [*tree.body]
    while left:
        node = left.pop()
        if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return True
        if isinstance(node, ast.comprehension) and node.is_async:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            left += ast.iter_child_nodes(node)
    return False


class Module(types.ModuleType):
    """A module whose code is a cell."""


class Written:
    """The modules that cells write with `%%writefile`: imported as they are from the folder of a notebook."""

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[str, str]]] = {}

    def write(self, cell: PlainCell, name: str) -> None:
        """Keep the code of a cell; what an earlier notebook imported by the same name is forgotten."""
        if cell.module not in self._parts and isinstance(sys.modules.get(cell.module), Module):
            del sys.modules[cell.module]
        before = self._parts.get(cell.module, []) if cell.appended else []
        self._parts[cell.module] = [*before, (cell.code, name)]

    def load(self, name: str, names: dict[str, Any]) -> None:
        """Run the code of a module unless it has run; a name that no cell wrote is passed over."""
        if name not in self._parts or name in sys.modules:
            return
        module = sys.modules[name] = Module(name)
        vars(module)["__builtins__"] = names.get("__builtins__", builtins)
        try:
            for code, cell in self._parts[name]:
                exec(compile(code, cell, "exec", dont_inherit=True), vars(module))
        except BaseException:
            del sys.modules[name]
            raise


class Output(list[str]):
    """The output of a command that did not run: empty, but cells that take a line of it get one."""

    n = s = stdout = stderr = ""
    outputs: tuple[Any, ...] = ()

    def __init__(self, lines: int = 0) -> None:
        super().__init__([""] * lines)

    def __getitem__(self, index: Any) -> Any:
        known = isinstance(index, slice) or -len(self) <= index < len(self)
        return super().__getitem__(index) if known else ""

    def __getattr__(self, name: str) -> Output:
        if name in ("l", "p"):  # IPython's names for the lines, and for them as paths
            return self
        raise AttributeError(name)

    def grep(self, *_args: Any, **_kwargs: Any) -> Output:
        """Return no line."""
        return Output()

    fields = grep

    def show(self) -> None:
        """Show nothing."""

    __call__ = show


class Nothing:
    """Accepts any call or attribute and does nothing."""

    def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        """Nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class Shell(Nothing):
    """What `get_ipython()` gives: it runs code, as a notebook exported to a script asks for, and no more."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self.user_ns = self.user_global_ns = notebook.names

    def run_cell(self, cell: str, *_args: Any, **_kwargs: Any) -> None:
        """Run a cell."""
        self._notebook.run(cell, 0)

    def run_line_magic(self, name: str, line: str = "", *_args: Any) -> Any:
        """Run what a magic runs, or nothing."""
        self._notebook.run(f"%{name} {line}", 0)

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """Run what a magic runs, or nothing."""
        self._notebook.run(f"%%{name} {line}".rstrip() + f"\n{cell}", 0)

    def getoutput(self, *_args: Any, **_kwargs: Any) -> Output:
        """Give the output of a command that did not run."""
        return Output()

    def push(self, names: dict[str, Any]) -> None:
        """Define names."""
        self.user_ns.update(names)


def importing(usual: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    """An `__import__` for submissions: what cells import from zoolab and IPython does nothing here.

    `names` are those of the notebook, which has the only `get_ipython`.
    """

    def find(name: str, *rest: Any, **more: Any) -> Any:
        top, _, below = name.partition(".")
        if top.partition("_")[0] == "zoolab" != top:
            refuse(name)
        if top not in ("zoolab", "IPython"):
            written = names.get(WRITTEN)
            if isinstance(written, Written):
                written.load(name, names)
            return usual(name, *rest, **more)
        module = types.ModuleType(name)
        if top == "IPython":
            vars(module).update(get_ipython=names.get("get_ipython"), __getattr__=Nothing().__getattr__)
        elif below:
            refuse(below)
        else:
            given = dict.fromkeys(("check", "predict", "inspect"), Nothing())
            vars(module).update(given, __getattr__=refuse)
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
    vars(module).update(display=Nothing())
    builtins.__import__ = importing(builtins.__import__, vars(module))
    return module
