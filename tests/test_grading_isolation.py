"""A submission runs shut in, within limits, and what it does wrong is said in plain words."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moved import Moved

from zoolab.errors import InvalidInput
from zoolab_grader import Callback, Frame, Lab, Student, Wrong, case, grade, grade_cells
from zoolab_grader import process as process_module
from zoolab_grader.channel import MAX_TOTAL, Channel, Gone, Late
from zoolab_grader.isolation import (
    Forked,
    Forking,
    Isolation,
    Plain,
    WorkerPlan,
    places_for,
    plan_for,
    shut_in,
)
from zoolab_grader.process import MAX_MEMORY, PATIENCE, Process, Wait
from zoolab_grader.usage import Use, queued_in, used_below
from zoolab_grader.worker.jail import FILTER, FORK, NAMESPACES
from zoolab_grader.worker.seccomp import Refusals

ROOT = Path(__file__).resolve().parents[1]
LAB = Lab("tried", "Tried", ("f",), seconds=2.0)


@case(points=1, hint="")
def calls(student: Student, _chance: Random) -> None:
    """Calls `f`."""
    student.call("f")


def forking(step: str, lab: Lab = LAB) -> Forking:
    """A worker of one kind, whatever else the system could give."""
    return Forking(replace(plan_for(lab), steps=(step,)))


def at_hand(isolation: Forking) -> bool:
    """Whether this system has it."""
    try:
        return isolation.missing is not None
    except InvalidInput:
        return False


@pytest.fixture(scope="module", params=[NAMESPACES, FILTER, FORK])
def each(request: pytest.FixtureRequest) -> Iterator[Forking]:
    """Every kind of worker that this system has."""
    with closing(forking(request.param)) as isolation:
        if not at_hand(isolation):
            pytest.skip(f"no {request.param} here")
        yield isolation


@pytest.fixture(scope="module")
def strongest() -> Iterator[Isolation]:
    with shut_in(LAB) as isolation:
        yield isolation


def asked(isolation: Isolation, *cells: str, lab: Lab = LAB, ask: Any = None) -> Any:
    """What `f` of a submission returns, or in which words it failed."""
    found: list[Any] = []

    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls `f`."""
        found.append(student.call("f", *([] if ask is None else [Callback(ask, "ask")])).value)

    grade = grade_cells(replace(lab, cases=(calls,)), cells, isolation)
    return found[0] if found else grade.cases[0].happened


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("def f(): return {1, 2}", "`f` returned a value of type set, which JSON cannot express"),
        ("def f(): return {1: 2}", "`f` returned a dict with the key 1, which is not text"),
        ("def f(): return float('nan')", "`f` returned the number nan"),
        ("def f(): return 'x' * 2_000_000", "`f` returned more than 1,000,000 characters"),
        ("def f(): return 10 ** 500", "`f` returned a number of more than 390 digits"),
        ("def f(): return '\\ud800'", "`f` returned text with a lone surrogate"),
        (
            "def f():\n    x = []\n    x.append(x)\n    return x",
            "`f` returned a value nested more than 60 deep",
        ),
        ("x = 1\ndef f():\n    1 / 0", "`f` raised ZeroDivisionError: division by zero (cell 1, line 3)"),
        ("def f(x): pass", "`f` raised TypeError"),
        ("f = 5", "`f` raised TypeError"),
        (
            "x = 1\nimport nothing_here\ndef f(): return 1",
            "there is no `f` in the submission, because its code could not be run: cell 1, line 2: "
            "ModuleNotFoundError: No module named 'nothing_here' (this lab offers only the standard library)",
        ),
        ("x = 1", "there is no `f` in the submission"),
        (
            "def f(",
            "there is no `f` in the submission, because its code could not be run: cell 1: SyntaxError",
        ),
        ("import os\ndef f(): os._exit(3)", "`f` ended its process: it ended with exit code 3"),
        ("import os\ndef f(): os.kill(os.getpid(), 9)", "`f` ended its process: it was killed by signal 9"),
        ("def f(): input()", "`f` raised EOFError"),
        ("import getpass\ndef f(): getpass.getpass()", "`f` raised EOFError"),
        ("from zoolab import walk\nwalk()\ndef f(): pass", "there is no `f` in the submission"),
        ("def f(): return bytearray(9_000_000_000)", "`f` raised MemoryError"),
        ("def f(): return ...", "`f` returned `...`, which stands where your code goes"),
    ],
)
def test_what_went_wrong_is_said_in_plain_words(cell, words, each):
    assert asked(each, cell).startswith(words)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["x = 1", "print(f())"], ": no cell defines it"),
        (
            ["x = f\ndef f(): pass"],
            ", because its code could not be run: cell 1, line 1: NameError: name 'f'",
        ),
        (["x = 1", "def F_(): pass", "f()"], ": no cell defines it, but cell 2 defines `F_`"),
        (["class A:\n    def f(self): pass"], ": no cell defines it, but cell 1 has an indented `def f`"),
        (
            ["%%typecheck\ndef f(): pass", "f()"],
            ": cell 1: not run here, because it is not Python: line 1 (`%%",
        ),
        (["if 0:\n    f = 1\nf = 1\ndel f", "f()"], ""),
    ],
)
def test_why_a_name_is_missing_is_said_if_it_is_known(cells, why, strongest):
    assert asked(strongest, *cells).startswith(f"there is no `f` in the submission{why}")
    assert why or asked(strongest, *cells).endswith("submission")


def test_syntax_of_a_newer_python_is_said_to_be_that(strongest, tmp_path):
    cells = [{"cell_type": "code", "source": source} for source in ("def f(", "1 / 0")]
    for version, newer in (("3.99.1", True), ("3.9.1", False), (None, False)):
        text = {"cells": cells, "metadata": {"language_info": {"name": "python", "version": version}}}
        (tmp_path / "a.ipynb").write_text(json.dumps(text))

        made = grade(replace(LAB, cases=(calls,)), tmp_path / "a.ipynb", strongest)
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        assert made.notes[0].endswith(f" (written with Python 3.99, graded with {here})") == newer
        assert "written with" not in made.notes[1]


@pytest.mark.parametrize(("kind", "called"), [("markdown", "Markdown"), ("raw", "raw")])
def test_a_function_in_a_cell_that_is_not_code_is_found(kind, called, strongest, tmp_path):
    cells = [("code", "x = 1"), (kind, ["import re\n", "def f(): pass"]), ("code", "f()")]
    text = {"cells": [{"cell_type": each, "source": source} for each, source in cells]}
    (tmp_path / "a.ipynb").write_text(json.dumps(text))

    made = grade(replace(LAB, cases=(calls,)), tmp_path / "a.ipynb", strongest)
    told = f"the {called} cell at place 2 of the notebook has it: make it a cell of code"
    assert made.cases[0].happened == f"there is no `f` in the submission: no cell defines it, but {told}"


def test_a_name_that_a_failed_cell_should_have_made_leads_to_that_cell(strongest):
    cells = "import nothing_here as nh", "def f(): return nh.x"
    assert asked(strongest, *cells) == (
        "`f` raised NameError: name 'nh' is not defined (cell 2, line 1); cell 1, line 1: "
        "ModuleNotFoundError: No module named 'nothing_here' (this lab offers only the standard library)"
    )


def test_a_variable_that_waits_for_its_code_is_said_in_plain_words(each):
    @case(points=1, hint="")
    def reads(student: Student, _chance: Random) -> None:
        """Reads `x`."""
        student.value("x")

    grade = grade_cells(replace(LAB, cases=(reads,)), ["x = ...  # your code"], each)
    assert grade.cases[0].happened == "`x` is `...`, which stands where your code goes"


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (["def f(): return {'a': (1, 2.5, None, True)}"], {"a": [1, 2.5, None, True]}),
        (["x = 1", "def f(): return x + y", "1 / 0", "y = 2"], 3),
        (["if __name__ == '__main__':\n    z = 4", "def f(): return z"], 4),
        (["from __future__ import annotations", "def g(x: Later): return 5", "def f(): return g(0)"], 5),
        (["import asyncio\nasync def g(): return 6\nw = await g()\ndef f(): return w"], 6),
        (["get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(1)\ndef f(): return 7"], 7),
        (["from IPython.display import HTML, display\ndisplay(HTML('x'))\ndef f(): return 8"], 8),
        (["from zoolab import check, predict\npredict('x')\ncheck('l1')\ndef f(): return 9"], 9),
        (["import sys\nsys.modules['__main__'] = sys\n__name__ = 'other'\ndef f(): return 10"], 10),
        (["exit()", "def f(): return 11"], 11),
        (
            [
                "from dataclasses import dataclass\nimport pickle\n@dataclass\nclass P:\n    x: int",
                "def f(): return pickle.loads(pickle.dumps(P(12))).x",
            ],
            12,
        ),
        (["from enum import IntEnum\nclass E(IntEnum):\n    A = 13\ndef f(): return E.A"], 13),
        (["import os\nos._exit(1)", "def f(): return 14"], 14),
    ],
)
def test_cells_run_as_in_a_notebook(cells, value, each):
    assert asked(each, *cells) == value


def children_of(pid: int) -> list[int]:
    """The processes that the first thread of a process started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Unlucky(Forking):
    """Kills the monitor of its first process, as a system does whose memory is short."""

    unlucky = True

    def start(self) -> Forked:
        process = super().start()
        while self.unlucky:
            if children := children_of(process.worker):
                os.kill(children[0], signal.SIGKILL)
                self.unlucky = False
        return process


def test_a_monitor_that_is_gone_costs_no_case(each: Forking):
    with closing(Unlucky(each.plan)) as isolation:
        assert asked(isolation, "def f(): return 1") == 1
        assert not isolation.unlucky


class Remembering(Forking):
    """Knows which processes it started."""

    def __init__(self, plan: WorkerPlan) -> None:
        super().__init__(plan)
        self.started: list[Forked] = []

    def start(self) -> Forked:
        self.started.append(super().start())
        return self.started[-1]


@pytest.mark.parametrize("step", [NAMESPACES, FILTER])
def test_a_monitor_that_goes_during_a_call_costs_no_case(step: str):
    with closing(Remembering(forking(step).plan)) as isolation:
        if not at_hand(isolation):
            pytest.skip(f"no {step} here")

        def kill() -> bool:
            first = len(isolation.started) == 1
            if first:
                os.kill(children_of(isolation.started[0].worker)[0], signal.SIGKILL)
            return first

        waits = "def f(kill):\n    while kill():\n        while True: pass\n    return 1"
        assert asked(isolation, waits, ask=kill) == 1
        assert len(isolation.started) == 2


@pytest.mark.parametrize("step", [NAMESPACES, FILTER])
def test_an_end_that_nobody_reports_is_none_and_is_said_in_words(step: str):
    with closing(Remembering(forking(step).plan)) as isolation:
        if not at_hand(isolation):
            pytest.skip(f"no {step} here")

        def kill() -> None:
            os.kill(children_of(isolation.started[-1].worker)[0], signal.SIGKILL)

        waits = "def f(kill):\n    kill()\n    while True: pass"
        said = "`f` ended its process: the process and its monitor both ended without a report"
        assert asked(isolation, waits, ask=kill) == said
        assert [process.ended() for process in isolation.started] == ["", ""]  # it was ended already
        process = isolation.start()
        process.channel.send({"do": "load", "cell": "import time\ntime.sleep(60)", "call": 1}, 5)
        while not (children := children_of(process.worker)):
            time.sleep(0.01)
        os.kill(children[0], signal.SIGKILL)
        with pytest.raises((Gone, Late)):
            process.channel.receive(5)
        assert process.ended() is None


@pytest.mark.skipif(os.name != "posix", reason="no system to fork on")
def test_the_monitor_imports_nothing_in_the_jail():
    # os.wait4 imports it. With a Python below /tmp, it was out of reach for a moment, and the monitor died.
    told = "import sys, zoolab_grader.worker.zygote; print('resource' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", told], cwd=ROOT, text=True) == "True\n"


def test_a_right_answer_may_print_warn_log_and_use_threads(each):
    cell = """
import logging, sys, threading, time, warnings
from concurrent.futures import ThreadPoolExecutor
print("hello")
def f(ask):
    print("x" * 100_000)
    warnings.warn("careful")
    logging.error("it is an error")
    sys.stderr.write("more\\n" * 1000)
    time.sleep(0.3)
    sum(range(1_000_000))
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(20)))
"""
    assert asked(each, cell, ask=lambda x: x * x) == [x * x for x in range(20)]


def test_the_same_submission_gets_the_same_grade_three_times(strongest):
    cells = ["import random\ndef f(): return sorted({'a', 'b'}) + list({'x', 'y', 'z'})", "1 / 0", "def g("]
    grades = [grade_cells(LAB, cells, strongest) for _ in range(3)]
    assert grades[0] == grades[1] == grades[2]
    values = [asked(strongest, *cells) for _ in range(3)]
    with shut_in(LAB) as another:
        assert [*values, asked(another, *cells)] == [values[0]] * 4


def test_a_thread_that_asks_after_its_call_is_told_so(each):
    cell = """
import threading, time
told = []
def f(ask):
    def later():
        time.sleep(0.1)
        try: ask(2)
        except RuntimeError as error: told.append(str(error))
    threading.Thread(target=later).start()
    return ask(1)
"""
    numbers: list[int] = []

    def ask(number: int) -> int:
        numbers.append(number)
        return number

    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls twice."""
        assert student.call("f", Callback(ask)).value == 1
        while not (told := student.value("told")):
            pass
        assert told == ["this function was called after the call that received it had ended"]

    assert grade_cells(replace(LAB, cases=(calls,)), [cell], each).points == 1
    assert numbers == [1]


def test_arguments_come_back_as_they_are_after_the_call_and_values_marked_if_asked(strongest):
    marked = "<a value of type set, which JSON cannot express>"

    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls with values that are changed."""
        answer = student.call("f", [1], {"a": 1}, args_after=True, marked=True)
        assert answer.value == {"found": marked}
        assert answer.args == [[1, marked], {"a": 1, "<int 5>": 6}]
        with pytest.raises(Wrong, match=marked[1:-1]):
            student.call("f", [1], {})

    cell = "def f(x, y):\n    x.append({3})\n    y[5] = 6\n    return {'found': {3}}"
    assert grade_cells(replace(LAB, cases=(calls,)), [cell], strongest).points == 1


@pytest.mark.parametrize(
    "kind", [ValueError, KeyError, TypeError, RuntimeError, TimeoutError, ConnectionError, OSError]
)
def test_what_a_callback_raises_is_raised_in_the_submission(kind, strongest):
    def ask() -> None:
        raise kind("no", "way")

    cell = "def f(ask):\n    try: ask()\n    except Exception as e: return [type(e).__name__, str(e)]"
    assert asked(strongest, cell, ask=ask) == [kind.__name__, str(kind("no", "way"))]


def test_a_callback_may_give_up_on_the_case(strongest):
    """The submission is then in the middle of a call: the next case must not meet it there."""

    def ask() -> None:
        raise Wrong("asked at all")

    cases = []
    for _ in range(2):

        @case(points=1, hint="")
        def gives_up(student: Student, _chance: Random) -> None:
            """Gives up."""
            student.call("f", Callback(ask))

        cases.append(gives_up)
    grade = grade_cells(replace(LAB, cases=tuple(cases)), ["def f(ask): ask()"], strongest)
    assert [one.happened for one in grade.cases] == ["asked at all"] * 2


def test_a_case_that_fails_over_what_came_back_is_a_lost_case(strongest):
    @case(points=1, hint="Return a list.")
    def careless(student: Student, _chance: Random) -> None:
        """A case that expects a list of dicts."""
        student.call("f").value[0]["hidden"].append(1)

    grade = grade_cells(replace(LAB, cases=(careless,)), ["def f(): return 5"], strongest)
    assert grade.points == 0
    assert grade.cases[0].happened.startswith(
        "the result has a form that cannot be judged (TypeError at line"
    )


def test_a_cell_that_ends_the_process_is_left_out(strongest):
    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls `f`."""
        assert student.call("f").value == 1

    cells = ["def f(): return 1\n1 / 0", "import os\nos.abort()", "1 / 0"]
    grade = grade_cells(replace(LAB, cases=(calls,)), cells, strongest)
    assert grade.points == 1
    assert grade.notes == (
        "cell 1, line 2: ZeroDivisionError: division by zero",
        "cell 2 ended its process: it was killed by signal 6 (SIGABRT); it is left out",
        "cell 3, line 1: ZeroDivisionError: division by zero",
    )


@pytest.mark.parametrize(("deaths", "points"), [(1, 2), (2, 1)])
def test_a_cell_that_was_loaded_before_is_tried_once_more(deaths, points, tmp_path):
    @case(points=1, hint="")
    def ends(student: Student, _chance: Random) -> None:
        """Calls `f`, and then needs a new process."""
        assert student.call("f").value == 1
        student.stop()

    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls `f`."""
        assert student.call("f").value == 1

    # Each start writes one more letter; the starts after the first one end, as often as they should.
    starts = tmp_path / "starts"
    dies = (
        f"import os\nwith open({str(starts)!r}, 'a+') as file:\n    file.write('x')\n    at = file.tell()\n"
    )
    dies += f"if 2 <= at < {2 + deaths}: os._exit(3)\ndef f(): return 1"
    lab = replace(LAB, cases=(ends, calls))
    grade = grade_cells(lab, [dies], Plain(lab))
    assert grade.points == points, grade.cases
    if points == 1:
        reason = "cell 1 ended its process: it ended with code 3; it is left out"
        assert grade.notes == (reason,)
        assert grade.cases[1].happened == (
            f"there is no `f` in the submission, because its code could not be run: {reason}"
        )


@pytest.mark.parametrize(
    "call", ["while True: pass", "time.sleep(1000)", "for _ in range(99): time.sleep(ask())"]
)
def test_an_endless_call_costs_one_timeout_however_many_cases_meet_it(call, strongest):
    lab = replace(LAB, seconds=0.5)

    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls `f`."""
        student.call("f", Callback(lambda: 0.05))

    cell = f"import time\ndef f(ask):\n    {call}"
    grade = grade_cells(replace(lab, cases=(calls,) * 5), [cell], strongest)
    assert [one.happened for one in grade.cases] == [
        "`f` did not return within 0.5 seconds",
        *["`f` did not return within 0.05 seconds"] * 4,
    ]


def test_an_endless_cell_is_the_one_timeout(strongest):
    """As in a notebook that tries the function out."""

    lab = replace(LAB, seconds=0.5, cases=(calls,))
    grade = grade_cells(lab, ["def f():\n    while True: pass", "f()"], strongest)
    assert grade.notes == ("cell 2 did not finish within 1 second; it is left out",)
    assert grade.cases[0].happened == "`f` did not return within 0.05 seconds"


def test_the_slowest_cells_are_left_out_and_not_the_one_that_was_running(strongest):
    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls `f`."""
        assert student.call("f").value == 1

    waits = "import time\ntime.sleep(1.45)"
    lab = replace(LAB, seconds=1.5, cases=(calls,))
    cells = ["x = 1", waits, waits + " ", "time.sleep(0.6)\ndef f(): return 1", "x = 2"]
    grade = grade_cells(lab, cells, strongest)
    assert grade.points == 1, grade
    said = "the cells took 3 seconds together, the longest were "
    assert grade.notes[0].startswith(said)
    assert grade.notes[0].endswith(("; cell 2 is left out", "; cell 3 is left out"))
    assert "cell 1" not in grade.notes[0]


@pytest.mark.slow
def test_a_hostile_submission_holds_a_job_for_20_seconds_at_most(strongest):
    @case(points=1, hint="")
    def calls(student: Student, _chance: Random) -> None:
        """Calls `f`, which takes almost as long as it may."""
        student.call("f")

    cells = ["import time\ndef f(): time.sleep(1.8)", "time.sleep(3)"]
    grade = grade_cells(replace(LAB, cases=(calls,) * 50), cells, strongest)
    spent = "the submission has already used the time for all of its cells and calls"
    assert grade.cases[-1].happened == spent
    # A call takes 1.8 seconds at least.
    assert sum(case.happened != spent for case in grade.cases) <= 12


# What holds a job without using CPU time that can be seen, in one call.
HOLDS = {
    "ends its channel only": "import os\n    os.close(3)\n    time.sleep(100)",
    "reads no answer": """
    frame, data = sys._getframe(), None
    while data is None:
        message = frame.f_locals.get("message")
        if isinstance(message, dict) and "call" in message:
            data = json.dumps({"ask": 0, "call": message["call"], "args": [], "kwargs": {}}).encode()
        frame = frame.f_back
    connection = socket.socket(fileno=3)
    for _ in range(1000):
        connection.sendall(len(data).to_bytes(4) + data)
    time.sleep(100)""",
    "returns before anybody looks": "time.sleep(0.1)",
    "has children that nobody waits for": """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        until = time.monotonic() + 0.1
        if os.fork() == 0:
            while time.monotonic() < until:
                pass
            os._exit(0)
        time.sleep(0.1)""",
    "waits as for a disk": """
    import ctypes
    libc = ctypes.PyDLL(None)
    if libc.vfork() == 0:
        libc.usleep(2_500_000)
        libc._exit(0)""",
}


@pytest.mark.parametrize("hold", HOLDS)
def test_a_submission_pays_for_all_the_time_that_it_holds_a_job(hold, strongest):
    cell = f"import json, os, signal, socket, sys, time\ndef f(ask):\n    {HOLDS[hold]}"
    paid: list[float] = []

    @case(points=1, hint="")
    def measured(student: Student, _chance: Random) -> None:
        """Calls `f`."""
        before = student.left
        with suppress(Wrong):
            for _ in range(10):
                student.call("f", Callback(lambda: "x" * 1000))
        paid.append(before - student.left)

    grade_cells(replace(LAB, seconds=0.5, cases=(measured,)), [cell], strongest)
    # Each of them holds the job for longer than half a second, or for ten times 0.1 seconds.
    assert paid[0] > 0.4


def test_no_submission_can_make_itself_wait(strongest):
    said = asked(strongest, "import os\ndef f():\n    os.nice(19)")
    assert said == "`f` raised PermissionError: [Errno 1] Operation not permitted (cell 1, line 3)"


class Told(Channel):
    """A channel over which comes what a test says; nobody is at its other end."""

    def __init__(self, comes: Callable[[float], dict[str, Any]]) -> None:
        here, self.there = socket.socketpair()
        super().__init__(here)
        self.comes = comes

    def receive(self, seconds: float) -> dict[str, Any]:
        return self.comes(seconds)

    def close(self) -> None:
        self.there.close()
        self.socket.close()


class Made(Process):
    """A process whose use of the machine is made up; to look at it takes `look` seconds by the clock."""

    def __init__(self, channel: Channel, uses: list[Use | None], clock: Moved, look: float = 0.0) -> None:
        super().__init__(channel)
        self.uses, self.clock, self.look = uses, clock, look

    def used(self) -> Use | None:
        self.clock.move(self.look)
        return self.uses.pop(0) if len(self.uses) > 1 else self.uses[0]


@dataclass
class Grader:
    """The clock of a grader, and the seconds that its own thread has waited for its turn."""

    clock: Moved
    queued: float = 0.0

    def waited(self, uses: list[Use | None], look: float = 0.0) -> Wait:
        """A wait of 0.2 seconds that nobody ended; each question for a message takes as long as it may."""

        def nothing(seconds: float) -> dict[str, Any]:
            self.clock.move(seconds)
            raise Late

        with closing(Told(nothing)) as channel:
            wait = Wait(Made(channel, uses, self.clock, look), 0.2)
            with pytest.raises(Late):
                wait.message()
        return wait

    def pays(self, calls: int, uses: list[Use | None], call: float, queued: float) -> float:
        """What calls of `call` seconds cost, in `queued` of which the grader waits for its own turn."""

        def answer(_seconds: float) -> dict[str, Any]:
            self.clock.move(call)
            self.queued += queued
            return {}

        charged = 0.0
        with closing(Told(answer)) as channel:
            process = Made(channel, uses, self.clock)
            for _ in range(calls):
                wait = Wait(process, 100.0)
                wait.message()
                charged += wait.charged
            rest = Wait(process, 100.0)
            rest.end()
        return charged + rest.charged


@pytest.fixture
def grader(monkeypatch: pytest.MonkeyPatch) -> Grader:
    made = Grader(Moved())
    monkeypatch.setattr(process_module, "time", made.clock)
    monkeypatch.setattr(process_module, "queued_in", lambda _task: made.queued)
    return made


def test_a_process_that_waits_for_its_turn_is_given_more_time(grader):
    assert grader.waited([Use(0.0, 0, awake=True)]).waited == pytest.approx(0.2 * PATIENCE)
    assert grader.waited([None]).waited == pytest.approx(0.2 * PATIENCE)


def test_counted_waiting_costs_nothing_and_other_rest_does(grader):
    slept = [Use(0.0, 0, awake=False, queued=float(second)) for second in range(100)]
    assert grader.waited(slept).waited == pytest.approx(0.2 * PATIENCE)
    assert grader.waited([Use(0.0, 0, awake=False, queued=0.0)]).waited < 0.2 * PATIENCE / 2


def test_a_process_that_sleeps_is_not(grader):
    assert grader.waited([Use(0.0, 0, awake=False)]).waited < 0.2 * PATIENCE / 2


def test_many_processes_pay_for_the_time_in_which_they_are_looked_at(grader):
    many = grader.waited([Use(0.0, 0, awake=False)], look=0.1)
    # One of the looks is the first, before anything was waited for.
    assert many.charged >= many.waited + 0.1 - 1e-6
    alone = grader.waited([Use(0.0, 0, awake=False, queued=0.0)], look=0.1)
    assert alone.charged == pytest.approx(alone.waited)


def test_short_calls_do_not_pay_for_a_turn_on_a_busy_machine(grader):
    """Neither for their own nor for that of the grader, which an empty call waits for."""
    own = [Use(0.0, 0, awake=False, queued=float(second)) for second in range(1000)]
    assert grader.pays(60, own, call=0.03, queued=0.0) == pytest.approx(0, abs=0.03)
    rest: list[Use | None] = [Use(0.0, 0, awake=False, queued=0.0)]
    assert grader.pays(60, rest, call=0.03, queued=0.03) == pytest.approx(0, abs=1e-6)
    assert grader.pays(60, rest, call=0.03, queued=0.01) == pytest.approx(60 * 0.02)


def test_short_calls_pay_for_their_rest_and_for_what_they_compute(grader):
    rest: list[Use | None] = [Use(0.0, 0, awake=False, queued=0.0)]
    assert grader.pays(60, rest, call=0.03, queued=0.0) == pytest.approx(60 * 0.03)
    work = [Use(float(second), 0, awake=False, queued=0.0) for second in range(1000)]
    assert grader.pays(60, work, call=0.03, queued=0.0) > 60 * 0.03 + 1


def test_the_time_for_which_a_thread_waits_for_its_turn_is_what_linux_counts(tmp_path):
    (tmp_path / "schedstat").write_text("7000000000 2500000000 99\n")
    assert queued_in(tmp_path) == 2.5
    assert queued_in(tmp_path / "gone") == 0.0


@pytest.mark.skipif(not Path("/proc/self/schedstat").is_file(), reason="this kernel does not count it")
def test_waiting_for_a_turn_is_counted_for_few_processes_only():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        few, many = used_below(os.getpid(), 10**6), used_below(os.getpid(), 0)
        running.communicate(b"\n")
    assert few is not None
    assert few.queued is not None
    assert many is not None
    assert (many.queued, many.awake) == (None, False)


def test_memory_is_counted_over_all_processes():
    heavy: list[Use | None] = [Use(0.0, MAX_MEMORY + 1, awake=True)]
    with closing(Told(lambda _seconds: {})) as channel:
        process = Made(channel, heavy, Moved())
        process.unseen = 1.0
        with pytest.raises(Gone, match="too much memory"):
            Wait(process, 5.0).message()


@pytest.mark.parametrize("step", [NAMESPACES, FILTER])
def test_the_kernel_bounds_memory_where_it_lets_us_make_a_group(step):
    plan = plan_for(LAB)
    bounds = replace(plan.bounds, together=64 << 20)
    with closing(Forking(replace(plan, steps=(step,), bounds=bounds))) as isolation:
        if not at_hand(isolation) or not Path(isolation._running().group).is_dir():
            pytest.skip("no control group can be made here")
        group = Path(isolation._running().group)
        cell = "def f(): return len(bytearray(b'x') * (SIZE << 20))"
        assert asked(isolation, cell.replace("SIZE", "16")) == 16 << 20
        assert (
            asked(isolation, cell.replace("SIZE", "256"))
            == "`f` ended its process: it was killed by signal 9 (SIGKILL)"
        )
        assert asked(isolation, cell.replace("SIZE", "16")) == 16 << 20
    assert not group.exists()


def receive_all(channel: Channel) -> None:
    while True:
        assert isinstance(channel.receive(10), dict)


def framed(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(framed)))
def test_nothing_that_comes_over_the_channel_is_more_than_gone_or_late(data):
    here, there = socket.socketpair()
    with here, there:
        there.sendall(data)
        there.shutdown(socket.SHUT_WR)
        channel = Channel(here)
        with pytest.raises((Gone, Late)):
            receive_all(channel)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(), st.integers() | st.text()), st.integers(1, 9))
def test_a_message_that_comes_in_parts_is_whole(message, parts):
    here, there = socket.socketpair()
    with here, there:
        channel, data = Channel(here), framed(json.dumps(message).encode())
        step = max(len(data) // parts, 1)
        for at in range(0, len(data) - 1, step):
            there.sendall(data[at : min(at + step, len(data) - 1)])
            with pytest.raises(Late):
                channel.receive(0)
        there.sendall(data[-1:])
        assert channel.receive(1) == message


def test_what_a_process_may_send_is_bounded_in_all():
    here, there = socket.socketpair()
    part = framed(json.dumps({"x": "y" * 900_000}).encode())

    def flood() -> None:
        with suppress(OSError):
            while True:
                there.sendall(part)

    sender = threading.Thread(target=flood)
    sender.start()
    with there, here:
        channel = Channel(here)
        with pytest.raises(Gone, match="sends more than"):
            receive_all(channel)
    sender.join()
    assert MAX_TOTAL < channel.received < MAX_TOTAL + 100_000


def test_only_what_python_and_the_lab_need_can_be_read():
    places = places_for(("pandas",))
    names = {Path(place).name for place in places.places}
    assert {"pandas", "numpy", "dateutil"} <= names
    assert not {"zoolab", "labs", "site-packages", "openai", "jsonschema"} & names
    assert not any(str(ROOT / name) in places.places for name in ("zoolab", "labs", "tests"))
    assert not any(Path(place).is_relative_to(ROOT / "zoolab") for place in places.places)


def test_a_virtual_environment_in_the_checkout_shows_nothing_of_it(tmp_path):
    """As `git clone ... zoolab; cd zoolab; python3 start.py` makes it."""
    checkout = tmp_path / "zoolab"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(checkout / ".venv")], check=True)
    python = checkout / ".venv/bin/python"
    code = "from zoolab_grader.isolation import places_for; print(*places_for(('json',)).places, sep='\\n')"
    path = os.pathsep.join(map(str, [ROOT, *filter(None, sys.path)]))
    asked = [str(python), "-c", code]
    told = subprocess.run(
        asked, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True
    )
    readable = told.stdout.splitlines()
    assert any(Path(place, "json").is_dir() for place in readable)
    assert [place for place in readable if Path(place).is_relative_to(checkout)] == []


def test_packages_in_pythons_own_folder_are_masked(tmp_path):
    """Where zoolab is installed beside the standard library, its folder there is covered."""
    (tmp_path / "site-packages").mkdir()
    from zoolab_grader.isolation import _package_folders

    assert _package_folders([str(tmp_path)]) == [str(tmp_path / "site-packages")]


@pytest.mark.parametrize("alone", [False, True])
def test_the_filter_jumps_within_itself(alone):
    """Every jump of the seccomp program lands on an instruction of it, and it ends by refusing."""
    program = [struct.unpack("=HBBI", part) for part in batches(Refusals(alone).program(), 8)]
    for place, (code, yes, no, _) in enumerate(program):
        if code & 0x07 == 0x05:
            assert place + 1 + max(yes, no) < len(program)
    assert program[-1] == (0x06, 0, 0, 0x00050000 | errno.ENOSYS)


def batches(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_that_a_submission_runs_as_root_is_said(tmp_path):
    """Root stays root if another user could not read its Python."""
    if os.getuid() != 0:
        pytest.skip("needs root")
    (tmp_path / "own").mkdir(mode=0o700)
    plan = plan_for(LAB)
    with closing(Forking(replace(plan, steps=(FILTER,), places=(str(tmp_path / "own"),)))) as isolation:
        if not at_hand(isolation):
            pytest.skip("no seccomp here")
        assert "a user of its own (it runs as root, without the rights of root)" in isolation.missing


def test_without_namespaces_nobody_else_can_be_signalled_or_started():
    with closing(forking(FILTER)) as isolation:
        if not at_hand(isolation):
            pytest.skip("no seccomp here")
        cell = """
import os, socket
def tried(function, *arguments):
    try: return function(*arguments)
    except OSError as error: return type(error).__name__
def f(ask):
    kills = [tried(os.kill, pid, 0) for pid in (ask(), os.getppid(), 1, 0, -1)]
    return [*kills, tried(os.fork), tried(socket.socket), tried(open, ask.__name__), tried(os.listdir, "/"),
            tried(open, "/tmp/new", "w"), tried(os.kill, os.getpid(), 0)]
"""
        found: list[Any] = []

        @case(points=1, hint="")
        def calls(student: Student, _chance: Random) -> None:
            """Calls `f`."""
            found.extend(student.call("f", Callback(os.getpid, __file__)).value)

        grade_cells(replace(LAB, cases=(calls,)), [cell], isolation)
    assert found == ["PermissionError"] * 10 + [None]
    assert not Path("/tmp/new").exists()


@pytest.mark.parametrize("step", [NAMESPACES, FILTER])
@pytest.mark.parametrize("user", [0, 65534])
def test_every_user_is_shut_in_as_nobody(step, user):
    """Run by a Python that nobody reads too, where this test runs as root."""
    program = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if os.getuid() != 0 or program is None or not shutil.which("setpriv"):
        pytest.skip("needs root, setpriv and a Python that everybody can run")
    code = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, *{[entry for entry in sys.path if entry.endswith("site-packages")]!r}]
from contextlib import closing
from dataclasses import dataclass, replace
from zoolab_grader import Lab
from zoolab_grader.isolation import Forked, Forking, plan_for
with closing(Forking(replace(plan_for(Lab("l", "L", ())), steps=({step!r},)))) as isolation:
    process = isolation.start()
    cell = "import csv, os\\nassert os.getuid() == 65534"
    process.channel.send({{"do": "load", "cell": cell, "call": 1}})
    print(process.channel.receive(60), process.ended())
"""
    nobody = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    done = subprocess.run(
        [*nobody, program, "-c", code], capture_output=True, text=True, cwd="/", check=False
    )
    if "ModuleNotFoundError" in done.stderr or "Permission" in done.stderr:
        pytest.skip("that Python cannot import zoolab")
    assert done.stdout == "{'call': 1} \n", done.stderr


def test_a_worker_that_was_killed_is_replaced():
    isolation = Forking(plan_for(LAB))
    with closing(isolation):
        assert asked(isolation, "def f(): return 1") == 1
        assert isolation._worker is not None
        isolation._worker.child.kill()
        isolation._worker.child.wait()
        assert asked(isolation, "def f(): return 2") == 2


def test_a_worker_ends_with_its_grader():
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from zoolab_grader import Lab
from zoolab_grader.isolation import Forked, Forking, plan_for
forking = Forking(plan_for(Lab("l", "L", ())))
process = forking.start()
process.channel.send({{"do": "load", "cell": "while True: pass", "call": 1}})
print(forking._worker.child.pid, flush=True)
import os
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    worker = int(done.stdout)
    for _ in range(200):
        if not Path(f"/proc/{worker}").exists() or "zombie" in Path(f"/proc/{worker}/status").read_text():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    else:
        pytest.fail("the worker outlived its grader")


def test_a_worker_that_cannot_be_had_costs_nobody_a_case():
    class Broken:
        missing = ()

        def start(self) -> Any:
            raise OSError("no more processes")

    with pytest.raises(OSError, match="no more processes"):
        grade_cells(replace(LAB, cases=(calls,)), ["x = 1"], Broken())


def test_a_lab_that_uses_what_is_not_there_says_so():
    lab = replace(LAB, uses=("no_such_module_at_all",))
    with pytest.raises(InvalidInput, match="no_such_module_at_all"), shut_in(lab) as isolation:
        isolation.start()


def test_where_nothing_can_be_forked_a_fresh_python_does_it():
    isolation = Plain(LAB)
    assert asked(isolation, "def f(): return {'a': 1}") == {"a": 1}
    assert "exit" not in isolation.missing
    assert asked(isolation, "import os\ndef f(): os._exit(3)").endswith("it ended with code 3")


@pytest.mark.slow
def test_a_data_frame_and_numpy_values_come_back_as_json():
    lab = replace(LAB, uses=("pandas",), seconds=20.0)
    frame = (
        "import pandas as pd\ndef f(): return pd.DataFrame({'a': [1.5, None], 'b': ['x', 'y']}, index=[7, 8])"
    )
    with shut_in(lab) as isolation:
        assert asked(isolation, frame, lab=lab) == Frame(("a", "b"), ((1.5, "x"), (None, "y")))
        numbers = (
            "import numpy as np\ndef f(): return {'a': np.int64(3), 'b': np.arange(2), 'c': np.float64(0.5)}"
        )
        assert asked(isolation, numbers, lab=lab) == {"a": 3, "b": [0, 1], "c": 0.5}
        series = "import pandas as pd\ndef f(): return [pd.Series([1, 2]), pd.Timestamp(0)]"
        assert "Timestamp" in asked(isolation, series, lab=lab)
        assert "import" not in asked(isolation, "import openai\ndef f(): return 1", lab=lab)
