"""Calls in a model's text: what each family writes comes back as it was meant, and nothing else does."""

import json
import keyword
import re

import pytest
from counting import ends, lines_of
from hypothesis import given, settings
from hypothesis import strategies as st

from zoolab import Reply, Request, Scripted, Tool, ToolRegistry, run, tool
from zoolab.jsontext import MAX_CHARS
from zoolab.models.recording import Recording, shipped
from zoolab.repair import RuleRepair
from zoolab.steps.tool_call import CallIds, message_with_calls, read_calls
from zoolab.textcalls import before_calls, find_calls, readings, spoken
from zoolab.textcalls.calls import MARKS as MARKS_OF

ONE = [("f", {"x": 1})]
TWO = [("f", {"x": 1}), ("g", {"y": "a b", "z": [True, None]})]


def hermes(calls):
    """Hermes 2 Pro, Qwen 2.5 and 3."""
    blocks = [json.dumps({"name": name, "arguments": given}) for name, given in calls]
    return "\n".join(f"<tool_call>\n{block}\n</tool_call>" for block in blocks)


def qwen_coder(calls):
    """Qwen3-Coder: strings without quotes, all else as JSON."""
    return "\n".join(f"<tool_call>\n{function_tag(name, given)}\n</tool_call>" for name, given in calls)


def function_tag(name, given):
    """One call of Qwen3-Coder, without the tags around it."""
    values = [f"<parameter={key}>\n{unquoted(value)}\n</parameter>\n" for key, value in given.items()]
    return f"<function={name}>\n{''.join(values)}</function>"


def unquoted(value):
    """A string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def glm(calls):
    """GLM 4.5 and later."""
    return "\n".join(
        f"<tool_call>{name}\n"
        + "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{unquoted(v)}</arg_value>\n" for k, v in given.items())
        + "</tool_call>"
        for name, given in calls
    )


def invoke(calls):
    """MiniMax M2."""
    return "\n".join(
        f'<invoke name="{name}">\n'
        + "".join(f'<parameter name="{k}">{unquoted(v)}</parameter>\n' for k, v in given.items())
        + "</invoke>"
        for name, given in calls
    )


def dsml(calls):
    """DeepSeek 3.2: says of every value whether it is a string."""
    return "\n".join(
        f'<｜DSML｜invoke name="{name}">\n'
        + "".join(
            f'<｜DSML｜parameter name="{k}" string="{json.dumps(isinstance(v, str))}">{unquoted(v)}'
            "</｜DSML｜parameter>\n"
            for k, v in given.items()
        )
        + "</｜DSML｜invoke>"
        for name, given in calls
    )


def muse(calls):
    """Muse: each call is a message to its tool."""
    blocks = ((name, f"<atem:function_calls>\n{atem([(name, given)])}\n") for name, given in calls)
    return "<|eom|>".join(
        f"<|start|>assistant to={name}<|message|>{block}</atem:function_calls>" for name, block in blocks
    )


def atem(calls):
    """The tags of Muse without the marks around them."""
    return re.sub(r"<(/?)(invoke|parameter)", r"<\1atem:\2", invoke(calls))


NS = "]<]minimax[>["


def minimax_3(calls):
    """MiniMax M3: a mark before each tag, and tags inside of tags."""
    made = (
        f'{NS}<invoke name="{name}">{"".join(in_tag(k, v) for k, v in given.items())}{NS}</invoke>\n'
        for name, given in calls
    )
    return f"{NS}<tool_call>\n{''.join(made)}{NS}</tool_call>"


def in_tag(key, value):
    """A value as MiniMax M3 writes it, with its key."""
    if isinstance(value, dict):
        inside = "".join(in_tag(k, v) for k, v in value.items())
    elif isinstance(value, list):
        inside = "".join(in_tag("item", item) for item in value)
    else:
        inside = unquoted(value)
    return f"{NS}<{key}>{inside}{NS}</{key}>"


def functionary(calls):
    """Functionary since 3.0: the name of the tool on a line, then JSON."""
    return "".join(f">>>{name}\n{json.dumps(given)}" for name, given in calls)


def functionary_2(calls):
    """Functionary 2: each call is a message to its tool."""
    return "\n".join(
        f"<|from|>assistant\n<|recipient|>{name}\n<|content|>{json.dumps(given)}" for name, given in calls
    )


def mistral_list(calls):
    """Mistral until 2024."""
    return "[TOOL_CALLS] " + json_list(calls)


def mistral_heads(calls):
    """Mistral since 2025."""
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{json.dumps(given)}" for name, given in calls)


def mistral_ids(calls):
    """Mistral Small 3.2: an id between the name and the arguments."""
    return "".join(
        f"[TOOL_CALLS]{name}[CALL_ID]{at:09}[ARGS]{json.dumps(given)}"
        for at, (name, given) in enumerate(calls)
    )


def kimi(calls):
    """Kimi K2."""
    return "".join(
        f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{json.dumps(given)}<|tool_call_end|>"
        for at, (name, given) in enumerate(calls)
    )


def deepseek(calls):
    """DeepSeek 3.1."""
    return "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(given)}<｜tool▁call▁end｜>"
        for name, given in calls
    )


def gpt_oss(calls):
    """gpt-oss: one message a call."""
    return "<|call|><|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{json.dumps(given)}"
        for name, given in calls
    )


def tool_code(calls):
    """Gemma 3: a call a line, in a fence."""
    lines = [f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in calls]
    return "\n".join(["```tool_code", *lines, "```"])


def olmo(calls):
    """OLMo 3: a call a line, JSON's names for what Python calls True, False and None."""
    lines = [f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in calls]
    return "\n".join(["<function_calls>", *lines, "</function_calls>"])


def apertus(calls):
    """Apertus: each call is an object of one member."""
    return f"<|tools_prefix|>{json.dumps([{name: given} for name, given in calls])}<|tools_suffix|>"


def gemma_4(calls, begin="<|tool_call>", end="<tool_call|>", quote='<|"|>'):
    """Gemma 4: strings between marks, keys without quotes."""
    return "".join(f"{begin}call:{name}{in_gemma(given, quote)}{end}" for name, given in calls)


def function_gemma(calls):
    """FunctionGemma."""
    return gemma_4(calls, "<start_function_call>", "<end_function_call>", "<escape>")


def in_gemma(value, quote):
    """A value as the Gemma models write it."""
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case dict():
            return "{" + ",".join(f"{k}:{in_gemma(v, quote)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(in_gemma(item, quote) for item in value) + "]"
    return json.dumps(value)


def kimi_3(calls):
    """Kimi K3: says of every value whether it is a string."""
    return "".join(
        f'<|open|>call tool="{name}" index="{at}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{k}" type="{kind_of(v)}"<|sep|>{unquoted(v)}<|close|>argument<|sep|>'
            for k, v in given.items()
        )
        + "<|close|>call<|sep|>"
        for at, (name, given) in enumerate(calls, 1)
    )


def kind_of(value):
    """The type of a value, as Kimi K3 names it."""
    return "string" if isinstance(value, str) else "array"


def json_lines(calls):
    """JSON objects, one a line."""
    return "\n".join(json.dumps({"name": name, "arguments": given}) for name, given in calls)


def json_fences(calls):
    """Qwen2.5-Coder: each call in a fence."""
    return "\n\n".join(f"```json\n{json_lines([call])}\n```" for call in calls)


def llama(calls):
    """Llama 3."""
    blocks = [json.dumps({"name": name, "parameters": given}) for name, given in calls]
    return "<|python_tag|>" + "; ".join(blocks)


def pythonic(calls):
    """Llama 3.2 and 4, LFM2: a list on lines of its own."""
    inside = [f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in calls]
    return f"\n[{', '.join(inside)}]\n"


def json_list(calls):
    """A JSON list of calls."""
    return json.dumps([{"name": name, "arguments": given} for name, given in calls])


WITH_QUOTES = [
    *(hermes, mistral_list, mistral_heads, mistral_ids, kimi, deepseek, gpt_oss),
    *(llama, pythonic, tool_code, olmo, json_list, json_lines, json_fences, apertus, gemma_4, function_gemma),
    *(functionary, functionary_2),
]
WITHOUT_QUOTES = [qwen_coder, glm, invoke, muse]
FAMILIES = [*WITH_QUOTES, *WITHOUT_QUOTES, dsml, kimi_3, minimax_3]


def read(text):
    """The calls in a text, by name and parsed arguments."""
    return [(call.name, json.loads(call.arguments)) for call in read_calls(text)]


plain_words = st.text("abcdefghij klmnop.,!?'\n", max_size=30)
names = st.from_regex(r"[a-z][a-z_0-9]{0,12}", fullmatch=True).filter(lambda name: not reserved(name))
scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12)
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(names, scalars, max_size=2)
arguments = st.dictionaries(names, values, max_size=3)
calls_made = st.lists(st.tuples(names, arguments), min_size=1, max_size=3)


def reserved(name):
    """Whether a name can be none in a Python list."""
    return keyword.iskeyword(name) or name in ("true", "false", "null")


def as_unquoted(value):
    """What is left of a string that was written without quotes: one that reads as another value is that."""
    known = {"True": True, "False": False, "None": None}
    if not isinstance(value, str):
        return value
    if value.strip() in known:
        return known[value.strip()]
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    return value if isinstance(parsed, str) else parsed


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("calls", [ONE, TWO, [("f", {})], [("f", {}), ("f", {})]])
def test_what_a_family_writes_comes_back(family, calls):
    assert read(family(calls)) == calls
    assert read(f"Let me see.\n{family(calls)}\nDone.") == calls
    assert read(f"<think>\nHm. {family([('other', {})])}\n</think>\n\n{family(calls)}") == calls


@pytest.mark.parametrize("family", WITH_QUOTES)
@given(calls_made, plain_words, plain_words)
@settings(max_examples=40)
def test_whatever_a_family_with_quotes_writes_comes_back(family, calls, before, after):
    assert read(f"{before}\n{family(calls)}\n{after}") == calls


@pytest.mark.parametrize("family", WITHOUT_QUOTES)
@given(calls_made, plain_words, plain_words)
@settings(max_examples=40)
def test_whatever_a_family_without_quotes_writes_comes_back(family, calls, before, after):
    calls = [(name, {key: tidy(value) for key, value in given.items()}) for name, given in calls]
    meant = [(name, {key: as_unquoted(value) for key, value in given.items()}) for name, given in calls]
    assert read(f"{before}\n{family(calls)}\n{after}") == meant


def tidy(value):
    """Such families have no way to write a line break at the beginning or end, nor numbers JSON lacks."""
    odd = isinstance(value, str) and (value != value.strip() or value[:1] in "-0123456789NI")
    return f"x{value}" if odd else value


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=100)
def test_arguments_are_as_the_model_wrote_them(value, before):
    written = json.dumps({"x": value}, ensure_ascii=False, indent=1)
    before = before.translate(str.maketrans("", "", '<[{"\\'))
    call = f'{{"name": "f", "arguments": {written}}}'
    for text in (call, f"<tool_call>{call}</tool_call>", f"[TOOL_CALLS]f[ARGS]{written}"):
        assert [call.arguments for call in read_calls(f"{before}\n{text}")] == [written]


MARKS = [
    *("<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=x>", "</parameter>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</invoke>", "<think>", "</think>"),
    *('<invoke name="f">', '<parameter name="x">', "functions.f:0", "to=functions.f", "<|message|>"),
    *("[TOOL_CALLS]", "f[ARGS]", "[CALL_ID]1", "<|python_tag|>", "<|tool_call_begin|>"),
    *("<|tool_call_argument_begin|>", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>", "```", "```json", "[f("),
    *("<|tool_call>", "<tool_call|>", "call:f{x:", '<|"|>', "<escape>", "<start_function_call>"),
    *(
        "<![CDATA[",
        "]]>",
        "<parameter>",
        "<function_calls>",
        "<|tools_prefix|>",
        "Action:",
        "\nAction Input:",
    ),
    *('<|open|>call tool="f"<|sep|>', '<|open|>argument key="x"<|sep|>', "<|close|>call<|sep|>"),
    *(NS, f'{NS}<invoke name="f">', f"{NS}<x>", f"{NS}</x>", f"{NS}</invoke>", "<atem:function_calls>"),
    *('<atem:invoke name="f">', "to=self<|message|>", "to=user<|message|>", "<|eom|>", ">>>f\n", ">>>all\n"),
    *("<|recipient|>", "f\n<|content|>"),
    *("x=1", ")]", '{"name": "f", ', '"arguments": ', '"parameters": ', "{", "}", "[", "]", '"', "'"),
    *("\\", ",", ";", ":", "1", "x", " ", "\n", "\ud800", "\0", "-" * 50, "(" * 50),
]


@given(st.lists(st.sampled_from(MARKS), max_size=25).map("".join) | st.text())
@settings(max_examples=500)
def test_no_text_raises(text):
    calls = read_calls(text)
    assert [call.slot for call in calls] == list(range(len(calls)))
    assert len({call.id for call in calls}) == len(calls)
    assert isinstance(Reply({"role": "assistant", "content": text}).notes, tuple)
    letters = iter(text)
    assert all(letter in letters for letter in before_calls(text, find_calls(text)))
    for found in readings(text):
        starts = [call.at for call in found]
        assert starts == sorted(starts)


bits = st.sampled_from([*"abc {}[]()\"':,.\n=<>", "name", "arguments", "tool_call", "json", "f(x=1)"])


@given(st.lists(bits).map("".join))
@settings(max_examples=300)
def test_prose_without_a_whole_mark_holds_no_call(text):
    has_mark = "<tool_call>" in text or '"name"' in text or "[f(x=1)" in text
    assert has_mark or read_calls(text) == []


data = st.recursive(
    scalars | st.text("<>[]{}:=\"'\n abc", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(names.filter(lambda key: key not in ("arguments", "parameters")), data), plain_words)
@settings(max_examples=100)
def test_json_data_and_code_hold_no_call(value, words):
    for text in (json.dumps(value), f"{words}\n```json\n{json.dumps(value, indent=1)}\n```\n{words}"):
        assert read_calls(text) == []
    assert read_calls(f"{words}\n```python\nresult = f(x={value!r})\nprint(result)\n```") == []


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize(
    "text",
    [
        'A call is JSON with a "name" and "arguments".',
        "Write it between <tool_call> and </tool_call>.",
        "Use `<tool_call>...</tool_call>`, as in `<function=name>`, with [ARGS] and [TOOL_CALLS].",
        'The invoice:\n```json\n{"amount": 123.45, "date": "2025-12-03"}\n```',
        json.dumps({"name": "get_weather", "description": "The weather.", "parameters": SCHEMA}),
        json.dumps({"name": "get_weather", "parameters": SCHEMA}),
        json.dumps([{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]),
        json.dumps({"type": "object", "properties": {"name": {"type": "string"}, "arguments": {}}}),
        json.dumps({"optimizers": [{"name": "adam", "parameters": {"lr": 0.1}}]}),
        json.dumps({"name": "adam", "parameters": {"lr": 0.1}, "epochs": 3}),
        json.dumps({"name": "Bob", "parameters": [1, 2]}),
        "<think>I could call [f(x=1)].\n[f(x=1)]\n</think>No need.",
        '<think>{"name": "f", "arguments": {}}</think>',
        '[THINK][TOOL_CALLS]f[ARGS]{"x": 1}[/THINK]Hello.',
        'Perhaps {"name": "f", "arguments": {}}?\n</think>\n\nHello.',
        '<think>I will call <tool_call>{"name": "f", "arguments": {}}</tool_call>',
        "In Python, [f(x=1)] makes a list, and so does calls = [f(x=1)].",
        "```python\nprint(1)\n[f(x=1)]\nprint(2)\n```",
        '```csharp\n[Authorize(Roles="Admin")]\npublic class Home {}\n```',
        '<|start|>assistant to=user<|message|>{"x": 1}',
        "[f(1)]",
        "[f(x=g())]",
        "[f(x=1), 2]",
        "[f(**{'x': 1})]",
        "[f(x=1, x=2)]",
        "[__import__('os').system(command='ls')]",
        "[f(x=open('/etc/passwd'))]",
        "[link](https://example.org) and [1, 2] and []",
        'Product: {"name": "Widget", "parameters": {"size": "L"}}',
        '{"name": "Widget", "parameters": {"size": "L"}} is sold out.',
        'Ours: {"name": "a", "parameters": {}}; {"name": "b", "parameters": {}}',
        '{"name": "", "arguments": {}}',
        'Such as {"name": "", "arguments": {"x": 1}}.',
        '{"name": "", "parameters": {"x": 1}}',
        'Write <tool_call>{"name": <name>, "arguments": <arguments>}</tool_call>.',
        'Write <tool_call>{"name": name, "arguments": arguments}</tool_call>.',
        '<|python_tag|>print(sep="")',
        '<|python_tag|>search.call(query="x") was called.',
        "<|python_tag|>search.call(query=open('/etc/passwd'))",
        "```tool_code\nx = 1\nf(x=x)\n```",
        "```tool_code\nf(x=1)\nimport os\n```",
        "```tool_code\nprint(f(x=1))\n```",
        "```python\nf(x=1)\n```",
    ],
)
def test_text_that_only_talks_of_calls_has_none(text):
    assert read_calls(text) == []


def test_a_call_that_is_quoted_in_another_is_no_call():
    inner = [function_tag("rm", {"path": "/"}), '[TOOL_CALLS]rm[ARGS]{"path": "/"}', hermes([("rm", {})])]
    for quoted in [*inner, "\n[rm(path='/')]\n", "a </think> b", "<think>a</think>b"]:
        calls = [("write", {"text": quoted})]
        for family in (hermes, mistral_heads, mistral_list, llama, json_list, kimi):
            assert read(family(calls)) == calls
    calls = [("write", {"text": hermes(ONE)})]
    assert read(qwen_coder(calls)) == read(invoke(calls)) == calls


CALL = '{"name": "f", "arguments": {"x": 1}}'
NEXT = '{"name": "g", "arguments": {}}'
BROKEN = '{"name": "g", "arguments": {"y": 2,}}'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"{CALL} and {NEXT}", "f"),
        (f"{CALL}\n{NEXT}", "f g"),
        (f"{CALL} {NEXT}", "f g"),
        (f"{CALL}\n{CALL}", "f f"),
        (f"{CALL};\n\n{NEXT}", "f g"),
        (f"First: {CALL}\nThen: {NEXT}", "f g"),
        (f"First:\n```json\n{CALL}\n```\nThen:\n```json\n{NEXT}\n```\nDone.", "f g"),
        (f"```json\n{CALL}\n{NEXT}\n```", "f g"),
        (f"- {CALL}\n- {NEXT}", "f g"),
        (f"1. {CALL}\n2. {NEXT}", "f g"),
        (f"I could call {NEXT} but I call\n{CALL}", "f"),
        (f"[{CALL}, {NEXT}]", "f g"),
        (f"I call [{CALL}, {NEXT}] now.", "f g"),
        (f"[{CALL}, {NEXT}", "f g"),
        (f"[{CALL}, 5]", "f"),
        (f'{{"tool_calls": [{CALL}, {NEXT}]}}', "f g"),
        (f'{{"tool_calls": [{{"function": {CALL}}}, {{"function": {NEXT}}}]}}', "f g"),
        (f"{CALL}\n{BROKEN}", "f g"),
        (f"```json\n{BROKEN}\n```\n```json\n{CALL}\n```", "g f"),
        (f"{BROKEN}\n{BROKEN}", "g g"),
        (f"<function_call>{CALL}</function_call>\n<function_call>{NEXT}</function_call>", "f g"),
        (f"<function_call>{CALL}<function_call>{NEXT}", "f g"),
        (f"<tools>{CALL}</tools> <tools>{NEXT}</tools>", "f g"),
        ('{"name": "f", "parameters": {"x": 1}}\n{"name": "g", "parameters": {}}', "f g"),
        ("[f(x=1)]\n[g()]", "f g"),
        ("```tool_code\nf(x=1)\n```\n```tool_code\ng()\n```", "f g"),
        ('<|python_tag|>f.call(x="1")\n<|python_tag|>g.call(x="1")', "f g"),
    ],
)
def test_two_calls_are_read_as_two(text, names):
    assert [call.name for call in read_calls(text)] == names.split()


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('<tool_call>{"name": "f", "arguments": {"x": }}</tool_call>', ['{"x": }']),
        (hermes(ONE) + '<tool_call>{"name": "f", "arguments": {x}}</tool_call>', ['{"x": 1}', "{x}"]),
        ('<tool_call>{"name": "f", "arguments": {"x": "rm -rf /', ['{"x": "rm -rf /']),
        ('[TOOL_CALLS]f[ARGS]{"x": ', ['{"x": ']),
        ('[TOOL_CALLS]f[ARGS]{x}[TOOL_CALLS]g[ARGS]{"y": 2}', ["{x}", '{"y": 2}']),
        (
            "<function=f><parameter=x>1</parameter><parameter=y>rm",
            ["<parameter=x>1</parameter><parameter=y>rm"],
        ),
        ("<function=f><parameter=x>1</parameter>", ["<parameter=x>1</parameter>"]),
        (
            "<function=f><parameter=x>1</parameter><function=g></function>",
            ["<parameter=x>1</parameter>", "{}"],
        ),
        ("<function=f>{x}</function>", ["{x}"]),
        ("<tool_call>{'name': 'f', 'arguments': {'x': '}'}}</tool_call>", ["{'x': '}'}"]),
        ("<tool_call>```json\n{'name': 'f', 'arguments': {'x': 1}}\n```</tool_call>", ["{'x': 1}"]),
        ('<tool_call>{name: "f", arguments: {x: 1}}</tool_call>', ["{x: 1}"]),
        ('<tool_call>{"name": "f", "parameters": {"x": 1,}}</tool_call>', ['{"x": 1,}']),
        ('<tool_call>{"name": "f", "arguments": {"x": [1}</tool_call>', ['{"x": [1}']),
        ('<tool_call>{"name": "f", "arguments": "{"x": 1}"}</tool_call>', ['"{"x": 1}"']),
        ('<tool_call>{"name": "f", "arguments": }</tool_call>', ["}"]),
        ('<tool_call>{"name": "f", "arguments": ', []),
        ('<tool_call>{"name": "f"', []),
        ('<tool_call>{"name": "f"}</tool_call>' + hermes(ONE), ["", '{"x": 1}']),
        ("<tool_call>{'name': 'f'}</tool_call>", [""]),
        ('<tool_call>{"name": "f", "city": "Oslo"}</tool_call>', []),
        ("<function=f>" + 2 * "<parameter=x>1</parameter>" + "</function>", ['{"x":1,"x":1}']),
    ],
)
def test_what_is_broken_or_cut_off_is_kept_as_written(text, arguments):
    assert [call.arguments for call in read_calls(text)] == arguments


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Let me.\n" + function_tag("f", {"x": 1}) + "\n</tool_call>", ONE),
        ('<function=f>{"x": 1}</function>', ONE),
        ("<tool_call>\n<function=f>\n<parameter=x>\nTrue\n</parameter>\n</tool_call>", [("f", {"x": True})]),
        (
            "<function=f><parameter=x>\n<p>\n</p> b\n</parameter></function>",
            [("f", {"x": "<p>\n</p> b"})],
        ),
        ("<function=f><parameter=x> a\n</parameter></function>", [("f", {"x": " a\n"})]),
        ("<tool_call>f</tool_call>", [("f", {})]),
        ('<tool_call>{"name": "f", "arguments": {"x": 1}</tool_call>', ONE),
        ('<tool_call>{"name": "f", "arguments": {"x": 1},}</tool_call>', ONE),
        ('<tool_call>{{"name": "f", "arguments": {"x": 1}}}</tool_call>', ONE),
        ("<tool_call>{'name': 'f', 'arguments': {\"x\": 1}}</tool_call>", ONE),
        ("<|python_tag|>f.call(x=1)<|eom_id|>", ONE),
        ("I look it up.\n<|python_tag|>f.call(x=1)", ONE),
        ('I see.\n  {"name": "f", "parameters": {"x": 1}}<|eot_id|>', ONE),
        ('```json {"name": "f", "parameters": {"x": 1}}```', ONE),
        ('<tool_call>```json\n{"name": "f", "arguments": {"x": 1}}\n```</tool_call>', ONE),
        (f"<tool_call>{json_list(ONE * 2)}</tool_call>", ONE * 2),
        ('<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>', ONE),
        ('[TOOL_CALLS]f{"x": 1}', ONE),
        ('f[ARGS]{"x": 1}', ONE),
        ('{"type": "function", "name": "f", "parameters": {"x": 1}}', ONE),
        ('Action: ```json\n[{"tool_name": "f", "parameters": {"x": 1}}]\n```', ONE),
        ("<|tool_call_start|>[f(x=1)]<|tool_call_end|>Done.", ONE),
        ("```tool_code\n[f(x=1)]\n```", ONE),
        ("Sure! [f(x=1)]", ONE),
        ("[\n  f(\n    x=1\n  )\n]", ONE),
        ('[f(from="Oslo", in=1, is=[True], x=2)]', [("f", {"from": "Oslo", "in": 1, "is": [True], "x": 2})]),
        ('<｜tool_call_start｜>[f(class="a = b")]<｜tool_call_end｜>', [("f", {"class": "a = b"})]),
        ('<|channel|>commentary to=functions.f json<|message|>{"x": 1}<|call|>', ONE),
        ('<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"x": 1}', ONE),
        ('<｜channel｜>commentary to=f <｜constrain｜>json<｜message｜>{"x": 1}', ONE),
        ('assistantcommentary to=functions.f json{"x": 1}', ONE),
        ('<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.f<|message|>{"x": 1}', ONE),
        ('<|tool▁call▁begin|>f<|tool▁sep|>{"x": 1}', ONE),
        ('< | tool_call_begin | >function< | tool_sep | >f\n```json\n{"x": 1}', ONE),
        ('<｜tool_call_begin｜>functions.f:0<｜tool_call_argument_begin｜>{"x": 1}', ONE),
        (
            '<‖DSML‖invoke name="f"><‖DSML‖parameter name="x" string="false">1</‖DSML‖parameter>'
            "</‖DSML‖invoke>",
            ONE,
        ),
        (
            '<｜｜DSML｜｜invoke name="f"><｜｜DSML｜｜parameter name="x">1</｜｜DSML｜｜parameter>'
            "</｜｜DSML｜｜invoke>",
            ONE,
        ),
        ('<｜tools_prefix｜>[{"f": {"x": 1}}]<｜tools_suffix｜>', ONE),
        ("<tool_call>f<arg_key>x</arg_key>1</arg_value></tool_call>", ONE),
        ("<tool_call>f<arg_key>x</arg_key></arg_key><arg_value>1</arg_value></tool_call>", ONE),
        ("<tool_call>f<arg_key><arg_key>x</arg_key><arg_value>1</arg_value></tool_call>", ONE),
        ('<tool_call>f {"x": 1}</tool_call>', ONE),
        ('<tool_call>f\n{"x": 1}\n</tool_call>', ONE),
        (
            '<｜DSML｜tool_calls><｜DSML｜invoke name="f"/><｜DSML｜invoke name="f" /></｜DSML｜tool_calls>',
            [("f", {})] * 2,
        ),
        ('<function_calls><invoke name="f"><parameter name="x">1</parameter></function_calls>', ONE),
        ('<tool_use name="f"><parameter name="x">1</parameter></tool_use>', ONE),
        (
            '<|open|>toolscall tool="f"<|sep|><|open|>argument key="x" type="number"<|sep|>1'
            "<|close|>argument<|sep|><|close|>call<|sep|>",
            ONE,
        ),
        (
            'f:0<|tool_call_argument_begin|>{"x": 1}<|tool_call_end|>\n'
            'f:1<|tool_call_argument_begin|>{"x": 1}',
            ONE * 2,
        ),
        ('<|tool_call_begin|> functions.f:0 {"x": 1} <|tool_call_end|>', ONE),
        ('<|tool_call_begin|>functions.f:call_1<|tool_call_argument_begin|>{"x": 1}', ONE),
        ('<|tool_call_begin|>f<|tool_call_argument_begin|>{"x": 1}', ONE),
        ('<function=f{"x": 1}</function>', ONE),
        ('<function=f({"x": 1})></function>', ONE),
        ('<function=f[]{"x": 1}</function>', ONE),
        ("<|tool_call>call:f{x:'it, {y}',z:[1]}<tool_call|>", [("f", {"x": "it, {y}", "z": [1]})]),
        ('call:mine:f{"x": 1}', ONE),
        ("<|tool_call>call:f{x:1}call:f{x:1}<tool_call|>", ONE * 2),
        (
            '<|tool_call>call:f{x:{y:[<|"|>a, {b}<|"|>,2.5,true,null]},"z":"q"}<tool_call|>',
            [("f", {"x": {"y": ["a, {b}", 2.5, True, None]}, "z": "q"})],
        ),
        ("I look.\ncall:f{x:1}", ONE),
        (f"<longcat_tool_call>{glm(ONE)[11:-12].replace('arg_', 'longcat_arg_')}</longcat_tool_call>", ONE),
        (
            '<|open|>call tool="f"<|sep|><|open|>json type="object"<|sep|>{"x": 1}<|close|>json<|sep|>'
            "<|close|>call<|sep|>",
            ONE,
        ),
        ('f\n<|content|>{"x": 1}<|from|> assistant\n<|recipient|> f\n<|content|> {"x": 1}<|stop|>', ONE * 2),
        ('all\nI look.>>>f\n{"x": 1}', ONE),
        (f" to=self<|message|>Hm. {atem([('g', {})])}<|eom|>{muse(ONE)}<|eot|>", ONE),
        (f" to=user<|message|>I look.<|eom|>{muse(ONE)}<|eot|>", ONE),
        (f"<mm:think>Hm.</mm:think>{minimax_3(TWO)}", TWO),
        (f'{NS}invoke name="f">{in_tag("x", 1)}{NS}</invoke>', ONE),
        ("[a.b(x=-1, y=(1, 2), z={'k': true})]", [("a.b", {"x": -1, "y": [1, 2], "z": {"k": True}})]),
    ],
)
def test_the_variants_that_models_write(text, calls):
    assert read(text) == calls


REFERENCE = {
    "type": "object",
    "properties": {
        "ref": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "any": {"type": ["string", "integer"]},
        "days": {"type": "integer"},
    },
}


@pytest.mark.parametrize("family", WITHOUT_QUOTES)
def test_the_schema_tells_text_from_numbers_where_a_family_writes_no_quotes(family):
    written = {"ref": "5123123", "note": "true", "any": "7", "days": "3", "other": "4"}
    typed = {"ref": "5123123", "note": "true", "any": 7, "days": 3, "other": 4}
    text = family([("pay", written), ("other", {"ref": "1"})])
    for tools in ({"pay": REFERENCE}, ToolRegistry([Tool("pay", "Pay.", REFERENCE)])):
        calls = read_calls(text, tools=tools)
        assert [json.loads(call.arguments) for call in calls] == [typed, {"ref": 1}]
    text = family([("pay", {"ref": None, "note": None})])
    assert json.loads(read_calls(text, tools={"pay": REFERENCE})[0].arguments) == {
        "ref": "null",
        "note": None,
    }


CODE = {"type": "string", "enum": ["1", "2"]}


def schema_of(value):
    """A schema that takes this value and not its other readings."""
    match value:
        case bool() | int():
            return {"type": "boolean" if isinstance(value, bool) else "integer"}
        case None:
            return {"type": "null"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", "items": schema_of(value[0]) if value else {}}
    return {"type": "object", "properties": {key: schema_of(inside) for key, inside in value.items()}}


nested = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.from_regex(r"[a-z1-9 .]{0,8}", fullmatch=True),
    lambda inside: (
        st.lists(inside, max_size=3).map(lambda items: [items[0]] * len(items) if items else items)
        | st.dictionaries(names | st.just("item"), inside, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(names, nested, max_size=3), plain_words)
@settings(max_examples=150)
def test_values_inside_of_tags_are_typed_by_the_schema_at_any_depth(given_, words):
    text = f"{words}{minimax_3([('f', given_)])}{words}"
    (call,) = read_calls(text, tools={"f": schema_of(given_)})
    assert json.loads(call.arguments) == given_


@pytest.mark.parametrize(
    ("schema", "inside", "value"),
    [
        ({}, in_tag("item", "1") + in_tag("item", "a"), [1, "a"]),
        ({"type": "array"}, in_tag("one", 1) + in_tag("two", 2), [1, 2]),
        ({"type": "object"}, in_tag("item", 1), {"item": 1}),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, "", {}),
        ({"type": "array"}, "", []),
        ({}, "", ""),
        (
            {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            in_tag("item", 5),
            ["5"],
        ),
        ({"type": "array", "items": {"anyOf": [CODE, {"type": "null"}]}}, in_tag("item", 1), ["1"]),
        ({"type": "object", "required": ["b"], "properties": {"a": CODE}}, in_tag("a", 1), {"a": "1"}),
        ({"type": "string"}, in_tag("text", "hi"), {"text": "hi"}),
    ],
)
def test_the_schema_tells_what_tags_inside_of_tags_are(schema, inside, value):
    text = f'{NS}<invoke name="f">{NS}<v>{inside}{NS}</v>{NS}</invoke>'
    (call,) = read_calls(text, tools={"f": {"type": "object", "properties": {"v": schema}}})
    assert json.loads(call.arguments) == {"v": value}


@pytest.mark.parametrize(
    "inside",
    [
        f"{NS}<x>1{NS}</y>",
        f"{NS}<x>1",
        f"{NS}<x>1{NS} 2{NS}</x>",
        f"{NS}1{NS}</x>",
        f"and x is 1 {in_tag('x', 1)}",
        f"{in_tag('x', 1)} and y is 2",
        f"{NS}<x>a{in_tag('y', 1)}{NS}</x>",
        f"{NS}<x>{in_tag('y', 1)}a{NS}</x>",
        f"{NS}<x>" * 70,
        "1",
    ],
)
def test_a_tag_of_minimax_out_of_its_place_breaks_its_call_and_nothing_is_dropped(inside):
    begun = f'{NS}<invoke name="f">{inside}'
    for text in (begun, f"{begun}{NS}</invoke>", f"{begun}{NS}</invoke>\n{minimax_3(TWO)}"):
        calls = read_calls(text)
        assert (calls[0].name, calls[0].arguments) == ("f", inside)
        assert [call.name for call in calls[1:]] == (["f", "g"] if text.endswith("</tool_call>") else [])


def test_a_call_that_muse_quotes_to_the_user_does_not_run_and_leaves_a_note():
    text = f" to=user<|message|>You write it so:\n{atem(ONE)}<|eot|>"
    assert read_calls(text) == []
    assert "looks like" in " ".join(Reply({"role": "assistant", "content": text}).notes)


@pytest.mark.parametrize(
    "text", [f'{NS}<invoke name="f">', ">>>python\nprint(1)", "<|recipient|>f\n<|content|>x"]
)
def test_a_mark_of_these_families_without_a_call_behind_it_leaves_a_note(text):
    assert read_calls(text) == []
    assert "begin of a call" in " ".join(Reply({"role": "assistant", "content": text}).notes)


NESTED = {
    "$defs": {"Code": CODE, "Day": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "type": "object",
}


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "5123", "5123"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
        ({"oneOf": [{"type": "string"}, {"type": "array"}]}, "5123", "5123"),
        ({"oneOf": [{"type": "string"}, {"type": "array"}]}, "[1]", [1]),
        ({"type": "string", "nullable": True}, "true", "true"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5123", 5123),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5123", 5123),
        ({"$ref": "#/$defs/Code"}, "1", "1"),
        ({"$ref": "#/$defs/Day"}, "1", 1),
        ({"$ref": "#/properties/other"}, "1", "1"),
        ({"allOf": [{"$ref": "#/$defs/Code"}]}, "2", "2"),
        ({"enum": ["1", "2"]}, "2", "2"),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": "7"}, "7", "7"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "12", "12"),
        ({"type": "integer", "maximum": 5}, "12", 12),
        ({"type": "array", "items": {"type": "string"}}, '["1"]', ["1"]),
        ({"type": "boolean"}, "True", True),
        ({"type": "string"}, "None", "None"),
        ({}, "12", 12),
        (True, "12", 12),
        ({"$ref": "#/nowhere"}, "12", 12),
    ],
)
def test_the_checker_of_the_tool_says_how_a_value_without_quotes_is_read(schema, written, value):
    parameters = {**NESTED, "required": ["w"], "properties": {"v": schema, "w": {}, "other": CODE}}
    (call,) = read_calls(function_tag("f", {"v": written}), tools={"f": parameters})
    assert json.loads(call.arguments) == {"v": value}


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("array", "['a', 'b']", ["a", "b"]),
        ("object", "{'on': True, 'off': None}", {"on": True, "off": None}),
        ("string", "['a', 'b']", "['a', 'b']"),
        ("array", "[a, b]", "[a, b]"),
        ("array", "[__import__('os')]", "[__import__('os')]"),
        ("array", "[" * 500, "[" * 500),
    ],
)
def test_lists_and_objects_may_be_written_as_python_does_where_the_schema_wants_them(kind, written, value):
    text = function_tag("f", {"x": written})
    (call,) = read_calls(text, tools={"f": {"type": "object", "properties": {"x": {"type": kind}}}})
    assert json.loads(call.arguments) == {"x": value}


@pytest.mark.parametrize("schema", [None, True, {}, {"properties": []}, {"properties": {"ref": True}}])
def test_a_schema_that_tells_nothing_changes_nothing(schema):
    text = function_tag("pay", {"ref": "5123123"})
    assert read_calls(text, tools={"pay": schema}) == read_calls(text)


def test_what_the_family_says_of_a_value_goes_before_the_schema():
    said = dsml([("pay", {"ref": 1})])
    assert read_calls(said, tools={"pay": REFERENCE})[0].arguments == '{"ref":1}'


def test_a_walk_reads_text_by_the_schemas_of_its_tools():
    @tool
    def pay(ref: str) -> str:
        """Pay an invoice."""
        return f"Paid {ref}."

    said = function_tag("pay", {"ref": "5123123"})
    trace = run("Pay it.", [pay], Scripted([said, "Done."]), calls="text", envelope="plain")
    assert trace.messages[-2]["content"] == "Paid 5123123."


def test_quotes_of_python_in_a_tag_are_named_and_may_be_mended():
    said = "<tool_call>{'name': 'add', 'arguments': {'a': 1, 'b': 2}}</tool_call>"
    trace = run("1 + 2?", [add], Scripted([said, "Sorry."]), calls="text", envelope="plain")
    assert [error.code for error in trace.errors] == ["invalid_json"]
    walked = [said, "3."]
    trace = run("1 + 2?", [add], Scripted(walked), calls="text", envelope="plain", repair=RuleRepair())
    assert (trace.errors, trace.messages[-2]["content"]) == ([], "3")


def test_ids_that_a_family_writes_are_kept_and_those_that_are_taken_are_not():
    assert [call.id for call in read_calls(mistral_ids(TWO))] == ["000000000", "000000001"]
    assert [call.id for call in read_calls(kimi(TWO))] == ["functions.f:0", "functions.g:1"]
    again = read_calls(
        kimi(ONE), ids=CallIds([{"role": "assistant", "tool_calls": [{"id": "functions.f:0"}]}])
    )
    assert [(call.id, call.original_id) for call in again] == [("call00001", "functions.f:0")]


@pytest.mark.parametrize(
    ("text", "aloud"),
    [
        ("Hello.", "Hello."),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<thinking>a</thinking>b", "b"),
        ("<seed:think>a</seed:think>b", "b"),
        ('<think>He said "hm.\n"</think>b', "b"),
        ('{"text": "</think>"}', '{"text": "</think>"}'),
        ("a<think>b", "a"),
    ],
)
def test_thoughts_are_private(text, aloud):
    assert text[slice(*spoken(text))] == aloud


HOSTILE = [
    *('{"', "{", "[", "f", " ", "<tool_call>", "<tool_call> \n", '<tool_call>{"', '<tool_call>{"a":['),
    *('<tool_call>{"name": "f", "arguments": {', "<function=f>", '<function=f>{"', "<think>", '"\\', '\\"'),
    *("<function=f><parameter=a>", "<function=f><parameter=a></function>", "[TOOL_CALLS]", 'f[ARGS]{"a":'),
    *('<invoke name="f"><parameter name="a">', "<tool_call>f<arg_key>a</arg_key><arg_value>"),
    *('[TOOL_CALLS]f[ARGS]{"', '{"name": "f", "parameters": {', '{"x":{"name":"f","parameters":{}}} '),
    *("\n[f(", "[f(x=-", "\n[f(x='\\'", "```\n[f(x=1)]", "<|python_tag|>f.call(", "```tool_code\n"),
    *("```tool_code\nf(x=1)\n", "f(x=-", "<tool_call>{'name':'f','arguments':{", "<tool_call>{'name':'f'}"),
    *('\n{"name": "f", "parameters": {}} x', "\n[", "\n[ ", '{"name": "f", "arguments": {}} '),
    *('\n{"name": "f", "arguments": {,', "<function=f><parameter=a><![CDATA[", "<|tool_call>call:f{a:"),
    *(
        "\ncall:f{a:<escape>",
        "\ncall:f{a:[",
        '<|tool_call>call:f{a:"',
        "<|tools_prefix|>[{",
        "<function_calls>f(x=",
    ),
    "<function=f><parameter=a></function>x",
    *(
        "\ncall:f{",
        "call:f{x:1}",
        "< ",
        "<| ",
        "<|channel|>analysis",
        "assistant ",
        "to=functions.f ",
        "[f(from=",
    ),
    *('<|tools_prefix|>[{"f":{}},', "<function=f><parameter=a>1</parameter></function>", '"a":', "- "),
    *(NS, f'{NS}<invoke name="f">', f"{NS}<x>", f"{NS}<x>1{NS}</x>", f'{NS}<invoke name="f">{NS}<x>{NS}</x>'),
    *("to=user<|message|>", "to=self<|message|>", "assistant to=f<|message|>", ">>>f\n", "<|recipient|>f "),
    *('{"tool": "f", "arguments": {', "\nAction: x\n", "\n \n", "```json\n", "<|channel>thought "),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_work_grows_with_the_text_and_no_faster(unit):
    def lines(length):
        return lines_of(lambda: find_calls(unit * (length // len(unit))))

    find_calls(unit * 9)  # the first call looks for families that others have registered, and imports
    assert lines(20_000) < 2_000 + 6 * lines(4_000)
    with ends():
        find_calls(unit * (300_000 // len(unit)))


@pytest.mark.parametrize("text", ['{"' * 200_000, "[" * 100_000, "<tool_call>" * 50_000, "\n[f(" * 100_000])
def test_a_long_hostile_text_is_no_call_and_takes_work_that_grows_with_its_length_alone(text):
    with ends():
        assert read_calls(text) == []
        assert lines_of(lambda: read_calls(text)) < 1_000 + 10 * len(text)


@pytest.mark.parametrize(
    "value", ["-" * 60_000 + "1", "[" * 60_000, "+".join("1" * 30_000), "a" + ".a" * 30_000]
)
def test_deep_code_is_no_call(value):
    assert read_calls(f"```tool_code\nf(x={value})\n```") == []


def test_nothing_is_read_after_a_mebibyte():
    assert read_calls("x" * MAX_CHARS + hermes(ONE)) == []


@pytest.mark.parametrize(
    "inside",
    [
        "<parameter>x</parameter>",
        "<parameter=>x</parameter>",
        "<parameter=a>1</parameter><parameter>x</parameter>",
        "<parameter>x</parameter><parameter=a>1</parameter>",
        "<parameter=a>1<parameter=b>2</parameter>",
        "<parameter=a>1",
        "<parameter=a>1</parameter> b=2</parameter>",
        "<parameter=a>1</parameter>b><parameter=c>2</parameter></parameter>",
        "<parameter=a>1</parameter>and b is 2",
        '{"a": 1}<parameter=b>2</parameter>',
        f"<parameter={'a' * 200}>1</parameter>",
    ],
)
def test_a_parameter_without_a_name_or_an_end_breaks_its_call_and_nothing_is_dropped(inside):
    after = "<function=g><parameter=y>2</parameter></function>"
    as_invoke = re.sub(
        r"<(parameter|function)=(\w*)>", r'<\1 name="\2">', f"<function=f>{inside}</function>{after}"
    )
    for text in (f"<function=f>{inside}</function>{after}", as_invoke):
        first, second = read_calls(text)
        assert (first.name, second.name, second.arguments) == ("f", "g", '{"y":2}')
        assert not is_json(first.arguments)
    (call,) = read_calls("<tool_call>f<arg_key></arg_key><arg_value>1</arg_value></tool_call>")
    assert not is_json(call.arguments)


def is_json(text):
    """Whether a text is JSON, so that a call with it may run."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("family", [qwen_coder, glm, invoke, dsml])
@pytest.mark.parametrize(
    "value", ["<a>&</a>", "</parameter></function>", "x]]y", " two\nlines ", "<arg_key>"]
)
def test_cdata_is_unwrapped(family, value):
    assert read(family([("f", {"x": f"<![CDATA[{value}]]>", "y": 1})])) == [("f", {"x": value, "y": 1})]


def test_a_string_in_a_pythonic_list_may_hold_raw_line_breaks():
    assert read("[f(x='one\ntwo', y=\"it's\n\"), g()]") == [
        ("f", {"x": "one\ntwo", "y": "it's\n"}),
        ("g", {}),
    ]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('Action: search\nAction Input: {"q": "Oslo"}', "ReAct"),
        ("Thought: I look.\nAction: search[Oslo]", "ReAct"),
        ("Action 1: search\nAction Input 1: Oslo\nObservation 1:", "ReAct"),
        ("Thought: I look.\nAction: search", "ReAct"),
        ("**Action:** `search`", "ReAct"),
        ("Action: We should leave now.", ""),
        ("An Action: fly", ""),
        ('{"tool": "search", "arguments": {"q": "Oslo"}}', '"tool" and "arguments"'),
        ('```json\n{"function": "search", "parameters": {}}\n```', '"function" and "parameters"'),
        ('{"name": "search", "args": {}}', '"name" and "args"'),
        ('{"action": "search", "action_input": "Oslo"}', '"action" and "action_input"'),
        ("<tool_call>search</tool>", "<tool_call>"),
        (f"I call {CALL} and then {NEXT}.", "there is also g"),
        ("<think>I call <tool_call>f", "a thought holds the begin of a call"),
        ('I will call [search(q="Oslo")]', "[search(q="),
        ('[tool_use: search, args: {"q": "Oslo"}]', "[tool_use: s"),
        ("<tool_use>\n<name>search</name>\n</tool_use>", "<tool_use>"),
        ('<function=search q="Oslo"', "<function=search"),
        ("search:0<|tool_call_argument_begin|>Oslo", "<|tool_call_argument_begin|>"),
        ('{"function": {"name": "search"}, "parameters": {"q": "Oslo"}}', '"function" and "parameters"'),
        (f"<think>I call {CALL}</think>No.", "a thought holds a call of f"),
        (f"<|channel|>analysis<|message|>{CALL}<|end|>", "a thought holds a call of f"),
        ('<|channel|>analysis to=functions.f <|message|>{"x": 1}<|call|>', "a thought holds"),
        (f"{CALL}\nThis adds.", 'leaves out: "This adds."'),
        (f"{hermes(ONE)}\n<tool_call>search", "the begin of one more"),
        ("<｜tool▁calls▁begin｜>search", "the begin of a call"),
        ("Hello.", ""),
        (CALL, ""),
        (f"```json\n{{{CALL}}}\n```", ""),
        (hermes(TWO), ""),
        ('Data: {"name": "Bob", "age": 5}', ""),
    ],
)
def test_what_is_nearly_a_call_has_a_note(text, note):
    found = "; ".join(Reply({"role": "assistant", "content": text}).notes)
    assert note in found
    assert bool(found) == bool(note)


AUTO = [json_fences, json_lines, hermes, qwen_coder, gemma_4, apertus, minimax_3, muse, functionary]


@pytest.mark.parametrize("family", AUTO)
def test_tools_may_be_sent_natively_and_called_in_text(family):
    said = "Both.\n" + family([("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})])
    trace = run("1 + 2, 3 + 4?", [add], Scripted([said, "3 and 7."]), calls="auto", envelope="plain")
    request, call = trace.steps[1].record, trace.steps[2]
    assert [tool["function"]["name"] for tool in request.tools] == ["add"]
    assert [call.origin for call in trace.tool_calls] == ["text", "text"]
    _, assistant, *results, answer = trace.messages
    assert [call["id"] for call in assistant["tool_calls"]] == [result["tool_call_id"] for result in results]
    assert ([result["content"] for result in results], answer["content"]) == (["3", "7"], "3 and 7.")
    assert (assistant["content"], call.reply.text) == ("Both.", said)


begins = st.from_regex(MARKS_OF["begin"]).map(lambda mark: mark.replace("\n", " "))


@given(st.text("ab .{[\n", max_size=8), begins, st.lists(st.sampled_from(MARKS), max_size=8).map("".join))
@settings(max_examples=300)
def test_a_text_with_the_begin_of_a_call_gives_a_call_or_a_note(before, mark, after):
    text = f"{before}{mark}{after}"
    assert read_calls(text) or Reply({"role": "assistant", "content": text}).notes


@pytest.mark.parametrize("family", FAMILIES)
def test_the_begin_of_each_family_is_in_the_table(family):
    said = family(TWO)
    if family not in (pythonic, json_list, json_lines, json_fences):
        assert MARKS_OF["begin"].search(said)
    thought = {"role": "assistant", "content": None, "reasoning_content": said}
    for message in (thought, {"role": "assistant", "content": f"<think>{said}"}):
        assert read_calls(message, text=True) == []
        assert "a thought holds a call of f" in " ".join(Reply(message).notes)


def test_calls_that_are_not_read_leave_a_note():
    def of(message, finish_reason="stop", raw=None):
        return " ".join(Reply({"role": "assistant", **message}, finish_reason, raw=raw).notes)

    native = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert "ended with" in of({"content": "Hm."}, "tool_calls")
    assert (
        of({"content": hermes(ONE)}, "tool_calls")
        == of({"content": None, "tool_calls": [native]}, "tool_calls")
        == ""
    )
    assert "beside the calls" in of({"content": hermes(ONE), "tool_calls": [native]}, "tool_calls")
    one, two = {"message": {"content": "Hi."}}, {"message": {"content": None, "tool_calls": [native]}}
    assert "choice 2" in of({"content": "Hi."}, raw={"choices": [one, two]})
    assert of({"content": "Hi."}, raw={"choices": [one, one]}) == ""
    parts = [{"type": "thinking", "thinking": hermes(ONE)}, {"type": "text", "text": "Hi."}]
    assert "a thought holds a call of f" in of({"content": parts})


sentences = st.from_regex(r"[A-Z][a-z]{1,8}( [a-z]{1,8}){0,4}[.:!]", fullmatch=True)
strays = st.lists(
    st.sampled_from(["{", "[", "{{", "[{", "```json\n", "```\n", "`", "<tool_call>\n", "<tools>", "\n"]),
    max_size=3,
).map("".join)


@pytest.mark.parametrize("family", FAMILIES)
@given(words=sentences | st.just(""), stray=strays)
@settings(max_examples=30)
def test_nothing_of_a_call_stays_in_what_goes_back(family, words, stray):
    text = f"{words}\n{stray}{family(TWO)}"
    for said in (text, f"{text}}}]\n```", f"{text}\n</tool_call>"):
        message = {"role": "assistant", "content": said}
        calls = read_calls(message, text=True)
        if family is pythonic and "```" in stray:
            continue  # in a fence, code that is no call may hold such a list
        assert calls
        sent = message_with_calls(message, calls, sent_natively=True)
        assert sent["content"] == words


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('{{"name": "f", "arguments": {"x": 1}}}', ""),
        ('Sure.\n```json\n{{"name": "f", "arguments": {}}}\n```', "Sure."),
        ('```json\nThis adds:\n{"name": "f", "arguments": {}}\n```', "This adds:"),
        ('{ "tool_calls": [{{"name": "f", "arguments": {}}', ""),
        ('<think>Hm.</think>\nSure.\n{"name": "f", "arguments": {}}', "<think>Hm.</think>\nSure."),
        ('<think>Hm.</think>\n{"name": "f", "arguments": {}}', "<think>Hm.</think>"),
        ('Use <b>f</b> {"name": "f", "arguments": {}}', "Use <b>f</b>"),
        ('In `code`: `{"name": "f", "arguments": {}}`', "In `code`:"),
    ],
)
def test_the_words_before_a_call_go_back_and_nothing_of_the_call(said, kept):
    assert before_calls(said, find_calls(said)) == kept


@pytest.mark.parametrize("name", ["qwen-tasks", "qwen-tasks-system", "qwen-sampled-seed5", "qwen-course-06"])
def test_no_recorded_call_leaves_a_mark_behind(name):
    recording = Recording(shipped()[name])
    answers = [recording.response(recording.key_of(body)) for body in recording.requests]
    texts = [answer["choices"][0]["message"]["content"] or "" for answer in answers]
    kept = [before_calls(text, calls) for text in texts if (calls := find_calls(text))]
    assert kept
    assert not [words for words in kept if set(words) & set("{}[]<>")]


def test_content_in_parts_is_read_as_its_text_and_other_parts_stay():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = [{"type": "text", "text": 'One. {"name": "f", '}, {"type": "text", "text": '"arguments": {}}'}]
    message = {"role": "assistant", "content": parts}
    calls = read_calls(message, text=True)
    assert [call.name for call in calls] == ["f"]
    assert message_with_calls(message, calls, sent_natively=True)["content"] == "One."
    seen = {"role": "assistant", "content": [image, *parts]}
    sent = message_with_calls(seen, calls, sent_natively=True)["content"]
    assert sent == [image, {"type": "text", "text": "One."}]


@pytest.mark.parametrize("kind", ["thinking", "reasoning"])
def test_a_part_that_is_only_thought_is_not_read(kind):
    parts = [{"type": kind, "text": '{"name": "f", "arguments": {}}'}, {"type": "text", "text": "Hello."}]
    message = {"role": "assistant", "content": parts}
    assert (read_calls(message, text=True), Reply(message).text) == ([], "Hello.")


def auto(*replies):
    """The trace of a walk whose calls are looked for in text as well."""
    return run("1 + 2?", [add], Scripted([*replies, "Done."]), calls="auto", envelope="plain")


def test_native_calls_win_and_a_call_in_text_of_a_tool_that_was_not_offered_is_a_call():
    native = {"id": "x", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 1}'}}
    both = {"role": "assistant", "content": json_lines([("add", {"a": 5, "b": 5})]), "tool_calls": [native]}
    trace = auto(both)
    assert [(call.origin, call.id) for call in trace.tool_calls] == [("native", "x")]
    assert trace.messages[1] == both
    trace = auto('{"name": "Bob", "arguments": {"age": 5}}')
    assert [(call.name, call.origin) for call in trace.tool_calls] == [("Bob", "text")]
    assert [error.code for error in trace.errors] == ["unknown_tool"]
    mixed = auto(json_lines([("Bob", {}), ("add", {"a": 1, "b": 2})]))
    assert [call.name for call in mixed.tool_calls] == ["Bob", "add"]
    assert [error.code for error in mixed.errors] == ["unknown_tool"]


def test_no_call_is_looked_for_where_none_is_allowed():
    said = json_lines([("add", {"a": 1, "b": 2})])
    trace = run("?", [add], Scripted([said]), calls="auto", tool_choice="none")
    assert (trace.tool_calls, trace.answer) == ([], said)


def test_a_message_with_broken_arguments_can_be_sent_again():
    """The template of Qwen in llama.cpp answers 500 to arguments that are not JSON."""
    trace = auto('```json\n{"name": "add", "arguments": {"a": 1,}}\n```')
    assert [error.code for error in trace.errors] == ["invalid_json"]
    (call,) = trace.messages[1]["tool_calls"]
    assert call["function"]["arguments"] == '{"a": 1,}'
    (sent,) = Request(trace.messages).body()["messages"][1]["tool_calls"]
    assert json.loads(sent["function"]["arguments"]) == {"_raw": '{"a": 1,}'}


def test_a_model_may_say_itself_that_its_calls_may_be_text():
    class Qwen(Scripted):
        calls = "auto"

    trace = run("1 + 2?", [add], Qwen([json_fences([("add", {"a": 1, "b": 2})]), "3."]))
    assert [call.origin for call in trace.tool_calls] == ["text"]
    assert trace.steps[1].record.tools


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@pytest.mark.parametrize("family", FAMILIES)
def test_several_calls_in_one_text_are_walked(family):
    said = "Both.\n" + family([("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})])
    trace = run("1 + 2, 3 + 4?", [add], Scripted([said, "3 and 7."]), calls="text", envelope="plain")
    assert [(call.slot, call.origin) for call in trace.tool_calls] == [(0, "text"), (1, "text")]
    _, assistant, *results, answer = trace.messages[-5:]
    assert [call["id"] for call in assistant["tool_calls"]] == [result["tool_call_id"] for result in results]
    assert [result["content"] for result in results] == ["3", "7"]
    assert (assistant["content"], answer["content"]) == (said, "3 and 7.")


def test_a_message_is_written_with_all_calls_of_its_text():
    message = {"role": "assistant", "content": hermes(TWO)}
    sent = message_with_calls(message, read_calls(message, text=True))
    assert [call["function"]["name"] for call in sent["tool_calls"]] == ["f", "g"]
    assert sent["content"] == message["content"]
