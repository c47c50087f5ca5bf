"""The grader of the labs: it judges what a submission asked for and did, never what it says of itself.

The cases run on the trusted side and hold the model and the tools; the submission runs in a process of its
own and is spoken to in JSON. See `labs/` for the labs and `zoolab grade --help`.
"""

from zoolab.grading.judge import grade, grade_cells
from zoolab.grading.labs import lab_names, load_lab
from zoolab.grading.records import Case, CaseGrade, Grade, Lab, Wrong, case
from zoolab.grading.student import Answer, Callback, Frame, Student

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
