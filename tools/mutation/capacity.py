"""Mutants of capacity: a right answer of which one list, memory or sum holds only so much.

An answer that keeps the newest 20 messages looks right in each short conversation.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from tools.mutation.mutants import Mutant, changed_by

__all__ = ["SIZES", "capacity_mutants", "capacity_mutants_of_cells"]

#: How much is kept.
SIZES = (2, 4, 20, 100)
_ADDING = {"append", "extend", "insert"}
#: What is iterated over and may have no end.
_ENDLESS = {"count", "cycle", "iter", "repeat"}
_COPYING = {"list", "sorted", "tuple"}

#: What stays of `x`, and how that is called.
_LISTS = {"the first {n}": "x[:{n}]", "the newest {n}": "x[-{n}:]"}
_ITERATED = {"the first {n}": "[*x][:{n}]", "the last {n}": "[*x][-{n}:]"}
_PAIRS = {"the first {n}": "dict([*x.items()][:{n}])", "the last {n}": "dict([*x.items()][-{n}:])"}
_SUMS = {
    "at most {n}, or the first {n}": "min(x, {n}) if isinstance(x, (int, float)) else x[:{n}]",
    "at most {n}, or the newest {n}": "min(x, {n}) if isinstance(x, (int, float)) else x[-{n}:]",
}
#: What is done to `x` after it has grown.
_GROWN = {"then the first {n}": "del x[{n}:]", "then the newest {n}": "del x[:-{n}]"}
_MAPPED = {
    "then the first {n}": "[x.pop(each) for each in [*x][{n}:]]",
    "then the newest {n}": "[x.pop(each) for each in [*x][:-{n}]]",
}
_IN_A_SET = {"then the first {n}": "x.difference_update([*x][{n}:])"}


def capacity_mutants(code: str) -> Iterator[Mutant]:
    """Make each program that differs from `code` in how much one list, dict, set or sum of it holds.

    >>> [each.name for each in capacity_mutants("seen.append(x)")][:2]
    ['1: seen.append(x) -> then the first 2', '1: seen.append(x) -> then the newest 2']
    """
    tree = ast.parse(code)
    read = _read_after_growing(tree)
    sums = _sums_in(tree)
    for number, node in enumerate(ast.walk(tree)):
        cuts = [
            *_cuts(node),
            *(_instead(_LISTS) if node in read else _instead(_SUMS) if node in sums else ()),
        ]
        for size in SIZES:
            for said, change in cuts:
                mutant = changed_by(code, number, partial(change, size=size))
                if mutant is not None:
                    yield Mutant(mutant.code, mutant.line, mutant.before, said.format(n=size))


def capacity_mutants_of_cells(
    cells: Sequence[str], functions: Sequence[str]
) -> Iterator[tuple[Mutant, list[str]]]:
    """Yield the mutants of the cells that define something, each with all cells."""
    for at, cell in enumerate(cells):
        if "def " in cell or any(name in cell for name in functions):
            for mutant in capacity_mutants(cell):
                yield mutant, [*cells[:at], mutant.code, *cells[at + 1 :]]


def _read_after_growing(tree: ast.Module) -> set[ast.AST]:
    """Return the names of lists that grow, where they are given to a function or returned."""
    grown = set[str]()
    read = set[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=called)) if called in _ADDING:
                grown.add(name)
            case ast.Call(func=ast.Name(), args=arguments):
                read.update(arguments)
            case ast.Return(value=ast.Name() as returned):
                read.add(returned)
    return {each for each in read if isinstance(each, ast.Name) and each.id in grown}


def _sums_in(tree: ast.Module) -> set[ast.AST]:
    """Return the sums that are assigned to one of their own terms: `total = total + x`."""
    found = set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            named = {
                name.id for each in node.targets for name in ast.walk(each) if isinstance(name, ast.Name)
            }
            for each in ast.walk(node.value):
                match each:
                    case ast.BinOp(left=ast.Name(id=name), op=ast.Add()) if name in named:
                        found.add(each)
    return found


def _cuts(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield what of a node can be cut, each as what is said of it, and a change by the size."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called))) if called in _ADDING:
            yield from _after(_GROWN, lambda it: it.value.func.value)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="setdefault" | "update"))):
            yield from _after(_MAPPED, lambda it: it.value.func.value)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add"))):
            yield from _after(_IN_A_SET, lambda it: it.value.func.value)
        case ast.Assign(targets=[ast.Subscript()]):
            yield from _after(_MAPPED, lambda it: it.targets[0].value)
        case ast.AugAssign(op=ast.Add()):
            assigned = {said: f"x = {what}" for said, what in _SUMS.items()}
            yield from _after(assigned, lambda it: it.target)
        case ast.For(iter=ast.Constant()):
            return
        case ast.For(iter=ast.Call(func=ast.Name(id=called))) if called in _ENDLESS:
            return
        case ast.For() | ast.comprehension(ifs=[_, *_]):
            for said, what in _ITERATED.items():
                yield said, lambda it, size, what=what: _with(it, iter=_filled(what, size, it.iter))
        case ast.ListComp() | ast.GeneratorExp():
            yield from _instead(_ITERATED)
        case ast.DictComp():
            yield from _instead(_PAIRS)
        case ast.List(elts=elements) if any(isinstance(each, ast.Starred) for each in elements):
            yield from _instead(_LISTS)
        case ast.Call(func=ast.Name(id=called), args=[_, *_]) if called in _COPYING:
            yield from _instead(_LISTS)


def _instead(cuts: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for said, what in cuts.items():
        yield said, lambda it, size, what=what: _filled(what, size, it)


def _after(cuts: dict[str, str], grown: Any) -> Iterator[tuple[str, Any]]:
    for said, what in cuts.items():
        yield (
            said,
            lambda it, size, what=what: ast.If(
                ast.Constant(True), [it, _filled(what, size, grown(it), whole=True)], []
            ),
        )


def _filled(what: str, size: int, x: ast.expr, *, whole: bool = False) -> Any:
    """Return the code of a cut in which `x` is an expression of the program; the statement if it is
    `whole`.
    """

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id != "x":
                return node
            return _with(copy.deepcopy(x), ctx=node.ctx) if hasattr(x, "ctx") else copy.deepcopy(x)

    (statement,) = ast.parse(what.format(n=size)).body
    filled = Fill().visit(statement)
    return filled if whole else filled.value


def _with(node: ast.AST, **fields: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made
