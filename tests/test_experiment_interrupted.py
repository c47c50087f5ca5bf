"""Ctrl-C ends an experiment, whatever hangs; and what a model raises is a row, whatever it is."""

import os
import signal
import subprocess
import sys

import pytest

from zoolab import Scripted
from zoolab.running.interrupts import Hold
from zoolab_study import Case, experiment
from zoolab_study.jobs import Jobs, Workers

HUNG = """
import os, threading, time
from zoolab import Scripted, tool
from zoolab_study import experiment

@tool
def hang(n: int) -> int:
    "Hang."
    os.write(1, b"hangs\\n")
    while True:
        time.sleep(0.01) if n else threading.Lock().acquire()

cases = [{"id": f"case{n}", "prompt": "Go.", "tools": [hang]} for n in range(9)]
model = Scripted([[("hang", {"n": 1})], "Done."])
experiment(cases, None, {"script": model}, progress=False, workers=2, journal="JOURNAL", executor="threads")
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a child alone")
def test_a_tool_that_hangs_in_a_thread_does_not_keep_the_process(tmp_path):
    code = HUNG.replace("JOURNAL", str(tmp_path / "runs.jsonl"))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["hangs\n"] * 2
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)  # the tool hangs for ever
    assert process.returncode in (130, -signal.SIGINT)
    says = "abandoned: case0 (plain, script), case1 (plain, script); the same journal goes on from here"
    assert told.splitlines()[-1] == says


MISSED = """
import os, signal, threading, time
from zoolab import Scripted, run, tool
from zoolab_study import experiment

@tool(timeout=100)
def hang(n: int) -> int:
    "Hang, after a Ctrl-C that reaches another thread, so that it does not end the wait of the main thread."
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    time.sleep(100)

model = Scripted([[("hang", {"n": 1})], "Done."])
START
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal for a thread alone")
@pytest.mark.parametrize(
    "start",
    [
        'experiment([{"id": "1", "prompt": "Go.", "tools": [hang]}], None, {"it": model}, progress=False)',
        'run("Go.", [hang], model)',
    ],
)
def test_an_interrupt_that_comes_just_before_the_waiting_ends_it(start):
    """So it is if the interrupt comes between the last look at it and the wait, which takes a microsecond."""
    code = [sys.executable, "-c", MISSED.replace("START", start)]
    done = subprocess.run(code, capture_output=True, text=True, timeout=120)
    assert done.returncode in (130, -signal.SIGINT)
    assert "KeyboardInterrupt" in done.stderr


class Odd(BaseException):
    """Neither an error nor an end."""


class Raises:
    def __init__(self, error):
        self.error = error

    def __call__(self, request):
        if "odd" in request.messages[-1]["content"]:
            raise self.error("no idea")
        return Scripted(["Fine."])(request)


def scored(run):
    if "odd" in run.case.prompt:
        raise Odd("the scorer")
    return True


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("error", [Odd, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_a_model_raises_is_a_row(executor, error):
    cases = [Case(name, name) for name in ("even", "odd", "last")]
    done = experiment(cases, None, {"m": Raises(error)}, progress=False, executor=executor, workers=2)
    found = done.summary.set_index("case_id")["outcome"].to_dict()
    assert {name: found[name] for name in ("even", "last")} == {"even": "answer", "last": "answer"}
    assert found["odd"] == "failed"
    assert [trace.error for trace in done.traces if trace.outcome == "failed"] == [
        f"{error.__name__}: no idea"
    ]


def test_what_a_scorer_raises_costs_no_other_run():
    cases = [Case(name, name) for name in ("even", "odd", "last")]
    done = experiment(cases, None, {"m": Scripted(["Fine."])}, scorers=[scored], progress=False, workers=2)
    assert len(done.summary) == 3


def test_a_ctrl_c_at_any_moment_ends_the_jobs():
    """Also in a callback of a weak reference, where Python drops it, and inside a lock, where it may hang."""

    def interrupted_at(number):
        left = number

        def count(_frame, _event, _argument):
            nonlocal left
            left -= 1
            if left == 0:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        try:
            sys.setprofile(count)
            try:
                with Hold(), Workers("threads", 2) as workers:
                    jobs = Jobs(workers, lambda batch: workers.submit(sum, batch))
                    assert len(list(jobs.run(range(6)))) == 6
            finally:
                sys.setprofile(None)
        except KeyboardInterrupt:
            return True
        assert left > 0, f"lost at the moment {number}"
        return False

    moments = 1
    while interrupted_at(moments):
        moments += 1
    assert moments > 100
