"""Answers against each other on drawn inputs: right ones agree, and what differs is found and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.differential.__main__ import main
from tools.differential.comparing import FAILED, Inputs
from tools.mutation.mutants import mutants
from tools.wrong_answers import right_answers, wrong_answers
from zoolab_grader import load_lab
from zoolab_grader.isolation import shut_in
from zoolab_grader.submissions import read_cells


def test_a_wrong_answer_differs_and_a_right_one_does_not():
    lab = load_lab("l2")
    inputs = Inputs.of(lab, 60)
    with shut_in(lab) as isolation:
        wanted = inputs.results(read_cells(right_answers("l2")["solution"]), isolation)
        assert FAILED not in wanted
        assert inputs.difference(read_cells(right_answers("l2")["bisect"]), isolation, wanted) is None
        found = inputs.difference([wrong_answers("l2")["keeps_the_oldest"].code], isolation, wanted)
        assert found is not None
        assert found.wanted in wanted
        assert found.came != found.wanted
        raised = inputs.difference(["def condense(*args): return 1 / 0"], isolation, wanted)
        assert raised is not None
        assert raised.came == FAILED


@pytest.mark.parametrize(
    ("name", "results"), [("l4", 8), ("l6", 8), ("l7", 8), ("l9", 2), ("l10", 8), ("l8", 8), ("l11", 8)]
)
def test_right_answers_agree(name: str, results: int):
    lab = load_lab(name)
    inputs, (first, *others) = Inputs.of(lab, 15), list(right_answers(name).values())[:3]
    with shut_in(lab) as isolation:
        wanted = inputs.results(read_cells(first), isolation)
        assert len(set(wanted)) >= results
        assert FAILED not in wanted
        for other in others:
            assert inputs.difference(read_cells(other), isolation, wanted) is None


def test_the_command_names_a_right_answer_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "all.py").write_text("def condense(messages, budget, tokens_of): return messages")
    assert main(["l2", "--draws", "20", "--of", "none", "--more", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "! right answer all differs" in said
    assert "1 differences without a failing case" in said


def test_docstrings_have_no_mutants():
    assert [each.before for each in mutants('def f():\n    "Words."\n    return 1')] == ["return 1", "1", "1"]
