"""`zoolab.mini` beside `zoolab.walk`: the same steps, and the same `messages[]` to the letter."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labs.l9.right import own_loop
from zoolab import Limits, Policy, Reply, Request, Tool, mini, tool, walk
from zoolab.errors import ToolLoopLimitReached, ToolRetriesExhausted, ZoolabError
from zoolab.messages.outgoing import sendable_name
from zoolab.models.recording import Recording, shipped
from zoolab.steps.tool_call import message_with_calls, read_calls
from zoolab.toolbox.catalog import tools_defined

Message = dict[str, Any]
Said = tuple[Message, str | None]
#: Makes the tools anew, because they may change a world.
Kit = Callable[[], Sequence[Tool]]
#: Since Python 3.13 its parser has words of its own for a trailing comma. `mini` passes them on.
HAS_OWN_WORDS, TRAILING_COMMA = sys.version_info >= (3, 13), re.compile(r",[\s\\n]*[}\]]")
QUESTION = [{"role": "user", "content": "What is the sum?"}]


class ScriptEnded(ZoolabError):
    """The model of a test has nothing more to say."""


class Seen:
    """What a loop did: its steps with `messages[]`, what it sent, and how it ended."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int | None, str]] = []
        self.sent: list[str] = []
        self.end = ""

    def step(self, step: Any) -> None:
        self.steps.append((step.kind, step.turn, step.slot, json.dumps(list(step.messages))))

    def facts(self) -> tuple[Any, ...]:
        return self.steps, self.sent, self.end


def kind_of(error: str) -> str:
    """What an error says, without which tool failed: of two, each loop may name another."""
    return "".join(error.partition(" failed ")[1:]) or error.partition(";")[0]


def scripted(script: Sequence[Said], reply: Callable[..., Any]) -> Callable[[Any], Any]:
    left = iter(script)

    def model(_request: Any) -> Any:
        said = next(left, None)
        if said is None:
            raise ScriptEnded("the script has ended")
        return reply(*said)

    return model


def by_walk(messages: list[Message], kit: Kit, script: Sequence[Said], **limits: int) -> Seen:
    seen = Seen()
    steps = walk(
        None,
        kit(),
        scripted(script, Reply),
        messages=messages,
        envelope="plain",
        parallel=False,
        policy=Policy(ask=()),
        limits=Limits(calls_per_turn=100, **limits),
        calls="native",
    )
    try:
        for step in steps:
            seen.step(step)
            if isinstance(step.record, Request):
                seen.sent.append(json.dumps(step.record.body()["messages"]))
        seen.end = json.dumps(list(steps.messages or ()))
    except (ToolLoopLimitReached, ToolRetriesExhausted, ScriptEnded) as error:
        seen.end = kind_of(error.what)
    return seen


def named(message: Message) -> Message:
    """A message with the names of calls that servers take: `mini` sends them as they came."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "name": sendable_name(call["function"]["name"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def by_mini(
    messages: list[Message],
    kit: Kit,
    script: Sequence[Said],
    loop: ModuleType = mini,
    **limits: int,
) -> Seen:
    seen = Seen()
    tools = [loop.Tool(each.name, each.description, each.parameters, each.function) for each in kit()]
    steps = loop.walk(messages, tools, scripted(script, loop.Reply), **limits)
    try:
        while True:
            step = next(steps)
            seen.step(step)
            if isinstance(step.record, loop.Request):
                seen.sent.append(json.dumps([named(message) for message in step.record.messages]))
    except StopIteration as end:
        seen.end = json.dumps(end.value)
    except (RuntimeError, ScriptEnded) as error:
        seen.end = kind_of(str(error))
    return seen


def agree(messages: list[Message], kit: Kit, script: Sequence[Said], **limits: int) -> Seen:
    wanted = by_walk(messages, kit, script, **limits)
    if not (HAS_OWN_WORDS and TRAILING_COMMA.search(json.dumps(script))):
        assert by_mini(messages, kit, script, **limits).facts() == wanted.facts()
    return wanted


# The recordings


def plain(tool: Tool) -> Tool:
    """The tool without risk, types of its own and zoolab's errors, which mini does not know."""

    def run(**arguments: Any) -> Any:
        try:
            return tool.invoke(arguments)
        except ZoolabError as error:
            raise LookupError(str(error)) from None

    return Tool(tool.name, tool.description, tool.parameters, run)


def kit_of(body: dict[str, Any]) -> Kit:
    """The tools that a recorded request offers; those that the toolbox does not have do nothing."""
    asked = body.get("tools", [])

    def kit() -> list[Tool]:
        known = {each.name: plain(each) for each in tools_defined(asked)}
        functions = [each["function"] for each in asked]
        return [known.get(each["name"]) or idle(**each) for each in functions]

    return kit


def idle(name: str, description: str, parameters: dict[str, Any], **_: Any) -> Tool:
    return Tool(name, description, parameters, lambda **_: "done")


def recorded(name: str, part: slice) -> Iterator[Seen]:
    """Play recorded requests: what the model had said before, and its answer, calls in text as others."""
    recording = Recording(name)
    for body in recording.requests[part]:
        messages = body["messages"]
        answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        script = [(messages[at], "tool_calls") for at in answers]
        choice = (recording.response(recording.key_of(body)) or {})["choices"][0]
        message, kit = choice["message"], kit_of(body)
        schemas = {each.name: each.parameters for each in kit()}
        calls = read_calls(message, text=recording.header.calls != "native", tools=schemas)
        if calls and not message.get("tool_calls"):
            message = message_with_calls(message, calls, sent_natively=True)
        if "<think>" in str(message.get("content")):
            continue  # mini takes a thought for an answer
        script.append((message, choice["finish_reason"]))
        yield agree(messages[: min(answers, default=len(messages))], kit, script)


@pytest.mark.parametrize("name", shipped())
def test_a_sample_of_every_recording(name: str) -> None:
    assert list(recorded(name, slice(None, None, 40)))


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_conversation_of_every_recording(name: str) -> None:
    assert list(recorded(name, slice(None)))


# Lab 9


def kit_of_lab_9() -> list[Tool]:
    """The tools of the lab: each returns always the same, or raises."""

    def runs(does: dict[str, Any]) -> Callable[..., Any]:
        def run(**_: Any) -> Any:
            if "raises" in does:
                raise RuntimeError(does["raises"])
            return does["returns"]

        return run

    schema = {"type": "object"}
    return [Tool(name, "", schema, runs(does)) for name, does in own_loop.KIT.items()]


@pytest.mark.parametrize("number", range(len(list(own_loop.scenarios()))))
def test_the_scripts_of_lab_9(number: int) -> None:
    messages, limit = list(own_loop.scenarios())[number]
    script = [(message, None) for message in messages]
    for retries in (0, 2, 30):
        agree(own_loop.START, kit_of_lab_9, script, turns=limit, retries=retries)


# Drawn scripts


def kit_of_sums() -> list[Tool]:
    def add(a: int, b: int = 0) -> int:
        return a + b

    def pick(word: str, case: str = "lower", tags: list[Any] | None = None) -> Any:
        return {"word": word, "case": case, "tags": tags or []}

    def fail(why: str = "") -> None:
        raise (SystemExit if why == "leave" else ValueError)(why)

    schemas: dict[str, Any] = {
        "add": {"a": {"type": "integer", "minimum": 0}, "b": {"type": ["integer", "null"]}},
        "pick": {
            "word": {"type": "string", "maxLength": 5},
            "case": {"enum": ["lower", "upper"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "fail": {"why": {"type": "string"}},
    }
    required = {"add": ["a", "b"], "pick": ["word"], "fail": list[str]()}
    return [
        Tool(
            each.__name__,
            "",
            {
                "type": "object",
                "properties": schemas[each.__name__],
                "required": required[each.__name__],
                "additionalProperties": False,
            },
            each,
        )
        for each in (add, pick, fail)
    ]


LETTERS = st.text(st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="\x7f"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.just(0.5) | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=5,
)
GOOD = st.sampled_from(
    ['{"a":1,"b":2}', '{"a": 1, "b": null}', '{"word": "Oslo"}', '{"why": "leave"}', "{}", "", " \n"]
)
KEYS = st.sampled_from(["a", "b", "word", "case", "tags", "why", "x"])
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3).map(json.dumps)
BROKEN = st.sampled_from(
    ["{", '{"a": 1', "{'a': 1}", "[1]", "null", '{"a": 1} {}', '{"a": 1}\n\n "b"', '{"a": 1, "a": 2}', "so"]
)
CALLS = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["add", "add", "pick", "fail", "fail", "ad", "", "Zürich"]),
                "arguments": GOOD | OBJECTS | BROKEN,
            }
        )
    },
    optional={
        "id": st.sampled_from(["c1", "c2", "c3", "call00002", ""]),
        "type": st.just("function"),
        "index": st.integers(0, 3),
    },
)
CONTENT = st.none() | st.sampled_from(["", "  ", "Hello", "It is 3."])
ENDS = st.sampled_from([None, "stop", "tool_calls", "length", "content_filter", "error"])
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant")},
    optional={"content": CONTENT, "tool_calls": st.lists(CALLS, max_size=4)},
)
SCRIPTS = st.lists(st.tuples(MESSAGES, ENDS), max_size=7)


def asks(*arguments: Any, name: str = "add") -> Message:
    calls = [{"function": {"name": name, "arguments": text}} for text in arguments]
    return {"role": "assistant", "content": None, "tool_calls": calls}


FAILED: Said = ({"role": "assistant", "content": "So"}, "error")
ANSWER: Said = ({"role": "assistant", "content": "It is 3.", "tool_calls": []}, "stop")
GOOD_CALL: Said = (asks('{"a": 1, "b": 2}'), "tool_calls")
TELLING: list[list[Said]] = [
    [(asks('{"a": 1}', "{'a': 1}", '{"a": 1, "b": 2}', ""), "tool_calls"), ANSWER],
    [(asks('{"a": 1, "b": 2}', '{"a": 1, "b": 2}'), "length"), ANSWER],
    [(asks("{", name="ad"), None), (asks("{", name="at"), None), (asks("{", name="it"), None), ANSWER],
    [(asks("{", "["), None), GOOD_CALL, (asks("{"), None), (asks("{"), None), ANSWER],
    [(asks('{"word": "longest", "x": 1, "tags": [1]}', name="pick"), None), ANSWER],
    [(asks("{}", '{"why": "leave"}', '{"why": "so"}', name="fail"), None), ANSWER],
    [(asks('{"a": 1, "b": 2, "a": 3}', '{"a": 1, "b": 2} {}'), None), ANSWER],
    [FAILED, FAILED, FAILED, ANSWER],
    [FAILED, GOOD_CALL, ({"role": "assistant", "content": " "}, "stop"), ANSWER],
    [GOOD_CALL] * 6,
    [*[GOOD_CALL] * 4, FAILED, ANSWER],
    [({"role": "assistant", "content": [{"type": "text", "text": "It is 3."}]}, "stop")],
    [({"role": "assistant", "content": [{"type": "text", "text": " "}]}, "stop")],
    [({**GOOD_CALL[0], "content": [{"type": "text", "text": "So"}]}, None), ANSWER],
    [(asks('{"a": {"\\u00a0": "\\u001b"}}', '{"a": "\x85", "b"\u2028: 1}'), None), ANSWER],
    *(
        [(asks(arguments), None), ANSWER]
        for arguments in ({"a": 1, "b": 2}, {}, [1], 7, None, '{"a":NaN,"b":1}', '{"a":1E400}', "-Infinity")
    ),
]
PARTS = [{"type": "text", "text": "Hi"}]
PAST: list[Message] = [
    {"role": "user", "content": PARTS},
    {"role": "assistant", "content": PARTS},
    {"role": "user", "content": "And now?"},
    asks({"a": 1, "b": 2}),
    {"role": "tool", "tool_call_id": "c1", "content": "3"},
]
PAST[3]["tool_calls"][0] |= {"id": "c1", "type": "function"}


@settings(max_examples=60)
@given(SCRIPTS, st.integers(1, 6), st.integers(0, 3))
@example(TELLING[0], 5, 2)
def test_drawn_scripts(script: list[Said], turns: int, retries: int) -> None:
    agree(QUESTION, kit_of_sums, script, turns=turns, retries=retries)


@pytest.mark.parametrize("script", TELLING)
def test_telling_scripts(script: list[Said]) -> None:
    agree(QUESTION, kit_of_sums, script)


def test_a_conversation_of_another_program_goes_on() -> None:
    agree(PAST, kit_of_sums, [GOOD_CALL, ANSWER])


def test_a_conversation_goes_on_with_ids_of_its_own() -> None:
    before, answered = {**asks("{}"), "content": ""}, {"role": "tool", "content": "3", "tool_call_id": "c1"}
    before["tool_calls"][0] |= {"id": "c1", "type": "function"}
    system = {"role": "system", "content": "Be brief."}
    agree(
        [system, *QUESTION, before, answered, {"role": "user", "content": "Go on."}], kit_of_sums, TELLING[0]
    )


# What the differential notices

#: Small changes of mini, each as the text before and after.
MUTANTS = {
    "no retries counted": ("failures[name] += 1", "failures[name] += 0"),
    "one retry more": ("failures[name] > retries", "failures[name] > retries + 1"),
    "retries of each unknown name": ('name if name in known else "no tool"', "name"),
    "a failed reply is an answer": ('reply.finish_reason != "error" or', "True or"),
    "failed replies without end": (' or failures["all replies"] > retries', ""),
    "asks at the last turn": (" or turn == turns", ""),
    "an empty reply is kept": ("            if says_something(reply.message):\n", "            if True:\n"),
    "an empty list of calls is kept": (' if k != "tool_calls"', ""),
    "a cut call runs": ("if end in CUT:", "if False:"),
    "every call of a cut reply is refused": (" if call is calls[-1] else None\n", "\n"),
    "ids repeat": ("ids.add(own)", "pass"),
    "broken arguments become {}": ("problems = [str(error)]", "arguments, problems = {}, []"),
    "broken arguments are sent": ('text = encode({"_raw": text}) if as_text(text).strip() else "{}"', "pass"),
    "no schema": ("problems = problems_of(", "problems = [] and problems_of("),
    "an exit ends the walk": ("except (Exception, SystemExit)", "except Exception"),
    "the last of two equal keys wins": ("if times > 1:", "if times > 2:"),
    "text as JSON": ("value if isinstance(value, str) else encode(value)", "encode(value)"),
    "the reply after its calls": ("if call is calls[-1]:", "if call is calls[0]:"),
    "errors as answers": ('f"ERROR: {outcome.error}"', "str(outcome.error)"),
    "one turn more": ("range(1, turns + 1)", "range(1, turns + 2)"),
}


def changed(before: str, after: str) -> ModuleType:
    source = inspect.getsource(mini)
    assert source.count(before) == 1, before
    module = ModuleType("changed_mini")
    sys.modules[module.__name__] = module
    exec(source.replace(before, after), vars(module))
    return module


@pytest.mark.parametrize("name", MUTANTS)
def test_a_changed_copy_is_noticed(name: str) -> None:
    loop = changed(*MUTANTS[name])
    odd = [(script, QUESTION, kit_of_sums, {}) for script in TELLING]
    lab = [
        (
            [(message, None) for message in messages],
            own_loop.START,
            kit_of_lab_9,
            {"turns": limit, "retries": 30},
        )
        for messages, limit in own_loop.scenarios()
    ]
    for script, messages, kit, limits in odd + lab:
        wanted = by_walk(messages, kit, script, **limits).facts()
        try:
            found = by_mini(messages, kit, script, loop, **limits).facts()
        except (Exception, SystemExit):
            return
        if found != wanted:
            return
    pytest.fail("no script tells it from the right one")


# The file


def test_it_is_small_and_stands_alone() -> None:
    source = inspect.getsource(mini)
    assert len(source.splitlines()) <= 300
    assert max(map(len, source.splitlines())) <= 100
    named = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert named <= {*sys.stdlib_module_names, "jsonschema"}


def test_it_describes_a_plain_function_as_zoolab_does() -> None:
    def greet(name: str, times: int = 2, loud: bool = False, pause: float = 0.5) -> str:
        """Greet somebody.

        And again.
        """
        return f"{name * times}{loud}{pause}"

    ours, theirs = mini.define(greet), tool(greet)
    described = (theirs.name, theirs.description, theirs.parameters)
    assert (ours.name, ours.description, ours.parameters) == described
    assert json.dumps(ours.parameters) == json.dumps(theirs.parameters)


def test_hints_that_it_does_not_know_are_refused_with_their_parameters() -> None:
    def find(words: list[str], most: int | None, where, exact: bool = True) -> str:  # type: ignore
        """Find."""
        return f"{words}{most}{where}{exact}"

    said = "hints of find: expected str, int, float or bool, received ['words', 'most', 'where']"
    with pytest.raises(TypeError, match=re.escape(said)):
        mini.define(find)


def test_two_tools_of_one_name_are_refused() -> None:
    one, two, _ = kit_of_sums()
    tools = [mini.Tool("add", each.description, each.parameters, print) for each in (one, two)]
    with pytest.raises(ValueError, match="two tools have one name: add, add"):
        next(mini.walk([], tools, lambda _: {}))
