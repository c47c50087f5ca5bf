"""A question before its answer, in a shell: asked, run again, settled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from zoolab import predict
from zoolab.errors import InvalidInput

ASKS = 'guess = predict("How many?", [2, "<b>3</b>"])\nguess'
BUTTONS = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def shell() -> Iterator[Any]:
    """An IPython shell without a kernel."""
    from IPython.core.interactiveshell import InteractiveShell

    kept = InteractiveShell.instance()
    kept.reset()
    kept.run_cell("from zoolab import predict")
    yield kept
    InteractiveShell.clear_instance()


def asked(shell: Any, cell: str = ASKS) -> Any:
    shell.run_cell(cell, store_history=True)
    return shell.user_ns["guess"]


def test_a_cell_that_is_run_again_keeps_what_was_chosen(shell: Any) -> None:
    asked(shell).choose(2)
    assert asked(shell).reveal(2).right is True


def test_the_same_words_with_other_options_are_another_question(shell: Any) -> None:
    asked(shell).choose(2)
    assert asked(shell, ASKS.replace("[2, ", "[2, 4, ")).choice is None
    assert asked(shell, ASKS.replace("many", "often")).choice is None


def test_without_a_notebook_every_question_is_new() -> None:
    predict("How many?", [2, 3]).choose(2)
    assert predict("How many?", [2, 3]).choice is None


def test_what_is_saved_says_the_question_in_words_beside_the_buttons(shell: Any) -> None:
    from IPython.utils.capture import capture_output

    with capture_output() as shown:
        asked(shell)
    buttons, words = (output.data for output in shown.outputs)
    assert BUTTONS in buttons
    assert "  - 2" in buttons["text/plain"]
    assert "How many?" in words["text/html"]
    assert "<li>&lt;b&gt;3&lt;/b&gt;</li>" in words["text/html"]


def test_a_front_end_that_chooses_gets_both_in_one_output(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from IPython.utils.capture import capture_output

    shell.user_ns["__vsc_ipynb_file__"] = "a.ipynb"
    shell.run_cell("from zoolab import Scripted, run")
    with capture_output() as shown:
        asked(shell)
        shell.run_cell("run('Hi', [], Scripted(['Ho'])).inspect()")
    question, inspector = (output.data for output in shown.outputs)
    assert "How many?" in question["text/html"]
    assert "Ho" in inspector["text/html"]
    assert BUTTONS in question
    assert BUTTONS in inspector
    del shell.user_ns["__vsc_ipynb_file__"]
    for module, count in (("google.colab", 1), ("google", 2)):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
        with capture_output() as shown:
            asked(shell)
        assert len(shown.outputs) == count
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize("options", ["yes", ["yes"], []])
def test_one_answer_is_no_question(options: Any) -> None:
    with pytest.raises(InvalidInput, match="at least two"):
        predict("Is it so?", options)
