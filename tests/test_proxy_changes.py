"""What a program changed between two requests is said exactly, and shown safely."""

import json
from html.parser import HTMLParser

import pytest
from counting import lines_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from zoolab import Scripted, Tool, Trace, run
from zoolab.errors import InvalidInput
from zoolab.records import Messages, Reply, Request, Step
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_call
from zoolab.tools import ToolRegistry
from zoolab_connect.proxy.changes import MAX_REQUESTS, MAX_SHOWN, changes_between, what_changed

ADD = Tool.from_schema(
    "add",
    "Add two integers.",
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    lambda a, b=0: a + b,
)
SCHEMA = {
    "type": "function",
    "function": {"name": "add", "description": "Add.", "parameters": ADD.parameters},
}


def said(role, text):
    return {"role": role, "content": text}


def asks(id="call_1", arguments='{"a":42,"b":58}', name="add", **more):
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **more}


def result(id="call_1", text="100"):
    return {"role": "tool", "tool_call_id": id, "content": text}


def conversation(turns):
    """A system message, and for each turn a question, a call, its result and an answer; all are different."""
    messages = [said("system", "Be brief, and use the tools.")]
    for number in range(turns):
        messages.append(said("user", f"Question {number}: what is {number} + 58?"))
        messages += [
            asks(f"call_{number}", json.dumps({"a": number})),
            result(f"call_{number}", f"{number}!"),
        ]
        messages.append(said("assistant", f"The answer to question {number} is {number + 58}."))
    return messages


def compared(messages, after, **request):
    """The last of the messages is the reply."""
    return changes_between(Request(messages[:-1], **request), messages[-1], Request(after, **request))


def kinds(change):
    """The fields that hold something."""
    names = ["added", "edited", "moved", "dropped", "condensed", "tools", "settings"]
    return {name for name in names if getattr(change, name)}


NEXT = st.lists(
    st.sampled_from([said("user", "Go on."), result("call_99", "7"), said("system", "S")]), max_size=3
)


@settings(max_examples=40)
@given(turns=st.integers(1, 4), added=NEXT, cut=st.integers(0, 3))
def test_a_pure_append_is_only_added(turns, added, cut):
    messages = conversation(turns)[: 4 * turns + 1 - cut]
    change = compared(messages, [*messages, *added])
    assert change.added == tuple(added)
    assert kinds(change) <= {"added"}
    assert (change.reply, change.only_added, change.prefix.broken_at) == ("as_it_came", True, "")
    assert change.prefix.kept == change.prefix.before


def edited(message):
    return {**message, "content": f"{message['content']} (edited)"}


@settings(max_examples=60)
@given(data=st.data(), turns=st.integers(2, 5), added=NEXT)
def test_edits_drops_and_condensations_are_said_exactly(data, turns, added):
    """A kept message stands between two changes, else they could be read as one."""
    messages = conversation(turns)
    after, place, expected = [], 0, {"edited": [], "dropped": [], "condensed": []}
    while place < len(messages) - 1:
        kind = data.draw(st.sampled_from(["keep", "edited", "dropped", "condensed"]))
        size = data.draw(st.integers(2, 4)) if kind in ("condensed", "dropped") else 1
        part = messages[place : min(place + size, len(messages) - 1)]
        if kind == "edited":
            after.append(edited(part[0]))
            expected[kind].append((place, part[0], after[-1]))
        elif kind == "dropped":
            expected[kind] += part
        elif kind == "condensed" and len(part) > 1:
            after.append(said("developer", f"S{place}"))
            expected[kind].append((tuple(part), after[-1]))
        else:
            after += part
        place += len(part)
        after += messages[place : place + 1]
        place += 1
    after = [*after, *messages[place:], *added]
    change = compared(messages, after)
    assert [(edit.place, edit.old, edit.new) for edit in change.edited] == expected["edited"]
    assert list(change.dropped) == expected["dropped"]
    assert list(change.condensed) == expected["condensed"]
    assert (change.added, change.moved, change.reply) == (tuple(added), (), "as_it_came")


@settings(max_examples=40)
@given(turns=st.integers(1, 4), source=st.integers(0, 15), target=st.integers(0, 15))
def test_a_moved_message_is_moved_and_nothing_else(turns, source, target):
    messages = conversation(turns)
    assume(max(source, target) < len(messages) and abs(source - target) > 1)
    after = messages[:source] + messages[source + 1 :]
    after.insert(target, messages[source])
    change = compared(messages, after)
    assert (change.moved, kinds(change), change.reply) == ((messages[source],), {"moved"}, "as_it_came")
    assert change.prefix.broken_at == (
        "" if min(source, target) == len(messages) - 1 else f"messages[{min(source, target)}]"
    )


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_came_each_message_is_accounted_for_once(data):
    pool = [*conversation(1), said("user", "Hi"), asks("call_0", "{}"), {"role": 5}, {"tool_calls": [None]}]
    old, new = (data.draw(st.lists(st.sampled_from(pool), max_size=8)) for _ in range(2))
    change = changes_between(Request(old), None, Request(new))
    lost = len(change.dropped) + sum(len(messages) for messages, _ in change.condensed)
    kept_old = len(old) - lost - len(change.edited) - len(change.moved)
    kept_new = len(new) - len(change.added) - len(change.condensed) - len(change.edited) - len(change.moved)
    assert kept_old == kept_new >= 0
    assert change.reply == "none"
    assert (old == new) == (not kinds(change))


FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name", "function", "id", "arguments", "type")
PLAIN = st.sampled_from(
    [None, True, 1, "", "add", "assistant", "tool", [], [None], {"name": "add"}, {"id": {}}]
)
INNER = st.dictionaries(st.sampled_from(FIELDS), PLAIN, max_size=4)
ODD = st.dictionaries(st.sampled_from(FIELDS), PLAIN | INNER | st.lists(INNER, max_size=2), max_size=4)


@settings(max_examples=40)
@given(st.lists(ODD, max_size=4), ODD, st.lists(ODD, max_size=4), st.lists(ODD, max_size=2), ODD)
def test_odd_messages_tools_and_settings_can_be_compared_and_shown(old, reply, new, tools, odd):
    before, after = Request(old, (*tools,)), Request(new, (odd,), settings=odd)
    trace = Trace()
    for turn, request in enumerate((before, after), 1):
        trace.add(Step("request", turn, None, request, request.prefix))
        trace.add(Step("tool_call", turn, None, Reply(reply), request.prefix, 0, None, Reply(reply)))
    report = what_changed(trace)
    assert str(report).startswith("request 1\n")
    assert report._repr_html_().count("<section") >= 2


REPLY = asks(arguments='{"a": 42, "b":58}', refusal=None, annotations=[])
#: What comes back of REPLY, and how that is told.
CHAT_SHAPES = {
    # openai-agents 0.24
    "as it is": (asks(arguments='{"a": 42, "b":58}'), ("without annotations",)),
    # pydantic-ai 2.68
    "compact": (asks(), ("arguments written anew, with the same values", "without annotations")),
    # langchain-openai 1.7: by json.dumps
    "spaced": (
        asks(arguments='{"a": 42, "b": 58}'),
        ("arguments written anew, with the same values", "without annotations"),
    ),
    "content": ({**REPLY, "content": ""}, ('content null became ""',)),
    "ids": ({**REPLY, "tool_calls": asks("fc_9", '{"a": 42, "b":58}')["tool_calls"]}, ("other call ids",)),
    "values": (asks(arguments='{"a":43,"b":58}', annotations=[]), ("other arguments",)),
    "no JSON": (asks(arguments="{", annotations=[]), ("other arguments",)),
    "calls": (asks(arguments='{"a": 42, "b":58}', name="sub", annotations=[]), ("other calls",)),
}


@pytest.mark.parametrize("name", CHAT_SHAPES)
def test_how_frameworks_rewrite_the_reply(name):
    message, ways = CHAT_SHAPES[name]
    id = message["tool_calls"][0]["id"]
    before = conversation(1)
    change = compared([*before, REPLY], [*before, message, result(id)])
    assert (change.reply, change.added, kinds(change)) == ("rewritten", (result(id),), {"added", "edited"})
    assert (change.edited[0].place, change.edited[0].ways) == (len(before), ways)
    assert change.prefix.broken_at == ""


def test_two_calls_with_other_ids_beside_a_dropped_question():
    """The ids do not match, the question is gone: the names of the calls tell which message it was."""
    question, calls = said("user", "42 + 58, 1 + 1?"), [*asks("a")["tool_calls"], *asks("b")["tool_calls"]]
    renamed = [{**call, "id": f"fc_{call['id']}"} for call in calls]
    sent = {"role": "assistant", "content": "", "tool_calls": renamed}
    change = compared([question, {**sent, "tool_calls": calls}], [sent, result("fc_a")])
    assert (change.dropped, change.condensed) == ((question,), ())
    assert [edit.ways for edit in change.edited] == [("other call ids",)]


def test_neighbours_that_got_shorter_are_edited_and_a_result_is_no_summary():
    old, new = (
        [said("user", "long long"), said("assistant", "long long")],
        [said("user", "a"), said("assistant", "b")],
    )
    change = changes_between(Request(old), None, Request(new))
    assert [edit.place for edit in change.edited] == [0, 1]
    change = changes_between(Request(old), None, Request([result(text="1")]))
    assert (change.dropped, change.added, change.condensed) == (tuple(old), (result(text="1"),), ())


def test_arguments_that_were_no_json_and_are_none_now_are_other_arguments():
    change = compared([said("user", "Hi"), asks(arguments="{a")], [said("user", "Hi"), asks(arguments="{b")])
    assert change.edited[0].ways == ("other arguments",)


def test_a_reply_without_its_reasoning_and_one_in_parts():
    hi, reply = said("user", "Hi"), {**said("assistant", "Hello"), "reasoning_content": "Greet."}
    parts = {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
    change = compared([hi, reply], [hi, parts, said("user", "Bye")])
    form = 'content "Hello" became [{"type":"text","text":"Hello…'
    assert change.edited[0].ways == (form, "without reasoning_content")
    assert change.added == (said("user", "Bye"),)


def test_calls_and_results_told_as_text():
    """As smolagents 1.26 does: the reply as text, and its result in a message of the user."""
    before = conversation(1)
    spoken = said("assistant", "Calling tools: add(a=42, b=58)")
    change = compared([*before, asks("call_9")], [*before, spoken, said("user", "Observation: 100")])
    assert (change.reply, change.edited[0].ways) == ("rewritten", ("other content", "other calls"))
    assert change.added == (said("user", "Observation: 100"),)


def test_a_question_that_swallows_the_error_of_a_reply():
    """As smolagents 1.26 does when a call fails: the reply is gone, and the question is longer."""
    asked = said("user", "42 + 58?")
    change = compared([asked, asks()], [{**asked, "content": "42 + 58?\nError: a must be a number."}])
    assert [edit.place for edit in change.edited] == [0]
    assert (change.dropped, change.reply, change.condensed) == ((asks(),), "left_out", ())


def test_a_null_field_counts_as_absent():
    hi = said("user", "Hi")
    change = compared([hi, {**said("assistant", "Yes"), "refusal": None}], [hi, said("assistant", "Yes")])
    assert (change.reply, change.only_added) == ("as_it_came", True)


def test_a_reply_that_is_left_out():
    hi = said("user", "Hi")
    change = compared([hi, said("assistant", "Yes")], [hi, said("user", "Try again")])
    assert (change.reply, change.dropped) == ("left_out", (said("assistant", "Yes"),))
    assert change.added == (said("user", "Try again"),)


def test_the_whole_history_condensed_with_the_reply():
    messages = conversation(2)
    summary, question = said("user", "So far: 58, 59."), said("user", "And 2?")
    change = compared(messages, [messages[0], summary, question])
    assert change.condensed == ((tuple(messages[1:]), summary),)
    assert (change.added, change.reply, kinds(change)) == ((question,), "left_out", {"added", "condensed"})
    longer = said("user", "x" * 5_000)
    assert compared(messages, [messages[0], longer, question]).condensed == ()


def test_tools_and_settings_that_differ():
    other = {"type": "function", "function": {**SCHEMA["function"], "description": "Add two."}}
    new, hi = {"type": "web_search"}, [said("user", "Hi")]
    before = Request(hi, (SCHEMA,), settings={"temperature": 0, "seed": 1})
    after = Request(hi, (other, new), "required", settings={"seed": 1, "max_tokens": 9})
    change = changes_between(before, None, after)
    assert change.tools == {"add": (SCHEMA, other), "web_search": (None, new)}
    found = {"temperature": (0, None), "max_tokens": (None, 9), "tool_choice": ("auto", "required")}
    assert change.settings == found
    assert (change.prefix.broken_at, change.only_added) == ("tools", False)
    assert changes_between(after, None, before).tools["web_search"] == (new, None)


def test_a_true_and_a_one_are_different_settings():
    requests = [Request([], settings={"stream": value}) for value in (True, 1)]
    assert changes_between(requests[0], None, requests[1]).settings == {"stream": (True, 1)}


def test_tools_in_another_order_break_the_prefix():
    tools = (SCHEMA, {"type": "web_search"})
    change = changes_between(Request([], tools), None, Request([], tools[::-1]))
    assert (change.tools, change.prefix.broken_at, change.only_added) == ({}, "tools", False)
    assert change.prefix.kept < change.prefix.before
    ends = said("assistant", "")
    told = str(what_changed(trace_of((Request([], tools), ends), (Request([ends], tools[::-1]), ends))))
    assert "~ the same tools in another order\n" in told
    assert "tools are the same" not in told


def test_the_prefix_ends_in_the_first_message_that_differs():
    hi = said("user", "Hi")
    old, new = (Request([said("system", f"It is 12:0{minute}."), hi], (SCHEMA,)) for minute in (1, 2))
    prefix = changes_between(old, None, new).prefix
    whole = [json.dumps(each, separators=(",", ":"), sort_keys=True) for each in (SCHEMA, old.messages[0])]
    assert prefix.kept == len(whole[0]) + whole[1].index("1.")
    assert prefix.broken_at == "messages[0]"
    assert prefix.before == prefix.after == sum(map(len, whole)) + len('{"content":"Hi","role":"user"}')


def test_another_model_has_nothing_cached():
    one, other = (Request([said("user", "Hi")], settings={"model": name}) for name in "ab")
    prefix = changes_between(one, None, other).prefix
    assert (prefix.kept, prefix.broken_at) == (0, "model")


def test_500_messages_are_compared_in_bounded_work():
    messages = conversation(125)
    backwards = [messages[0], *reversed(messages[1:])]
    same = [said("user", "again")] * 500
    assert compared(messages, backwards).moved
    assert compared(messages, messages[2::2]).dropped
    longer = [said("user", "no"), *same[:300], said("user", "no"), *same]
    assert compared(same, longer).added
    for before, after in ((messages, backwards), (messages, messages[2::2]), (same, longer)):
        assert lines_of(lambda pair=(before, after): compared(*pair)) < 3_000 * len(after)


def trace_of(*exchanges):
    """A trace as one is watched: each exchange is a request and the message that answered it."""
    trace = Trace()
    for turn, (request, message) in enumerate(exchanges, 1):
        trace.add(Step("request", turn, None, request, request.prefix))
        reply = Reply(message)
        for call in read_calls(message, turn=turn):
            trace.add(Step("tool_call", turn, call.slot, call, request.prefix, 0, call, reply))
            verdict = check_call(call, ToolRegistry([ADD]))
            trace.add(Step("validate", turn, call.slot, verdict, request.prefix, 0, call))
        if not message.get("tool_calls"):
            trace.add(Step("tool_call", turn, None, reply, request.prefix, 0, None, reply))
    return trace


def test_a_walk_of_this_course_only_adds():
    script = [[("add", {"a": 1})], [("add", {"a": 2}), ("add", {"a": 3})], "6"]
    trace = run("1 + 2 + 3?", [ADD], Scripted(script))
    assert [len(change.added) for change in what_changed(trace).changes] == [1, 2]
    assert all(change.only_added for change in what_changed(trace).changes)
    assert what_changed(trace).problems == ((), (), ())


def test_the_report_says_what_a_program_did():
    hi = said("user", "42 + 58?")
    rewritten = asks(arguments='{"a": "42"}')
    first = Request([said("system", "Be brief."), hi], (SCHEMA,))
    second = Request([said("system", "Be kind."), hi, rewritten, result("call_7")], settings={"seed": 1})
    told = str(
        what_changed(trace_of((first, asks(arguments='{"a":"42"}')), (second, said("assistant", "100"))))
    )
    assert "request 1\n  2 messages and 1 tool: " in told
    assert '! the call of "add": /a: expected integer, received "42"' in told
    assert '  + result of a call that is not in the messages: "100"' in told
    assert '~ messages[0] (system "Be brief."): other content: Be brief. -> Be kind.\n' in told
    assert 'arguments written anew, with the same values: add({"a":"42"}) -> add({"a": "42"})\n' in told
    assert "~ tool add went" in told
    assert "~ setting seed: null -> 1" in told
    assert "the reply went back rewritten\n" in told
    assert "the first difference is in the tools" in told
    assert "! /messages/3/tool_call_id: expected the id of a call that waits for its result" in told
    assert "the whole conversation\n  ! broken_arguments: " in told


class Reader(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.text += data


HOSTILE = "<script>alert(1)</script>\x1b[31m\x00 sk-proj-abcdefghijk1234567890 " + "x" * 9_000


def test_hostile_text_is_escaped_bounded_and_without_secrets():
    tool = {"type": "function", "function": {"name": HOSTILE, "parameters": {HOSTILE: 1}}}
    odd, hi = {"function": 5, "type": HOSTILE}, {**said("user", HOSTILE), HOSTILE: HOSTILE}
    calls = asks(HOSTILE, HOSTILE, HOSTILE)
    first = Request([said("system", HOSTILE + "1"), hi], (tool, odd), settings={HOSTILE: HOSTILE})
    after = [
        said("system", HOSTILE + "2"),
        {**hi, HOSTILE: 2},
        calls,
        result(HOSTILE, HOSTILE),
        {"role": HOSTILE},
    ]
    second = Request(after, ({**tool, HOSTILE: 1}, {**odd, "function": 6}), "required")
    report = what_changed(
        trace_of((first, {**calls, HOSTILE: [HOSTILE]}), (second, said("assistant", HOSTILE)))
    )
    page = Reader(report._repr_html_())
    allowed = "style div section h3 ul li details summary pre code ins del p"
    assert page.elements <= {*allowed.split()}
    for shown in (str(report), page.text):
        assert "\x1b" not in shown
        assert "\x00" not in shown
        assert "sk-proj-abcdefghijk" not in shown
        assert len(shown) < 40_000
    assert "<script>" not in report._repr_html_()


def test_many_requests_and_changes_are_cut():
    requests = [Request([said("user", f"{turn}")] * (turn + 1)) for turn in range(MAX_REQUESTS + 20)]
    told = str(what_changed(trace_of(*((each, said("assistant", "")) for each in requests))))
    assert "20 more requests in .requests" in told
    assert f"and {90 - MAX_SHOWN} more" in told
    both = [Request([said("user", f"{n} {part}") for n in range(30)]) for part in ("old", "new")]
    report = what_changed(trace_of(*((each, said("assistant", "")) for each in both)))
    assert (len(report.changes[0].edited), report._repr_html_().count("<details>")) == (30, MAX_SHOWN)
    assert len(told.splitlines()) < MAX_REQUESTS * 24


def test_a_request_that_is_made_again():
    trace, request = Trace(), Request([said("user", "Hi")])
    for turn in (1, 2):
        trace.add(Step("request", turn, None, request, request.prefix))
    assert str(what_changed(trace)).splitlines()[3:] == [
        "  no reply came before this; tools and settings are the same",
        "  a cache may keep 30 of the 30 characters of the prompt (about 7 of 7 tokens)",
    ]


def test_a_trace_without_a_request_says_nothing():
    assert str(what_changed(Trace())) == ""
    trace = Trace()
    trace.add(Step("define", 0, None, ToolRegistry([ADD]), Messages([])))
    assert what_changed(trace).changes == ()
    with pytest.raises(InvalidInput, match="expected a Trace"):
        what_changed("trace.jsonl")
