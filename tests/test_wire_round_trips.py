"""Every format there and back: what is lost or changed has a warning, and a second trip changes nothing."""

import json

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from zoolab.apis import APIS, translate, translate_reply, wire_warnings
from zoolab.errors import InvalidInput, ModelError
from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.records import Request
from zoolab_connect.apis.messages import answered_calls

NAMES = sorted(APIS)
CODES = set(wire_warnings.CODES)

#: A busy machine is no failure.
OFTEN = settings(deadline=None, max_examples=30)
#: Nothing is lost, and still it is worth saying.
HARMLESS = {"arguments_wrapped", "schema_subset", "foreign_tool"}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | st.sampled_from(["", "a", "東京"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab_"), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "_raw", "output", "error"]), VALUES, max_size=2)
JSON_TEXTS = st.builds(
    json.dumps, OBJECTS, separators=st.sampled_from([(",", ":"), (", ", ": ")]), ensure_ascii=st.booleans()
)
BROKEN = [
    '{"input":"x"}',
    '{"a": ',
    "[1]",
    "",
    " ",
    "null",
    '{"a":1,"a":2}',
    "NaN",
    '{"_raw":"{}"}',
    '{"_raw":"x"}',
    "()",
]
ARGUMENTS = st.sampled_from(BROKEN) | JSON_TEXTS
TEXTS = JSON_TEXTS | st.sampled_from(
    ["", "Hi", "ERROR: late", '{"output":"x"}', '{"error":"ERROR: x"}', "[1]"]
)
CONTENTS = st.one_of(
    TEXTS, st.none(), st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), max_size=2)
)
IDS = st.sampled_from(["c1", "c2", "call_1", ""])
SIGNED = {"google": {"thought_signature": "Cv=="}}
REASONED = {"openai": {"reasoning": [{"type": "reasoning", "id": "rs_1", "summary": []}]}}
THOUGHTS = [
    {"type": "thinking", "thinking": "Hm", "signature": "Eq=="},
    {"type": "redacted_thinking", "data": "x"},
]
KEPT = [SIGNED, REASONED, {"anthropic": {"thinking": THOUGHTS}}, {"openai": {"custom": True}}]
KEPT += [{"ollama": {"thinking": "Hm"}}, {"ollama": {"thinking": ["Hm"]}}]
#: Where thinking stood: some of them fit some messages.
ORDERS = [
    ["call", "thinking"],
    ["thinking", "call", "thinking"],
    [1, "thinking", 1],
    [1, "thinking", 1, "thinking", "call"],
    ["thinking", 1, 1],
    ["thinking", 2, "call", "thinking", "call"],
    "order",
    [[]],
]
KEPT += [{"anthropic": {"thinking": THOUGHTS[: order.count("thinking")], "order": order}} for order in ORDERS]
KEPT += [
    {"openai": {"reasoning": REASONED["openai"]["reasoning"] * order.count("thinking"), "order": order}}
    for order in ORDERS
]
EXTRA = st.sampled_from(
    [{}] * 6 + [{"name": "ada"}, {"index": 0}, *({"extra_content": kept} for kept in KEPT)]
)


@st.composite
def calls(draw):
    """A call, whole or with parts of it missing."""
    function = {"name": draw(st.sampled_from(["add", "now"])), "arguments": draw(ARGUMENTS)}
    made = {"id": draw(IDS), "type": "function", "function": function, **draw(EXTRA)}
    return {key: made[key] for key in made if key == "function" or draw(st.integers(0, 9))}


@st.composite
def conversations(draw):
    """Messages as no one should write them, but each result after its call."""
    messages = []
    for _ in range(draw(st.integers(0, 5))):
        role = draw(st.sampled_from(["system", "developer", "user", "assistant", "assistant"]))
        messages.append({"role": role, "content": draw(CONTENTS), **draw(EXTRA)})
        own = draw(st.lists(calls(), max_size=3)) if role == "assistant" else []
        if own:
            messages[-1]["tool_calls"] = own
        for call in own:
            if isinstance(call.get("id"), str) and draw(st.integers(0, 5)):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": draw(TEXTS)})
    return messages


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
FUNCTIONS = st.fixed_dictionaries(
    {"name": st.sampled_from(["add", "now"])},
    optional={
        "description": st.text(max_size=3),
        "parameters": st.sampled_from([SCHEMA, {"type": "object"}, {"type": "object", "minProperties": 1}]),
        "strict": st.sampled_from([True, False, None]),
        "defer_loading": st.booleans(),
    },
)
TOOLS = st.builds(
    lambda function, more: {"type": "function", "function": function, **more},
    FUNCTIONS,
    st.sampled_from([{}, {}, {"type": "custom"}, {"cache_control": None}]),
)
CHOICES = st.sampled_from(["auto", "required", "none", "add"])
ANSWERS = [
    {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    for schema in (SCHEMA, {"type": "object", "additionalProperties": {"type": "string"}}, 3)
]
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("m"),
        "temperature": st.sampled_from([0, 0.5]),
        "stop": st.sampled_from(["END", ["END"]]),
        "max_tokens": st.just(9),
        "max_completion_tokens": st.sampled_from([9, 8]),
        "parallel_tool_calls": st.booleans(),
        "seed": st.just(1),
        "stream": st.booleans(),
        "n": st.just(1),
        "reasoning_effort": st.just("low"),
        "reasoning": st.sampled_from([{"effort": "low"}, {"effort": "low", "summary": "auto"}]),
        "response_format": st.sampled_from([{"type": "json_object"}, *ANSWERS]),
        "text": st.just({"verbosity": "low"}),
        "format": st.sampled_from(["json", {"type": "object"}]),
        "output_config": st.just({"effort": "low"}),
        "generationConfig": st.sampled_from([{}, {"topK": 1}, {"thinkingConfig": {}}, {"temperature": 1}]),
        "options": st.sampled_from([{}, {"num_ctx": 1}, {"seed": 2}]),
        "think": st.booleans(),
        "safety_settings": st.just([]),
        "messages": st.just("mine"),
        "system": st.just("mine"),
        "stop_sequences": st.just(["."]),
        "max_output_tokens": st.just(7),
    },
)
REQUESTS = st.builds(
    Request, conversations(), st.lists(TOOLS, max_size=2).map(tuple), CHOICES, SETTINGS | st.just({})
)


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(request=REQUESTS)
def test_there_and_back_is_the_plain_request(name, request):
    wire = APIS[name]
    plain, _ = wire.normalise(request)
    body = json.loads(json.dumps(wire.to_body(request)))
    assert wire.from_body(body) == plain
    assert wire.to_body(plain) == wire.to_body(request)


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(request=REQUESTS)
def test_what_is_lost_has_a_warning(name, request):
    made = translate(request, name)
    lossy = {warning.code for warning in made.warnings} - HARMLESS
    assert (APIS[name].from_body(made.body) == request) is not bool(lossy)
    assert {warning.code for warning in made.warnings} <= CODES


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(request=REQUESTS)
def test_a_second_trip_changes_nothing(name, request):
    wire = APIS[name]
    once = wire.from_body(wire.to_body(request))
    assert wire.from_body(wire.to_body(once)) == once
    assert {warning.code for warning in translate(once, name).warnings} <= HARMLESS


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(request=REQUESTS)
def test_a_warning_points_into_the_request(name, request):
    whole = {**request.settings, "messages": request.messages}
    if request.tools:
        whole |= {"tools": list(request.tools), "tool_choice": request.tool_choice}
    for warning in translate(request, name).warnings:
        *path, last = warning.pointer[1:].split("/")
        found = whole
        for part in path:
            found = found[int(part) if isinstance(found, list) else part]
        missing = warning.code in ("setting_added", "tool_field", "id_made", "empty_content", "message_field")
        missing = missing or (warning.code == "tool_choice" and not request.tools)
        assert missing or (int(last) < len(found) if isinstance(found, list) else last in found)


OWN = {"gemini": KEPT[0], "responses": KEPT[1], "anthropic": KEPT[2], "ollama": KEPT[4]}


@pytest.mark.parametrize("name", OWN)
@OFTEN
@given(text=st.text(min_size=1), called=st.lists(st.sampled_from(["add", "now"]), max_size=2))
@example(text="\r", called=[])
@example(text=" ", called=["add", "now"])
def test_the_reasoning_of_a_wire_survives_it(name, text, called):
    """Anthropic refuses a blank text beside thinking, so that is left out, with a warning."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        for n, tool in enumerate(called)
    ]
    own = {"tool_calls": calls} if calls else {}
    message = {"role": "assistant", "content": text, "extra_content": OWN[name], **own}
    results = [{"role": "tool", "tool_call_id": each["id"], "content": "1"} for each in calls]
    asked = {"role": "user", "content": "Hi"}
    made, reply = translate(Request([asked, message, *results]), name), translate_reply(message, name)
    blank = name == "anthropic" and not text.strip()
    assert APIS[name].from_body(made.body).messages[1] == (message | {"content": None} if blank else message)
    assert APIS[name].from_response(reply.body) == message
    told = [warning.code for warning in made.warnings if warning.code != "setting_added"]
    assert (reply.warnings, told) == ((), ["empty_content"] if blank else [])


def said(request):
    """What no wire may lose: texts by role, calls and results; system texts and empty ones apart."""
    messages = request.messages
    texts = [
        (message["role"], text)
        for message in messages
        if message["role"] in ("user", "assistant") and (text := _text(message))
    ]
    made = [
        (function["name"], _value(_unwrapped(function["arguments"])))
        for message in messages
        for call in message.get("tool_calls", ())
        for function in [call["function"]]
    ]
    results = [
        (_name(messages, answered), _value(_text(message)))
        for message, answered in zip(messages, answered_calls(messages), strict=True)
        if message["role"] == "tool"
    ]
    return texts, made, results


def _text(message):
    content = message["content"] or ""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _unwrapped(arguments):
    """What a client of Chat Completions sends in place of broken arguments holds them under _raw."""
    value = json.loads(arguments) if arguments.startswith('{"_raw":') else {}
    return value["_raw"] if value.keys() == {"_raw"} and isinstance(value["_raw"], str) else arguments


def _value(text):
    try:
        return json.dumps(parse_json(text or "{}"))
    except NotStrictJSON:
        return text if text.strip() else "{}"


def _name(messages, answered):
    index, slot = answered
    return messages[index]["tool_calls"][slot]["function"]["name"]


def _is_clear(messages):
    """Whether no message takes the id of a call that waits: no API allows it, and Responses joins turns."""
    waiting = set()
    for message in messages:
        own = {call["id"] for call in message.get("tool_calls", ()) if isinstance(call.get("id"), str)}
        if own & waiting:
            return False
        waiting = (waiting | own) - {message.get("tool_call_id")}
    return True


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(request=REQUESTS)
def test_texts_calls_and_results_survive_every_wire(name, request):
    assume(_is_clear(request.messages))
    back = APIS[name].from_body(APIS[name].to_body(request))
    plain_request, warnings = APIS[name].normalise(request)
    # The items of one turn may be a text, a thought and a text: two turns that look so come back as one.
    merged = "messages_merged" in {each.code for each in warnings}
    assert said(back) == said(plain_request if merged else request)
    system = " ".join(_text(m) for m in request.messages if m["role"] in ("system", "developer"))
    kept = " ".join(_text(m) for m in back.messages if m["role"] in ("system", "developer"))
    assert kept.split() == system.split()


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(request=REQUESTS)
def test_tools_and_the_choice_survive_every_wire_that_can_say_them(name, request):
    back = APIS[name].from_body(APIS[name].to_body(request))
    can_choose = name == "openai" or bool(APIS[name]._choice)
    if not can_choose:
        assert back.tool_choice == "auto"
    elif request.tools:
        assert back.tool_choice == request.tool_choice
    if can_choose or request.tool_choice != "none":
        assert [t["function"]["name"] for t in back.tools] == [t["function"]["name"] for t in request.tools]
        for ours, theirs in zip(request.tools, back.tools, strict=True):
            given_ = {k: v for k, v in ours["function"].items() if k in ("description", "parameters")}
            assert theirs["function"].items() >= given_.items()
            if name in ("openai", "responses", "anthropic"):
                assert bool(theirs["function"].get("strict")) == bool(ours["function"].get("strict"))


# Replies


@st.composite
def replies(draw):
    message = {"role": "assistant", "content": draw(CONTENTS), **draw(EXTRA)}
    own = draw(st.lists(calls(), max_size=3))
    return {**message, "tool_calls": own} if own or not draw(st.integers(0, 3)) else message


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(message=replies())
def test_a_reply_there_and_back_is_the_plain_reply(name, message):
    made = translate_reply(message, name)
    back = APIS[name].from_response(json.loads(json.dumps(made.body)))
    assert back == APIS[name].normalise_reply(message)[0]
    lossy = {warning.code for warning in made.warnings} - HARMLESS
    assert (back == message) is not bool(lossy)
    assert {warning.code for warning in made.warnings} <= CODES
    again = translate_reply(back, name)
    assert APIS[name].from_response(again.body) == back
    assert {warning.code for warning in again.warnings} <= HARMLESS


# Bodies of strangers

KEYS = st.sampled_from(
    [
        *("messages", "contents", "input", "instructions", "system", "systemInstruction", "tools"),
        *("tool_choice", "toolConfig", "functionCallingConfig", "mode", "allowedFunctionNames", "role"),
        *("content", "parts", "text", "type", "tool_calls", "function", "name", "arguments", "id"),
        *("functionDeclarations", "parameters", "input_schema", "functionCall", "functionResponse"),
        *("tool_use_id", "tool_call_id", "call_id", "output", "response", "args", "options"),
        *("generationConfig", "stop", "stop_sequences", "tool_name", "images", "is_error", "summary"),
    ]
)
WORDS = st.sampled_from(
    [
        *("", "user", "assistant", "model", "tool", "system", "text", "tool_use", "tool_result", "function"),
        *("function_call", "function_call_output", "reasoning", "message", "auto", "any", "AUTO", "add", "c"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(body=st.dictionaries(KEYS, ANYTHING) | ANYTHING)
def test_any_body_is_a_request_or_invalid_input(name, body):
    check_body(name, body)


def check_body(name, body):
    """A body is refused, or read; and then a second trip changes nothing."""
    wire = APIS[name]
    try:
        request = wire.from_body(body)
        again = wire.from_body(wire.to_body(request))
    except InvalidInput:
        return
    assert wire.from_body(wire.to_body(again)) == again


@st.composite
def damaged(draw):
    """A format, and a fine body of it with one part replaced by something else."""
    name = draw(st.sampled_from(NAMES))
    body = json.loads(json.dumps(APIS[name].to_body(draw(REQUESTS))))
    place, path = body, []
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        path.append((place, draw(st.sampled_from(keys))))
        place = place[path[-1][1]]
        if not draw(st.integers(0, 4)):
            break
    if path:
        holder, key = path[-1]
        holder[key] = draw(ANYTHING)
    return name, body


@OFTEN
@given(what=damaged())
def test_a_damaged_body_is_a_request_or_invalid_input(what):
    check_body(*what)


CYCLE: dict = {}
CYCLE["again"] = CYCLE
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inner", [CYCLE, DEEP, {1: 2}, {"a": {1, 2}}, b"x", float("nan")], ids=range(6))
def test_a_body_that_is_no_json_is_invalid_input_or_harmless(name, inner):
    call = {"id": "c", "name": "add", "args": inner}
    function = {"name": "f", "arguments": inner}
    bodies = [
        *(
            {"messages": inner},
            {"contents": inner},
            {"input": inner},
            {"messages": [inner], "input": [inner]},
        ),
        *({"messages": [], "contents": [], "input": [], key: inner} for key in ("tools", "tool_choice")),
        {"messages": [{"role": "assistant", "tool_calls": [{"function": function}]}]},
        {"messages": [{"role": "assistant", "content": [{**call, "type": "tool_use", "input": inner}]}]},
        {"contents": [{"role": "model", "parts": [{"functionCall": call}]}]},
        {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": inner}]}]},
        {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": inner}]},
    ]
    for body in bodies:
        try:
            APIS[name].to_body(APIS[name].from_body(body))
        except InvalidInput:
            continue


@pytest.mark.parametrize("name", NAMES)
@OFTEN
@given(message=st.dictionaries(KEYS, ANYTHING))
def test_any_message_has_a_form_or_is_refused(name, message):
    for send in (
        lambda: translate(Request([message], settings={"generationConfig": message}), name),
        lambda: translate(Request([], (message,)), name),
        lambda: translate_reply({**message, "role": "assistant"}, name),
    ):
        try:
            send()
        except (InvalidInput, ModelError):
            continue
