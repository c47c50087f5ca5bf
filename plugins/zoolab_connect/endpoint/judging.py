"""The verdict on a program: what it did with the replies, seen from its requests alone.

Each tool of the data set returns a text that says that it ran and with which arguments, such as
`ran get_weather(city=Oslo, days=1)`. So the requests that follow say what ran, whatever form they have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from zoolab_connect.endpoint.cases import Body
from zoolab_connect.endpoint.playing import Play
from zoolab_connect.endpoint.reading import texts_within

#: The results, the worst one first, each with its sign and what it means.
RESULTS: Mapping[str, tuple[str, str]] = {
    "ran_a_cut_call": ("!", "a call ran that was not whole, or was only thought"),
    "sent_back_what_strict_servers_refuse": ("x", "a request would be an HTTP error 400"),
    "lost_a_field": ("x", "a call, a text or a field of a reply is missing, or was changed"),
    "took_a_failed_end_for_an_answer": ("x", "the program ended well with a reply that is not an answer"),
    "gave_up": ("x", "the program stopped before the end, or never asked"),
    "did_right": ("+", "the program did what a client must do"),
}
_RAN = re.compile(r"ran (\w{1,64})\(([^()]{0,500})\)")


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What a program did with one case."""

    case: str
    api: str
    #: One of `RESULTS`.
    result: str
    #: What it is about, in words.
    why: str
    requests: int
    #: Whether the last reply was streamed.
    streamed: bool

    @property
    def ok(self) -> bool:
        """Whether the program did right."""
        return self.result == "did_right"

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        told = f" ({self.why})" if self.why else ""
        return f"{RESULTS[self.result][0]} {self.case}: {self.result.replace('_', ' ')}{told}"


def judge(play: Play, ended_well: bool | None = None) -> CaseVerdict:
    """Return the verdict on a conversation.

    Args:
        play: The conversation.
        ended_well: Whether the program says that it has an answer; None if it does not say.
    """
    result, why = _result(play, ended_well)
    return CaseVerdict(play.case.id, play.case.api, result, why, len(play.requests), play.streamed)


def _result(play: Play, ended_well: bool | None) -> tuple[str, str]:
    case = play.case
    ran = calls_that_ran(play.requests)
    forbidden = [call for call in ran if any(_is(call, each) for each in case.must_not_run)]
    if forbidden:
        return "ran_a_cut_call", forbidden[0]
    if play.refused:
        return "sent_back_what_strict_servers_refuse", play.refused[0]
    if play.lost:
        return "lost_a_field", f"missing: {play.lost[0]}"
    missing = [marker(each) for each in case.must_run if marker(each) not in ran]
    if missing and (play.given > 1 or ended_well):
        return "lost_a_field", f"{missing[0]} did not run"
    return _ending(play, ended_well)


def _ending(play: Play, ended_well: bool | None) -> tuple[str, str]:
    if not play.requests:
        strays = f"; asked at {play.strays[0]}" if play.strays else ""
        return "gave_up", f"no request came{strays}"
    if not play.heard:
        what = f"after {play.rejected[-1]} was rejected" if play.rejected else "after a refusal"
        return "gave_up", what
    if play.last_end == "calls":
        return "gave_up", "the results of the last calls did not come"
    if play.last_end == "answered":
        return ("gave_up", "it failed with the answer") if ended_well is False else ("did_right", "")
    if ended_well:
        return "took_a_failed_end_for_an_answer", f"the last reply was {play.last_end}"
    return "did_right", ""


def calls_that_ran(requests: list[Body]) -> Counter[str]:
    """Return the calls that ran, as the results in the requests tell; a call that ran twice counts twice.

    The tools that a request offers may say what they return; that is no result.

    >>> calls_that_ran([{"messages": [{"role": "tool", "content": "ran get_time()"}]}])
    Counter({'get_time()': 1})
    """
    most = Counter[str]()
    for body in requests:
        said = {key: value for key, value in body.items() if key != "tools"}
        found = Counter(f"{name}({rest})" for text in texts_within(said) for name, rest in _RAN.findall(text))
        most |= found
    return most


def marker(call: Body) -> str:
    """Return a call as its result tells it.

    >>> marker({"name": "get_weather", "arguments": {"city": "Oslo", "days": 1}})
    'get_weather(city=Oslo, days=1)'
    """
    told = ", ".join(f"{name}={value}" for name, value in call["arguments"].items())
    return f"{call['name']}({told})"


def _is(ran: str, call: Body) -> bool:
    """Return whether a call that ran is one of these: of that tool, with those arguments if they are
    given.
    """
    return ran == marker(call) if "arguments" in call else ran.startswith(f"{call['name']}(")
