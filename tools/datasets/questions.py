"""Which cases were put to which models: the same plan gives the same questions.

choose   three tools on offer: which does the model choose?
break    one tool, shallow models, few tokens: how are its arguments broken?
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.datasets.asking import Question
from zoolab.jsontext import encode
from zoolab.tools import ToolRegistry

SEED = 6
#: How many tokens each model may write.
LADDER = (("needle3-L8", 160), ("smollm2", 96), ("needle3-L20", 160), ("needle3-L6", 160))
#: So many cases go to all of them. Then Needle goes on with so many cases of short schemas.
FOR_ALL = 34
SHORT = (("needle3-L20", 160, 42), ("needle3-L8", 160, 63), ("needle3-L6", 160, 63))
#: Cases a tool, and requests that need none, among those that go to all.
A_TOOL = 2
NONE_NEEDED = 24

#: For broken arguments a model is alone with one tool. Cut off so early, a call is seldom whole.
CUT_TOKENS = (30, 34, 38, 42)
CUT_CALL_TOKENS = 48
#: So many cases get the earlier cuts, too, and so many a seventh layer.
FIRST = 72
SEVENTH = 160
#: SmolLM2 is slow, and its calls are nearly all broken: it gets every third case.
SMOLLM2_EVERY = 3

Case = Mapping[str, Any]


def outputs_plan(cases: Sequence[Case], tools: ToolRegistry) -> Iterator[tuple[Case, Question, str]]:
    """Yield all questions, each with its purpose: choose or break.

    >>> list(outputs_plan([], ToolRegistry()))
    []
    """
    yield from ((case, question, "choose") for case, question in selection_plan(cases, tools))
    yield from ((case, question, "break") for case, question in breaking_plan(cases, tools))


def selection_plan(cases: Sequence[Case], tools: ToolRegistry) -> Iterator[tuple[Case, Question]]:
    """Yield the questions of the selection outputs: a fair sample for all models, short ones for Needle.

    >>> list(selection_plan([], ToolRegistry()))
    []
    """
    fair = picked(cases)[:FOR_ALL]
    rest = [case for case in cases if case["split"] == "public" and case not in fair]
    short = sorted(rest, key=lambda case: sum(len(encode(tools[name].schema())) for name in case["offered"]))
    for case in fair:
        for model, tokens in LADDER:
            yield case, Question(case["prompt"], model, tuple(case["offered"]), tokens)
    for number, case in enumerate(_one_of_each(short)):
        for model, tokens, most in SHORT:
            if number < most:
                yield case, Question(case["prompt"], model, tuple(case["offered"]), tokens)


def breaking_plan(cases: Sequence[Case], tools: ToolRegistry) -> Iterator[tuple[Case, Question]]:
    """Yield the questions of the broken arguments: cases that need a tool, to shallow models, some cut short.

    A tool whose parameters are only texts and numbers is too easy to be got wrong by Needle at length.

    >>> list(breaking_plan([], ToolRegistry()))
    []
    """
    asked = [case for case in cases if case["tool"] is not None and not case["also"]]
    chance = random.Random(f"{SEED}/broken")
    for number, case in enumerate(chance.sample(asked, len(asked))):
        settings = [("needle3-L6", chance.choice(CUT_TOKENS))] if number < FIRST else []
        if _is_hard(tools[case["tool"]].parameters):
            settings += [("needle3-L6-raw", 160), ("needle3-L6-raw", CUT_CALL_TOKENS)]
            settings += (
                [("needle3-L7-raw", 160 if number < FIRST else CUT_CALL_TOKENS)] if number < SEVENTH else []
            )
        if number % SMOLLM2_EVERY == 0:
            settings.append(("smollm2", 96))
        for model, tokens in settings:
            yield case, Question(case["prompt"], model, (case["tool"],), tokens)


def picked(cases: Sequence[Case]) -> list[Case]:
    """Return public cases, two of each tool and some that need none, in an order of which any beginning is
    fair.

    >>> len(picked([{"tool": "a", "split": "public"}] * 9))
    2
    """
    public = [case for case in cases if case["split"] == "public"]
    shuffled = random.Random(f"{SEED}/outputs").sample(public, len(public))
    taken = Counter[Any]()
    kept: list[Case] = []
    for case in shuffled:
        if taken[case["tool"]] < (A_TOOL if case["tool"] else NONE_NEEDED):
            taken[case["tool"]] += 1
            kept.append(case)
    return random.Random(f"{SEED}/order").sample(kept, len(kept))


def _one_of_each(cases: Sequence[Case]) -> list[Case]:
    """Return the cases without those that differ from an earlier one in a value only."""
    first: dict[Any, Case] = {}
    for case in cases:
        first.setdefault((case["tool"], case["difficulty"], *sorted(case["offered"])), case)
    return list(first.values())


def _is_hard(schema: Mapping[str, Any]) -> bool:
    """Return whether a parameter is an array, an object, a number with a bound, or has to meet a pattern."""
    hard = {"items", "properties", "pattern", "enum", "minimum", "exclusiveMinimum"}
    return any(hard & part.keys() for part in schema["properties"].values())
