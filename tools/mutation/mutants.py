"""Mutants of a program: the same program with one small change each."""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Mutant", "changed_by", "mutants", "mutants_of_cells", "mutants_of_module"]

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
#: Calls whose one argument may take their place.
_COPIES = {"list", "dict", "set", "sorted", "str", "tuple", "deepcopy"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed program, the line of the change, and what it was and is."""

    code: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """The line and the change; of a statement with a body, only its first line.

        >>> next(mutants("x = 1")).name
        '1: x = 1 -> pass'
        """
        return f"{self.line}: {self.before.partition(chr(10))[0]} -> {self.after.partition(chr(10))[0]}"


def mutants(code: str, *, hints: bool = True) -> Iterator[Mutant]:
    """Make each program that differs from `code` in one operator, constant, condition or statement.

    Without `hints`, type hints stay as they are.

    >>> [(each.before, each.after) for each in mutants("x = 1 < y")][:3]
    [('x = 1 < y', 'pass'), ('1 < y', '1 <= y'), ('1 < y', '1 >= y')]
    """
    tree = ast.parse(code)
    seen = {ast.unparse(tree)}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    kept = set() if hints else _hints_in(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in kept or (isinstance(node, ast.Constant) and id(node) in docstrings):
            continue
        for change in _changes(node):
            mutant = changed_by(code, number, change)
            if mutant is not None and mutant.code not in seen:
                seen.add(mutant.code)
                yield mutant


def changed_by(code: str, number: int, change: Callable[[Any], ast.AST]) -> Mutant | None:
    """Return the program in which a change was made to the node of this number; None if it is no program."""
    changed = ast.parse(code)
    target = next(each for at, each in enumerate(ast.walk(changed)) if at == number)
    before = ast.unparse(target).strip()
    after = change(target)
    try:
        text = ast.unparse(ast.fix_missing_locations(_replaced(changed, target, after)))
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            compile(text, "<mutant>", "exec")
    except (SyntaxError, ValueError):
        return None
    at = target.target if isinstance(target, ast.comprehension) else target
    return Mutant(text, getattr(at, "lineno", 0), before, ast.unparse(after))


def mutants_of_cells(cells: Sequence[str], functions: Sequence[str]) -> Iterator[tuple[Mutant, list[str]]]:
    """Yield the mutants of the cells that define something, or one of these functions; each with all
    cells.
    """
    for at, cell in enumerate(cells):
        if "def " in cell or any(name in cell for name in functions):
            for mutant in mutants(cell):
                yield mutant, [*cells[:at], mutant.code, *cells[at + 1 :]]


def mutants_of_module(code: str) -> Iterator[Mutant]:
    """Make the mutants of a module, each statement of it for itself: all others keep their text.

    >>> next(mutants_of_module("x = 1  # one\\ny = 2")).code
    'pass  # one\\ny = 2'
    """
    lines = code.splitlines(keepends=True)
    for node in ast.parse(code).body:
        decorators = getattr(node, "decorator_list", None)
        first = min([node.lineno, *(each.lineno for each in decorators or ())])
        text = ast.get_source_segment(code, node) or ""
        if decorators:
            text = "".join(lines[first - 1 : node.end_lineno])
        before = "".join(lines[: first - 1])
        after = code[len(before) + len(text) :]
        for mutant in mutants(text, hints=False):
            yield replace(mutant, code=before + mutant.code + after, line=mutant.line + first - 1)


def _hints_in(tree: ast.Module) -> set[int]:
    fields = ("annotation", "returns")
    found = (getattr(node, field, None) for node in ast.walk(tree) for field in fields)
    return {id(node) for hint in found if hint is not None for node in ast.walk(hint)}


_Change = Callable[[Any], ast.AST]


def _changes(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield from (_compared(at, other) for other in _COMPARED[type(op)])
        case ast.BoolOp(values=values):
            yield lambda it: _set(it, op=ast.And() if isinstance(it.op, ast.Or) else ast.Or())
            for at in range(len(values)):
                yield _without_value(at)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield lambda it: it.operand
        case ast.BinOp(op=op) if type(op) in _COMPUTED:
            yield lambda it: _set(it, op=_COMPUTED[type(it.op)]())
        case ast.If() | ast.IfExp() | ast.While():
            yield lambda it: _set(it, test=ast.Constant(False))
            if not isinstance(node, ast.While):
                yield lambda it: _set(it, test=ast.Constant(True))
        case ast.comprehension(ifs=[_, *_]):
            yield lambda it: _set(it, ifs=[])
        case ast.Constant(value=bool()):
            yield lambda it: ast.Constant(not it.value)
        case ast.Constant(value=int() | float()):
            yield lambda it: ast.Constant(it.value + 1)
            yield lambda it: ast.Constant(it.value - 1)
        case ast.Constant(value=str(text)):
            yield lambda it: ast.Constant("" if it.value else "x")
            if text.lower() != text:
                yield lambda it: ast.Constant(it.value.lower())
        case ast.Constant(value=None):
            yield lambda _: ast.Constant(0)
        case ast.Return(value=ast.expr()):
            yield lambda it: _set(it, value=ast.Constant(None))
        case ast.Break():
            yield lambda _: ast.Continue()
        case ast.Continue():
            yield lambda _: ast.Break()
        case ast.ExceptHandler(type=ast.Tuple(elts=[_, _, *_] as caught)):
            for at in range(len(caught)):
                yield _without_exception(at)
        case ast.ExceptHandler(type=ast.Name(id="Exception")):
            yield lambda it: _set(it, type=ast.Name("ValueError"))
        case ast.Call(func=ast.Name(id=called), args=[_]) if called in _COPIES:
            yield lambda it: it.args[0]
        case ast.Call(func=ast.Attribute(), args=[]):
            yield lambda it: it.func.value
        case ast.Slice():
            yield lambda _: ast.Slice()
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Raise | ast.Continue | ast.Assert):
        yield lambda _: ast.Pass()


def _compared(at: int, op: type[ast.cmpop]) -> _Change:
    return lambda it: _set(it, ops=[op() if n == at else each for n, each in enumerate(it.ops)])


def _without_value(at: int) -> _Change:
    def change(it: Any) -> ast.AST:
        left = [each for n, each in enumerate(it.values) if n != at]
        return left[0] if len(left) == 1 else ast.BoolOp(it.op, left)

    return change


def _without_exception(at: int) -> _Change:
    return lambda it: _set(it, type=ast.Tuple([e for n, e in enumerate(it.type.elts) if n != at], ast.Load()))


def _set(node: ast.AST, **fields: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _replaced(tree: ast.AST, target: ast.AST, by: ast.AST) -> ast.AST:
    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return by if node is target else self.generic_visit(node)

    return Replace().visit(tree)
