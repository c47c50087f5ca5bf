"""Records are read-only all the way down: nothing changes behind the trace's back."""

import copy
import json
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Scripted, Trace, run, tool, walk
from zoolab.errors import InvalidInput, ModelError, ReadOnlyRecord
from zoolab.jsontext.readonly import ReadOnlyDict, ReadOnlyList, TooDeep, read_only
from zoolab.messages import Messages
from zoolab.records import Decision, Outcome, Reply, Request, Verdict
from zoolab.tools import ToolRegistry

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
CHANGES_OF_A_DICT = [
    lambda it: it.__setitem__("role", "x"),
    lambda it: it.update(x=1),
    lambda it: it.setdefault("x", 1),
    lambda it: it.pop("role", None),
    lambda it: it.popitem(),
    lambda it: it.clear(),
    lambda it: it.__delitem__("role"),
    lambda it: it.__ior__({"x": 1}),
    lambda it: it.__init__({"x": 1}),
]
CHANGES_OF_A_LIST = [
    lambda it: it.append(1),
    lambda it: it.extend([1]),
    lambda it: it.insert(0, 1),
    lambda it: it.pop(),
    lambda it: it.remove(1),
    lambda it: it.clear(),
    lambda it: it.sort(),
    lambda it: it.reverse(),
    lambda it: it.__setitem__(slice(0, 0), [1]),
    lambda it: it.__delitem__(slice(0, 1)),
    lambda it: it.__iadd__([1]),
    lambda it: it.__imul__(2),
    lambda it: it.__init__([1]),
]


@tool
def note(text: str, tags: list[str], more: dict[str, int]) -> dict:
    """Keep a note."""
    tags.append("mine")
    more["changed"] = 1
    return {"text": text, "tags": tags, "more": more}


def reachable(value, seen=None):
    """Every dict and list that a record leads to."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, (str, int, float, type, type(None))) or callable(value):
        if not isinstance(value, (dict, list)) and type(value).__name__ != "Tool":
            return
        if id(value) in seen:
            return
    seen[id(value)] = value
    if isinstance(value, (dict, list)):
        yield value
    if isinstance(value, dict):
        children = list(value.values())
    elif isinstance(value, (list, tuple, Messages, ToolRegistry)):
        children = list(value)
    elif isinstance(value, Trace):
        children = []
    else:
        names = list(getattr(value, "__dataclass_fields__", ()))
        names += [name for name in ("message", "prefix", "new_messages", "sent") if hasattr(value, name)]
        children = [getattr(value, name) for name in names]
    if isinstance(value, tuple) and hasattr(value, "new_messages"):
        children.append(value.new_messages)
    for child in children:
        yield from reachable(child, seen)


def vandalise(step):
    """Try to change all that a step leads to; returns how much there was."""
    found = 0
    for value in reachable(step):
        for change in CHANGES_OF_A_DICT if isinstance(value, dict) else CHANGES_OF_A_LIST:
            with pytest.raises(ReadOnlyRecord, match="answer"):
                change(value)
        found += 1
    return found


@given(VALUES)
def test_a_read_only_value_is_like_the_plain_one(value):
    frozen = read_only(value)
    assert frozen == value
    assert read_only(frozen) is frozen
    assert repr(frozen) == repr(value)
    assert json.dumps(frozen) == json.dumps(value)
    again = pickle.loads(pickle.dumps(frozen))
    assert again == value
    assert type(again) is type(frozen)
    mine = copy.deepcopy(frozen)
    assert mine == value
    assert type(mine) is type(value)
    assert type(copy.copy(frozen)) is type(value)


def test_every_method_that_changes_a_dict_or_a_list_is_refused():
    reading = {"copy", "count", "fromkeys", "get", "index", "items", "keys", "values"}
    for kind, base in ((ReadOnlyDict, dict), (ReadOnlyList, list)):
        for name in dir(base):
            if not name.startswith("_") and name not in reading:
                assert name in vars(kind), name
    refused = read_only({"a": [1]})
    with pytest.raises(TypeError):
        refused |= {"x": 1}
    items = read_only([1])
    with pytest.raises(TypeError):
        items += [2]
    with pytest.raises(InvalidInput):
        items *= 2


def test_what_contains_itself_is_refused_and_a_model_that_says_it_is_at_fault():
    cycle = []
    cycle.append(cycle)
    with pytest.raises(TooDeep, match="contains itself"):
        read_only(cycle)
    with pytest.raises(ModelError, match="contains itself"):
        run("Hi", [], lambda _request: Reply({"role": "assistant", "content": cycle}))
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ModelError, match="nested too deeply"):
        run("Hi", [], lambda _request: Reply({"role": "assistant", "content": "Hi"}, raw={"x": deep}))


@given(st.lists(st.tuples(st.text(max_size=4), st.lists(st.text(max_size=3), max_size=2)), max_size=3))
def test_nothing_that_a_step_shows_can_be_changed_and_all_records_agree(rounds):
    received = []
    replies = [[("note", {"text": text, "tags": tags, "more": {"n": 1}})] * 2 for text, tags in rounds]
    script = Scripted([*replies, "Done."])

    def model(request):
        received.append(json.dumps(list(request.messages)))
        assert vandalise(request)
        return script(request)

    trace, shown = Trace(), []
    steps = trace.follow(walk("Go.", [note], model))
    for step in steps:
        assert vandalise(step) or step.kind == "define"
        shown.append(json.dumps(list(step.messages)))
    assert trace.originals == {}
    assert [json.dumps(trace.messages_at(i)) for i in range(len(trace))] == shown
    assert [json.dumps(list(step.messages)) for step in trace.steps] == shown
    requests = [step for step in trace.steps if step.kind == "request"]
    assert received == [json.dumps(list(step.record.messages)) for step in requests]
    for verdict in (step.record for step in trace.steps if isinstance(step.record, Verdict)):
        assert "changed" not in verdict.arguments["more"]


def test_what_the_user_changes_later_does_not_reach_the_records():
    message = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    conversation, schema, settings = [message], {"type": "object", "properties": {}}, {"stop": ["x"]}
    made = tool(lambda: 1, name="one")
    request = Request(conversation, (made.schema(),), settings=settings)
    own = ToolRegistry([replace(made, parameters=schema)])
    verdict, decision = Verdict(True, settings), Decision("pending", arguments=settings)
    outcome, reply = Outcome(settings), Reply(message | {"role": "assistant"}, usage=settings, raw=settings)
    records = (request, verdict, decision, outcome, reply, own["one"])
    before = repr(records)
    message["content"][0]["text"] = "Bye"
    conversation.append(message)
    schema["properties"]["x"] = {}
    settings["stop"].append("y")
    assert repr(records) == before
    with pytest.raises(ReadOnlyRecord):
        request.messages.append({"role": "user", "content": "lost"})
    assert type(request.messages[0] | {}) is dict


def test_the_tools_of_a_walk_are_those_that_its_define_step_showed():
    registry, asked = ToolRegistry([note]), []
    other = tool(lambda: 2, name="two")

    def model(request):
        asked.append([each["function"]["name"] for each in request.tools])
        return Scripted(["Done."])(request)

    steps = walk("Go.", registry, model)
    step = next(steps)
    with pytest.raises(ReadOnlyRecord, match="answer the define step"):
        step.record.add(other)
    registry.add(other)
    assert [len(step.record), len(registry)] == [1, 2]
    trace = Trace()
    following = trace.follow(steps)
    list(following)
    assert asked == [["note"]]
    steps = trace.follow(walk("Go.", [note], model))
    next(steps)
    steps.answer([note, other])
    list(steps)
    assert asked[-1] == ["note", "two"]


def test_an_answered_define_step_shows_the_tools_that_were_offered():
    trace, given = Trace(), [note]
    steps = trace.follow(walk("Go.", [], Scripted(["Done."])))
    next(steps)
    steps.answer(given)
    next(steps)
    given.clear()
    assert trace.steps[0].record.names() == ["note"]


def test_a_tool_is_denied_in_the_middle_of_a_walk():
    registry = ToolRegistry([note])
    asks = [("note", {"text": "a", "tags": [], "more": {}})]
    for deny_in in ("own", "shown"):
        steps = walk("Go.", registry, Scripted([asks, asks, "Done."]))
        codes = []
        for step in steps:
            if step.kind == "define":
                shown = step.record
            if step.kind == "result":
                codes.append(step.error_code)
                (registry if deny_in == "own" else shown).deny("note")
        assert codes == [None, "permission_denied"]
        registry.allow("note")


def test_the_tool_message_is_made_from_the_value_as_it_was_shown():
    class Report:
        def __init__(self):
            self.lines = ["one"]

        def tolist(self):
            return self.lines

    for wrap in (lambda report: report, lambda report: {"report": report}):
        report = Report()
        made = tool(lambda report=report, wrap=wrap: wrap(report), name="report", param_names=["a", "b"])
        made = replace(made, parameters={"type": "object"}, bind=lambda _arguments: {})
        steps = walk("Go.", [made], Scripted([[("report", {})], "Done."]), envelope="plain")
        for step in steps:
            if step.kind == "execute":
                report.lines.append("two")
        assert "two" not in steps.messages[2]["content"]
        assert "one" in steps.messages[2]["content"]


def test_the_messages_that_a_walk_is_given_are_copied_at_once() -> None:
    given = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    steps = walk(None, [], Scripted(["Hello"]), messages=given)
    given[0]["content"][0]["text"] = "changed"  # type: ignore[index]
    assert [step.messages[0]["content"][0]["text"] for step in steps if len(step.messages)] == ["Hi", "Hi"]
