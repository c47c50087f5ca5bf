"""What a program did with its conversation, request by request, for a reader: in a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import read_shipped
from zoolab.jsontext import excerpt, visible
from zoolab.proxy.changes import Edit, RequestChange, changes_between, differing, text_of
from zoolab.records import Message, Request
from zoolab.secrets import scrub
from zoolab.show.markup import Html, block, clipped, folded, join, tag
from zoolab.show.wording import calls_of, common_ends, content_of, count, differences, listed
from zoolab.tokens import CHARACTERS_A_TOKEN
from zoolab.trace.diagnosis import Diagnosis, diagnose
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import brief
from zoolab.wire.pairing import check_conversation

#: How many requests are shown, and how many findings of a kind in each of them.
MAX_REQUESTS, MAX_SHOWN = 100, 8


@dataclass(frozen=True, slots=True)
class Report:
    """What a program did with its requests; `changes[i]` is the change from `requests[i]` to the next one."""

    requests: tuple[Request, ...]
    changes: tuple[RequestChange, ...]
    #: For each request, what an endpoint would refuse it for, and why calls of its reply may not run.
    problems: tuple[tuple[str, ...], ...]
    diagnoses: tuple[Diagnosis, ...]

    def _parts(self) -> list[tuple[str, list[str], tuple[Edit, ...]]]:
        """Titles, with the lines and the edited messages below each: bounded, and without secrets."""
        parts: list[tuple[str, list[str], tuple[Edit, ...]]] = []
        changes = (None, *self.changes)
        for number, (request, change) in enumerate(zip(self.requests, changes, strict=False), 1):
            told = [_sent(request)] if change is None else _told(change, request)
            wrong = _some("! ", self.problems[number - 1])
            edits = change.edited[:MAX_SHOWN] if change else ()
            parts.append((f"request {number}", _safe(told + wrong), edits))
            if number == MAX_REQUESTS < len(self.requests):
                more = count(len(self.requests) - number, "more request")
                parts.append((f"{more} in .requests", [], ()))
                break
        found = (f"{each.code}: {each.what}; {'; '.join(each.evidence[:3])}" for each in self.diagnoses)
        whole = _some("! ", found)
        return [*parts, ("the whole conversation", _safe(whole), ())] if whole else parts

    def __str__(self) -> str:
        return "\n".join("\n  ".join([title, *lines]) for title, lines, _ in self._parts())

    def _repr_html_(self) -> str:
        sections = []
        for title, lines, edits in self._parts():
            shown = [folded(f"messages[{edit.place}], old and new", _difference(edit)) for edit in edits]
            items = tag("ul", *(tag("li", line) for line in lines))
            sections.append(tag("section", tag("h3", title, class_="jp-toc-ignore"), items, *shown))
        style = tag("style", Html(read_shipped("zoolab.show", "wires.css")))
        return str(join(style, tag("div", *sections, class_="zoolab-wires")))


def what_changed(trace: TraceLog) -> Report:
    """What the program behind a trace did with `messages[]`, tools and settings from request to request.

    Also what an endpoint would refuse each request for, and which calls may not run.

    Raises:
        InvalidInput: That is not a trace.

    >>> from zoolab import Scripted, run, tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> model = Scripted([[("add", {"a": 42, "b": 58})], "100"])
    >>> print(what_changed(run("42 + 58?", [add], model, envelope="plain")))
    request 1
      1 message and 1 tool: 257 characters, about 64 tokens
    request 2
      + result of add: "100"
      the reply went back as it came; tools and settings are the same
      a cache may keep 257 of the 441 characters of the prompt (about 64 of 110 tokens)
    """
    if not isinstance(trace, TraceLog):
        raise InvalidInput(f"found {excerpt(trace)}", expected="a Trace")
    requests = tuple(turn.request for turn in trace.turns)
    return Report(requests, (*changes_of(trace),), (*problems_of(trace),), (*diagnose(trace),))


def changes_of(trace: TraceLog) -> list[RequestChange]:
    """What changed from each request of a trace to the next one."""
    return [
        changes_between(before.request, before.reply.message if before.reply else None, after.request)
        for before, after in pairwise(trace.turns)
    ]


def problems_of(trace: TraceLog) -> list[tuple[str, ...]]:
    """For each request, what an endpoint would refuse it for, and why calls of its reply may not run."""
    found = []
    for turn in trace.turns:
        judged = [(call.call.name, call.verdict) for call in turn.calls.values()]
        refused = [(name, problem) for name, verdict in judged if verdict for problem in verdict.problems]
        sent = [str(problem) for problem in check_conversation(turn.request.messages)]
        found.append((*sent, *(f"the call of {excerpt(name)}: {problem}" for name, problem in refused)))
    return found


def _safe(lines: Iterable[str]) -> list[str]:
    return [visible(scrub(clipped(" ".join(line.split()), 400))) for line in lines]


def _some(sign: str, lines: Iterable[str]) -> list[str]:
    """The first lines, and how many more there are."""
    given = [*lines]
    more = [f"{sign}and {len(given) - MAX_SHOWN:,} more"] if len(given) > MAX_SHOWN else []
    return [f"{sign}{line}" for line in given[:MAX_SHOWN]] + more


def _sent(request: Request) -> str:
    length = sum(len(text_of(each)) for each in (*request.tools, *request.prefix))
    sent = f"{count(len(request.prefix), 'message')} and {count(len(request.tools), 'tool')}"
    return f"{sent}: {length:,} characters, about {length // CHARACTERS_A_TOKEN:,} tokens"


def _told(change: RequestChange, request: Request) -> list[str]:
    names = {id: name for message in request.prefix for name, id, _ in calls_of(message)}
    condensed = [
        f"condensed: {len(lost)} messages became one: {brief(one)}" for lost, one in change.condensed
    ]
    same = [] if change.tools or change.prefix.broken_at == "the tools" else ["tools"]
    same += [] if change.settings else ["settings"]
    reply = [] if change.reply == "none" else [f"the reply went back {change.reply}"]
    reply = ["the reply did not go back"] if change.reply == "left out" else reply
    return [
        *_some("+ ", (_shown(message, names) for message in change.added)),
        *_some("- dropped: ", (_shown(message, names) for message in change.dropped)),
        *_some("> moved: ", (_shown(message, names) for message in change.moved)),
        *_some("~ ", condensed),
        *_some("~ ", map(_edit, change.edited)),
        *_some("~ ", _tools(change)),
        *_some("~ setting ", (f"{k}: {excerpt(a)} -> {excerpt(b)}" for k, (a, b) in change.settings.items())),
        "; ".join([*reply, *([f"{' and '.join(same)} are the same"] if same else [])]),
        _cached(change),
    ]


def _shown(message: Message, names: dict[str, str]) -> str:
    if message.get("role") != "tool":
        return brief(message)
    name = names.get(str(message.get("tool_call_id")), "a call that is not in the messages")
    return f"result of {name}: {excerpt(content_of(message), 60)}"


def _edit(edit: Edit) -> str:
    """How a message differs, and the first place in which its text or its calls do."""
    told = f"messages[{edit.place}] ({brief(edit.old)}): {listed([*edit.ways], 6)}"
    old, new = _text_and_calls(edit.old), _text_and_calls(edit.new)
    start = max(0, common_ends(old, new)[0] - 12)
    parts = old[start : start + 40], new[start : start + 40]
    return told if old == new else "{}: {} -> {}".format(told, *parts)


def _text_and_calls(message: Message) -> str:
    calls = (f"{name}({arguments})" for name, _, arguments in calls_of(message))
    return " ".join([content_of(message), *calls]).strip()


def _tools(change: RequestChange) -> Iterable[str]:
    for name, (old, new) in change.tools.items():
        if old is None or new is None:
            yield f"tool {name} {'came' if old is None else 'went'}"
        else:
            inner: list[dict[str, Any]] = [{**tool, **(tool.get("function") or {})} for tool in (old, new)]
            fields = [field for field in differing(*inner) if field != "function"]
            yield f"tool {name}: other {listed(fields, 5)}"
    if not change.tools and change.prefix.broken_at == "the tools":
        yield "the same tools in another order"


def _cached(change: RequestChange) -> str:
    prefix = change.prefix
    kept, after = (f"{number // CHARACTERS_A_TOKEN:,}" for number in (prefix.kept, prefix.after))
    told = f"a cache may keep {prefix.kept:,} of the {prefix.after:,} characters of the prompt"
    where = f"; the first difference is in {prefix.broken_at}" if prefix.broken_at else ""
    return f"{told} (about {kept} of {after} tokens){where}"


def _difference(edit: Edit) -> Html:
    texts = (scrub(text_of(message)) for message in (edit.old, edit.new))
    return block(differences(*texts), f"the old and the new messages[{edit.place}]")
