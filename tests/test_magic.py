"""`%%walk` in a real IPython shell."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from zoolab import Scripted
from zoolab.toolbox.starter import add

SCRIPT = [[("add", {"a": 1, "b": 2})], "It is 3."]


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "zoolab")
    yield shell
    InteractiveShell.clear_instance()


def test_a_cell_is_a_question_and_its_trace_is_kept(shell):
    shell.user_ns |= {"add": add, "script": Scripted(SCRIPT)}
    shown = shell.run_cell_magic("walk", "--tools add --model script --plain", "What is 1 + 2?\n")
    assert shell.user_ns["trace"] is shown
    assert (shown.messages[0]["content"], shown.answer) == ("What is 1 + 2?", "It is 3.")


def test_without_options_the_recording_answers_and_the_inspector_shows_it(shell):
    shown = shell.run_cell_magic("walk", "--into mine", "What is 42 + 58?")
    assert shown.trace is shell.user_ns["mine"]
    assert "100" in shell.user_ns["mine"].answer


def test_what_is_not_a_tool_is_said(shell):
    shell.user_ns["seven"] = 7
    with pytest.raises(Exception, match="seven is not a tool"):
        shell.run_cell_magic("walk", "--tools seven", "Hi")
