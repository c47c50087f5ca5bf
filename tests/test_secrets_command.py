"""`zoolab secrets`: it names each secret of a file by its place, and shows none of them."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import ESCAPE, KEY, Shell

from zoolab.secrets import HIDDEN, scrub, scrub_json
from zoolab_connect.commands.secrets import _hidden, secrets_in

PASSWORD = "lovelace42now"
BLOCK = "-----BEGIN PRIVATE KEY-----\nMIIB0123456789\nabcdef\n-----END PRIVATE KEY-----"


def packed(data: bytes) -> bytes:
    """Pack data, each time into the same bytes."""
    return gzip.compress(data, mtime=0)


@pytest.fixture
def zoo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def rows(zoo: Shell, text: str, code: int = 1) -> list[tuple[str, str, str]]:
    Path("a.txt").write_text(text, encoding="utf-8")
    ran = zoo("secrets", "a.txt", "--json")
    assert (ran.code, ran.err) == (code, "")
    assert KEY not in ran.out
    assert PASSWORD not in ran.out
    return [(each["place"], each["form"], each["value"]) for each in json.loads(ran.out)]


def test_a_text_without_secrets_is_said_to_have_none(zoo: Shell) -> None:
    assert rows(zoo, "max_tokens = 10\n", code=0) == []
    assert (
        zoo("secrets", "a.txt").out
        == "no secrets found, by the forms that zoolab knows; others may be there\n"
    )


def test_each_secret_of_a_text_is_named_by_its_line(zoo: Shell) -> None:
    text = f"hello\nkey {KEY}\nhttps://ada:{PASSWORD}@host/\nAuthorization: Basic {PASSWORD}\n"
    text += f"{BLOCK}\n{HIDDEN}\n"
    assert rows(zoo, text) == [
        ("line 2", "a token by its form", f"sk-p… ({len(KEY)} characters)"),
        ("line 3", "a password in an address", "… (13 characters)"),
        ("line 4", "what follows 'Basic'", "… (13 characters)"),
        ("line 5", "a private key", "… (23 characters)"),
    ]


def test_json_is_read_by_its_structure(zoo: Shell) -> None:
    inner = json.dumps({"api_key": 67890, "city": "Oslo"})
    document = {
        "password": 12345,
        "list": [{"arguments": inner}, f"Bearer {KEY}"],
        KEY: 1,
        "a/b": {"token": KEY},
    }
    found = rows(zoo, json.dumps(document, indent=1))
    assert found == [
        ("/password", "what follows 'password'", "… (5 characters)"),
        ("/list/0/arguments, as JSON: /api_key", "what follows 'api_key'", "… (5 characters)"),
        ("/list/1", "a token by its form", f"sk-p… ({len(KEY)} characters)"),
        (f"/{HIDDEN} (its name)", "a token by its form", f"sk-p… ({len(KEY)} characters)"),
        ("/a~1b/token", "a token by its form", f"sk-p… ({len(KEY)} characters)"),
    ]
    lines = "\n".join([json.dumps({"a": 1}), json.dumps(document), f"password={PASSWORD}", "{broken"])
    assert [place for place, *_ in rows(zoo, lines)] == [f"line 2, {place}" for place, *_ in found] + [
        "line 3"
    ]


def test_several_files_and_hostile_text(zoo: Shell) -> None:
    Path("b.txt").write_bytes(b"\xff\x00" + f"{ESCAPE}[2J password={PASSWORD}".encode())
    Path("c.json").write_text("[" * 100_000, encoding="utf-8")
    Path("d.json").write_text(json.dumps({f"{ESCAPE}[2J": {"password": PASSWORD}}), encoding="utf-8")
    ran = zoo("secrets", "b.txt", "c.json", "d.json")
    assert ran.code == 1
    assert ESCAPE not in ran.out
    assert ran.out.count("\n") == 2
    assert ran.out.startswith("b.txt: line 1: what follows 'password': … (13 characters)\n")
    missing = zoo("secrets", "none.txt")
    assert (missing.code, missing.err) == (2, "zoolab: none.txt: No such file or directory\n")


@pytest.mark.parametrize(
    "packed",
    [
        lambda text: text.encode("utf-16"),
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-32"),
        lambda text: text.encode("utf-8-sig"),
        lambda text: packed(text.encode()),
        lambda text: packed(text.encode("utf-16")),
    ],
)
def test_other_encodings_and_gzip_are_read(zoo: Shell, packed: Callable[[str], bytes]) -> None:
    Path("a").write_bytes(packed(json.dumps({"password": PASSWORD})))
    Path("b").write_bytes(packed(f"export OPENAI_API_KEY={KEY}\n"))
    ran = zoo("secrets", "a", "b", "--json")
    assert (ran.code, ran.err) == (1, "")
    assert [(each["file"], each["place"]) for each in json.loads(ran.out)] == [
        ("a", "/password"),
        ("b", "line 1"),
    ]
    Path("c").write_bytes(packed("nothing to hide, and no more than that\n"))
    assert (zoo("secrets", "c").code, zoo("secrets", "c").err) == (0, "")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is not text"),
        (bytes(range(1, 32)) * 9, "it is not text"),
        (b"PK\x03\x04 packed", "it is a zip archive; unpack it first"),
        (bz2.compress(b"password=lovelace42now"), "it is packed with bzip2; unpack it first"),
        (packed(b"password=lovelace42now")[:-9], "it begins like a gzip file and cannot be unpacked"),
        (packed(packed(b"a")), "it is packed twice; unpack it first"),
        (packed(b"\0" * (1 << 20)) * 257, "it unpacks to more than 256 MiB; unpack it first"),
    ],
)
def test_a_file_that_is_not_looked_through_is_named(zoo: Shell, data: bytes, why: str) -> None:
    Path("a").write_bytes(data)
    Path("b.txt").write_text("no secret here\n", encoding="utf-8")
    for options in ((), ("--json",)):
        ran = zoo("secrets", "a", "b.txt", *options)
        assert (ran.code, ran.err) == (1, f"zoolab: a is not looked through as text: {why}\n")
        assert "no secrets found" not in ran.out


def test_the_letters_of_a_file_that_is_not_text_are_looked_through_all_the_same(zoo: Shell) -> None:
    Path("a").write_bytes(b"\xff\xfe\0\1" + KEY.encode())
    Path("b").write_bytes(b"\0\1\2" + KEY.encode())
    ran = zoo("secrets", "a", "b")
    assert (ran.code, ran.out.count("a token by its form")) == (1, 2)


def test_text_in_an_old_encoding_is_text(zoo: Shell) -> None:
    Path("a").write_bytes("Grüße, ça va?\n\x1b[1mbold\x1b[0m\n".encode("latin-1"))
    assert (zoo("secrets", "a").code, zoo("secrets", "a").err) == (0, "")


PIECES = st.sampled_from(
    [
        KEY,
        f"password={PASSWORD}",
        f"https://a:{PASSWORD}@h/",
        HIDDEN,
        BLOCK,
        BLOCK[:27],
        "\n",
        " ",
        ",",
        '"',
        "text",
        "Bearer ",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_is_listed_is_what_is_taken_out(text: str) -> None:
    clean, left, end = scrub(text), "", 0
    for start, stop in _hidden(text, clean):
        left += text[end:start] + HIDDEN
        assert start < stop
        end = stop
    assert f"{left}{text[end:]}".replace(HIDDEN, "") == clean.replace(HIDDEN, "")


@given(st.recursive(PIECES, lambda inner: st.lists(inner) | st.dictionaries(PIECES, inner), max_leaves=8))
def test_a_document_has_secrets_if_and_only_if_something_is_taken_out(tmp_path_factory, value) -> None:
    file = tmp_path_factory.getbasetemp() / "document.json"
    file.write_text(json.dumps([value]), encoding="utf-8")
    kept, whole = (json.dumps(each).replace(HIDDEN, "") for each in (scrub_json([value]), [value]))
    assert bool([*secrets_in(file)]) == (kept != whole)
