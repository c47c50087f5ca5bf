"""Rules: patterns of what a call touches, what denies wins, and what cannot be told is not allowed."""

import re

import pytest
from counting import lines_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zoolab.errors import InvalidInput
from zoolab.policy import Policy
from zoolab.policy.rules import MAX_RESOURCE, Pattern, Rule, Touched, escape
from zoolab.tools import Tool

SCHEMA = {"type": "object"}


def read_tool(resource=lambda given: given["path"], risk="medium", name="read_file"):
    return Tool(name, "Read.", SCHEMA, print, risk, resource=resource)


def judged(tool, *, path="/srv/app/a.txt", **policy):
    return Policy(**policy).decide(tool, {"path": path}).choice


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("/srv/a.txt", ["/srv/a.txt"], ["/srv/a.txt2", "/srv/A.txt", "srv/a.txt", "/srv/aXtxt", ""]),
        ("/srv/*", ["/srv/a", "/srv/"], ["/srv/a/b", "/srv", "/srvx/a"]),
        ("/srv/**", ["/srv/a", "/srv/a/b", "/srv/"], ["/srv", "/srvx/a"]),
        ("**/.env", [".env", "/.env", "/srv/.env", "a/b/.env"], ["/srv/x.env", "/.envs"]),
        ("/srv/**/x", ["/srv/x", "/srv/a/x", "/srv/a/b/x"], ["/srv/ax", "/srvx"]),
        ("/a/**/**/b", ["/a/b", "/a/x/b", "/a/x/y/b"], ["/ab"]),
        ("/a**b", ["/ab", "/a/x/b"], ["/a/x/c"]),
        ("/a/***", ["/a/b/c"], ["/b"]),
        (
            "C:/Users/*/notes.md",
            ["C:/Users/ada/notes.md"],
            ["c:/users/ada/notes.md", "C:/Users/notes.md"],
        ),
        ("https://*.example.org/**", ["https://a.b.example.org/x?y=*"], ["https://evil.org/.example.org/"]),
        (r"/a\*\\[x]?.(b)", [r"/a*\[x]?.(b)"], [r"/aa\[x]?.(b)"]),
        ("*", ["a", "", "a b\nc"], ["/"]),
        ("**", ["", "/", "a/\n/b"], []),
    ],
)
def test_a_pattern_matches(pattern, matching, other):
    compiled = Pattern(pattern)
    assert [text for text in matching if not compiled.matches(text)] == []
    assert [text for text in other if compiled.matches(text)] == []


def as_regex(tokens):
    """What a pattern means, in the words of another engine."""
    text = "".join(tokens)
    text = re.sub(r"(?<![^/])(?:\*\*/)+", "\0", re.sub(r"\*{3,}", "**", text))
    words = {"\0": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.findall(r"\0|\*\*|\*|.", text, re.DOTALL)
    return re.compile("".join(words.get(part) or re.escape(part) for part in parts), re.DOTALL)


@settings(max_examples=400)
@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", "**", "/**/", "\n"]), min_size=1, max_size=8),
    st.lists(st.sampled_from(["a", "b", "/", "\n"]), max_size=9).map("".join),
)
@example(["/**/", "**", "/", "a"], "/a")
def test_patterns_mean_what_another_engine_says(tokens, text):
    assert Pattern("".join(tokens)).matches(text) == bool(as_regex(tokens).fullmatch(text))


@given(st.text(min_size=1), st.text())
def test_an_escaped_text_matches_itself_alone(text, other):
    assert Pattern(escape(text)).matches(text)
    assert Pattern(escape(text)).matches(other) == (text == other)


@pytest.mark.parametrize("pattern", ["**a" * 300, "*a" * 400, "/**/*a" * 200])
def test_no_pattern_takes_more_steps_than_both_lengths_multiplied(pattern):
    text = "/a" * (MAX_RESOURCE // 2 - 1) + "b"
    assert not Pattern(pattern).matches(text)
    assert lines_of(lambda: Pattern(pattern).matches(text)) < 3 * len(pattern) * len(text)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        " ",
        "a b",
        "rm(",
        "rm)",
        "rm()x",
        "rm()",
        "(x)",
        "rm(a\\b)",
        "rm(a\\)",
        "r" * 200,
        "é",
        None,
        5,
        ["rm"],
    ],
)
def test_what_is_no_rule_is_one_clear_error(rule):
    with pytest.raises(InvalidInput, match=r"not a rule|not a pattern") as caught:
        Policy(allow=[rule])
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInput):
        Policy(deny=[rule])


def test_one_text_is_no_list_of_rules():
    with pytest.raises(InvalidInput, match=r"allow is a single text; expected a list, as in allow=\['rm'\]"):
        Policy(allow="rm")


def test_a_policy_is_a_value():
    assert Policy(allow={"a"}) == Policy(allow=["a"])
    with pytest.raises(AttributeError):
        Policy().allow = ["rm"]


def test_rules_are_matched_on_what_the_call_touches():
    tool = read_tool(lambda given: "/srv/app/" + given["path"].removeprefix("./"))
    assert judged(tool, path="./a.txt", allow=["read_file(/srv/app/*)"]) == "once"
    assert judged(tool, path="./a.txt", allow=["read_file(./*)"]) == "pending"
    assert judged(tool, path="./a.txt", allow=["read_*(/srv/**)"]) == "once"
    assert judged(tool, path="./a.txt", allow=["write_*(/srv/**)"]) == "pending"


@pytest.mark.parametrize(
    "deny", ["read_file", "read_*", "*", "read_file(/srv/**)", "*(**)", "read_file(/srv/app/a.txt)"]
)
@pytest.mark.parametrize("risk", ["safe", "medium", "high"])
def test_what_denies_wins(deny, risk):
    tool = read_tool(risk=risk)
    allow = ["read_file", "*", "read_file(/srv/app/a.txt)"]
    assert judged(tool, deny=[deny], allow=allow, ask=()) == "deny"
    assert judged(tool, path="/other", deny=["read_file(/srv/**)"], allow=allow) == "once"


def broken(_given):
    raise RuntimeError("no idea")


@pytest.mark.parametrize(
    "resource",
    [None, broken, lambda _: None, lambda _: "", lambda _: b"/srv", lambda _: "/" * (MAX_RESOURCE + 1)],
    ids=["none", "raises", "None", "empty", "bytes", "too long"],
)
def test_a_pattern_never_allows_and_always_denies_what_cannot_be_told(resource):
    tool = read_tool(resource)
    assert judged(tool, allow=["read_file(**)"]) == "pending"
    assert judged(tool, deny=["read_file(/elsewhere)"]) == "deny"
    assert judged(tool, deny=["write_file(/elsewhere)"]) == "pending"
    assert judged(tool, ask=["read_file(/elsewhere)"]) == "pending"
    assert judged(tool, allow=["read_file"]) == "once"


def test_why_it_cannot_be_told_is_kept():
    told = Touched.by(read_tool(broken), {}).unknown
    assert told == "read_file cannot tell what it touches: RuntimeError('no idea')"


def test_a_rule_to_ask_is_stronger_than_one_that_allows():
    tool = read_tool(risk="safe")
    policy = {"allow": ["read_file"], "ask": ["read_file(/etc/**)"]}
    assert judged(tool, path="/etc/passwd", **policy) == "pending"
    assert judged(tool, path="/srv/a", **policy) == "once"


def test_a_risk_is_a_risk_among_what_is_asked_and_a_name_elsewhere():
    assert judged(read_tool(name="high", risk="safe"), deny=["high"]) == "deny"
    assert judged(read_tool(name="high", risk="safe"), ask=["high"]) == "once"


def test_a_resource_function_cannot_change_the_arguments():
    given = {"path": "/srv"}
    Policy().decide(read_tool(lambda arguments: arguments.pop("path")), given)
    assert given == {"path": "/srv"}


def test_rules_with_parentheses_and_brackets_in_their_paths():
    assert Rule("read_file(/a (1)/[b])").covers(read_tool(), Touched("/a (1)/[b]"))
