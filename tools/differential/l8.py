"""Runs and budgets for lab 8. Numbers are compared to nine digits."""

from __future__ import annotations

from random import Random
from typing import Any

from zoolab_grader import Callback, Student, Wrong


def draw(chance: Random) -> dict[str, Any]:
    """Return runs of two agents with some cases in common, a k, and an evaluation."""
    names = [f"c{n}" for n in chance.sample(range(90), chance.choice([0, 1, 5, 12, 20, 80]))]
    skill = {"a": chance.random(), "b": chance.random()}
    runs = {
        agent: {
            name: [chance.random() < able for _ in range(chance.choice([1, 1, 2, 3, 8, 40]))]
            for name in chance.sample(names, len(names) * chance.choice([2, 3, 3]) // 3)
        }
        for agent, able in skill.items()
    }
    cases = [f"c{n}" for n in range(chance.choice([1, 2, 7, 15]))]
    more = {"k": chance.randrange(1, 5), "cases": cases, "budget": chance.randrange(60)}
    return {**runs, **more, "skill": skill, "seed": chance.random()}


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return what the three functions return, and which runs were asked for."""
    asked: list[str] = []

    def ask(agent: str, names: list[str]) -> list[bool]:
        found = []
        for name in names:
            run = f"{agent}/{name}/{asked.count(f'{agent}/{name}')}"
            found.append(Random(f"{given['seed']}/{run}").random() < given["skill"][agent])
            asked.append(f"{agent}/{name}")
        return found

    several = student.call("pass_hat", given["a"], given["k"]).value
    compared = student.call("compare", given["a"], given["b"]).value
    evaluated = student.call("evaluate", Callback(ask, "ask"), given["cases"], given["budget"]).value
    return [_plain(several), _plain(compared), _plain(evaluated), sorted(asked)]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, str | None):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong("neither a number nor a text")
    return round(float(value), 9)
