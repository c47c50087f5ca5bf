"""Can this model call tools? Seven probes, each with what was sent, what came, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from zoolab.errors import ModelError
from zoolab.jsontext import excerpt
from zoolab.loop.about import about
from zoolab.records import Message, Model, Reply, Request, ToolCall
from zoolab.steps.request import opening_messages
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_call
from zoolab.toolbox.starter import starter_tools
from zoolab.tools import ToolRegistry

#: Without these a model cannot serve in a loop of tool calls.
ESSENTIAL = ("calls", "arguments", "result")

_FAMILIES = (
    (r"gpt-4|gpt-5|gpt-oss|\bo[134]\b", "trained for tool calls; several at once"),
    (r"claude", "trained for tool calls; several at once"),
    (r"gemini", "trained for tool calls; ids may be missing"),
    (r"llama[-_ ]?3\.[1-9]|llama[-_ ]?4", "Llama 3.1 and later are trained for tool calls"),
    (r"llama", "Llama before 3.1 was not trained for tool calls"),
    (r"qwen[-_ ]?(2\.5|[3-9])", "Qwen 2.5 and later are trained for tool calls"),
    (r"command-?r", "Command R and R+ are trained for tool calls"),
    (r"mistral|mixtral", "the Instruct versions with function calling are trained for tool calls"),
    (r"needle", "chooses calls and nothing else: it never sees a result"),
    (r"smollm2", "its chat template drops tools: zoolab describes them in the prompt, and it fails often"),
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to a model, and how its reply is judged: None if it is well, else what is wrong."""

    name: str
    asks: str
    request: Request
    judge: Callable[[Reply, list[ToolCall]], str | None]
    advice: str


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What came of a probe."""

    name: str
    asks: str
    ok: bool
    verdict: str
    advice: str
    sent: dict[str, Any]
    #: The message that came; None where the model failed.
    came: Message | None


def examine(model: Model, also: Iterable[Probe] = ()) -> Iterator[ProbeResult]:
    """Put the seven probes to a model, one after the other, and then those of your own.

    >>> from zoolab import Scripted
    >>> results = list(examine(Scripted(lambda request: "Hello.")))
    >>> [result.name for result in results if result.ok]
    ['answers', 'abstains']
    """
    as_text = about(model).calls == "text"
    for probe in (*probes(as_text), *also):
        yield _examined(model, probe, as_text)


def can_call_tools(results: list[ProbeResult]) -> bool:
    """Whether a model that was examined so can serve in a loop of tool calls.

    >>> from zoolab import Scripted
    >>> can_call_tools(list(examine(Scripted(lambda request: "Hello."))))
    False
    """
    return all(result.ok for result in results if result.name in ESSENTIAL)


def what_is_known(model_name: str) -> str:
    """What is known of the family that a model's name belongs to.

    >>> what_is_known("Qwen2.5-7B-Instruct")
    'Qwen 2.5 and later are trained for tool calls'
    """
    name = model_name.lower()
    known = (text for pattern, text in _FAMILIES if re.search(pattern, name))
    return next(known, "nothing is known of this name: trust the probes")


def probes(as_text: bool = False) -> list[Probe]:
    """The seven probes; `as_text` describes the tools in the prompt.

    >>> [probe.name for probe in probes()]
    ['answers', 'calls', 'chooses', 'arguments', 'abstains', 'forced', 'result']
    """
    add, weather, three = starter_tools("add"), starter_tools("get_weather"), starter_tools(*_THREE)
    describe = "say in each description when to use the tool"
    return [
        Probe("answers", "does it answer at all?", _request("Say hello."), _text, "check the model's name"),
        Probe(
            "calls",
            "does it call the one tool that is needed?",
            _request("What is 42 + 58?", add, as_text),
            _calls("add"),
            "use a model that was trained for tool calls, or calls='text'",
        ),
        Probe(
            "chooses",
            "does it choose among three?",
            _request("Is nginx running?", three, as_text),
            _calls("check_status"),
            describe,
        ),
        Probe(
            "arguments",
            "do its arguments meet the schema?",
            _request("What is the weather in Paris in fahrenheit?", weather, as_text),
            _valid(weather),
            "give repair=, and keep schemas simple",
        ),
        Probe(
            "abstains",
            "does it leave tools alone when none is needed?",
            _request("Hello!", three, as_text),
            _no_call,
            "say in the system prompt that plain answers are welcome",
        ),
        Probe(
            "forced",
            "does it obey a forced tool_choice?",
            _request("What is 1 + 2?", starter_tools("ping", "add"), as_text, choice="ping"),
            _calls("ping"),
            "this endpoint ignores tool_choice: do not count on it",
        ),
        Probe(
            "result",
            "does it put a result into words?",
            Request(_with_result(), () if as_text else tuple(add.schemas())),
            _says("100"),
            "let another model write the answer, as LocalModel() does",
        ),
    ]


_THREE = ("add", "get_weather", "check_status")


def _examined(model: Model, probe: Probe, as_text: bool) -> ProbeResult:
    sent = probe.request.body()
    try:
        reply = model(probe.request)
        wrong = probe.judge(reply, read_calls(reply.message, text=as_text))
    except ModelError as error:
        return ProbeResult(
            probe.name, probe.asks, False, error.what, error.advice or probe.advice, sent, None
        )
    advice = "" if wrong is None else probe.advice
    return ProbeResult(probe.name, probe.asks, wrong is None, wrong or "yes", advice, sent, reply.message)


def _request(
    prompt: str, tools: ToolRegistry | None = None, as_text: bool = False, choice: str = "auto"
) -> Request:
    opening = opening_messages(prompt, text_tools=tools or () if as_text else ())
    offered = () if tools is None or as_text else tuple(tools.schemas())
    return Request(opening, offered, choice)


def _with_result() -> list[Message]:
    function = {"name": "add", "arguments": '{"a": 42, "b": 58}'}
    call = {"id": "call_1", "type": "function", "function": function}
    return [
        {"role": "user", "content": "What is 42 + 58?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "100"},
    ]


def _text(reply: Reply, _calls: list[ToolCall]) -> str | None:
    return None if reply.text.strip() else "no text came"


def _calls(name: str) -> Callable[[Reply, list[ToolCall]], str | None]:
    def judge(reply: Reply, calls: list[ToolCall]) -> str | None:
        if not calls:
            return f"no call came, but {excerpt(reply.text)}"
        return None if calls[0].name == name else f"it called {calls[0].name}, not {name}"

    return judge


def _valid(tools: ToolRegistry) -> Callable[[Reply, list[ToolCall]], str | None]:
    def judge(reply: Reply, calls: list[ToolCall]) -> str | None:
        if not calls:
            return f"no call came, but {excerpt(reply.text)}"
        problems = check_call(calls[0], tools).problems
        return "; ".join(problem.message for problem in problems) or None

    return judge


def _no_call(_reply: Reply, calls: list[ToolCall]) -> str | None:
    return f"it called {calls[0].name} all the same" if calls else None


def _says(text: str) -> Callable[[Reply, list[ToolCall]], str | None]:
    def judge(reply: Reply, calls: list[ToolCall]) -> str | None:
        if calls:
            return f"it called {calls[0].name} again"
        return None if text in reply.text else f"it said {excerpt(reply.text)}"

    return judge
