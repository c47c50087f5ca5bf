"""What a program did with its conversation: what it changed between two requests (messages, the reply, tools,
settings, the prompt's start), and all of that as a report for a reader, in a terminal or a notebook.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, pairwise
from typing import Any, Literal

from zoolab.apis import api_of
from zoolab.apis.conversation import check_conversation
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.files import read_shipped
from zoolab.jsontext import canonical, excerpt, one_line, visible
from zoolab.jsontext.values import any_json, is_strict
from zoolab.messages import calls_of
from zoolab.records import Message, Request
from zoolab.secrets import scrub
from zoolab.show.wording import content_of, other_fields
from zoolab.text.markup import Html, block, folded, join, tag
from zoolab.text.wording import as_words, common_ends, count, differences, listed
from zoolab.tokens import CHARACTERS_A_TOKEN, characters_of
from zoolab.trace.calls import Turn
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import brief
from zoolab_connect.apis.messages import json_object
from zoolab_connect.diagnosis import Diagnosis, diagnose

WentBack = Literal["none", "as_it_came", "rewritten", "left_out"]
#: Where the first difference of two prompts can be, if it is in no message.
THE_MODEL = "model"
THE_TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class EditedMessage:
    """A message that the program sent again in another form; `place` is its old index in `messages[]`."""

    old: Message
    new: Message
    place: int
    #: How it differs, each in a few words.
    ways: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptPrefix:
    """How many characters of a prompt's JSON are as before, from its start: a cache may keep so much.

    Endpoints cache tools before messages, and only from about 1,024 tokens on
    (https://platform.openai.com/docs/guides/prompt-caching).
    """

    kept: int
    #: The characters of the old and of the new prompt.
    before: int
    after: int
    #: The first difference: `THE_MODEL`, `THE_TOOLS` or "messages[3]"; empty if nothing old was changed.
    broken_at: str


@dataclass(frozen=True, slots=True)
class RequestChange:
    """What is different in a request, compared with the request and the reply before it."""

    added: tuple[Message, ...]
    edited: tuple[EditedMessage, ...]
    moved: tuple[Message, ...]
    dropped: tuple[Message, ...]
    #: Messages that were dropped, and the shorter one that came in their place.
    condensed: tuple[tuple[tuple[Message, ...], Message], ...]
    #: How the reply went back; if it did not go back as it came, a field above has its message.
    reply: WentBack
    #: Tools and settings that differ, by name, old and new; None for one that is not there.
    tools: Mapping[str, tuple[Any, Any]]
    settings: Mapping[str, tuple[Any, Any]]
    prefix: PromptPrefix

    @property
    def only_added(self) -> bool:
        """Whether the program only appended messages, as a plain loop does."""
        edits = (*self.edited, *self.moved, *self.dropped, *self.condensed, *self.tools, *self.settings)
        return not edits and not self.prefix.broken_at


def changes_between(before: Request, reply: Message | None, after: Request) -> RequestChange:
    """Return what is different in the request `after`, if `before` and its `reply` (None: none came) were
    before it.

    A field of a message that is null counts as absent. Whether a message was edited, or dropped and another
    one added, is decided by the id and the names of its calls, then by its place and role.

    >>> hi, hello = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    >>> change = changes_between(Request([hi]), hello, Request([hi, {**hello, "name": "ada"}, hi]))
    >>> change.reply, change.edited[0].ways, len(change.added), change.prefix.broken_at
    ('rewritten', ('with name',), 1, '')
    """
    old = [*before.prefix, *([] if reply is None else [reply])]
    new = [*after.prefix]
    texts = [*map(wire_form, old)], [*map(wire_form, new)]
    gaps = _gaps(*texts)
    moved = _take_pairs(gaps, *texts)
    edits: list[tuple[int, int]] = []
    for name_of in (_call_ids, _called):
        edits += _take_pairs(gaps, [*map(name_of, old)], [*map(name_of, new)])
    gone = {i for removed, _ in gaps for i in removed}
    dropped: list[Message] = []
    condensed: list[tuple[tuple[Message, ...], Message]] = []
    for removed, added in gaps:
        lost = tuple(old[i] for i in removed)
        came = [new[j] for j in added]
        # Messages that stand in the same place with the same roles.
        alike = common_ends(*([message.get("role") for message in each] for each in (lost, came)))[0]
        if alike < 2 <= len(lost) and came and _is_summary(came[0], lost):
            condensed.append((lost, new[added.pop(0)]))
            continue
        edits += zip(removed[:alike], added, strict=False)
        dropped += lost[alike:]
        del added[:alike]
    last = len(before.prefix)
    went: WentBack = "rewritten" if last in dict(edits) else "left_out" if last in gone else "as_it_came"
    return RequestChange(
        tuple(new[j] for _, added in gaps for j in added),
        tuple(EditedMessage(old[i], new[j], i, _ways(old[i], new[j])) for i, j in sorted(edits)),
        tuple(old[i] for i, _ in moved),
        tuple(dropped),
        tuple(condensed),
        "none" if reply is None else went,
        differing(_by_name(before), _by_name(after)),
        differing(*({**each.settings, "tool_choice": each.tool_choice} for each in (before, after))),
        _prefix(before, after, texts[0][:last], texts[1]),
    )


def wire_form(value: Any) -> str:
    """Return the same text for values that mean the same on the wire."""
    value = value if is_strict(value) else any_json(value)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    return canonical(value)


#: The places of messages that were removed, and of those that came there instead.
_Gap = tuple[list[int], list[int]]


def _gaps(old: Sequence[str], new: Sequence[str]) -> list[_Gap]:
    head, tail = common_ends(old, new)
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    found = [places for operation, *places in matcher.get_opcodes() if operation != "equal"]
    return [([*range(head + a, head + b)], [*range(head + c, head + d)]) for a, b, c, d in found]


def _take_pairs(gaps: list[_Gap], old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Take the messages out of the gaps that have the same name before and after; None is no name."""
    waiting: dict[Hashable, list[int]] = {None: []}
    for i in (i for removed, _ in gaps for i in removed if old[i] is not None):
        waiting.setdefault(old[i], []).append(i)
    pairs = [(waiting[new[j]].pop(0), j) for _, added in gaps for j in added if waiting.get(new[j])]
    taken = [frozenset(places) for places in zip(*pairs, strict=True)]
    for gap in gaps:
        for places, found in zip(gap, taken, strict=False):
            places[:] = [place for place in places if place not in found]
    return pairs


def _call_ids(message: Message) -> Hashable:
    if message.get("role") == "tool":
        return excerpt(message.get("tool_call_id"))
    return tuple(id for _, id, _ in calls_of(message)) or None


def _called(message: Message) -> Hashable:
    return tuple(name for name, _, _ in calls_of(message)) or None


def _is_summary(message: Message, lost: Sequence[Message]) -> bool:
    """Return whether a message is shorter than those that were lost, and not the first of them with an
    addition.
    """
    first = content_of(lost[0])
    if message.get("role") == "tool" or (first and first in content_of(message)):
        return False
    return characters_of(message) < sum(map(characters_of, lost))


def _ways(old: Message, new: Message) -> tuple[str, ...]:
    ways = [] if old.get("role") == new.get("role") else ["another role"]
    content = old.get("content")
    other = new.get("content")
    if content_of(old) != content_of(new):
        ways.append("other content")
    elif content != other:
        ways.append(f"content {excerpt(content, 30)} became {excerpt(other, 30)}")
    if _called(old) != _called(new):
        ways.append("other calls")
    for (_, id, said), (_, new_id, new_said) in zip(calls_of(old), calls_of(new), strict=False):
        ways += ["other call ids"] if id != new_id else []
        if said != new_said:
            value = json_object(said)
            same = value is not None and canonical(value) == canonical(json_object(new_said))
            ways.append("arguments written anew, with the same values" if same else "other arguments")
    words = {(False, True): "with", (True, False): "without", (True, True): "other"}
    for field, (a, b) in differing(other_fields(old), other_fields(new)).items():
        ways.append(f"{words[a is not None, b is not None]} {listed([field], 1)}")
    return tuple(dict.fromkeys(ways)) or ("written in another form",)


def _tool_fields(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a tool, with those of its function among them."""
    function = tool.get("function")
    return {**tool, **function, "function": None} if isinstance(function, Mapping) else dict(tool)


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the fields in which a tool differs."""
    return [*differing(_tool_fields(old), _tool_fields(new))]


def _by_name(request: Request) -> dict[str, Any]:
    """Return the tools by name; if the endpoint brings a tool along, its name is its type."""
    named = [(_tool_fields(tool), tool) for tool in request.tools]
    return {listed([str(fields.get("name") or fields.get("type"))], 1): tool for fields, tool in named}


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the values that differ, by name, old and new; None for one that is not there."""
    both = {name: (old.get(name), new.get(name)) for name in {**old, **new}}
    return {name: (a, b) for name, (a, b) in both.items() if wire_form(a) != wire_form(b)}


def _prefix(before: Request, after: Request, old: list[str], new: list[str]) -> PromptPrefix:
    """Compare the beginnings of two prompts; `old` and `new` are the texts of the messages."""
    tools = ["".join(map(wire_form, request.tools)) for request in (before, after)]
    prompts = "".join([tools[0], *old]), "".join([tools[1], *new])
    first = common_ends(old, new)[0]
    # The longest start of the one with which the other begins.
    kept = bisect(range(1, len(prompts[0]) + 1), 0, key=lambda n: not prompts[1].startswith(prompts[0][:n]))
    broken_at = f"messages[{first}]" if first < len(old) else ""
    if before.settings.get("model") != after.settings.get("model"):
        kept = 0
        broken_at = THE_MODEL
    elif tools[0] != tools[1]:
        broken_at = THE_TOOLS
    return PromptPrefix(kept, len(prompts[0]), len(prompts[1]), broken_at)


#: How many requests are shown, and how many findings of a kind in each of them.
MAX_REQUESTS = 100
MAX_SHOWN = 8


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a program did with its requests; `changes[i]` is the change from `requests[i]` to the next one."""

    requests: tuple[Request, ...]
    changes: tuple[RequestChange, ...]
    #: For each request, what an endpoint would refuse it for, and why calls of its reply may not run.
    problems: tuple[tuple[str, ...], ...]
    diagnoses: tuple[Diagnosis, ...]

    def _parts(self) -> Iterator[tuple[str, list[str], tuple[EditedMessage, ...]]]:
        """Yield titles, with the lines and the edited messages below each: bounded, and without secrets."""
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
        style = tag("style", Html(read_shipped("zoolab_connect", "wires.css")))
        return str(join(style, tag("div", *sections, class_="zoolab-wires")))


def what_changed(trace: TraceLog) -> Report:
    """Return what the program behind a trace did with `messages[]`, tools and settings from request to
    request.

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
        changes_between(before.request, _reply_for(before, after.request), after.request)
        for before, after in pairwise(turns)
    )
    problems = tuple(map(_problems_of, turns))
    diagnoses = tuple(diagnose(trace))
    return Report(tuple(turn.request for turn in turns), tuple(changes), problems, diagnoses)


def _reply_for(turn: Turn, after: Request) -> Message | None:
    """Return the message of a turn's reply, as the next request can hold it.

    Some APIs have an object where the model streamed text: its spaces cannot come back.
    """
    reply = turn.reply
    if reply is None or not reply.sent_instead:
        return reply.message if reply else None
    try:
        read, _ = api_of(reply.sent_instead).normalise_reply(reply.message)
    except ZoolabError:
        return reply.message
    calls = read.get("tool_calls")
    back = {**reply.message, "tool_calls": calls} if calls else reply.message
    return back if back in after.messages else reply.message


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
    length = sum(len(wire_form(each)) for each in (*request.tools, *request.prefix))
    sent = f"{count(len(request.prefix), 'message')} and {count(len(request.tools), 'tool')}"
    return f"{sent}: {length:,} characters, about {length // CHARACTERS_A_TOKEN:,} tokens"


def _told(change: RequestChange, request: Request) -> list[str]:
    names = {id: name for message in request.prefix for name, id, _ in calls_of(message)}
    condensed = (f"{len(lost)} messages became one: {_brief(one)}" for lost, one in change.condensed)
    settings = (f"{name}: {excerpt(a)} -> {excerpt(b)}" for name, (a, b) in change.settings.items())
    tools = [_tool(name, *both) for name, both in change.tools.items()]
    if not tools and change.prefix.broken_at == THE_TOOLS:
        tools = ["the same tools in another order"]
    special = {"none": "no reply came before this", "left_out": "the reply did not go back"}
    went = special.get(change.reply, f"the reply went back {as_words(change.reply)}")
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
    """Return how a message differs, and the first place in which its text or its calls do."""
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
    article = "the " if prefix.broken_at in (THE_MODEL, THE_TOOLS) else ""
    where = f"; the first difference is in {article}{prefix.broken_at}" if prefix.broken_at else ""
    return f"{told} (about {kept} of {after} tokens){where}"


def _difference(edit: EditedMessage) -> Html:
    texts = (scrub(wire_form(message)) for message in (edit.old, edit.new))
    title = f"messages[{edit.place}], old and new"
    return folded(title, block(differences(*texts), title))
