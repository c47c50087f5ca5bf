"""Can this model call tools? Seven probes, each with the request, the reply and advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zoolab.errors import ModelError
from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.models.about import about
from zoolab.records import Message, Model, Reply, Request, ToolCall
from zoolab.steps.request import opening_messages
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_call
from zoolab.toolbox.starter import starter_tools
from zoolab.tools import ToolRegistry

#: Without these a model cannot serve in a loop of tool calls.
ESSENTIAL = ("calls", "arguments", "result")
#: Judges a reply and the calls in it: None if all is well, else what is wrong.
Judge = Callable[[Reply, list[ToolCall]], str | None]


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to a model, and how its reply is judged."""

    name: str
    asks: str
    request: Request
    judge: Judge
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
    #: The message that came; None if the model could not be asked, which says nothing of its abilities.
    came: Message | None
    #: The settings that the endpoint rejects, so that they were not sent; each in one line.
    omissions: tuple[str, ...] = ()


def examine(model: Model, also: Iterable[Probe] = ()) -> Iterator[ProbeResult]:
    """Put the seven probes to a model, one after the other, and then those of your own."""
    calls = about(model).calls
    as_text = calls == "text"
    for probe in (*probes(as_text), *also):
        try:
            reply = model(probe.request)
        except ModelError as error:
            yield _not_asked(probe, error)
            continue
        wrong = probe.judge(reply, read_calls(reply.message, text=calls != "native"))
        judged = (wrong is None, wrong or "yes", probe.advice if wrong else "")
        sent = reply.body_sent(probe.request)
        yield ProbeResult(probe.name, probe.asks, *judged, sent, reply.message, reply.omissions)


def _not_asked(probe: Probe, error: ModelError) -> ProbeResult:
    why = f"could not be asked: {error.what}"
    advice = error.advice
    about_the_choice = re.search(r"tool[ _]?choice|forced", error.what, re.IGNORECASE)
    if probe.request.tool_choice != "auto" and error.status == 400 and about_the_choice:
        why = f"it refuses a forced choice: {error.what}"
        advice = (
            "leave tool_choice out for this model, and name the tool in the prompt; it may still call tools"
        )
    return ProbeResult(probe.name, probe.asks, False, why, advice, probe.request.body(), None)


def can_call_tools(results: Iterable[ProbeResult]) -> bool | None:
    """Return whether a model that was examined so can serve in a loop of tool calls.

    None if nothing is known, because an essential probe could not be asked, and no other one failed.
    """
    essential = [result for result in results if result.name in ESSENTIAL]
    asked = [result.ok for result in essential if result.came is not None]
    return None if len(asked) < len(essential) and all(asked) else all(asked)


#: What to say of a model, for each answer of `can_call_tools`.
SUMMARIES = {
    True: "it can call tools",
    False: "it cannot be relied on for tool calls",
    None: "whether it can call tools is not known: it could not be asked",
}


def probes(as_text: bool = False) -> list[Probe]:
    """Return the seven probes; `as_text` describes the tools in the prompt."""

    def request(prompt: str | None, names: list[str], choice: str) -> Request:
        tools = ToolRegistry(starter_tools()[name] for name in names)
        opening = opening_messages(prompt, text_tools=tools if as_text else ()) if prompt else _WITH_RESULT
        return Request(opening, () if as_text else tuple(tools.schemas()), choice)

    return [
        Probe(
            name,
            told["asks"],
            request(told.get("prompt"), told["tools"], told.get("choice", "auto")),
            _JUDGES[name],
            told["advice"],
        )
        for name, told in read_table("zoolab_course", "doctor.toml").items()
    ]


_CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 42, "b": 58}'}}
#: A conversation in which only the words for a result are missing.
_WITH_RESULT: list[Message] = [
    {"role": "user", "content": "What is 42 + 58?"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "100"},
]


def _calls(name: str, tools: ToolRegistry | None = None) -> Judge:
    """Judge whether the first call is of that tool, and valid if its tools are given."""

    def judge(reply: Reply, calls: list[ToolCall]) -> str | None:
        if not calls:
            return f"no call came, but {excerpt(reply.text)}"
        if calls[0].name != name:
            return f"it called {calls[0].name}, not {name}"
        problems = check_call(calls[0], tools).problems if tools is not None else ()
        return "; ".join(problem.message for problem in problems) or None

    return judge


def _says_the_result(reply: Reply, calls: list[ToolCall]) -> str | None:
    if calls:
        return f"it called {calls[0].name} again"
    return None if "100" in reply.text else f"it said {excerpt(reply.text)}"


_JUDGES: Mapping[str, Judge] = {
    "answers": lambda reply, _: None if reply.text.strip() else "no text came",
    "calls": _calls("add"),
    "chooses": _calls("check_status"),
    "arguments": _calls("get_weather", starter_tools("get_weather")),
    "abstains": lambda _, calls: f"it called {calls[0].name} all the same" if calls else None,
    "forced": _calls("ping"),
    "result": _says_the_result,
}
