"""How the data sets and the recordings of zoolab are made: `python -m tools.datasets rebuild NAME`.

cases.py           the selection cases, out of templates
asking.py          the local models, as the data sets ask them
questions.py       which cases are put to which model
outputs.py         rows of what the models wrote
verdicts.py        what a reply is worth
trials.py          the same request with one thing changed
traces.py          whole runs, some with faults
wrong_programs.py  runs whose program is wrong
building.py        makes a data set again
checking.py        do the models still say the same?
"""
