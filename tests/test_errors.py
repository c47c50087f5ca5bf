"""The errors: one tree, one table, and each of them says what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import zoolab
from zoolab import errors
from zoolab.errors import ERROR_CODES, InvalidInput, ZoolabError

ROOT = Path(zoolab.__file__).parents[1]
SOURCES = sorted([*ROOT.glob("zoolab/**/*.py"), *ROOT.glob("plugins/**/*.py")])
TREE = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, ZoolabError)
}


def mute_errors(source: str) -> list[str]:
    """The errors in a module's own words without one on what was expected, or what to do.

    The model does not read the advice of a denial, so its words say all.
    """
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in TREE.keys() - {"PermissionDenied"}
        and isinstance(node.args[0], ast.Constant | ast.JoinedStr)
        and not {keyword.arg for keyword in node.keywords} & {"expected", "advice"}
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_error_says_what_was_expected_or_what_to_do(path):
    assert mute_errors(path.read_text(encoding="utf-8")) == []


def test_an_error_without_a_remedy_is_found():
    assert mute_errors("raise InvalidInput('no')") == ["InvalidInput('no')"]
    assert mute_errors("raise InvalidInput('no', advice='try again')") == []


@pytest.mark.parametrize("kind", TREE.values(), ids=TREE)
def test_every_error_has_its_row_in_the_table(kind):
    assert kind.code in ERROR_CODES
    assert kind("what").number == ERROR_CODES[kind.code].number


def test_the_numbers_of_older_systems():
    numbers = {row.name: row.number for row in ERROR_CODES.values() if row.name}
    assert numbers == {
        "ToolNotFound": 500,
        "ToolExecutionFailed": 501,
        "InvalidToolSignature": 502,
        "ToolRetriesExhausted": 503,
        "ToolLoopLimitReached": 504,
    }
    assert [ERROR_CODES[code].number for code in ("invalid_schema", "invalid_json", "invalid_arguments")] == [
        *(505, 506, 506)
    ]


def test_what_goes_back_to_the_model_has_a_word_for_it():
    words = {
        "not_found",
        "validation_failed",
        "permission_denied",
        "io_error",
        "parse_error",
        "internal_error",
    }
    assert {row.error_type for row in ERROR_CODES.values() if row.returned} == words


def test_an_error_is_one_line():
    error = InvalidInput("no file 'a'", expected="a trace", advice="save one first")
    assert str(error) == "no file 'a'; expected a trace; save one first"
