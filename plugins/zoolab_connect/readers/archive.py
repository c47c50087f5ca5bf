"""Archives of Inspect AI (`.eval`): a zip file with a header and a file a sample, often in Zstandard."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.parsing import text_in, values_in

_ZSTANDARD = 93
#: Where the header is, and where its beginning is while the evaluation still runs, or if it was killed.
_HEADS = ("header.json", "_journal/start.json")
_HEADER = struct.Struct("<26xHH")
#: What `zipfile` raises for a file that is damaged, or locked with a password.
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, struct.error),
    *(OSError, NotImplementedError, RuntimeError),
)


def is_archive(content: bytes) -> bool:
    """Return whether a file is a zip file, by its first bytes."""
    return content.startswith(b"PK\x03\x04")


def log_in(content: bytes, most: int, unread: Unread) -> dict[str, Any]:
    """Return the log that an archive holds; `most` bounds its size in bytes.

    Raises `InvalidInput` if it holds none, and `MissingPackage` if it needs Zstandard and there is none.
    """
    log: dict[str, Any] = {}
    samples: list[Any] = []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                is_sample = _is_sample(member.filename)
                if not is_sample and member.filename not in _HEADS:
                    continue
                most -= member.file_size
                if most < 0:
                    raise InvalidInput("what it holds is too large", expected="a smaller log")
                for value in _values(archive, member, content, unread):
                    if is_sample:
                        samples.append(value)
                    elif isinstance(value, dict) and (member.filename == _HEADS[0] or not log):
                        log = value
    except _DAMAGES as error:
        raise InvalidInput(f"the archive is damaged: {error}", expected="a log of Inspect AI") from None
    if not log and not samples:
        lines = unread.lines()
        what = f"is damaged: {lines[0]}" if lines else "holds no log of Inspect AI"
        raise InvalidInput(f"the archive {what}", expected="header.json and samples/")
    return {**log, "samples": samples}


def _is_sample(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return folder == "samples" and file.endswith(".json")


def _values(archive: zipfile.ZipFile, member: zipfile.ZipInfo, content: bytes, unread: Unread) -> list[Any]:
    """Read the JSON values of a member; one that is damaged is named and has none."""
    own = Unread()
    try:
        return values_in(text_in(_content(archive, member, content)), own)
    except ImportError:
        raise
    except (InvalidInput, *_DAMAGES) as error:
        own.add("left out", error.what if isinstance(error, InvalidInput) else str(error))
        return []
    finally:
        for line in own.lines():
            unread.add(member.filename, line)


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, content: bytes) -> bytes:
    """Return the bytes of a member; before Python 3.14 `zipfile` cannot read Zstandard."""
    if member.compress_type != _ZSTANDARD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        with archive.open(member) as opened:
            return opened.read(member.file_size + 1)
    needs("zstandard")
    import zstandard

    name_length, extra_length = _HEADER.unpack_from(content, member.header_offset)
    start = member.header_offset + _HEADER.size + name_length + extra_length
    packed = io.BytesIO(content[start : start + member.compress_size])
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            plain: bytes = reader.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(f"{member.filename}: {error}") from None
    if len(plain) != member.file_size or zlib.crc32(plain) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} is not what it was when it was written")
    return plain
