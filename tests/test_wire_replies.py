"""What each API answers, read in OpenAI's form, and any conversation on every wire."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from talk import CONVERTED, NAMES, USER, answers, asks, call, request

from zoolab.apis import APIS
from zoolab.errors import ModelError
from zoolab.records import ToolCall
from zoolab.steps.tool_call import read_calls

anthropic, gemini, openai = map(APIS.__getitem__, ["anthropic", "gemini", "openai"])

# Responses


def response(name, text, calls):
    """What each API answers with a text and calls of (id, name, arguments)."""
    if name == "openai":
        tool_calls = [call(id, tool, json.dumps(arguments)) for id, tool, arguments in calls]
        return {"choices": [{"message": {"role": "assistant", "content": text, "tool_calls": tool_calls}}]}
    if name == "anthropic":
        blocks = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
        return {"content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": text}, *blocks]}
    if name == "gemini":
        parts = [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in calls]
        thought = {"text": "?", "thought": True}
        return {"candidates": [{"content": {"role": "model", "parts": [thought, {"text": text}, *parts]}}]}
    if name == "responses":
        asked = [
            {"type": "function_call", "call_id": i, "name": n, "arguments": json.dumps(a)}
            for i, n, a in calls
        ]
        part = {"type": "output_text", "text": text}
        return {"output": [{"type": "message", "role": "assistant", "content": [part]}, *asked]}
    wanted = [{"id": i, "function": {"index": 0, "name": n, "arguments": a}} for i, n, a in calls]
    return {"message": {"role": "assistant", "content": text, "tool_calls": wanted}}


CALLS = [("b", "add", {"a": 1}), ("a", "now", {}), ("c", "add", {"Ort": "東京 🌦️"})]


@pytest.mark.parametrize("name", NAMES)
def test_a_response_with_calls_is_read(name):
    message = APIS[name].from_response(response(name, "Let me see.", CALLS))
    assert (message["role"], message["content"]) == ("assistant", "Let me see.")
    assert [(c.id, c.name, json.loads(c.arguments)) for c in read_calls(message)] == CALLS
    assert {c["type"] for c in message["tool_calls"]} == {"function"}


@pytest.mark.parametrize("name", NAMES)
def test_a_response_of_text_has_no_calls(name):
    assert APIS[name].from_response(response(name, "Grüße", [])) == {
        "role": "assistant",
        "content": "Grüße",
    }


@pytest.mark.parametrize("id", [None, 7])
@pytest.mark.parametrize("name", NAMES)
def test_an_id_that_is_missing_or_no_text_stays_missing(name, id):
    message = APIS[name].from_response(response(name, "", [(id, "add", {"a": 1})]))
    assert "id" not in message["tool_calls"][0]
    assert read_calls(message) == [ToolCall(1, 0, "call00001", "add", _text(name, {"a": 1}), original_id="")]


def _text(name, arguments):
    return json.dumps(arguments, separators=(", ", ": ") if name in ("openai", "responses") else (",", ":"))


@pytest.mark.parametrize("name", CONVERTED)
def test_a_call_without_text_has_null_content(name):
    assert APIS[name].from_response(response(name, "", CALLS))["content"] is None


def test_what_else_openai_says_is_kept():
    message = {"role": "assistant", "content": None, "refusal": "No.", "annotations": []}
    assert openai.from_response({"choices": [{"message": message}]}) == message


def test_arguments_that_come_as_an_object_become_text():
    message = asks(call(arguments={"a": 1}))
    read = openai.from_response({"choices": [{"message": message}]})
    assert read["tool_calls"][0]["function"]["arguments"] == '{"a":1}'


def test_content_in_parts_becomes_text():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}]
    assert openai.from_response({"choices": [{"message": {"content": parts}}]})["content"] == "Hi"


def test_calls_that_anthropic_answers_itself_are_none_of_ours():
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    assert anthropic.from_response({"content": [block]}) == {"role": "assistant", "content": None}


def test_geminis_thought_signature_goes_back_with_its_call():
    part = {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "Cv=="}
    message = gemini.from_response({"candidates": [{"content": {"parts": [part]}}]})
    assert gemini.to_body(request(USER, message))["contents"][1]["parts"] == [part]


CYCLE: dict = {}
CYCLE["again"] = CYCLE
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]

JUNK = [
    *(None, 1, "", "<html>", [], {}, {"error": {"message": "overloaded"}}, {"choices": []}),
    *({"choices": None}, {"choices": {}}, {"choices": [None]}, {"choices": [{}]}),
    *({"choices": [{"message": m}]} for m in ("Hi", {"content": 1}, {"role": "user", "content": "Hi"})),
    *({"choices": [{"message": {"tool_calls": c}}]} for c in ("x", {"a": 1}, [1], [{}], [{"function": 1}])),
    *({"choices": [{"message": {"content": c}}]} for c in ([1], [{"type": "text"}], {"a": 1})),
    *({"content": c} for c in ("Hi", None, [1], [{"type": "text"}], [{"type": "text", "text": 1}])),
    {"content": [{"type": "tool_use", "name": "add", "input": CYCLE}]},
    {"content": [{"type": "tool_use", "name": "add", "input": {"a": {1, 2}}}]},
    *({"candidates": c} for c in ("x", [], [1], [{}], [{"content": 1}])),
    *({"candidates": [{"content": {"parts": p}}]} for p in ("x", [1], [{"text": 1}], [{"functionCall": 1}])),
    {"choices": [{"message": {"content": DEEP}}], "candidates": DEEP, "message": DEEP, "content": DEEP},
    *({"message": m} for m in (None, "Hi", {"content": 1}, {"tool_calls": "x"}, {"tool_calls": [1]})),
    {"message": {"tool_calls": [{"function": "add"}]}},
]


@pytest.mark.parametrize("body", JUNK, ids=range(len(JUNK)))
@pytest.mark.parametrize("name", NAMES)
def test_junk_is_a_model_error(name, body):
    with pytest.raises(ModelError, match="expected"):
        APIS[name].from_response(body)


KEYS = st.sampled_from(
    [
        *("choices", "message", "content", "tool_calls", "function", "name", "arguments", "candidates"),
        *("parts", "functionCall", "args", "text", "type", "role", "input", "id", "extra_content"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "text", "tool_use", "assistant", "add"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("name", NAMES)
@given(body=st.dictionaries(KEYS, ANYTHING))
def test_any_json_is_a_message_or_a_model_error(name, body):
    try:
        message = APIS[name].from_response(body)
    except ModelError:
        return
    assert message["role"] == "assistant"
    assert message["content"] is None or isinstance(message["content"], str)
    assert len(read_calls(message)) == len(message.get("tool_calls", ()))


# Any conversation

ARGUMENTS = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(-9, 9), max_size=2)
TURN = st.tuples(
    st.text(max_size=8) | st.none(),
    st.lists(st.tuples(st.sampled_from(["add", "now"]), ARGUMENTS), max_size=4),
    st.sampled_from(["noon", "ERROR: late", '{"success":false}', '{"a":1}', ""]),
    st.text(min_size=1, max_size=8),
)


@st.composite
def conversations(draw):
    """Messages, and the calls in them by order: (id, name, arguments)."""
    messages, made = [{"role": "system", "content": "Be brief."}, USER], []
    for text, calls, result, question in draw(st.lists(TURN, max_size=4)):
        own = [(f"c{len(made) + i}", name, arguments) for i, (name, arguments) in enumerate(calls)]
        made += own
        wire = [call(id, name, json.dumps(arguments)) for id, name, arguments in own]
        messages.append(asks(*wire, content=text) if own else {"role": "assistant", "content": text})
        messages += [answers(id, result) for id, _, _ in own]
        messages += [] if own else [{"role": "user", "content": question}]
    return messages, made


def events(name, body):
    """Every call and every result of a body, in order: (kind, id, name or None, arguments or None)."""
    if name == "anthropic":
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        return [
            ("call", b["id"], b["name"], b["input"])
            if b["type"] == "tool_use"
            else ("result", b["tool_use_id"], None, None)
            for b in blocks
            if b["type"] != "text"
        ]
    if name == "gemini":
        parts = [p for turn in body["contents"] for p in turn["parts"] if "text" not in p]
        return [
            ("call", p["functionCall"]["id"], p["functionCall"]["name"], p["functionCall"]["args"])
            if "functionCall" in p
            else ("result", p["functionResponse"]["id"], p["functionResponse"]["name"], None)
            for p in parts
        ]
    if name == "responses":
        items = [item for item in body["input"] if "type" in item]
        return [
            ("call", i["call_id"], i["name"], json.loads(i["arguments"]))
            if i["type"] == "function_call"
            else ("result", i["call_id"], None, None)
            for i in items
        ]
    found = []
    for m in body["messages"]:
        for c in m.get("tool_calls", ()):
            arguments = c["function"]["arguments"]
            parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
            found.append(("call", c["id"], c["function"]["name"], parsed))
        if m["role"] == "tool":
            found.append(("result", m["tool_call_id"], m.get("tool_name"), None))
    return found


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations())
def test_every_call_keeps_its_place_and_its_one_result(name, conversation):
    messages, made = conversation
    before = json.dumps(messages)
    body = APIS[name].to_body(request(*messages), "m")
    seen = events(name, body)
    assert [event[1:] for event in seen if event[0] == "call"] == made
    assert [event[1] for event in seen if event[0] == "result"] == [id for id, _, _ in made]
    names = {id: tool for id, tool, _ in made}
    assert all(tool in (None, names[id]) for kind, id, tool, _ in seen if kind == "result")
    place = {event[:2]: at for at, event in enumerate(seen)}
    assert all(place["call", id] < place["result", id] for id in names)
    assert json.dumps(messages) == before
    json.dumps(body, allow_nan=False)


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations())
def test_the_results_follow_their_calls_at_once(name, conversation):
    """Between a call and its result stand only calls and results of the same turn."""
    body = APIS[name].to_body(request(*conversation[0]), "m")
    turns = body[{"gemini": "contents", "responses": "input"}.get(name, "messages")]
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        calls = [e for e in events(name, _alone(name, turn)) if e[0] == "call"]
        if calls and name in ("anthropic", "gemini"):
            results = events(name, _alone(name, following))
            assert [e[:2] for e in results] == [("result", e[1]) for e in calls]


def _alone(name, turn):
    return {{"gemini": "contents", "responses": "input"}.get(name, "messages"): [turn]}


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(min_size=1, max_size=9), calls=st.lists(ARGUMENTS, max_size=3))
@example(text="\r", calls=[])
@example(text="\r", calls=[{}])
def test_a_reply_that_is_sent_back_says_the_same(name, text, calls):
    """What says nothing, a blank text without calls, need not go back; Anthropic refuses one beside calls."""
    wanted = [(f"c{slot}", "add", arguments) for slot, arguments in enumerate(calls)]
    message = APIS[name].from_response(response(name, text, wanted))
    results = [answers(id) for id, _, _ in wanted]
    body = APIS[name].to_body(request(USER, message, *results), "m")
    assert [event[1:] for event in events(name, body) if event[0] == "call"] == wanted
    says_nothing = not text.strip() and (not calls or name == "anthropic")
    sent = json.dumps(body), json.dumps(body, ensure_ascii=False)
    assert says_nothing or text in sent[1] or json.dumps(text)[1:-1] in sent[0]
