"""Mutants of zoolab's own parts: drawn by a seed, made in a copy, and noticed by the tests of the part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.mutation.__main__ import main
from tools.mutation.capacity import SIZES, capacity_mutants
from tools.mutation.modules import CHECKOUT, Part, parts, survivors
from tools.mutation.mutants import mutants_of_module

CODE = '''"""Prices."""

from __future__ import annotations


def cheap(price: int | None, limit: int = 10) -> bool:
    """Tell whether a price is below the limit."""
    if price is None:
        raise ValueError("there is no price")
    return price < limit
'''
TESTS = """from prices import cheap

def test_a_price_below_the_limit_is_cheap():
    assert cheap(3)
    assert not cheap(12)
"""

CONFTEST = """from hypothesis import settings

settings.register_profile("unshrunk", settings.get_profile("default"))
"""


@pytest.fixture
def part(tmp_path: Path) -> Part:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "prices.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "test_prices.py").write_text(TESTS, encoding="utf-8")
    return Part(["prices.py"], ["test_prices.py"], {})


def test_what_no_test_notices_survives_and_the_files_stay_as_they_are(part: Part, tmp_path: Path):
    only = Part(part.files, part.tests, {"The rest is tried elsewhere.": []})
    found = {mutant.after: survived for _, mutant, survived in survivors(only, 4, "1", tmp_path)}
    assert len(found) == 4
    noticed = {"price <= limit": False, "price >= limit": True}
    assert all(survived != noticed[after] for after, survived in found.items() if after in noticed)
    assert set(found.values()) == {True, False}
    assert (tmp_path / "prices.py").read_text(encoding="utf-8") == CODE


def test_a_mutant_of_a_plugin_is_the_code_that_the_tests_run(part: Part, tmp_path: Path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "prices.py").rename(tmp_path / "plugins" / "prices.py")
    plugin = Part(["plugins/prices.py"], part.tests, {})
    found = {mutant.after: survived for _, mutant, survived in survivors(plugin, 4, "1", tmp_path)}
    assert set(found.values()) == {True, False}


def test_the_same_seed_draws_the_same_and_words_and_hints_are_left_out(part: Part, tmp_path: Path):
    assert part.drawn(5, "1", tmp_path) == part.drawn(5, "1", tmp_path) != part.drawn(5, "2", tmp_path)
    every = [(mutant.before, mutant.after) for _, mutant in part.drawn(1_000, "1", tmp_path)]
    assert ("price < limit", "price <= limit") in every
    assert not [before for before, _ in every if "there is no price" in before and before[0] in "\"'"]
    assert ("int | None", "int & None") not in every


def test_a_change_that_is_listed_is_not_drawn(part: Part, tmp_path: Path):
    listed = Part(
        part.files, part.tests, {"No price is exactly the limit.": ["price < limit -> price <= limit"]}
    )
    changes = {mutant.after for _, mutant in listed.drawn(1_000, "1", tmp_path)}
    assert "price <= limit" not in changes
    assert "price >= limit" in changes


def test_tests_that_fail_without_a_mutant_are_an_error(part: Part, tmp_path: Path):
    (tmp_path / "test_prices.py").write_text("def test_wrong(): assert False", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"without a mutant, these tests fail: test_prices\.py"):
        next(survivors(part, 1, "1", tmp_path))


@pytest.mark.parametrize("name", parts())
def test_each_part_has_its_files_and_tests(name: str):
    part = parts()[name]
    for path in (*part.files, *part.tests):
        assert (CHECKOUT / path).is_file()
    listed = {change for changes in part.equivalent.values() for change in changes}
    if listed:
        made = (mutants_of_module((CHECKOUT / file).read_text(encoding="utf-8")) for file in part.files)
        assert listed <= {mutant.name.partition(": ")[2] for each in made for mutant in each}


GROWING = """def kept(lines, seen):
    words, total = [], 0
    for line in lines:
        words.append(line)
        seen[line] = True
        total = total + len(line)
    return words
"""


def test_a_right_answer_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["l8", "--of", "nobody"])
    assert "l8 has no right answer called nobody; there are solution, " in capsys.readouterr().err


def test_what_holds_only_so_much_is_a_mutant():
    long = [f"line {number}" for number in range(120)]
    told: dict[str, tuple[int, int]] = {}
    for mutant in capacity_mutants(GROWING):
        scope: dict[str, Any] = {}
        exec(mutant.code, scope)
        seen: dict[str, bool] = {}
        told[mutant.name] = (len(scope["kept"](long, seen)), len(seen))
    for size in SIZES:
        assert told[f"3: for line in lines: -> the last {size}"] == (size, size)
        assert told[f"4: words.append(line) -> then the newest {size}"] == (size, 120)
        assert told[f"5: seen[line] = True -> then the first {size}"] == (120, size)
        assert told[f"7: words -> the first {size}"] == (size, 120)
        assert f"6: total + len(line) -> at most {size}, or the newest {size}" in told
