"""No test compares what it measured with a bound: a busy machine breaks such a test, and a fast one says
nothing by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: What tells the time.
CLOCKS = {
    *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
    *("thread_time", "now", "utcnow"),
}
MODULES = {"time", "datetime", "date"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def tells_time(node: ast.AST, measured: set[str]) -> bool:
    """Whether an expression holds a reading of a real clock, or a name that does."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in measured:
            return True
        if isinstance(part, ast.Attribute) and part.attr in ("duration_ms", "started_ms", "elapsed"):
            return True
        if isinstance(part, ast.Call):
            called = part.func
            if isinstance(called, ast.Name) and called.id in CLOCKS - {"time", "now"}:
                return True
            if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
                owner = called.value
                if isinstance(owner, ast.Name) and owner.id in MODULES:
                    return True
    return False


def names_of(target: ast.AST) -> set[str]:
    """The names that an assignment gives."""
    return {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}


def statements(body: list[ast.stmt], waiting: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Each statement below, in order, and whether it is in a loop that waits for something."""
    for statement in body:
        yield statement, waiting
        loop = waiting or isinstance(statement, ast.While)
        for name in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, name, []), loop)
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body, loop)


def compared(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The functions, and lines, that assert an order of a time and something else, but for the deadline of a
    loop.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    helpers = {function.name for function in functions if returns_time(function)}
    for function in functions:
        measured = set(helpers)
        for statement, waiting in statements(function.body):
            measured |= measured_in(statement, measured)
            if not isinstance(statement, ast.Assert) or waiting:
                continue
            for part in ast.walk(statement):
                ordered = isinstance(part, ast.Compare) and any(isinstance(op, ORDERED) for op in part.ops)
                if ordered and tells_time(part, measured):
                    yield function.name, part.lineno


def measured_in(statement: ast.stmt, measured: set[str]) -> set[str]:
    """The names that a statement gives to a reading."""
    if not isinstance(statement, ast.Assign) or not tells_time(statement.value, measured):
        return set()
    return set().union(*map(names_of, statement.targets))


def returns_time(function: Function) -> bool:
    """Whether a function returns a reading that it took."""
    measured: set[str] = set()
    for statement, _ in statements(function.body):
        measured |= measured_in(statement, measured)
        if isinstance(statement, ast.Return) and statement.value and tells_time(statement.value, measured):
            return True
    return False


def found_in(text: str) -> list[str]:
    return [name for name, _line in compared(ast.parse(text))]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    began = time.monotonic()\n    work()\n    assert time.monotonic() - began < 5",
        "def f():\n    began = perf_counter()\n    took = perf_counter() - began\n    assert 3 > took",
        "def f():\n    assert abs(datetime.now(UTC) - told).total_seconds() < 60",
        "def f():\n    assert 45 < outcome.duration_ms",
        "def g():\n    began = monotonic()\n    return monotonic() - began\n\ndef f():\n    assert g() < 5",
        "def f():\n    with x():\n        a, b = 0, time.time_ns()\n        assert all(s <= b for s in c)",
    ],
)
def test_a_time_beside_a_bound_is_found(text: str) -> None:
    assert found_in(text) == ["f"]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    until = time.monotonic() + 9\n    while x():\n        assert time.monotonic() < until",
        "def f():\n    clock = Moved()\n    work()\n    assert outcome.duration_ms == 50",
        "def f():\n    now = clock.time()\n    assert spent.reserve(now) >= now",
        "def f():\n    assert len(asked) < 5",
    ],
)
def test_a_deadline_a_clock_of_ones_own_and_a_count_are_not(text: str) -> None:
    assert found_in(text) == []


def test_no_test_compares_a_clock() -> None:
    paths = [path for path in sorted(TESTS.rglob("*.py")) if "bench" not in path.parts]
    found = {
        f"{path.relative_to(TESTS).as_posix()}:{line}: {name}"
        for path in paths
        for name, line in compared(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()
