"""`zoolab inspect`: no page replaces the file that is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import Shell

from zoolab import Scripted, run


@pytest.mark.parametrize("way", ["same", "spelled otherwise", "link", "hard link", "beside"])
def test_inspect_does_not_replace_the_file_that_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
):
    file = tmp_path / "log.html"
    run("Hi", [], Scripted(["Hello."])).save(file)
    before = file.read_bytes()
    page = tmp_path / "page.html"
    if way == "link":
        page.symlink_to(file)
    elif way == "hard link":
        page.hardlink_to(file)
    elif way == "spelled otherwise":
        (tmp_path / "sub").mkdir()
        page = tmp_path / "sub" / ".." / "log.html"
    else:
        page = file
    ran = Shell(capsys)("inspect", file, *(() if way == "beside" else ("-o", page)))
    assert (ran.code, ran.out, file.read_bytes()) == (2, "", before)
    told = f"zoolab: the page {page} would replace the file that is read; name another file for the page\n"
    assert ran.err == told
    shown = Shell(capsys)("walk", "--load", file, "--html", page)
    assert (shown.code, shown.out, file.read_bytes()) == (2, "", before)


def test_no_numbered_page_replaces_the_file_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log = tmp_path / "log-2.json"
    requests = [{"model": "m", "messages": [{"role": "user", "content": text}]} for text in ("Hi", "Bye")]
    log.write_text(json.dumps(requests), encoding="utf-8")
    before = log.read_bytes()
    ran = Shell(capsys)("inspect", log, "-o", tmp_path / "log.json")
    assert (ran.code, ran.out, log.read_bytes()) == (2, "", before)
    assert not (tmp_path / "log-1.json").exists()
