"""The grader of the labs: it judges what a submission asked for and did, never what it says of itself.

The cases run in the grader's process and hold the model and the tools. The submission runs in a process of
its own, and both exchange JSON. `SECURITY.md` says what is trusted. See `labs/` and `zoolab grade --help`.
"""

from zoolab.grading.judge import CaseGrade, Grade, grade, grade_cells
from zoolab.grading.labs import Case, Lab, case, lab_names, load_lab
from zoolab.grading.student import Answer, Callback, Frame, Student, Wrong

__all__ = [
    "Answer",
    "Callback",
    "Case",
    "CaseGrade",
    "Frame",
    "Grade",
    "Lab",
    "Student",
    "Wrong",
    "case",
    "grade",
    "grade_cells",
    "lab_names",
    "load_lab",
]
