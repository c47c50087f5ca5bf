"""What else could have come of a run: it is taken up again at a step, and nothing runs a second time.

trace_tape.py  a trace as a tape: the same requests and calls get what they got; the options of a run
names.py       what requests are told apart by
fork.py        go on from an edited step, with a model; replay the rest
further.py     go on after the answer, with a further question
verbs.py       look, replay, live: the three ways of the inspector
compare.py     two traces side by side
"""
