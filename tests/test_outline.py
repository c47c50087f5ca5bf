"""Outlines: what a file is made of, whatever stands in it."""

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab_course.worlds.files import (
    MAX_CHARS,
    MAX_ENTRIES,
    MAX_NAME,
    MAX_OUTLINES,
    Files,
    file_tools,
    outline_of,
)

PYTHON = '''"""Words with class Nothing: in them."""
import os

class Zoo:
    def feed(self):
        def inner(): ...
    class Cage:
        async def clean(self): ...

if os.name == "nt":
    def only_there(): ...
else:
    try:
        def elsewhere(): ...
    except OSError:
        class Fallback: ...
'''


def names(text, name):
    return [
        (entry["kind"], entry["name"], entry["line"], entry["level"])
        for entry in outline_of(text, name).entries
    ]


def test_python_has_classes_and_functions():
    assert names(PYTHON, "zoo.py") == [
        ("class", "Zoo", 4, 1),
        ("function", "Zoo.feed", 5, 2),
        ("function", "Zoo.feed.inner", 6, 3),
        ("class", "Zoo.Cage", 7, 2),
        ("function", "Zoo.Cage.clean", 8, 3),
        ("function", "only_there", 11, 1),
        ("function", "elsewhere", 14, 1),
        ("class", "Fallback", 16, 1),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def (", "line 1"),
        ("x = '\0'", "null"),
        ("(" * 5_000, "."),
        ("x = " + "-" * 400_000 + "1", "parsed|valid"),
        ("x" * (MAX_CHARS + 1), "more than 500,000"),
        ("x = '\ud800'", "parsed|valid"),
    ],
)
def test_python_that_cannot_be_parsed_says_why(text, says):
    found = outline_of(text, "a.py")
    assert found.entries == []
    assert re.search(says, found.reason)


def test_parsing_warns_nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names("def f():\n    return '\\d' is 1\n", "a.py") == [("function", "f", 1, 1)]


def test_a_long_outline_is_cut_and_says_so():
    found = outline_of("def f(): ...\n" * (MAX_ENTRIES + 1), "a.py")
    assert (len(found.entries), found.reason) == (1_000, "only the first 1,000 entries")


def test_names_are_cut():
    assert len(outline_of("class " + "x" * 10_000 + ": ...", "a.py").entries[0]["name"]) == MAX_NAME


LETTERS = st.sampled_from("#`~=- \n\tax:()@\"'\\\0é")


@given(st.text(LETTERS, max_size=200), st.sampled_from(["a.py", "a.md", "a.txt", ""]))
def test_no_text_raises_and_lines_are_those_of_the_text(text, name):
    found = outline_of(text, name)
    lines = text.count("\n") + text.count("\r") + text.count("\f") + 1
    assert all(1 <= entry["line"] <= lines for entry in found.entries)


def test_files_keep_the_outlines_of_what_was_read(tmp_path):
    (tmp_path / "zoo.py").write_text("class Zoo: ...\n", encoding="utf-8")
    (tmp_path / "plain.txt").write_text("class Zoo: ...\n", encoding="utf-8")
    (tmp_path / "link.py").symlink_to(tmp_path / "zoo.py")
    files = Files(tmp_path)
    tools = file_tools(files)
    for path in ("link.py", "plain.txt"):
        tools.execute("read_file", {"path": path})
    entry = {"kind": "class", "name": "Zoo", "line": 1, "level": 1}
    assert files.outlines == {"zoo.py": [entry]}
    assert tools.execute("get_outline", {"path": "link.py"}) == {"entries": [entry], "reason": ""}
    (tmp_path / "zoo.py").write_text("def (", encoding="utf-8")
    assert tools.execute("get_outline", {"path": "zoo.py"})["reason"].startswith("no valid Python")
    assert files.outlines == {}


def test_not_more_outlines_are_kept_than_fit(tmp_path):
    files = Files(tmp_path)
    for number in range(MAX_OUTLINES + 1):
        (tmp_path / f"{number}.py").write_text("class A: ...", encoding="utf-8")
        files.read_file(f"{number}.py")
    assert len(files.outlines) == MAX_OUTLINES
    assert "0.py" not in files.outlines
