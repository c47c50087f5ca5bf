"""Trials: the same request asked with one thing changed, for what is said of small models.

repair         does it help to send the validation error back?
forced_schema  does a JSON schema that every reply has to meet make a call where none is needed?
dropped_tools  does the model read the tools of a request at all? Its count of the prompt's tokens tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tools.datasets.asking import EXAMPLES, Askers, who_answers
from tools.datasets.outputs import raw_of
from tools.datasets.verdicts import codes_of, judge
from zoolab.records import Reply, Request
from zoolab.steps.request import opening_messages
from zoolab.steps.tool_call import read_calls
from zoolab.tools import ToolRegistry
from zoolab_course.local import SEED

#: How many requests of each kind are tried, a model.
REPAIRS = 8
FORCED = 8
DROPPED = 3
TOKENS = 96

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """One request of a trial: which, in which variant, of which case, to whom."""

    trial: str
    variant: str
    case: Mapping[str, Any]
    model: str
    request: Request
    tools: ToolRegistry

    @property
    def id(self) -> str:
        """Its name among the rows."""
        return f"{self.trial}/{self.variant}/{self.case['id']}/{self.model}"


def trials(
    cases: Sequence[Mapping[str, Any]], broken: Sequence[Mapping[str, Any]], tools: ToolRegistry
) -> Iterator[Trial]:
    """Yield all trials: forced schemas and dropped tools on cases, repairs on arguments that were broken.

    >>> list(trials([], [], ToolRegistry()))
    []
    """
    none = [case for case in cases if case["tool"] is None and case["split"] == "public"]
    yield from (
        each for case in none[:: max(1, len(none) // FORCED)][:FORCED] for each in _forced(case, tools)
    )
    some = [case for case in cases if case["tool"] is not None and case["split"] == "public"]
    yield from (
        each for case in some[:: max(1, len(some) // DROPPED)][:DROPPED] for each in _dropped(case, tools)
    )
    by_id = {case["id"]: case for case in cases}
    for model in ("needle3-L6-raw", "smollm2"):
        alone = [row for row in broken if row["model"] == model and len(row["offered"]) == 1]
        rows = [row for row in alone if row["finish_reason"] != "length"]
        first = list({row["case"]: row for row in rows}.values())[:REPAIRS]
        yield from (_repaired(row, by_id[row["case"]], tools) for row in first)


def trial_row(trial: Trial, askers: Askers) -> Row:
    """Ask, and judge what came.

    >>> class Polite:
    ...     def of(self, name):
    ...         return lambda request: Reply({"role": "assistant", "content": "Hello!"})
    >>> case = {"id": "none-1", "tool": None, "arguments": None, "also": []}
    >>> request = Request([{"role": "user", "content": "Hi"}], settings={"max_tokens": 9})
    >>> trial = Trial("forced_schema", "free", case, "smollm2", request, ToolRegistry())
    >>> trial_row(trial, Polite())["verdict"]
    'right'
    """
    reply = askers.of(trial.model)(trial.request)
    case = trial.case
    calls = read_calls(reply.message, text=trial.model == "smollm2", tools=trial.tools)
    return {
        "id": trial.id,
        "trial": trial.trial,
        "variant": trial.variant,
        "case": case["id"],
        "made": "recorded",
        "model": trial.model,
        "who": who_answers(trial.model),
        "date": datetime.now(UTC).date().isoformat(),
        "settings": {"temperature": 0, "seed": SEED, "max_tokens": trial.request.settings["max_tokens"]},
        "request": trial.request.body(),
        "raw": raw_of(reply),
        "finish_reason": reply.finish_reason,
        "expected_tool": case["tool"],
        "tool": calls[0].name if calls else None,
        "verdict": judge(calls, trial.tools, case["tool"], case["arguments"], case["also"]),
        "codes": codes_of(calls, trial.tools),
        "prompt_tokens": _tokens(reply),
    }


def _forced(case: Mapping[str, Any], tools: ToolRegistry) -> Iterator[Trial]:
    offered = ToolRegistry(tools[name] for name in case["offered"][:2])
    messages = opening_messages(case["prompt"], text_tools=offered)
    for variant, more in (("free", {}), ("forced", {"response_format": _format(offered)})):
        request = Request(messages, settings={"max_tokens": TOKENS, **more})
        yield Trial("forced_schema", variant, case, "smollm2", request, offered)


def _dropped(case: Mapping[str, Any], tools: ToolRegistry) -> Iterator[Trial]:
    offered = ToolRegistry(tools[name] for name in case["offered"])
    messages = opening_messages(case["prompt"])
    for model in ("smollm2", "needle3-L8"):
        for variant, sent in (("with_tools", tuple(offered.schemas())), ("without_tools", ())):
            request = Request(messages, sent, settings={"max_tokens": 48})
            yield Trial("dropped_tools", variant, case, model, request, offered)


def _repaired(row: Mapping[str, Any], case: Mapping[str, Any], tools: ToolRegistry) -> Trial:
    offered = ToolRegistry([tools[row["tool"]]])
    text = row["model"] == "smollm2"
    said = f'{{"name": "{row["called"]}", "arguments": {row["raw"]}}}'
    wrong = "; ".join(row["problems"])
    if row["called"] != row["tool"]:
        wrong = f"there is no tool {row['called']}, only {row['tool']}; {wrong}"
    settings = {"max_tokens": TOKENS if text else 160}
    if text:
        opening = opening_messages(case["prompt"], messages=EXAMPLES, text_tools=offered)
        again = {"role": "user", "content": f"ERROR: {wrong}. Write the corrected JSON object."}
        messages = [*opening, {"role": "assistant", "content": said}, again]
        return Trial(
            "repair", "error_sent_back", case, row["model"], Request(messages, settings=settings), offered
        )
    # Needle reads the last question alone, so all of it has to be said there.
    told = f"{case['prompt']}\nYour call {said} was refused: {wrong}. Call it again, corrected."
    request = Request(opening_messages(told), tuple(offered.schemas()), settings=settings)
    return Trial("repair", "error_sent_back", case, row["model"], request, offered)


def _format(offered: ToolRegistry) -> dict[str, Any]:
    """Return the response format in which every reply is a call of one of these tools."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in offered
    ]
    return {
        "type": "json_schema",
        "json_schema": {"name": "call", "strict": True, "schema": {"anyOf": calls}},
    }


def _tokens(reply: Reply) -> int | None:
    count = (reply.usage or {}).get("prompt_tokens")
    return count if isinstance(count, int) else None
