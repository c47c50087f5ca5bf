"""Studies: fault studies know what happened and what it cost, security studies who obeyed and what helped."""

import json
import math
import pickle

import pytest

from zoolab import Scripted, run, tool
from zoolab.course import fault_study, security_study
from zoolab.course.attacks import ATTACKS, SCRIPTS
from zoolab.course.faults import NO_FAULT, WithFault
from zoolab.course.office import TASKS, Office
from zoolab.course.security import DEFENCES, NO_ATTACK, score_security, security_cases
from zoolab.errors import InvalidInput
from zoolab.models.faulty import FAULTS
from zoolab.plots import FaultRecoveryDisplay
from zoolab.study import Case, Run, Setup


@tool
def add(a: int, b: int) -> int:
    """Add two integers. Use this when the user asks for a sum."""
    return a + b


def adder(case):
    """Asks again after an error, and passes on what it hears."""
    call = [("add", dict(zip("ab", case.data["numbers"], strict=True)))]

    def reply(request):
        last = request.messages[-1]
        heard = json.loads(last["content"]) if last["role"] == "tool" else {"success": False}
        return f"It is {heard['data']}." if heard["success"] else call

    return Scripted(reply)


SUMS = [
    Case(f"sum-{n}", f"{n} + 2?", [add], "add", [("add", {"a": n, "b": 2})], n + 2, data={"numbers": (n, 2)})
    for n in range(6)
]
PLAIN = {"workers": 2, "progress": False}


@pytest.fixture(scope="module")
def faults():
    return fault_study(
        SUMS, {"adder": adder}, faults=["trailing_comma", "wrong_result", "duplicate_id"], **PLAIN
    )


def test_a_fault_study_tells_what_is_survived_from_what_is_silently_wrong(faults):
    rows = faults.rates.set_index("injected")
    assert rows.loc[NO_FAULT, ["runs", "happened", "success", "silently_wrong"]].tolist() == [6, 0, 1, 0]
    assert rows.loc["trailing_comma", ["happened", "success", "silently_wrong"]].tolist() == [6, 1, 0]
    assert rows.loc["wrong_result", ["happened", "success", "silently_wrong"]].tolist() == [6, 0, 1]
    known = rows.dropna()
    assert len(known) == 3
    assert ((known["low"] <= known["success"]) & (known["success"] <= known["high"])).all()


def test_a_fault_that_finds_nothing_to_break_did_not_happen(faults):
    row = faults.rates.set_index("injected").loc["duplicate_id"]
    assert (row["runs"], row["happened"]) == (6, 0)
    assert math.isnan(row["success"])


def test_its_frame_is_what_the_display_takes(faults):
    display = FaultRecoveryDisplay.from_frame(faults.experiment.frame, summary=faults.summary)
    assert display.rates_.loc["wrong_result", "recovered"] == 0
    assert display.rates_.loc["trailing_comma", "recovered"] == 6
    assert repr(faults.plot()) == repr(display)


def test_rates_make_a_grid_and_the_seed_decides_what_happens():
    def study():
        return fault_study(
            SUMS, {"adder": adder}, faults=["trailing_comma"], rates=(0.3, 1), seed=5, **PLAIN
        ).rates

    first, second = study(), study()
    assert first.equals(second)
    assert first["rate"].tolist() == [0, 0.3, 1]
    assert first["happened"].iloc[1] < first["happened"].iloc[2] == 6


@pytest.mark.parametrize("wrong", [{"faults": ["gremlins"]}, {"rates": ()}, {"rates": (0,)}, {"rates": (2,)}])
def test_faults_and_rates_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidInput):
        fault_study(SUMS, {"adder": adder}, **wrong)


@pytest.fixture(scope="module")
def security():
    return security_study(**PLAIN)


def rates_of(study, model):
    table = study.table.set_index(["model", "defence"])
    return {name: table.loc[(model, name)] for name in DEFENCES}


def test_there_are_a_dozen_attacks_and_more_each_with_a_name_of_its_own():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 12
    assert {attack.place for attack in ATTACKS} == {"result", "description", "parameter"}
    assert all(attack.tool or attack.said for attack in ATTACKS)


def test_who_obeys_everything_falls_to_everything_unless_it_is_stopped(security):
    found = rates_of(security, "gullible (script)")
    assert found["undefended"]["attacked"] == found["marked results"]["attacked"] == 1
    assert 0 < found["pinned descriptions"]["attacked"] < 1
    assert 0 < found["defended"]["attacked"] < 0.1  # no rule keeps a model from saying something
    runs = security.summary.query("model == 'gullible (script)' and variant == 'defended'")
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


def test_the_table_says_who_answered_and_has_intervals(security):
    table = security.table
    assert set(table["made"]) == {"authored"}
    assert all(who.startswith("A script that") for who in table["who"])
    for score in ("attacked", "utility", "utility_without"):
        assert (table[f"{score}_low"] <= table[score]).all()
        assert (table[score] <= table[f"{score}_high"]).all()
        assert (table[f"{score}_low"] < table[f"{score}_high"]).all()


def test_another_model_is_called_what_it_calls_itself_and_is_not_praised_for_what_it_never_read():
    known = {"mine": Scripted(["Hall 3"])}
    table = security_study(known, attacks=ATTACKS[:1], tasks=TASKS[:1], **PLAIN).table
    assert set(table["who"]) == {"written by hand, for teaching"}
    assert set(table["attacked"]) == set(table["exposed"]) == {0}


def test_an_order_is_read_unless_pins_take_it_out(security):
    for name in SCRIPTS:
        exposed = {defence: row["exposed"] for defence, row in rates_of(security, name).items()}
        assert exposed["undefended"] == exposed["marked results"] == exposed["rules"] == 1
        assert exposed["pinned descriptions"] == exposed["defended"] == 0.75


def test_both_pictures_of_a_security_study_have_a_row_for_each_model_and_defence(security):
    figure = security.plot()
    assert len(figure.axes) == 2 * len(SCRIPTS)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [*DEFENCES]
    assert len(security.table) == len(SCRIPTS) * len(DEFENCES)


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
    for one in (security_cases()[-1], *DEFENCES.values(), WithFault("trailing_comma", 1.0)):
        pickle.loads(pickle.dumps(one))


def test_models_that_are_no_dict_are_refused_and_no_attack_is_a_case_too():
    with pytest.raises(InvalidInput, match="models is not a dict"):
        security_study([Scripted(["Hi"])])
    assert [case.id for case in security_cases() if NO_ATTACK in case.id] == [
        f"{task.name} / {NO_ATTACK}" for task in TASKS
    ]


def test_a_plot_of_many_faults_still_shows_the_runs_without_one():
    names = [name for name in FAULTS if name.endswith(("_arguments", "_argument", "_integer", "_result"))]
    study = fault_study(SUMS[:1], {"adder": adder}, faults=names, **PLAIN)
    ax = study.plot().ax_
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert (len(shown), shown[-1]) == (12, NO_FAULT)
    assert "more row" in ax.get_xlabel()
