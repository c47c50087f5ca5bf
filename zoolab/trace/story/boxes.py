"""What several cards of a story show: a message, the tools, problems, a repair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from zoolab.errors import Problem
from zoolab.jsontext import excerpt
from zoolab.records import Decision, Fault, Message, Repair, Reply, Withheld
from zoolab.tools import Tool
from zoolab.trace.injected import mark_line
from zoolab.show.markup import (
    MAX_TEXT,
    Html,
    block,
    clipped,
    code,
    facts,
    folded,
    join,
    marked_block,
    note,
    table,
    tag,
)
from zoolab.show.wording import as_text, calls_of, content_of, count, differences, duration, type_of

#: Of a longer list, the rest is counted.
MAX_ROWS = 40


def message_box(message: Message, limit: int = MAX_TEXT, name: str | None = None) -> Html:
    """One message: who says it, what it says, what it asks for.

    >>> "answers" in message_box({"role": "tool", "tool_call_id": "call_1", "content": "100"})
    True
    """
    answered = message.get("tool_call_id")
    content = content_of(message)
    style = "raw" if message.get("role") == "tool" else "prose"
    calls = each(calls_of(message), lambda call: _call_box(call, limit), "call")
    others = other_fields(message)
    return tag(
        "div",
        tag(
            "p",
            tag("strong", clipped(as_text(message.get("role")), 40)),
            None if answered is None else join(" answers ", code(as_text(answered))),
            None if name is None else join(" ", tag("code", name, class_="at")),
            class_="role",
        ),
        block(content, "message", style, limit) if content else None,
        *calls,
        block(as_text(others), "other fields", "raw", limit) if others else None,
        class_="message",
    )


def other_fields(message: Message) -> dict[str, Any]:
    """What a message has beyond what every message has.

    >>> other_fields({"role": "assistant", "content": None, "refusal": "No."})
    {'refusal': 'No.'}
    """
    usual = ("role", "content", "tool_calls", "tool_call_id")
    return {key: value for key, value in message.items() if key not in usual and value is not None}


def tools_table(tools: Sequence[Tool]) -> Html:
    """The tools as the model knows them.

    >>> tools_table([Tool("now", "The time.", {"type": "object"})]).count("<tr>")
    2
    """
    rows = [
        (_tool_name(tool), clipped(tool.description, 1_000), _parameters(tool)) for tool in tools[:MAX_ROWS]
    ]
    headings = ["Tool", "Description", "Parameters"]
    return join(table("The tools", headings, rows), left_out(len(tools) - MAX_ROWS, "tool"))


def withheld_box(withheld: Sequence[Withheld]) -> Html | None:
    """The tools that were not sent with a request, each with why; None where all were.

    >>> "rank 9" in (withheld_box([Withheld("reboot", 9, 0.1, "rank 9 of 40")]) or "")
    True
    """
    if not withheld:
        return None
    lines = (
        tag("li", code(as_text(w.name)), ": ", clipped(as_text(w.why), 300)) for w in withheld[:MAX_ROWS]
    )
    told = f"{count(len(withheld), 'tool')} withheld: the model does not hear of them"
    return folded(told, tag("ol", *lines), left_out(len(withheld) - MAX_ROWS, "tool"))


def sent_box(reply: Reply | None) -> Html | None:
    """What the model class sent instead of the request, or added to it; None if it is not known.

    >>> "What was sent instead" in (sent_box(Reply({}, sent={"messages": []})) or "")
    True
    """
    if reply is None or not reply.sent:
        return None
    fields = {key: value for key, value in reply.sent.items() if key != "messages"}
    others = block(as_text(fields), "the other fields that were sent") if fields else None
    if reply.sent_instead is None:
        return join(tag("p", "Sent with the request, by the model class:"), others)
    listed = reply.sent_instead["messages"]
    messages = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    told = f"What was sent instead: another conversation of {count(len(messages), 'message')}"
    return folded(told, *each(messages, lambda m: message_box(m, 1_000), "message"), others)


def permission_box(name: str, asked: Decision, decided: str) -> Html:
    """What somebody is asked to allow: which tool, at what risk, touching what, with which arguments.

    >>> box = permission_box("wipe", Decision("pending", risk="high", resource="disk x"), "deny")
    >>> "disk x" in box, "deny" in box
    (True, True)
    """
    resource = None if asked.resource is None else as_text(asked.resource) or "it cannot tell"
    arguments = None if asked.arguments is None else as_text(dict(asked.arguments))
    return join(
        facts(
            ("tool", code(name)),
            ("risk", clipped(as_text(asked.risk), 80) if asked.risk else None),
            ("it touches", None if resource is None else code(resource, 1_000)),
            ("decided", clipped(as_text(decided), 80)),
        ),
        None if arguments is None else tag("p", "It would run with:"),
        None if arguments is None else block(arguments, "the arguments it would run with"),
    )


def problems_table(problems: Sequence[Problem]) -> Html | None:
    """What is wrong with a call; None where nothing is.

    >>> "/a" in (problems_table([Problem("invalid_arguments", "/a", "integer", '"2"')]) or "")
    True
    """
    if not problems:
        return None
    rows = [
        (
            code(problem.pointer or "(all of it)", 300),
            clipped(problem.expected, 1_000),
            code(problem.received, 1_000),
            code(problem.code),
        )
        for problem in problems[:MAX_ROWS]
    ]
    headings = ["Where", "Expected", "Received", "Code"]
    return join(table("The problems", headings, rows), left_out(len(problems) - MAX_ROWS, "problem"))


def repair_box(repair: Repair) -> Html:
    """What a repair proposed, and what became of it.

    >>> "<ins>" in repair_box(Repair("{a: 1}", '{"a": 1}', True))
    True
    """
    if repair.proposed is None:
        return tag("p", f"Not repaired: {clipped(as_text(repair.silence), 300)}.")
    if repair.proposed == repair.raw:
        return tag("p", "A repair was tried and changed nothing.")
    words = "accepted: it meets the schema" if repair.accepted else "refused: it does not meet the schema"
    legend = ("Struck out: ", tag("del", "the model's"), ". Underlined: ", tag("ins", "the repair's"), ".")
    still = repair.remaining
    return tag(
        "div",
        join(tag("p", "What the model wrote:"), problems_table(repair.problems)) if repair.accepted else None,
        tag("p", "A repair proposed other arguments. It was ", tag("strong", words), "."),
        marked_block(differences(repair.raw, repair.proposed), "what the repair changed"),
        note(*legend),
        folded("Before and after", block(repair.raw, "as written"), block(repair.proposed, "as proposed")),
        join(tag("p", "What the repair proposed:"), problems_table(still)) if still else None,
        class_="repair",
    )


def fault_note(fault: Fault) -> Html:
    """The mark of what was broken on purpose, and how it read before.

    >>> fault_note(Fault("slow", "run of add"))
    '<p><strong>fault injected: slow in run of add</strong></p>'
    """
    told = tag("p", tag("strong", clipped(mark_line(fault), 300)))
    if not fault.before:
        return told
    return join(told, folded("As it was before the fault", block(fault.before, "before the fault")))


def each(items: Sequence[Any], show: Callable[[Any], Html], noun: str) -> list[str | None]:
    """The first items, and how many more there are.

    >>> each(["a"], code, "name")
    ['<code>a</code>', None]
    """
    return [*map(show, items[:MAX_ROWS]), left_out(len(items) - MAX_ROWS, noun)]


def left_out(number: int, noun: str) -> Html | None:
    """A remark on the rest of a list; None where there is none.

    >>> left_out(2, "tool"), left_out(0, "tool")
    ('<p class="note">and 2 more tools, left out here</p>', None)
    """
    return note(f"and {count(number, 'more ' + noun)}, left out here") if number > 0 else None


def _call_box(call: tuple[str, str, str], limit: int) -> Html:
    name, call_id, arguments = call
    asks = tag("p", "asks for ", code(name), " as ", code(call_id))
    return join(asks, block(arguments, "arguments", "raw", limit))


def _tool_name(tool: Tool) -> Html:
    remarks = [f"{tool.risk} risk"] if tool.risk != "safe" else []
    remarks += [f"at most {duration(tool.timeout * 1000)}"] if tool.timeout is not None else []
    remarks += ["strict"] if tool.strict else []
    remarks += [f"untrusted data from {clipped(tool.untrusted, 200)}"] if tool.untrusted else []
    more = join(" ", tag("span", ", ".join(remarks), class_="remark")) if remarks else None
    return join(code(tool.name), more)


def _parameters(tool: Tool) -> Html:
    properties, required = (tool.parameters.get(key) for key in ("properties", "required"))
    named = list(cast("dict[str, Any]", properties).items()) if isinstance(properties, dict) else []
    needed = [as_text(name) for name in required] if isinstance(required, list) else []
    if not named:
        return join("none")
    items = (_parameter(name, schema, name in needed) for name, schema in named[:MAX_ROWS])
    return join(tag("ul", *items), left_out(len(named) - MAX_ROWS, "parameter"))


def _parameter(name: str, schema: Any, required: bool) -> Html:
    described = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    words = [clipped(type_of(schema), 400), "required" if required else "optional"]
    words += [f"default {excerpt(described['default'], 60)}"] if "default" in described else []
    about = described.get("description")
    says = None if about is None else tag("span", clipped(as_text(about), 1_000), class_="about")
    return tag("li", code(name), " ", tag("span", ", ".join(words), class_="remark"), " ", says)
