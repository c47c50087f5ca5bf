"""Rows of what local models wrote: selection outputs, and arguments that are broken.

Each row says what was asked, so that it can be asked again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tools.datasets.asking import Askers, Question, offered, who_answers
from tools.datasets.verdicts import codes_of, judge, leaves
from zoolab.records import Reply
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_arguments
from zoolab.tools import Tool, ToolRegistry
from zoolab_course.local import SEED

Row = dict[str, Any]


def question_of(row: Mapping[str, Any]) -> Question:
    """Return what a row was asked.

    >>> row = {"prompt": "Hi", "model": "smollm2", "offered": [], "settings": {"max_tokens": 96}}
    >>> question_of(row).max_tokens
    96
    """
    return Question(row["prompt"], row["model"], tuple(row["offered"]), row["settings"]["max_tokens"])


def raw_of(reply: Reply) -> str:
    """Return all that the model wrote, thoughts and tags included, where the endpoint says so.

    >>> raw_of(Reply({"role": "assistant", "content": "Hi"}))
    'Hi'
    """
    written = (reply.raw or {}).get("needle")
    return str(written["raw"]) if isinstance(written, dict) else reply.text


def output_id(case: Mapping[str, Any], question: Question) -> str:
    """Return the name of an output among the rows.

    >>> output_id({"id": "ping-1"}, Question("Ping db01", "needle3-L8", ("ping", "add", "now")))
    'ping-1/needle3-L8/3-tools/160-tokens'
    """
    tools = len(question.tools)
    return f"{case['id']}/{question.model}/{tools}-tool{'s' * (tools != 1)}/{question.max_tokens}-tokens"


def output_row(
    case: Mapping[str, Any], question: Question, purpose: str, askers: Askers, tools: ToolRegistry
) -> Row:
    """Ask, and the row of what came.

    >>> class Polite:
    ...     def ask(self, question, registry):
    ...         return Reply({"role": "assistant", "content": "Hello!"})
    >>> case = {"id": "none-1", "tool": None, "arguments": None, "also": [], "difficulty": "chat"}
    >>> row = output_row(case, Question("Hi", "smollm2", (), 96), "choose", Polite(), ToolRegistry())
    >>> row["raw"], row["verdict"]
    ('Hello!', 'right')
    """
    registry = offered(question.tools, tools)
    reply = askers.ask(question, registry)
    calls = read_calls(reply.message, text=question.as_text, tools=registry)
    usage = reply.usage or {}
    return {
        "id": output_id(case, question),
        "case": case["id"],
        "purpose": purpose,
        "prompt": question.prompt,
        "difficulty": case["difficulty"],
        "made": "recorded",
        "model": question.model,
        "who": who_answers(question.model),
        "date": datetime.now(UTC).date().isoformat(),
        "settings": {"temperature": 0, "seed": SEED, "max_tokens": question.max_tokens},
        "protocol": "text, with 3 examples" if question.as_text else "native",
        "offered": list(question.tools),
        "raw": raw_of(reply),
        "finish_reason": reply.finish_reason,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
        "expected_tool": case["tool"],
        "expected_arguments": case["arguments"],
        "tool": calls[0].name if calls else None,
        "verdict": judge(calls, registry, case["tool"], case["arguments"], case["also"]),
        "codes": codes_of(calls, registry),
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
    }


def broken_rows(output: Mapping[str, Any], tools: ToolRegistry) -> list[Row]:
    """Return the calls of an output whose arguments do not parse or do not meet the schema, a row each.

    Calls of another tool that was on offer are left out: nobody knows what they were to say.

    >>> broken_rows({"expected_tool": None}, ToolRegistry())
    []
    """
    if output["expected_tool"] is None:
        return []
    others = {name for name in output["offered"] if name != output["expected_tool"]}
    found = (
        _broken_row(output, slot, call, tools[output["expected_tool"]])
        for slot, call in enumerate(output["calls"])
        if call["name"] not in others
    )
    return [row for row in found if row is not None]


def _broken_row(output: Mapping[str, Any], slot: int, call: Mapping[str, str], tool: Tool) -> Row | None:
    raw = call["arguments"]
    meant = output["expected_arguments"]
    problems = check_arguments(raw, tool).problems
    lost = missing_from(raw, meant)
    kept = ("case", "prompt", "made", "model", "who", "date", "settings", "protocol", "offered")
    row = {
        "id": f"{output['id']}/{slot}",
        **{key: output[key] for key in kept},
        "fault": None,
        "tool": tool.name,
        "called": call["name"],
        "slot": slot,
        "schema": tool.parameters,
        "raw": raw,
        "finish_reason": output["finish_reason"],
        "codes": list(dict.fromkeys(problem.code for problem in problems)),
        "problems": [problem.message for problem in problems],
        "meant": meant,
        "recoverable": not lost,
        "why_not": "" if not lost else "not in the text: " + ", ".join(lost),
    }
    return row if problems else None


def missing_from(raw: str, meant: Mapping[str, Any]) -> list[str]:
    """Return the values that were meant and stand nowhere in a text: no repair of the text can bring them
    back.

    >>> missing_from('{"host": "db01", "count": 30', {"host": "db01", "count": 3})
    ['3']
    """
    text = raw.casefold()
    return [
        leaf
        for leaf in dict.fromkeys(leaves(meant))
        if not re.search(rf"(?<!\w){re.escape(leaf.casefold())}(?!\w)", text)
    ]
