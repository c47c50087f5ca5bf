"""Loops for lab 9: a right one in a drawn way, often broken at one step or at two.

Whether a fault is found is compared.

A number in a break is drawn so that the loop does at least as much harm as the loop of the cases.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from labs.l9 import cases
from labs.l9.cases import IDLE, RIGHT, WAYS, WORDS, Bench, Loop
from zoolab_grader import Callback, Student

BROKEN = {
    name: loop
    for name, loop in vars(cases).items()
    if isinstance(loop, type) and issubclass(loop, Loop) and loop not in RIGHT and loop is not IDLE
}
#: What a number is drawn for, from which up to which, and the loop that it makes.
NUMBERED: dict[str, tuple[int, int, Callable[[int], type[Loop]]]] = {
    "asks more": (1, 20, cases._with_limit),
    "asks less": (1, 2, lambda n: cases._with_limit(-n)),
    "first calls": (1, 3, lambda n: cases._some_calls(lambda calls: calls[:n])),
    "without a call": (0, 2, lambda n: cases._some_calls(lambda calls: calls[:n] + calls[n + 1 :] or calls)),
    "one round less": (1, 2, lambda n: cases._calls_unless(lambda _reply, turn: turn >= n)),
    "last messages": (3, 10, lambda n: cases._sends(lambda said, _turn: said[-n:])),
    "cut texts": (
        1,
        100,
        lambda n: cases._text_unless(lambda value: value[:n] if isinstance(value, str) else None),
    ),
    "cut reasons": (1, 20, lambda n: cases._broken(raised=lambda self, why: self.failed(why[:n]))),
    "without a message": (
        0,
        2,
        lambda n: cases._sends(lambda said, turn: said[:n] + said[n + 1 :] if turn else said),
    ),
    "a tool less": (0, 1, lambda n: cases._broken(offered=lambda self, _turn: [*self.bench.tools][:n])),
}


def draw(chance: Random) -> dict[str, Any]:
    """Return the steps that are broken, with their numbers, and the right loop that they are taken from."""
    breaks = []
    for _ in range(chance.choice([0, 1, 1, 1, 2])):
        if chance.random() < 0.5:
            breaks.append([chance.choice([*BROKEN]), 0])
        else:
            name = chance.choice([*NUMBERED])
            breaks.append([name, chance.randint(*NUMBERED[name][:2])])
    error, leaves, reason_last = chance.choice(WAYS)
    right = chance.randrange(len(RIGHT))
    way = {"word": chance.choice(WORDS), "error": error, "leaves": leaves, "reason_last": reason_last}
    return {"right": right, "breaks": breaks, **way}


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return whether a fault was found."""
    loops = [
        BROKEN[name] if name in BROKEN else NUMBERED[name][2](number) for name, number in given["breaks"]
    ]
    drawn = type("Drawn", tuple(dict.fromkeys([*loops, [*RIGHT][given["right"]], Loop])), {})
    bench = Bench(drawn, given["word"], given["error"], given["leaves"], given["reason_last"])
    return bool(student.call("faults_of", Callback(bench.run, "run")).value)
