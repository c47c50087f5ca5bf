"""What students and models said is for its owner alone; what exists already stays as the user made it."""

import os
import stat

import pytest

from zoolab import Scripted, run
from zoolab.errors import InvalidInput
from zoolab.files import append_text, make_folder, write_whole
from zoolab_connect.proxy.watch import watch
from zoolab_grader.gradebook import own_key
from zoolab_study.journal import Journal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")


@pytest.fixture(autouse=True)
def open_umask():
    old = os.umask(0)
    yield
    os.umask(old)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def written_trace(path):
    run("Hi", [], Scripted(["Hello"])).save(path)


def written_journal(path):
    with Journal(path):
        pass


def watched(path):
    with watch(Scripted(["Hello"]), folder=path.parent / "watched"):
        write_whole(path, ["seen"])


WRITERS = [
    lambda path: write_whole(path, ["a"]),
    lambda path: append_text(path, "a\n"),
    written_trace,
    written_journal,
    watched,
]


@pytest.mark.parametrize("write", WRITERS)
def test_what_is_new_is_for_its_owner_alone(tmp_path, write):
    path = tmp_path / "new" / "deeper" / "file.jsonl"
    make_folder(path.parent)
    write(path)
    found = [each for each in (tmp_path / "new").rglob("*") if not each.name.endswith(".lock")]
    assert {mode_of(each) for each in found} == {0o700, 0o600}
    assert mode_of(tmp_path / "new") == 0o700


@pytest.mark.parametrize("write", WRITERS[:3])
def test_what_exists_already_is_left_as_the_user_made_it(tmp_path, write):
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    path = folder / "file.jsonl"
    path.touch(mode=0o640)
    make_folder(folder)
    write(path)
    assert (mode_of(folder), mode_of(path)) == (0o755, 0o640)


def test_a_key_that_others_can_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key = own_key()
    path = tmp_path / "zoolab" / "results.key"
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match="others than its owner can read or change"):
        own_key()
    path.chmod(0o600)
    assert own_key() == key


def test_a_key_that_is_a_link_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "zoolab").mkdir()
    (tmp_path / "known").write_text("x" * 64)
    (tmp_path / "known").chmod(0o600)
    (tmp_path / "zoolab" / "results.key").symlink_to(tmp_path / "known")
    with pytest.raises(InvalidInput, match="is a link"):
        own_key()
