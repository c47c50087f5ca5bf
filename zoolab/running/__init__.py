"""Support for running tools and jobs: event loops, interrupts, captured output, workers.

awaited.py     the event loop of async tools and models
calls.py       runs the calls of a walk, side by side, and asks its model
interrupts.py  Ctrl-C, held back until a walk can deal with it
jobs.py        many jobs in processes, threads or a cluster; a worker that dies loses nothing
printed.py     what a tool prints, kept beside its value
"""
