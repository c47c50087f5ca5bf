"""The plan of the recordings, as conversations that can be held one by one."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tools.repair import asking
from tools.repair.damage import Damaged
from zoolab.errors import ERROR_CODES, ExecutionFailed, InvalidInput, ToolIOError, ToolTimeout
from zoolab.models.recording import shipped
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Decision, Limits, Model, Reply, Request
from zoolab.repair import LLMRepair
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import Tool, ToolRegistry
from zoolab_study.datasets.loading import read_rows, rows_of, selection_tools

__all__ = ["DENIALS", "Conversation", "FirstByHand", "RecordingPlan", "plan"]

PLAN = Path(__file__).with_name("plan.toml")
#: A model that goes on calling is stopped.
TURNS = 6
#: How `zoolab walk` denies, if nobody is at the terminal, and if a person there says so.
DENIALS = {
    "nobody": Decision("deny", "nobody was there to allow it", by="nobody"),
    "person": Decision("deny", "answered when asked"),
}
_FAILURES = {error.code: error for error in (ToolIOError, ExecutionFailed, ToolTimeout)}


@dataclass(frozen=True, slots=True)
class Conversation:
    """A prompt with its tools; perhaps the first reply is written by hand."""

    prompt: str
    tools: ToolRegistry
    system: str | None = None
    envelope: Any = "json"
    turns: int = TURNS
    first: dict[str, Any] | None = None
    #: Why whatever is asked about is denied; None if every tool is allowed.
    denied: Decision | None = None


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """What goes into one recording: the settings of its requests, and its conversations."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    conversations: Sequence[Conversation] = ()


class FirstByHand:
    """A model whose first reply in a conversation was written by hand; the others are its own."""

    def __init__(self, first: dict[str, Any], model: Model) -> None:
        self._first: dict[str, Any] | None = first
        self._model = model

    def __call__(self, request: Request) -> Reply:
        if self._first is None:
            return self._model(request)
        call = {"id": "call_1", "type": "function", "function": self._first}
        self._first = None
        return Reply({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")


def plan(only: Sequence[str] = (), path: Path = PLAN) -> Iterator[RecordingPlan]:
    """Yield the recordings of the plan, or those of these sets.

    Raises:
        InvalidInput: No set has this name.

    >>> [each.name for each in plan(["tasks", "corrections"])]
    ['tasks', 'corrections']
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    names = [each["name"] for each in content["sets"]]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise InvalidInput(f"no set is named {unknown[0]!r}", expected=", ".join(names))
    for each in content["sets"]:
        if only and each["name"] not in only:
            continue
        system = content["systems"].get(each.get("system", ""))
        settings = each.get("settings", {})
        for seed in each.get("seeds", (None,)):
            held = tuple(_conversations(each, content, system))
            for by in each.get("denied", ()):
                held += tuple(_denied(_conversations(each, content, system), DENIALS[by]))
            if seed is None:
                yield RecordingPlan(each["name"], settings, held)
            else:
                yield RecordingPlan(f"{each['name']}-seed{seed}", {**settings, "seed": seed}, held)


def _conversations(
    chosen: dict[str, Any], content: dict[str, Any], system: str | None
) -> Iterator[Conversation]:
    for name in chosen.get("tasks", ()):
        task = content["tasks"][name]
        for prompt in task["prompts"]:
            yield Conversation(prompt, tools_named(*task["tools"]), system)
    if "prompts" in chosen:
        yield from _of_prompts(chosen["prompts"], system)
    if "cases" in chosen:
        yield from _of_cases(chosen["cases"], system)
    if "repairs" in chosen:
        yield from _repairs(asking.asked())
    if "course_repairs" in chosen:
        yield from _repairs(asking.of_the_course())
    if "corrections" in chosen:
        yield from (_correction(each, system) for each in content["corrections"])
    if "injections" in chosen:
        yield from (_injection(each, system) for each in content["injections"])


def _denied(conversations: Iterable[Conversation], denial: Decision) -> Iterator[Conversation]:
    """Yield the conversations in which something can be asked about, as `zoolab walk` goes on if it is
    denied.
    """
    risks = Policy().ask
    for asked in conversations:
        if any(tool.risk in risks for tool in asked.tools):
            yield replace(asked, denied=denial, turns=min(asked.turns, Limits().turns))


def _of_prompts(name: str, system: str | None) -> Iterator[Conversation]:
    path = next(iter(shipped().values())).with_name(f"{name}-prompts.jsonl")
    for asked in read_rows(path, "JSONL with a prompt a line"):
        yield Conversation(
            asked["prompt"],
            tools_named(*asked["tools"]),
            asked.get("system") or system,
            asked.get("envelope", "json"),
        )


def _of_cases(count: int, system: str | None) -> Iterator[Conversation]:
    """Yield every selection case with its own three tools, or with a kit of so many that has these three.

    Cases of the same kit come one after the other: what the model has read of the kit is reused.
    """
    everything = selection_tools()
    cases = list(rows_of("selection-cases"))
    kits = _kits([frozenset(case["offered"]) for case in cases], count) if count > 3 else []
    asked = [(_offered(case["offered"], kits), case["prompt"]) for case in cases]
    for names, prompt in sorted(asked, key=lambda pair: pair[0]):
        yield Conversation(prompt, ToolRegistry([everything[name] for name in names]), system, turns=1)


def _offered(own: list[str], kits: Sequence[frozenset[str]]) -> list[str]:
    return next((sorted(kit) for kit in kits if kit.issuperset(own)), own)


def _kits(offers: Sequence[frozenset[str]], size: int) -> list[frozenset[str]]:
    """Return few sets of `size` tools, so that each offer is inside one: each kit takes in as many as
    it can.
    """
    left = Counter(offers)
    kits = list[frozenset[str]]()
    while left:
        kit = max(left, key=lambda offer: (left[offer], sorted(offer)))
        while len(kit) < size:
            kit |= {max(sorted(set().union(*offers) - kit), key=partial(_closer, left, kit))}
        kits.append(kit)
        left = Counter({offer: count for offer, count in left.items() if not offer <= kit})
    return kits


def _closer(left: Counter[frozenset[str]], kit: frozenset[str], name: str) -> tuple[int, int]:
    """Return how many offers a kit takes in with one more tool, and how near it comes to others."""
    more = kit | {name}
    inside = sum(count for offer, count in left.items() if offer <= more)
    return inside, sum(count for offer, count in left.items() if len(offer - more) == 1 and name in offer)


def _repairs(rows: Iterable[Damaged]) -> Iterator[Conversation]:
    """Yield broken texts, as `LLMRepair` asks about them; no tools are offered."""
    repair = LLMRepair(Scripted([]))
    for row in rows:
        system, prompt = repair.request(row.raw, row.schema).messages
        yield Conversation(prompt["content"], ToolRegistry([]), system["content"], turns=1)


def _correction(given: dict[str, Any], system: str | None) -> Conversation:
    tools = tools_named(*given["tools"])
    if "raises" in given:
        tools = _with(tools, given["call"]["name"], partial(_fail, given["raises"]))
    assert given["code"] in ERROR_CODES
    return Conversation(given["prompt"], tools, system, first=dict(given["call"]))


def _injection(given: dict[str, Any], system: str | None) -> Conversation:
    tools = _with(tools_named(*given["tools"]), given["tool"], lambda **_: given["result"])
    return Conversation(given["prompt"], tools, system)


def _fail(code: str, **_: Any) -> None:
    raise _FAILURES[code]("the service behind the tool did not answer")


def _with(tools: ToolRegistry, name: str, function: Any) -> ToolRegistry:
    """Return the same tools, of which one does something else."""
    return ToolRegistry([_doing(each, function) if each.name == name else each for each in tools])


def _doing(tool: Tool, function: Any) -> Tool:
    return Tool(tool.name, tool.description, tool.parameters, function, risk=tool.risk)
