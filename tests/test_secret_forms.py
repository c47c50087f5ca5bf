"""How many of the forms in which secrets stand are known, alone and in any text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from secret_forms import KNOWN

from zoolab.secrets import HIDDEN, scrub, scrub_json

#: What only a person knows to be secret, or what looks as plain texts do.
NOT_FOUND = {
    'assignment: auth=("ada", "{}")',
    "assignment: access key: {}",
    "assignment: client-key-data: {}",
    "assignment: db01:5432:shop:ada:{}",
    'element: <input type="password" name="pw" value="{}">',
    "hash of a password",
    'pair: ["x-api-key", "{}"]',
}
FOUND = [name for name in KNOWN if name not in NOT_FOUND]
JUNK = [
    "word",
    "token",
    "the key",
    "-",
    "é",
    "日",
    "\u2003",
    "x" * 9,
    "a: 1,",
    "(",
    "42",
    "{}",
    "//",
    "&",
    "<b>",
]


def _left(name: str) -> bool:
    """Whether half of the secret is left."""
    template, secret = KNOWN[name]
    text = template.replace("{}", secret)
    try:
        value: Any = json.loads(text)
    except ValueError:
        value = None
    clean = json.dumps(scrub_json(value)) if isinstance(value, dict | list) else scrub(text)
    half = len(secret) // 2
    return secret[: half + 1] in clean or secret[half:] in clean


def test_of_these_forms_so_many_are_found() -> None:
    assert {name for name in KNOWN if _left(name)} == NOT_FOUND
    assert (len(FOUND), len(KNOWN)) == (221, 228)


@given(st.lists(st.tuples(st.sampled_from(FOUND), st.sampled_from(JUNK)), min_size=1, max_size=8))
def test_a_form_is_found_among_others_and_in_json(drawn: list[tuple[str, str]]) -> None:
    drawn = [(name, junk) for name, junk in drawn if KNOWN[name][0][0] != "{"]  # those are documents
    text = "\n\n".join(f"{junk}\n{KNOWN[name][0].replace('{}', KNOWN[name][1])}" for name, junk in drawn)
    for clean in (scrub(text), str(scrub_json({"content": text})["content"])):
        assert not [name for name, _ in drawn if KNOWN[name][1] in clean]
        assert scrub(clean) == clean
        assert clean.count(HIDDEN) >= min(1, len(drawn))
