"""The cells of a submission, run one after the other as a notebook would."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

from zoolab_grader.worker.cells import OUTPUT, WRITTEN, LeftOut, PlainCell, read_cell

#: What a submission may import from zoolab: it does nothing here.
GIVEN = ("check", "predict", "inspect")
#: The name in an import error about a part of zoolab that it cannot have.
REFUSED = "zoolab"

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
        names.update(get_ipython=lambda: shell, In=[""], Out={}, __IPYTHON__=True)
        names.update(_ih=names["In"], _oh=names["Out"], _dh=["."], _i="", _ii="", __="", ___="")
        names[OUTPUT] = Output
        names[WRITTEN] = self._written = Written(self)

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
        for node in before if isinstance(last, ast.Expr) else (*before, last):
            try:
                await self._run(ast.Module([node], []), name, "exec")
            except ImportError as error:
                if error.name != REFUSED or not isinstance(node, (ast.Import, ast.ImportFrom)):
                    raise
                self._stand_in(node)
        if not isinstance(last, ast.Expr):
            return
        value = await self._run(ast.Expression(last.value), name, "eval")
        if value is None or isinstance(value, Nothing) or quiet:
            return
        out = self.names.get("Out")
        if isinstance(out, dict):
            out[number] = value
        if self.names.get("_") is self._shown:
            self.names["_"] = self._shown = value

    def _stand_in(self, node: ast.Import | ast.ImportFrom) -> None:
        """Define what an import of zoolab names: nothing below it is lost, unless it uses them."""
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.names[name] = Nothing() if alias.name in GIVEN else RefusedName(alias.name)

    async def _run(self, tree: ast.Module | ast.Expression, name: str, mode: str) -> Any:
        flags = self._features | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: types.CodeType = compile(tree, name, mode, flags=flags, dont_inherit=True)
        self._features |= code.co_flags & _FUTURE
        result = eval(code, self.names)
        return await result if code.co_flags & inspect.CO_COROUTINE else result


def _awaits(tree: ast.Module) -> bool:
    """Return whether a cell awaits something outside of its functions."""
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


class Written(Loader):
    """The modules that cells write with `%%writefile`: imported and run as files of a folder are."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        #: The cells of each module, with the names of the cells, by the path of the module.
        self._parts: dict[tuple[str, ...], list[tuple[str, str]]] = {}

    def write(self, cell: PlainCell, name: str) -> None:
        """Keep the code of a cell. What an earlier notebook of this process wrote is forgotten."""
        if not self._parts:
            for each in [found for found in sys.meta_path if isinstance(found, Written)]:
                sys.meta_path.remove(each)
                each.forget()
            sys.meta_path.insert(0, self)
        path = _parts_of(cell.module)
        self._parts[path] = [*(self._parts.get(path, []) if cell.appended else []), (cell.code, name)]

    def forget(self) -> None:
        """Have no module of these imported any more."""
        for name in [name for name, module in sys.modules.items() if _loader_of(module) is self]:
            del sys.modules[name]

    def run(self, path: str, line: int, said: str) -> None:
        """Run a module among the names of the notebook; one that no cell wrote is left out."""
        found = self._parts.get(_parts_of(path))
        if found is None:
            self._notebook.left_out.append(LeftOut(line, said))
            return
        self._execute(found, self._notebook.names)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Find a module or a folder of modules by the end of its path, since cells may add folders."""
        wanted = tuple(name.split("."))
        place = self._where((*wanted, "__init__"))
        is_package = place is not None or any(_holds(each, wanted) for each in self._parts)
        if not is_package:
            place = self._where(wanted)
        found = is_package or place is not None
        return ModuleSpec(name, self, loader_state=place, is_package=is_package) if found else None

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the code of a module."""
        vars(module)["__builtins__"] = self._notebook.names.get("__builtins__", builtins)
        place = None if module.__spec__ is None else module.__spec__.loader_state
        if place is not None:
            module.__file__ = f"{'/'.join(place)}.py"
            self._execute(self._parts[place], vars(module))

    def _where(self, wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        return next((path for path in self._parts if path[-len(wanted) :] == wanted), None)

    @staticmethod
    def _execute(parts: list[tuple[str, str]], names: dict[str, Any]) -> None:
        for code, cell in parts:
            exec(compile(code, cell, "exec", dont_inherit=True), names)


def _parts_of(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _holds(path: tuple[str, ...], folder: tuple[str, ...]) -> bool:
    """Return whether a file is in a folder, by the end of the path of the folder."""
    return any(path[at : at + len(folder)] == folder for at in range(len(path) - len(folder)))


def _loader_of(module: object) -> object:
    return getattr(getattr(module, "__spec__", None), "loader", None)


class Output(list[str]):
    """The output of a command that did not run: empty, but cells that take a line of it get one."""

    n = s = stdout = stderr = ""
    outputs: tuple[Any, ...] = ()
    best = worst = average = 0.0

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
    """Accepts any call or attribute and does nothing; it is empty, and can be a base class."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (Nothing,)

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Give nothing."""
        return Nothing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __contains__(self, _item: object) -> bool:
        return False

    def __len__(self) -> int:
        return 0


class Shell(Nothing):
    """What `get_ipython()` gives: it runs code, as a notebook exported to a script asks for, and no more."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__()
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

    def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing: most methods of a shell return None."""

    def __contains__(self, _item: object) -> bool:
        """Have every part of a configuration, as the shell of a notebook has `IPKernelApp`."""
        return True

    def __bool__(self) -> bool:
        return True

    def push(self, names: dict[str, Any]) -> None:
        """Define names."""
        self.user_ns.update(names)


def importing(usual: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    """Return an `__import__` for submissions: what cells import from zoolab and IPython does nothing here.

    `names` are those of the notebook, which has the only `get_ipython`.
    """

    def find(name: str, *rest: Any, **more: Any) -> Any:
        top, _, below = name.partition(".")
        if top.partition("_")[0] == "zoolab" != top:
            refuse(name)
        if top not in ("zoolab", "IPython"):
            return usual(name, *rest, **more)
        module = types.ModuleType(name)
        vars(module)["__version__"] = "0"
        if top == "IPython":
            given = {"get_ipython": names.get("get_ipython"), "version_info": (9, 0, 0)}
            vars(module).update(given, __getattr__=Nothing().__getattr__)
        elif below:
            refuse(below)
        else:
            vars(module).update(dict.fromkeys(GIVEN, Nothing()), __getattr__=refuse)
        return module

    return find


class RefusedName:
    """A part of zoolab that a submission has imported: it raises when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Say that it cannot be used."""
        refuse(self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(self._name)

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
        refuse(self._name)


def refuse(name: str) -> NoReturn:
    """Say that a part of zoolab cannot be had."""
    if name.startswith("__"):
        raise AttributeError(name)
    said = f"{name} of zoolab cannot be used while a submission is graded; write the code yourself"
    raise ImportError(said, name=REFUSED)


def install() -> types.ModuleType:
    """Make a fresh `__main__` the program that runs, with what a notebook has, and zoolab the stand-in."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(module).update(display=Nothing())
    builtins.__import__ = importing(builtins.__import__, vars(module))
    return module
