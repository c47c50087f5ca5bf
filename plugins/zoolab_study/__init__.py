"""Experiments: cases x variants x models. Each run is a recorded walk, and each finding has its interval.

cases.py          Case, Setup and Run
design.py         what a variant changes, which runs there are, and what each is called
runner.py         experiment(), and its workers: one run after the other, on a thread or a process
pacing.py         the cache, the budget, the pace
jobs.py           many items on threads, processes or a cluster; class reports use it, too
journal.py        what is kept, a line a run
results.py        Experiment: tables, traces, comparisons, a plot; report.py: a page
scorers.py        what can be said of a run; expected.py: whether its calls are the expected ones
statistics.py     intervals and tests; comparison.py: what they say of two variants
branching/        a trace as a tape: fork it, replay it, go on, compare
asking.py         ask_again(): what other models would do at one step
others.py         the same from the inspector: Ask others
bisecting.py      bisect(): the first step in which two traces differ, and why; bisection.py: how it is shown
taped.py          a trace as a case, or as a test that fails when the walk takes another way
testing.py        a plugin for pytest: the stories of tests that fail
config.py         an experiment from a TOML file, of which experiment.schema.json says what it may hold
"""

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__)
