"""Files: tables of zoolab's own; and a user's file, written whole or not at all, by one process at a time."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from zoolab.errors import InvalidInput, LockHeld

#: Seconds that a file may be in somebody else's hands.
LOCK_SECONDS = 30.0
#: A draft that was not written to for so long was left by a process that is gone.
DRAFT_SECONDS = 600.0
#: The permissions of a new file: what students and models said is for its owner alone.
PRIVATE = 0o600
_BLOCK = 1 << 16


def read_shipped(package: str, name: str) -> str:
    """Return the text of a file that lies beside the modules of a package.

    >>> read_shipped("zoolab.text", "ground.css").count("color-scheme")
    1
    """
    from importlib.resources import files

    return files(package).joinpath(name).read_text(encoding="utf-8")


def read_table(package: str, name: str) -> dict[str, Any]:
    """Return the data of a TOML or JSON file that lies beside the modules of a package.

    >>> read_table("zoolab.show", "words.toml").keys() >= {"outcomes"}
    True
    """
    import tomllib

    text = read_shipped(package, name)
    told: dict[str, Any] = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    return told


def course_folder(name: str) -> Path:
    """Return the folder `labs`, `notebooks` or `datasets`: beside the package in a checkout, in it in a
    wheel.

    >>> (course_folder("labs") / "README.md").is_file()
    True
    """
    package = Path(__file__).resolve().parent
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent / name


@contextmanager
def needs_home(variable: str) -> Generator[None]:
    """Raise `InvalidInput` that names a variable to set if this user has no home folder.

    >>> with needs_home("ZOOLAB_CACHE"):
    ...     raise RuntimeError("Could not determine home directory.")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: this user has no home folder: HOME is not set, and the system knows none; ...
    """
    try:
        yield
    except (RuntimeError, KeyError):
        what = "this user has no home folder: HOME is not set, and the system knows none"
        raise InvalidInput(what, advice=f"set HOME, or {variable} to a folder of your own") from None


@contextmanager
def system_errors(what: str, advice: str = "choose another place") -> Generator[None]:
    """Raise what the system refuses as `InvalidInput`: what could not be done, and why.

    >>> with system_errors("cannot open the file"):
    ...     Path("no-such-file").open()
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: cannot open the file: No such file or directory; choose another place
    """
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{what}: {error.strerror}", advice=advice) from None


def privately(name: str | Path, flags: int) -> int:
    """Open a file, as an `opener` of `open`: a file that is made so is for its owner alone.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trace.jsonl"
    >>> with open(path, "a", opener=privately):
    ...     oct(path.stat().st_mode & 0o077)
    '0o0'
    """
    return os.open(name, flags, PRIVATE)


def write_whole(path: str | Path, parts: Iterable[str], mode: int = PRIVATE) -> Path:
    """Write a file that is there whole or not at all: another name first, synced and renamed.

    Returns its path. `mode` are the permissions of a new file, as far as the process's umask grants them;
    a file that is there keeps its own. Raises `InvalidInput` where it cannot be written.

    >>> write_whole("no-such-folder/page.html", ["..."])
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: cannot write no-such-folder/page.html: ...
    """
    path = Path(path)
    if path.is_dir():
        raise InvalidInput(f"cannot write {path}: it is a directory", advice="give the path of a file")
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    _remove_old_drafts(path)
    try:
        with system_errors(f"cannot write {path}"):
            with open(
                draft, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)
            ) as file:
                _keep_mode(path, file.fileno())
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            _rename(draft, path)
            _sync_folder(path.parent)
    finally:
        with suppress(OSError):
            draft.unlink()
    return path


def _keep_mode(path: Path, draft: int) -> None:
    """Give a draft the permissions that the user gave to the file that it replaces."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.fchmod(draft, stat.S_IMODE(path.stat().st_mode))


def _remove_old_drafts(path: Path) -> None:
    """Remove what writers of this file left when they were killed."""
    with suppress(OSError):
        for each in path.parent.iterdir():
            name, _, random = each.name[1:].rpartition(".")
            drafted = each.name[0] == "." and name == path.name and re.fullmatch("[0-9a-f]{12}", random)
            if drafted and time.time() - each.stat().st_mtime > DRAFT_SECONDS:
                each.unlink()


def heal(file: BinaryIO) -> int:
    """Finish a file of JSON lines that a kill or a full disk cut: what is half a line goes, and no more.

    Returns the length of the file.

    >>> from io import BytesIO
    >>> file = BytesIO(b'{"a": 1}\\n{"b":')
    >>> heal(file), file.getvalue()
    (9, b'{"a": 1}\\n')
    """
    end = at = file.seek(0, os.SEEK_END)
    newline = -1
    while at > 0 and newline < 0:
        begin = max(0, at - _BLOCK)
        file.seek(begin)
        newline = file.read(at - begin).rfind(b"\n")
        at = begin + newline + 1
    if at < end:
        file.seek(at)
        if is_half(file.read()):
            file.truncate(at)
        else:
            file.seek(end)
            file.write(b"\n")
    return file.seek(0, os.SEEK_END)


def is_half(line: bytes) -> bool:
    """Return whether a line without its end is only the beginning of a JSON value.

    >>> is_half(b'{"a": 1'), is_half(b'{"a": 1}')
    (True, False)
    """
    with suppress(RecursionError):  # whoever reads it says so
        try:
            json.loads(line)
        except ValueError:
            return True
    return False


def make_folder(folder: Path, advice: str = "choose another place") -> None:
    """Make a folder that may be there already; what is new of its path is for its owner alone.

    Raises `InvalidInput` where it cannot be made.

    >>> import tempfile
    >>> make_folder(Path(tempfile.mkdtemp()) / "a" / "b")
    """
    with system_errors(f"cannot make {folder}", advice):
        for each in (*reversed(folder.parents), folder):
            if each == folder or not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)


def append_text(path: Path, text: str) -> None:
    """Append lines with one write, so that those of several threads and processes do not mix.

    If the disk is full, the part that was written is removed again. After half a line, which a crash may
    leave, the text begins on a new line. Raises `InvalidInput` where it cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> append_text(path, "1\\n"), append_text(path, "2\\n"), path.read_text()
    (None, None, '1\\n2\\n')
    """
    flags = os.O_APPEND | os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0)
    lock = path.with_name(f"{path.name}.lock")
    # Windows looks for the end of the file first, and writes then.
    with locked(lock) if sys.platform == "win32" else nullcontext():
        try:
            descriptor = privately(path, flags)
            try:
                _append(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            advice = "make room on the disk" if error.errno == errno.ENOSPC else "choose another place"
            raise InvalidInput(f"cannot write {path}: {error.strerror}", advice=advice) from None


def _append(descriptor: int, data: bytes) -> None:
    if sys.platform != "win32":
        from fcntl import LOCK_EX, flock

        with suppress(OSError):  # some network drives have no locks
            flock(descriptor, LOCK_EX)
    size = os.fstat(descriptor).st_size
    if size and os.lseek(descriptor, -1, os.SEEK_END) >= 0 and os.read(descriptor, 1) != b"\n":
        data = b"\n" + data
    if os.write(descriptor, data) < len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def locked(path: Path, seconds: float = LOCK_SECONDS) -> Generator[None]:
    """Keep other threads and processes that ask for the same lock out, for as long as this holds.

    `path` names the lock's own file, which stays: to remove it would let two in. The system gives the
    lock back when a process dies. Raises `LockHeld` after `seconds` of waiting.

    >>> import tempfile
    >>> lock = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(lock), locked(lock, seconds=0):
    ...     pass
    Traceback (most recent call last):
    zoolab.errors.LockHeld: ...lock is held by another process; try again
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, seconds, mode=0o600, thread_local=False, poll_interval=0.01)
    try:
        lock.acquire()
    except Timeout:
        raise LockHeld(f"{path} is held by another process", advice="try again") from None
    except OSError as error:
        raise InvalidInput(f"cannot lock {path}: {error.strerror}", advice="choose another place") from None
    try:
        yield
    finally:
        lock.release()


def _rename(draft: Path, path: Path) -> None:
    """Rename a file; Windows refuses as long as somebody reads the file."""
    for _ in range(100 if sys.platform == "win32" else 0):
        with suppress(PermissionError):
            draft.replace(path)
            return
        time.sleep(0.01)
    draft.replace(path)


def _sync_folder(folder: Path) -> None:
    """Sync a folder: once this is done, a new name outlasts a power cut; Windows and some file systems
    cannot.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
