"""The tools for files: nothing outside the root is read, whatever is swapped, linked or hidden meanwhile."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest

from zoolab.errors import InvalidArguments, PermissionDenied, ResourceNotFound, ToolIOError, ZoolabError
from zoolab_course.worlds.files import Files, file_tools

needs_handles = pytest.mark.skipif(
    os.open not in os.supports_dir_fd, reason="no opening relative to a folder"
)


@pytest.fixture
def root(tmp_path):
    """A project with a file two folders deep, next to folders of the same form that hold secrets."""
    for name, text in (("project", "inside"), ("outside", "OUTSIDE")):
        inner = tmp_path / name / "folder" / "sub"
        inner.mkdir(parents=True)
        (inner / "file.md").write_text(text, encoding="utf-8")
        (inner / f"{text}.txt").write_text(text, encoding="utf-8")
    return tmp_path / "project"


def swapped_at(number: int, swap: Callable[[], None], work: Callable[[], object]) -> tuple[object, bool]:
    """What `work` returns or raises if `swap` happens just before its number-th call of anything in C."""
    left = number

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        if event == "c_call":
            left -= 1
            if left == 0:
                sys.setprofile(None)
                swap()

    sys.setprofile(count)
    try:
        return work(), left <= 0
    except ZoolabError as error:
        return error, left <= 0
    finally:
        sys.setprofile(None)


@needs_handles
@pytest.mark.parametrize("swapped", ["folder", "folder/sub", "folder/sub/file.md"])
@pytest.mark.parametrize(("name", "value"), [
    ("read_file", "folder/sub/file.md"),
    ("get_outline", "folder/sub/file.md"),
    ("get_file_tree", "."),
    ("get_file_tree", "folder/sub"),
])  # fmt: skip
def test_what_is_swapped_for_a_link_at_any_moment_leads_nowhere(root, swapped, name, value):
    (root / "folder" / "sub" / "file.md").write_text("# inside", encoding="utf-8")
    (root.parent / "outside" / "folder" / "sub" / "file.md").write_text("# OUTSIDE", encoding="utf-8")
    here, away, there = root / swapped, root.parent / "away", root.parent / "outside" / swapped
    call = getattr(Files(root), name)
    swaps, happened = 0, True

    def swap() -> None:
        here.rename(away)
        here.symlink_to(there)

    while happened:
        swaps += 1
        told, happened = swapped_at(swaps, swap, lambda: call(value))
        assert "OUTSIDE" not in str(told), f"at the moment {swaps}"
        if happened:
            here.unlink()
            away.rename(here)
    assert swaps > 10


SWAPPER = """
import os, sys
here, away, there = sys.argv[1:]
while True:
    os.rename(here, away)
    os.symlink(there, here)
    os.unlink(here)
    os.rename(away, here)
"""


@needs_handles
@pytest.mark.slow
def test_a_folder_that_another_process_swaps_all_the_time_leads_nowhere(root):
    read = next(each for each in file_tools(Files(root)) if each.name == "read_file")
    folders = root / "folder", root.parent / "away", root.parent / "outside" / "folder"
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, *map(str, folders)])
    told = Counter()

    def kind() -> str:
        try:
            text = str(read.function("folder/sub/file.md"))
        except ZoolabError as error:
            return "refused" if "OUTSIDE" not in str(error) else "OUTSIDE"
        return "inside" if "OUTSIDE" not in text else "OUTSIDE"

    try:
        while sum(told.values()) < 15_000 or len(told) < 2:
            told[kind()] += 1
    finally:
        swapper.kill()
        swapper.wait()
    assert set(told) == {"inside", "refused"}


def test_a_hard_link_may_be_a_file_from_anywhere_and_is_refused(root):
    os.link(root.parent / "outside" / "folder" / "sub" / "file.md", root / "notes.txt")
    tools = file_tools(root)
    for name in ("read_file", "get_outline"):
        with pytest.raises(PermissionDenied, match="more than one name"):
            tools.execute(name, {"path": "notes.txt"})
    assert "notes.txt" not in tools.execute("get_file_tree", {})


def test_what_the_tree_leaves_out_is_not_read(root):
    (root / ".env").write_text("TOKEN=1", encoding="utf-8")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("# x", encoding="utf-8")
    (root / "seen").symlink_to(root / ".env")
    (root / "more").symlink_to(root / ".git")
    tools = file_tools(root)
    for path in (".env", "folder/../.env", ".git/config", "seen", "more/config", str(root / ".env")):
        for name in ("read_file", "get_outline"):
            with pytest.raises(PermissionDenied, match="is hidden"):
                tools.execute(name, {"path": path})
    for folder in (".git", "more"):
        with pytest.raises(PermissionDenied, match="is hidden"):
            tools.execute("get_file_tree", {"folder": folder})
    assert tools.execute("get_file_tree", {}) == ["folder/sub/file.md", "folder/sub/inside.txt"]


def test_a_root_below_a_hidden_folder_is_read(tmp_path):
    (tmp_path / ".cache" / "project").mkdir(parents=True)
    (tmp_path / ".cache" / "project" / "a.txt").write_text("a", encoding="utf-8")
    assert file_tools(tmp_path / ".cache" / "project").execute("read_file", {"path": "a.txt"}) == "a"


def test_no_error_tells_where_the_root_is(root):
    (root / "loop").symlink_to(root / "loop")
    (root / "gone").symlink_to(root / "nowhere")
    shut = root / "shut"
    shut.mkdir(0o000)
    for number in range(1_000):
        (root / "folder" / f"{number}").touch()
    tools = file_tools(root)
    file = "folder/sub/file.md"
    paths = ["..", "/etc/passwd", "loop", "loop/x", "gone", "shut/x", "nowhere", f"{file}/x", "a" * 300]
    paths += ["a/" * 3_000, "\0", "\ud800", "", ".", "folder", "shut"]
    told = []
    for name, argument in (("read_file", "path"), ("get_outline", "path"), ("get_file_tree", "folder")):
        for path in paths:
            try:
                tools.execute(name, {argument: path})
            except ZoolabError as error:
                told.append(str(error))
    shut.chmod(0o700)
    assert [text for text in told if str(root.parent) in text] == []
    assert len(told) > 30


def test_what_is_between_is_no_folder(root):
    tools = file_tools(root)
    with pytest.raises((ResourceNotFound, ToolIOError)):
        tools.execute("read_file", {"path": "folder/sub/file.md/x"})


@pytest.mark.parametrize("path", [None, 3, b"file.md", ["file.md"]])
def test_what_is_no_path_is_a_clear_error(root, path):
    files = Files(root)
    for read in (files.read_file, files.get_file_tree, files.get_outline):
        with pytest.raises(InvalidArguments, match="is not a path; expected a text"):
            read(path)


@pytest.mark.parametrize("numbers", [{"offset": None}, {"offset": "1"}, {"lines": "x"}, {"lines": 1.5}])
def test_what_is_no_number_of_lines_is_a_clear_error(root, numbers):
    with pytest.raises(InvalidArguments, match="expected whole numbers"):
        Files(root).read_file("folder/sub/file.md", **numbers)
