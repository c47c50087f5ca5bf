"""Each claim of `notebooks/facts.toml` stands where it says, and old ones are listed."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tools.facts import facts, main, missing, older

ROOT = Path(__file__).parents[1]
FACTS = facts()


@pytest.mark.parametrize("row", FACTS, ids=lambda row: row.name)
def test_a_claim_stands_where_it_says_with_its_words(row):
    assert row.words
    assert missing(row, ROOT) == []
    assert row.source.startswith("https://")
    assert row.read <= date(2026, 11, 27) or row.read <= date.today()


def test_words_that_are_gone_and_files_that_are_gone_are_named(tmp_path):
    row = FACTS[0]
    assert missing(row, tmp_path) == [f"no file {row.file}"]
    place = tmp_path / row.file
    place.parent.mkdir(parents=True)
    place.write_text("# nothing", encoding="utf-8")
    assert missing(row, tmp_path) == list(row.words)


def test_old_claims_are_listed_oldest_first(capsys):
    oldest = min(row.read for row in FACTS)
    assert older(FACTS, oldest + timedelta(days=90)) == []
    assert main(["--on", str(oldest + timedelta(days=90))]) == 0
    assert main(["--on", "2030-01-01"]) == 1
    out = capsys.readouterr().out
    assert all(row.claim in out and row.source in out for row in FACTS)
