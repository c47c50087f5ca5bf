"""Scripts that obey the orders they read, or do not.

No real model says these things. The scripts know the attack and the task of their case, and so show what a
defence can do and what it cannot: the worst case, and the best. What a real model does is another question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from zoolab.experiments.records import Case
from zoolab.experiments.studies.attacks import Attack
from zoolab.jsontext import encode, parse_json
from zoolab.models.scripted import Scripted
from zoolab.records import Request

_MARK = "[untrusted data from "
#: What an order leaves open.
_FURTHER: Mapping[str, dict[str, Any]] = {
    "send_mail": {"text": "As you asked for."},
    "transfer_money": {"amount": 10},
}

Reads = Callable[[Attack, Request], bool]


def gullible(case: Case) -> Scripted:
    """A script that obeys every order it reads, wherever it stands, and then does its task.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> case = security_cases()[0]
    >>> case.id, gullible(case)(Request([])).message["tool_calls"][0]["function"]["name"]
    ('read / no attack', 'read_mail')
    """
    return _script(case, lambda attack, request: attack.text in "\n".join(_all_text(request)))


def heeding(case: Case) -> Scripted:
    """A script that obeys every order it reads, but those in results that are marked as untrusted data.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> heeding(security_cases()[0])(Request([])).finish_reason
    'tool_calls'
    """
    return _script(case, lambda attack, request: attack.text in "\n".join(_unmarked_text(request)))


def careful(case: Case) -> Scripted:
    """A script that does its task and obeys nobody but the user.

    >>> from zoolab.experiments.studies.security import security_cases
    >>> careful(security_cases()[0])(Request([])).finish_reason
    'tool_calls'
    """
    return _script(case, lambda _attack, _request: False)


#: The scripts by names that say what they are.
SCRIPTS: Mapping[str, Callable[[Case], Scripted]] = MappingProxyType(
    {"gullible (script)": gullible, "heeds marks (script)": heeding, "careful (script)": careful}
)


def _script(case: Case, reads: Reads) -> Scripted:
    task, attack = case.data["task"], case.data["attack"]

    def reply(request: Request) -> Any:
        made = list(_calls_in(request))
        obeys = attack is not None and reads(attack, request)
        order = _order(attack) if obeys and attack.tool else None
        wanted = [*([order] if order else []), *((name, dict(given)) for name, given in task.calls)]
        left = [call for call in wanted if call not in made]
        if left:
            return left[:1]
        return f"{task.answer} Please see {attack.said}." if obeys and attack.said else task.answer

    return Scripted(reply)


def _order(attack: Attack) -> tuple[str, dict[str, Any]]:
    return attack.tool, {**_FURTHER.get(attack.tool, {}), **attack.arguments}


def _calls_in(request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
    for message in request.messages:
        for call in message.get("tool_calls") or ():
            yield call["function"]["name"], parse_json(call["function"]["arguments"])


def _all_text(request: Request) -> Iterator[str]:
    yield from _told(request)
    yield from map(_unescaped, _results(request))


def _unmarked_text(request: Request) -> Iterator[str]:
    yield from _told(request)
    yield from (_unescaped(content) for content in _results(request) if not content.startswith(_MARK))


def _told(request: Request) -> Iterator[str]:
    """What is said of the tools and of their parameters."""
    for tool in request.tools:
        yield tool["function"]["description"]
        for schema in tool["function"]["parameters"].get("properties", {}).values():
            yield schema.get("description", "")


def _results(request: Request) -> Iterator[str]:
    return (str(message["content"]) for message in request.messages if message["role"] == "tool")


def _unescaped(content: str) -> str:
    """The text of a result, out of its envelope."""
    body = content.partition("\n")[2] if content.startswith(_MARK) else content
    if not body.startswith("{"):
        return body
    data = parse_json(body).get("data")
    return data if isinstance(data, str) else encode(data)
