"""Every environment variable of zoolab stands on one page, and the page names no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "notebooks" / "environment.md"
NAME = re.compile(r"\bZOOLAB_[A-Z]+(?:_[A-Z]+)*\b")


def test_each_variable_in_the_code_stands_on_the_page_and_the_other_way_round():
    sources = [
        ROOT / "start.py",
        *(each for f in ("zoolab", "plugins", "tools") for each in (ROOT / f).rglob("*.py")),
    ]
    used = {name for each in sources for name in NAME.findall(each.read_text(encoding="utf-8"))}
    rows = re.findall(r"^\| `(ZOOLAB_\w+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(rows) == len(set(rows))
    assert set(rows) == used
