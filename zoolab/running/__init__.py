"""Support for running tools: event loops, interrupts, captured output.

awaited.py     the event loop of async tools and models
calls.py       runs the calls of a walk, side by side, and asks its model
interrupts.py  Ctrl-C, held back until a walk can deal with it
printed.py     what a tool prints, kept beside its value
"""
