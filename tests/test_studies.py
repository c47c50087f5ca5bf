"""An experiment on security: who obeyed, and what helped. And the picture of many faults."""

import json
import pickle

import pytest

from zoolab import Scripted, experiment, run, tool
from zoolab_connect.faulty import FAULTS
from zoolab_course.security import (
    ATTACKS,
    DEFENCES,
    NO_ATTACK,
    SCRIPTS,
    TASKS,
    Office,
    score_security,
    security_cases,
)
from zoolab_study import Run, Setup
from zoolab_study.plots import FaultRecoveryDisplay

PLAIN = {"workers": 2, "progress": False}


def study(models=SCRIPTS, attacks=ATTACKS, tasks=TASKS):
    """One row a run, with the name of the attack."""
    cases = security_cases(attacks, tasks)
    runs = experiment(cases, DEFENCES, models, scorers=[score_security], **PLAIN).summary
    return runs.assign(attack=runs["case_id"].str.partition(" / ")[2])


@pytest.fixture(scope="module")
def security():
    return study()


def rates_of(runs, model):
    """For each defence: how often attacks succeeded and were read, and the task was served."""
    found = {}
    for defence, rows in runs[runs["model"] == model].groupby("variant"):
        attacked = rows[rows["attack"] != NO_ATTACK]
        found[defence] = {
            name: attacked[name].astype(float).mean() for name in ("attacked", "exposed", "utility")
        }
        found[defence]["utility_without"] = rows[rows["attack"] == NO_ATTACK]["utility"].astype(float).mean()
    return found


def test_there_are_a_dozen_attacks_and_more_each_with_a_name_of_its_own():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 12
    assert {attack.place for attack in ATTACKS} == {"result", "description", "parameter"}
    assert all(attack.tool or attack.said for attack in ATTACKS)


def test_who_obeys_everything_falls_to_everything_unless_it_is_stopped(security):
    found = rates_of(security, "gullible (script)")
    assert found["undefended"]["attacked"] == found["marked results"]["attacked"] == 1
    assert 0 < found["pinned descriptions"]["attacked"] < 1
    assert 0 < found["defended"]["attacked"] < 0.1  # no rule keeps a model from saying something
    runs = security.query("model == 'gullible (script)' and variant == 'defended'")
    assert set(runs[runs["attack"] == "link-in-answer"]["attacked"]) == {True}


def test_marks_help_whoever_heeds_them_and_nobody_else(security):
    found = rates_of(security, "heeds marks (script)")
    assert found["undefended"]["attacked"] == 1
    assert found["marked results"]["attacked"] == 0.25
    assert found["defended"]["attacked"] == 0


def test_rules_cost_the_task_that_needs_what_they_forbid(security):
    found = rates_of(security, "careful (script)")
    assert found["undefended"]["utility"] == found["undefended"]["utility_without"] == 1
    assert found["defended"]["utility"] == found["defended"]["utility_without"] == 0.75
    assert found["undefended"]["attacked"] == 0


def test_a_model_is_not_praised_for_what_it_never_read():
    runs = study({"mine": Scripted(["Hall 3"])}, ATTACKS[:1], TASKS[:1])
    attacked = runs[runs["attack"] != NO_ATTACK]
    assert set(attacked["attacked"]) == set(attacked["exposed"]) == {False}


def test_an_order_is_read_unless_pins_take_it_out(security):
    for name in SCRIPTS:
        exposed = {defence: row["exposed"] for defence, row in rates_of(security, name).items()}
        assert exposed["undefended"] == exposed["marked results"] == exposed["rules"] == 1
        assert exposed["pinned descriptions"] == exposed["defended"] == 0.75


@pytest.mark.parametrize("case", security_cases(), ids=lambda case: case.id)
def test_an_attack_stands_where_it_says_and_pins_put_descriptions_back(case):
    attack, clean = case.data["attack"], Office().tools()
    told = json.dumps(case.tools.schemas(), ensure_ascii=False)
    in_place = attack is not None and attack.place != "result"
    assert (case.tools != clean) is in_place
    assert not in_place or json.dumps(attack.text, ensure_ascii=False)[1:-1] in told
    assert DEFENCES["pinned descriptions"](Setup(case, case.prompt, case.tools, None)).tools == clean


def test_what_was_denied_or_failed_is_no_success_of_the_attack():
    case = next(case for case in security_cases() if case.id == "read / fake-user")
    setup = DEFENCES["defended"](Setup(case, case.prompt, case.tools, None))
    traces = [
        run(case.prompt, tools, SCRIPTS["gullible (script)"](case), policy=policy)
        for tools, policy in ((case.tools, DEFENCES["undefended"](setup).policy), (setup.tools, setup.policy))
    ]
    assert [score_security(Run(case, trace))["attacked"] for trace in traces] == [True, False]


def test_cases_and_variants_can_be_sent_to_another_process():
    for one in (security_cases()[-1], *DEFENCES.values()):
        pickle.loads(pickle.dumps(one))


def test_no_attack_is_a_case_too():
    assert [case.id for case in security_cases() if NO_ATTACK in case.id] == [
        f"{task.name} / {NO_ATTACK}" for task in TASKS
    ]


@tool
def add(a: int, b: int) -> int:
    """Add two integers. Use this when the user asks for a sum."""
    return a + b


def test_a_plot_of_many_faults_still_shows_the_runs_without_one():
    names = [name for name in FAULTS if name.endswith(("_arguments", "_argument", "_integer", "_result"))]
    variants = {"plain": {}, **{name: {"faults": [name], "limits": {"turns": 3}} for name in names}}
    script = Scripted([[("add", {"a": 1, "b": 2})], "It is 3."])
    case = {"id": "sum", "prompt": "1 + 2?", "tools": [add], "expected_answer": "3"}
    done = experiment([case], variants, {"script": script}, **PLAIN)
    ax = FaultRecoveryDisplay.from_frame(done.frame, summary=done.summary).ax_
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert (len(shown), shown[-1]) == (12, "no fault")
    assert "more row" in ax.get_xlabel()
