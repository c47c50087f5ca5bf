"""What a program did with its conversation, request by request, for a reader: in a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import read_shipped
from zoolab.jsontext import excerpt, one_line, visible
from zoolab.proxy.changes import EditedMessage, RequestChange, changed_fields, changes_between, text_of
from zoolab.records import Message, Request
from zoolab.secrets import scrub
from zoolab.show.markup import Html, block, folded, join, tag
from zoolab.show.wording import calls_of, common_ends, content_of, count, differences, listed
from zoolab.tokens import CHARACTERS_A_TOKEN
from zoolab.trace.calls import Turn
from zoolab.trace.diagnosis import Diagnosis, diagnose
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import brief
from zoolab.wire.chat import check_conversation

#: How many requests are shown, and how many findings of a kind in each of them.
MAX_REQUESTS, MAX_SHOWN = 100, 8


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a program did with its requests; `changes[i]` is the change from `requests[i]` to the next one."""

    requests: tuple[Request, ...]
    changes: tuple[RequestChange, ...]
    #: For each request, what an endpoint would refuse it for, and why calls of its reply may not run.
    problems: tuple[tuple[str, ...], ...]
    diagnoses: tuple[Diagnosis, ...]

    def _parts(self) -> Iterator[tuple[str, list[str], tuple[EditedMessage, ...]]]:
        """Titles, with the lines and the edited messages below each: bounded, and without secrets."""
        told = zip(self.requests, (None, *self.changes), self.problems, strict=False)
        for number, (request, change, problems) in enumerate(islice(told, MAX_REQUESTS), 1):
            lines = [_sent(request)] if change is None else _told(change, request)
            edits = change.edited[:MAX_SHOWN] if change else ()
            yield f"request {number}", _safe([*lines, *_some("! ", problems)]), edits
        if (more := len(self.requests) - MAX_REQUESTS) > 0:
            yield f"{count(more, 'more request')} in .requests", [], ()
        if self.diagnoses:
            found = (f"{each.code}: {each.what}; {'; '.join(each.evidence[:3])}" for each in self.diagnoses)
            yield "the whole conversation", _safe(_some("! ", found)), ()

    def __repr__(self) -> str:
        return "\n".join("\n  ".join([title, *lines]) for title, lines, _ in self._parts())

    def _repr_html_(self) -> str:
        sections = []
        for title, lines, edits in self._parts():
            items = tag("ul", *(tag("li", line) for line in lines))
            heading = tag("h3", title, class_="jp-toc-ignore")
            sections.append(tag("section", heading, items, *map(_difference, edits)))
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
    turns = trace.turns
    changes = (
        changes_between(before.request, before.reply.message if before.reply else None, after.request)
        for before, after in pairwise(turns)
    )
    problems, diagnoses = tuple(map(_problems_of, turns)), tuple(diagnose(trace))
    return Report(tuple(turn.request for turn in turns), tuple(changes), problems, diagnoses)


def _problems_of(turn: Turn) -> tuple[str, ...]:
    judged = [(call.call.name, call.verdict) for call in turn.calls.values()]
    refused = [(name, problem) for name, verdict in judged if verdict for problem in verdict.problems]
    sent = [str(problem) for problem in check_conversation(turn.request.messages)]
    return (*sent, *(f"the call of {excerpt(name)}: {problem}" for name, problem in refused))


def _safe(lines: Iterable[str]) -> list[str]:
    return [visible(one_line(scrub(line), 400)) for line in lines if line]


def _some(sign: str, lines: Iterable[str]) -> list[str]:
    given = [*lines]
    more = [f"{sign}and {len(given) - MAX_SHOWN:,} more"] if len(given) > MAX_SHOWN else []
    return [f"{sign}{line}" for line in given[:MAX_SHOWN]] + more


def _sent(request: Request) -> str:
    length = sum(len(text_of(each)) for each in (*request.tools, *request.prefix))
    sent = f"{count(len(request.prefix), 'message')} and {count(len(request.tools), 'tool')}"
    return f"{sent}: {length:,} characters, about {length // CHARACTERS_A_TOKEN:,} tokens"


def _told(change: RequestChange, request: Request) -> list[str]:
    names = {id: name for message in request.prefix for name, id, _ in calls_of(message)}
    condensed = (f"{len(lost)} messages became one: {_brief(one)}" for lost, one in change.condensed)
    settings = (f"{name}: {excerpt(a)} -> {excerpt(b)}" for name, (a, b) in change.settings.items())
    tools = [_tool(name, *both) for name, both in change.tools.items()]
    if not tools and change.prefix.broken_at == "the tools":
        tools = ["the same tools in another order"]
    special = {"none": "no reply came before this", "left out": "the reply did not go back"}
    went = special.get(change.reply, f"the reply went back {change.reply}")
    same = [word for word, changed in (("tools", tools), ("settings", change.settings)) if not changed]
    rest = [f"{' and '.join(same)} are the same"] if same else []
    return [
        *_some("+ ", (_shown(message, names) for message in change.added)),
        *_some("- dropped: ", (_shown(message, names) for message in change.dropped)),
        *_some("> moved: ", (_shown(message, names) for message in change.moved)),
        *_some("~ condensed: ", condensed),
        *_some("~ ", map(_edit, change.edited)),
        *_some("~ ", tools),
        *_some("~ setting ", settings),
        "; ".join([went, *rest]),
        _cached(change),
    ]


def _shown(message: Message, names: dict[str, str]) -> str:
    if message.get("role") != "tool":
        return _brief(message)
    name = names.get(str(message.get("tool_call_id")), "a call that is not in the messages")
    return f"result of {name}: {excerpt(content_of(message), 60)}"


def _brief(message: Message) -> str:
    return brief({**message, "content": content_of(message)})


def _edit(edit: EditedMessage) -> str:
    """How a message differs, and the first place in which its text or its calls do."""
    told = f"messages[{edit.place}] ({_brief(edit.old)}): {listed([*edit.ways], 6)}"
    old, new = (
        " ".join([content_of(message), *(f"{name}({said})" for name, _, said in calls_of(message))])
        for message in (edit.old, edit.new)
    )
    start = max(0, common_ends(old, new)[0] - 12)
    return told if old == new else f"{told}: {_from(old, start)} -> {_from(new, start)}"


def _from(text: str, start: int) -> str:
    shown = text[start : start + 40]
    return f"{'…' if start else ''}{shown}{'…' if len(text) > start + 40 else ''}"


def _tool(name: str, old: Any, new: Any) -> str:
    if old is None or new is None:
        return f"tool {name} {'came' if old is None else 'went'}"
    return f"tool {name}: other {listed(changed_fields(old, new), 5)}"


def _cached(change: RequestChange) -> str:
    prefix = change.prefix
    kept, after = (f"{number // CHARACTERS_A_TOKEN:,}" for number in (prefix.kept, prefix.after))
    told = f"a cache may keep {prefix.kept:,} of the {prefix.after:,} characters of the prompt"
    where = f"; the first difference is in {prefix.broken_at}" if prefix.broken_at else ""
    return f"{told} (about {kept} of {after} tokens){where}"


def _difference(edit: EditedMessage) -> Html:
    texts = (scrub(text_of(message)) for message in (edit.old, edit.new))
    title = f"messages[{edit.place}], old and new"
    return folded(title, block(differences(*texts), title))
