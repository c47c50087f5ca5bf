"""The prompt: what a person is shown, what an answer means, and that nobody's answer is no."""

import io
import json
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyter_client.manager import start_new_kernel
from shell import HOSTILE

from zoolab import Scripted, run, tool, walk
from zoolab.errors import InvalidInput
from zoolab.policy import Permissions, ask_user
from zoolab.policy.prompt import MAX_SHOWN, NOBODY, describe_call
from zoolab.policy.rules import definition
from zoolab.records import Decision, Step
from zoolab.tools import Tool

CHOICES = "[1] once  [2] session  [3] always  [4] deny"
FOR_NOW = "[1] once  [2] session  [4] deny"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Person:
    """Sits at a terminal and types."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch

    def types(self, *lines, encoding=None):
        self.screen = Terminal()
        if encoding is not None:
            self.screen = io.TextIOWrapper(io.BytesIO(), encoding)
            self.screen.isatty = lambda: True
        self.monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in lines)))
        self.monkeypatch.setattr("sys.stdout", self.screen)

    @property
    def sees(self):
        return self.screen.getvalue()


@pytest.fixture
def person(monkeypatch):
    return Person(monkeypatch)


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    """Where always is kept."""
    monkeypatch.setenv("ZOOLAB_CONFIG", str(tmp_path / "config"))


def pending(arguments=None, risk="high", resource=None, name="wipe", policy="of user"):
    """A step that waits."""
    made = Tool(name, "Wipe.", {"type": "object"}, print, risk, resource=resource)
    policy = Permissions.of_user() if policy == "of user" else policy
    steps = walk("Go.", [made], Scripted([[(name, arguments or {})]]), policy=policy)
    return next(step for step in steps if step.status == "pending")


def test_all_that_matters_is_shown(person):
    person.types("1")
    step = pending({"path": "a.txt"}, resource=lambda given: "/srv/" + given["path"])
    assert ask_user(step) == Decision("once", "answered when asked")
    assert person.sees.split("\n") == [
        "Permission request: wipe is of high risk: allow it?",
        "  tool       wipe",
        "  risk       HIGH: what it does may not be undone",
        '  touches    "/srv/a.txt"',
        '  arguments  {"path": "a.txt"}',
        f"allow wipe? {CHOICES}: ",
    ]


@pytest.mark.parametrize(
    ("typed", "choice"),
    [
        *(
            ("1", "once"),
            ("o", "once"),
            ("ONCE ", "once"),
            ("2", "session"),
            ("3", "always"),
            ("a", "always"),
        ),
        *(("4", "deny"), ("", "deny"), ("d", "deny")),
    ],
)
def test_an_answer_means_what_it_says(person, typed, choice):
    person.types(typed)
    assert ask_user(pending()).choice == choice


def test_always_is_offered_only_where_something_keeps_it(person):
    step = pending(policy=None)
    person.types("3", "always", "2")
    assert ask_user(step).choice == "session"
    assert "always" not in person.sees
    assert f"allow wipe? {FOR_NOW}: " in person.sees
    assert "it does not say: session holds for every call of wipe" in person.sees


def test_session_and_always_hold_for_what_was_shown(person):
    step = pending({"path": "/a*\\"}, resource=lambda given: given["path"])
    for typed in "23":
        person.types(typed)
        assert ask_user(step).scope == r"/a\*\\"
    person.types("2")
    assert ask_user(pending()).scope is None


def test_what_the_grant_covers_is_said():
    def told(resource):
        return describe_call(pending(resource=resource))[3]

    assert "hold for every call of wipe" in told(None)
    assert "hold for this call alone" in told(lambda given: given["nothing"])
    bare = pending()._replace(record=Decision("pending", "because"))
    assert describe_call(bare)[2:4] == ["  risk       not known", "  touches    not known"]


@pytest.mark.parametrize("typed", [(), ("x",) * 5, ("5", "yes", "\x1b[A", "1")])
def test_no_answer_and_junk_are_no(person, typed):
    person.types(*typed)
    assert ask_user(pending()) == NOBODY


def test_nobody_is_asked_where_nobody_sits(person, monkeypatch):
    for name in ("sys.stdin", "sys.stdout"):
        person.types("1")
        monkeypatch.setattr(name, io.StringIO("1\n"))
        assert ask_user(pending()) == NOBODY
    person.types("1")
    monkeypatch.setattr("sys.stdin", None)
    assert ask_user(pending()).choice == "deny"


def test_a_screen_that_lacks_letters_shows_their_numbers(person):
    person.types("1", encoding="ascii")
    assert ask_user(pending({"city": "Zürich"})).choice == "once"
    person.screen.flush()
    assert rb"Z\xfcrich" in person.screen.buffer.getvalue()


def test_long_arguments_are_cut_counted_and_shown_on_demand(person):
    given = {"text": "x" * 10_000 + "the end"}
    person.types("5", "1")
    assert ask_user(pending(given)).choice == "once"
    before, _, after = person.sees.partition("[5] show all: ")
    left_out = len(json.dumps(given)) - MAX_SHOWN
    assert f"... and {left_out:,} characters more\n" in before
    assert ("the end" in before, "the end" in after) == (False, True)


def test_a_step_that_waits_for_nothing_is_not_asked_about():
    for step in walk("Hi", [], Scripted(["Hello"])):
        with pytest.raises(InvalidInput, match="not waiting for approval"):
            ask_user(step)


NASTY = '\x1b\x07\r\n\t\x7f\x9b\u202e\u2066\u2028\u3164\u200b\ufeff\U000e0041\\"u'
HOSTILE_TEXT = st.text(st.one_of(st.characters(), st.sampled_from(NASTY)))


@given(st.dictionaries(HOSTILE_TEXT, HOSTILE_TEXT, max_size=4), HOSTILE_TEXT)
def test_no_model_writes_on_the_screen(given, resource):
    decision = Decision("pending", resource, risk=resource, resource=resource, arguments=given)
    shown = describe_call(Step("execute", 1, 0, decision, pending().messages))
    assert all(letter.isprintable() and letter not in "\u3164\u115f" for line in shown for letter in line)
    assert len(shown) == 5
    if "characters more" not in shown[4]:
        assert json.loads(shown[4].removeprefix("  arguments  ")) == {**given}


def test_what_runs_is_shown_and_not_what_was_broken(person):
    @tool(risk="high")
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        return disk

    person.types("1")
    trace = run("Go.", [wipe], Scripted([[("wipe", '{"disk": "a"')], "Done."]), ask=ask_user, repair=Mend())
    assert '{"disk": "b"}' in person.sees
    assert '{"success":true,"data":"b"' in trace.messages[2]["content"]


class Mend:
    """A repair that proposes what nobody wrote."""

    def propose(self, _raw, _schema=None):
        return '{"disk": "b"}'


def test_questions_of_several_threads_do_not_mix(person):
    person.types(*["1"] * 16)
    steps = [pending({"n": n}, name=f"wipe_{n}") for n in range(8)]
    threads = [threading.Thread(target=ask_user, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    blocks = re.findall(r"tool       (\w+)\n.*\n.*\n  arguments .*\nallow (\w+)\? ", person.sees)
    assert sorted(blocks) == [(f"wipe_{n}",) * 2 for n in range(8)]


def test_a_person_ends_a_walk_of_questions(person, tmp_path):
    @tool(risk="medium")
    def note(n: int) -> int:
        """Take a note."""
        return n

    calls = [("note", {"n": n}) for n in range(3)]
    person.types("4", "3", "this is not asked")
    permissions = Permissions(path=tmp_path / "policies.json")
    trace = run("Go.", [note], Scripted([calls, "Done."]), policy=permissions, ask=ask_user)
    assert person.sees.count("Permission request") == 2
    assert [error.code for error in trace.errors] == ["permission_denied"]
    assert json.loads((tmp_path / "policies.json").read_text())["allow"] == [f"note#{definition(note)}"]


IN_A_NOTEBOOK = f"""
from zoolab import Scripted, run, tool
from zoolab.policy import ask_user
from zoolab_connect.nested import as_tool

wiped = []

@tool(risk="high")
def wipe(disk: str) -> str:
    "Wipe a disk."
    wiped.append(disk[:1])
    return "wiped"

def agent(name):
    model = Scripted([[("wipe", {{"disk": name + {HOSTILE!r}}})], "Done."])
    return as_tool(name, "Does it.", [wipe], model, ask=ask_user)

asked = [("wipe", {{"disk": "w"}}), ("a", {{"task": "1"}}), ("b", {{"task": "2"}})]
trace = run("Go.", [wipe, agent("a"), agent("b")], Scripted([asked, "Done."]), ask=ask_user)
print("wiped", sorted(wiped), [error.code for error in trace.errors])
"""


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def in_a_notebook(kernel, typed, allow_stdin=True):
    """What a cell prints, and what it asks."""
    printed, asked = [], []

    def answer(message):
        asked.append(message["content"]["prompt"])
        kernel.input(typed)

    def show(message):
        content = message["content"]
        printed.append(content.get("text", "") + "\n".join(content.get("traceback", ())))

    kernel.execute_interactive(
        IN_A_NOTEBOOK, allow_stdin=allow_stdin, stdin_hook=answer, output_hook=show, timeout=60
    )
    return "".join(printed), asked


def test_a_notebook_asks_in_its_cell_for_sub_agents_too(kernel):
    printed, asked = in_a_notebook(kernel, "1")
    assert "wiped ['a', 'b', 'w'] []" in printed
    assert asked == [f"allow wipe? {FOR_NOW}: "] * 3
    assert "\x1b" not in printed


def test_a_notebook_hears_a_no(kernel):
    assert "wiped [] ['permission_denied']" in in_a_notebook(kernel, "4")[0]


def test_a_notebook_that_cannot_ask_says_no(kernel):
    printed, asked = in_a_notebook(kernel, "1", allow_stdin=False)
    assert ("wiped [] ['permission_denied']" in printed, asked) == (True, [])
