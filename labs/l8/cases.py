"""The cases of lab 8: evaluate an agent. The agents are drawn, so that the truth about them is known."""

from math import comb, fsum
from random import Random
from typing import Any

from zoolab_grader import Callback, Lab, Student, Wrong, case
from zoolab_study.statistics import mcnemar

LAB = Lab("l8", "Evaluate an agent", functions=("pass_hat", "compare", "evaluate"), uses=("pandas",))

Runs = dict[str, list[bool]]


def _runs(chance: Random, *counts: tuple[int, int]) -> Runs:
    """For each pair a case with so many runs, so many of them passed; names and order are drawn."""
    names = chance.sample(range(100, 1000), len(counts))
    found = {
        f"c{name}": [n < passed for n in range(runs)]
        for name, (runs, passed) in zip(names, counts, strict=True)
    }
    return {name: chance.sample(runs, len(runs)) for name, runs in found.items()}


def _expect_pass_hat(student: Student, runs: Runs, k: int) -> None:
    shares = [comb(sum(each), k) / comb(len(each), k) for each in runs.values() if len(each) >= k]
    wanted = fsum(shares) / len(shares) if shares else None
    came = student.call("pass_hat", runs, k).value
    if not _near(came, wanted):
        raise Wrong(f"`pass_hat(runs, {k})` returned another number than the task says")


def _near(came: Any, wanted: float | None) -> bool:
    if wanted is None or type(came) not in (int, float):
        return came is wanted
    return bool(abs(came - wanted) <= 1e-9)


def _expect_compare(student: Student, a: Runs, b: Runs, key: str) -> None:
    """`compare` must return this key as the task says."""
    gains = [sum(b[case]) / len(b[case]) - sum(a[case]) / len(a[case]) for case in a if case in b]
    only_a, only_b = sum(gain < 0 for gain in gains), sum(gain > 0 for gain in gains)
    p = mcnemar(only_a, only_b)
    verdict = "undecided" if p > 0.05 else "a" if only_a > only_b else "b"
    came = student.call("compare", a, b).value
    if not isinstance(came, dict) or not came.keys() >= {"p", "verdict"}:
        raise Wrong("`compare` did not return a dict of `p` and `verdict`")
    if came["verdict"] != verdict if key == "verdict" else not _near(came["p"], p):
        raise Wrong(f"`{key}` is another one than the task says")


def _expect_same(student: Student, pairs: list[tuple[Runs, ...]]) -> None:
    """`compare(a, b)` must return what `compare(c, d)` does, and not always what it returns for even votes.

    Whether its numbers are right is asked elsewhere, and whether it can do without votes.
    """

    def said(a: Runs, b: Runs) -> Any:
        came = student.call("compare", a, b).value
        return [came.get("p"), came.get("verdict")] if isinstance(came, dict) else came

    even, decided = said(*_pairs(Random(0), "+/-", "-/+")), False
    for a, b, c, d in pairs:
        came = said(a, b)
        if came != said(c, d):
            raise Wrong("these runs give other votes than the task says")
        decided = decided or came != even
    if not decided:
        raise Wrong("`compare` always returned what it returns for even votes")


def _pairs(chance: Random, *results: str) -> tuple[Runs, Runs]:
    """Runs of a and of b. Each text is a case: in `+-/++` a passes and fails, and b passes two times."""
    names = [f"c{name}" for name in chance.sample(range(100, 1000), len(results))]
    sides = [[text.partition("/")[side] for text in results] for side in (0, 2)]
    a, b = (
        {n: [mark == "+" for mark in text] for n, text in zip(names, side, strict=True)} for side in sides
    )
    return a, b


class Agents:
    """Two agents, whose chance of passing each case is drawn; b passes `gain` of the cases that a fails.

    The cases that only b passes come first, so that who stops early sees a difference.
    """

    def __init__(self, chance: Random, cases: int, gain: float | None) -> None:
        names = [f"c{n}" for n in chance.sample(range(1000, 9999), cases)]
        able = {name: chance.random() < 0.5 for name in names}
        other = {
            name: able[name] or chance.random() < gain if gain else chance.random() < 0.5 for name in names
        }
        self.chance, self.able = chance, {"a": able, "b": other}
        self.first = {agent: {name: self._run(agent, name) for name in names} for agent in "ab"}
        self.cases = sorted(names, key=lambda name: self.first["a"][name] - self.first["b"][name])
        self.seen: dict[str, Runs] = {"a": {}, "b": {}}

    def _run(self, agent: str, name: str) -> bool:
        return (self.chance.random() < 0.95) == self.able[agent][name]

    def ask(self, agent: str, names: list[str]) -> list[bool]:
        """Run an agent once for each of these cases."""
        if agent not in self.seen or not isinstance(names, list) or not set(names) <= set(self.cases):
            raise ValueError("ask: an agent is 'a' or 'b', and names are a list of names of cases")
        answers = []
        for name in names:
            runs = self.seen[agent].setdefault(name, [])
            runs.append(self._answer(agent, name, len(runs)))
            answers.append(runs[-1])
        return answers

    def _answer(self, agent: str, name: str, before: int) -> bool:
        """Whether an agent passes a case that it was asked so often before."""
        return self._run(agent, name) if before else self.first[agent][name]

    def evaluated(self, student: Student, budget: int, *, strict: bool = True) -> Any:
        """What `evaluate` returns. If `strict`, the runs that it asked for must be within the budget."""
        came = student.call("evaluate", Callback(self.ask, "ask"), self.cases, budget).value
        if strict and sum(len(runs) for seen in self.seen.values() for runs in seen.values()) > budget:
            raise Wrong("more runs were asked for than the budget pays for")
        return came


class Turning(Agents):
    """Agents of which a passes every case in the first half of the rounds, and b in the second.

    Of all rounds no agent is better, and of fewer one is.
    """

    def __init__(self, chance: Random, cases: int, rounds: int) -> None:
        super().__init__(chance, cases, None)
        self.half = rounds // 2

    def _answer(self, agent: str, _name: str, before: int) -> bool:
        return (before < self.half) == (agent == "a")


def _claims(student: Student, chance: Random, gain: float | None, worlds: int) -> list[Any]:
    """The verdicts about pairs of agents with this difference. Other cases judge what was spent."""
    student.stop()  # who keeps the runs of other cases loses those cases only
    agents = [Agents(chance, 100, gain) for _ in range(worlds)]
    found = [each.evaluated(student, 200, strict=False) for each in agents]
    return [each.get("verdict") if isinstance(each, dict) else None for each in found]


@case(points=1, public=True, hint="First the share of each case, then the mean of these shares.")
def pass_1_is_a_mean_of_cases(student: Student, chance: Random) -> None:
    """`pass_hat(runs, 1)` is the mean over the cases of the share that passed; each case counts the same."""
    _expect_pass_hat(student, _runs(chance, (1, 1), (7, 2), (3, 0), (3, 0), (5, 4)), 1)
    _expect_pass_hat(student, _runs(chance, *[(2, 2)] * 160, *[(3, 1)] * 140), 1)


@case(
    points=2,
    public=True,
    hint="With c of n runs passed, comb(c, k) of the comb(n, k) choices are all passed.",
)
def pass_k_is_without_replacement(student: Student, chance: Random) -> None:
    """`pass_hat(runs, k)` is how often k runs of a case, drawn without replacement, all pass."""
    runs = _runs(chance, (6, 6), (6, 5), (6, 3), (6, 2), (6, 0))
    for k in (2, 3, 6):
        _expect_pass_hat(student, runs, k)
    others = {name: [not passed for passed in each] for name, each in runs.items()}  # by the same names
    _expect_pass_hat(student, others, 2)
    _expect_pass_hat(student, _runs(chance, (24, 23), (24, 24)), 22)
    _expect_pass_hat(student, _runs(chance, (102, 101)), 101)


@case(
    points=1, hint="Leave out a case with fewer than k runs. Return None if no case is left: 0 is not None."
)
def too_few_runs(student: Student, chance: Random) -> None:
    """A case with fewer than k runs is left out; without any case `pass_hat` is None; a share of 0 is 0."""
    runs = _runs(chance, (3, 3), (4, 4), (2, 2), (5, 0))  # all or none: which formula is asked elsewhere
    for k in (3, 4, 6):
        _expect_pass_hat(student, runs, k)
    _expect_pass_hat(student, {}, 1)
    _expect_pass_hat(student, _runs(chance, (0, 0), (1, 1)), 1)
    _expect_pass_hat(student, _runs(chance, (3, 0), (4, 0)), 2)


@case(
    points=2,
    public=True,
    hint="Add up comb(n, i) for i from 0 to the smaller count, times 2, over 2 ** n; at most 1.",
)
def p_is_exact(student: Student, chance: Random) -> None:
    """`p` of `compare` is that of the exact sign test, two-sided, for one run of each case."""
    for more, fewer in ((9, 2), (1, 6), (4, 4), (40, 21), (25, 0), (280, 220)):
        pairs = _pairs(chance, *["+/-"] * more, *["-/+"] * fewer)
        _expect_compare(student, *pairs, "p")


@case(points=1, hint="A claim needs p <= 0.05: 6 to 0 is enough, 5 to 0 is not.")
def verdict_needs_evidence(student: Student, chance: Random) -> None:
    """The verdict is the agent with more votes if p is at most 0.05, and else `undecided`."""
    few = ((6, 0), (0, 6), (5, 0), (0, 0), (9, 1), (3, 12), (8, 3), (4, 13))
    for more, fewer in (*few, (22, 10), (60, 38), (255, 245)):
        pairs = _pairs(chance, *["+/-"] * more, *["-/+"] * fewer)
        _expect_compare(student, *pairs, "verdict")


@case(points=2, hint="For each case compare the two shares. A case is one vote, however many runs it has.")
def cases_count_not_runs(student: Student, chance: Random) -> None:
    """A case with several runs is one vote, for the agent with the larger share; equal shares are no vote."""
    votes, pairs = {"a": "+/-", "b": "-/+"}, []
    for results, voted in (
        (["+-/+++-----"] * 9, "a" * 9),  # one of two is more than three of eight
        (["+-/++--"] * 4 + ["+/-"] * 9 + ["+/" + 60 * "+", 60 * "-" + "/-"], "a" * 9),  # b passed more runs
        ([60 * "+" + "/" + 60 * "-"] + ["-/+"] * 12, "a" + "b" * 12),
        (["+++-/+++++"] * 9 + ["++/+"] * 4, "b" * 9),
        ([f"+{11 * '-'}/{12 * '-'}"] * 20 + ["-/+"] * 3, "a" * 20 + "b" * 3),  # b has the larger mean
        ([249 * "+" + "-/" + 250 * "+"] * 9, "b" * 9),
    ):
        once = _pairs(chance, *map(votes.__getitem__, voted))
        pairs.append((*_pairs(chance, *results), *once))
    a, b = _pairs(chance, *["+/-"] * 9, *["+/+"] * 3, *["-/-"] * 3)
    items = list(b.items())
    _expect_same(student, [*pairs, (a, dict([*items[:9], *items[12:], *items[9:12]]), a, b)])


@case(points=1, hint="Only cases that both agents have can be compared. Without a vote p is 1.")
def only_shared_cases(student: Student, chance: Random) -> None:
    """A case that only one agent has is left out; without a case that both have, p is 1."""
    pairs = []
    for shared in ("+/-", "-/+"):
        a, b = _pairs(chance, *[shared] * 18)
        few_a, few_b = (dict(list(each.items())[::2]) for each in (a, b))
        pairs += [(a, few_b, few_a, few_b), (few_a, b, few_a, few_b)]
    _expect_same(student, pairs)
    _expect_compare(student, {}, b, "p")
    _expect_compare(student, a, {f"{name.upper()} ": runs for name, runs in b.items()}, "p")


@case(
    points=2,
    public=True,
    hint="Ask for both agents on the same budget // 2 cases, or on all if that is fewer.",
)
def more_cases_before_more_runs(student: Student, chance: Random) -> None:
    """`evaluate` asks both agents for as many cases as the budget pays for, once each, and returns what
    `compare` says of these runs."""
    for cases, budget in ((30, 41), (30, 61), (25, 50), (25, 1), (25, 2), (25, 0), (400, 605)):
        agents = Agents(chance, cases, 0.9)
        came = agents.evaluated(student, budget)
        asked = [{case: len(runs) for case, runs in seen.items()} for seen in agents.seen.values()]
        if asked[0] != asked[1] or list(asked[0].values()) != [1] * min(cases, budget // 2):
            raise Wrong("not both agents were asked once for each of as many cases as the budget pays for")
        if came != student.call("compare", *agents.seen.values()).value:
            raise Wrong("`evaluate` did not return what `compare` says of all runs")
    agents = Agents(chance, 30, 0.9)
    for _ in range(2):  # the same cases once more, and the agents change places
        agents.first, agents.seen = {"a": agents.first["b"], "b": agents.first["a"]}, {"a": {}, "b": {}}
        if agents.evaluated(student, 60) != student.call("compare", *agents.seen.values()).value:
            raise Wrong("`evaluate` did not return what `compare` says of all runs")


@case(points=2, hint="If all cases are asked and the budget pays for all of them again, ask once more.")
def rounds_of_all_cases(student: Student, chance: Random) -> None:
    """With a budget for more than one run of each case, `evaluate` asks in whole rounds of all cases."""
    played = [
        (Agents(chance, cases, 0.9), budget, rounds)
        for cases, budget, rounds in ((8, 47, 2), (8, 48, 3), (20, 79, 1), (60, 250, 2), (3, 77, 12))
    ]
    played += [(Turning(chance, 3, rounds), 6 * rounds, rounds) for rounds in (6, 120)]
    for agents, budget, rounds in played:
        came = agents.evaluated(student, budget)
        if any(
            [len(runs) for runs in seen.values()] != [rounds] * len(agents.cases)
            for seen in agents.seen.values()
        ):
            raise Wrong("each case was not asked as often as the budget pays for in whole rounds")
        if came != student.call("compare", *agents.seen.values()).value:
            raise Wrong("`evaluate` did not return what `compare` says of all runs")


@case(points=3, hint="One test, after all runs. Who tests again and again finds something that is not there.")
def no_claim_without_a_difference(student: Student, chance: Random) -> None:
    """Of 40 pairs of agents that are equally good, `evaluate` calls no more than 10 different."""
    claims = _claims(student, chance, None, 40)
    if any(each not in ("a", "b", "undecided") for each in claims):
        raise Wrong("`evaluate` gave no verdict")
    if len([each for each in claims if each != "undecided"]) > 10:
        raise Wrong("of agents that are equally good, too many were called different")


@case(points=2, hint="Many cases find a difference that many runs of few cases do not find.")
def a_difference_is_found(student: Student, chance: Random) -> None:
    """Of 20 pairs of agents, of which b passes two thirds of the cases that a fails, `evaluate` finds 18."""
    if _claims(student, chance, 0.67, 20).count("b") < 18:
        raise Wrong("too many differences were not found, or the wrong agent was called better")
