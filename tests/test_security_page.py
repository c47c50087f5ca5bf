"""Each row of SECURITY.md names a command, and each command names tests that are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`((?:ZOOLAB_\w+=\d+ )?(?:pytest|python) [^`]*)`", PAGE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_tests_that_are_there(command: str) -> None:
    words = shlex.split(command)
    files = [ROOT / word for word in words if word.endswith(".py")]
    assert files
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    if "-k" in words:
        assert re.search(rf"def test_\w*{words[words.index('-k') + 1]}", source)
    if "-m" in words:
        assert "mark.slow" in source
    for name in re.findall(r"ZOOLAB_\w+", command):
        assert name in source


def test_every_row_has_a_command() -> None:
    rows = [line for line in PAGE.partition("## What was tried")[2].splitlines() if line.startswith("| ")]
    told = [row for row in rows if not re.match(r"\| (?:what was tried|load|---)", row)]
    assert len(told) > 15
    assert [row for row in told if "`" not in row and "the same |" not in row] == []


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
