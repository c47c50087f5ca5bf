"""The answers of a lab against each other, on many drawn inputs: `python -m tools.differential --help`.

A file of the lab's name, such as `l5.py`, says what its answers are fed: `draw(chance)` makes one input of
plain JSON values; `play(student, given)` has the student's code work with it, and returns what came as plain
JSON values, without what the task leaves open. `play` raises `Wrong` where the code gave no value at all.
"""
