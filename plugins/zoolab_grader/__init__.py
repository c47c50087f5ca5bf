"""The grader of the labs: it judges what a submission does, never what the submission reports.

The cases run in the grader's process and hold the model and the tools. The submission runs in a process of
its own, and both exchange JSON. `SECURITY.md` says what is trusted. See `labs/` and `zoolab grade --help`.

judge.py        grades one submission; student.py: the submission as the grader sees it
classes.py      grades a class; gradebook.py: its grades; report.py: pages and tables
isolation.py    the process of a submission, and what it sees of the disk
channel.py      JSON between the two sides
process.py      the process and what is waited for; usage.py: the time and memory that it takes
worker/         the student's side, with the standard library only
labs.py         which labs there are
checking.py     `check("l1")`
submissions.py  the files that were handed in; likeness.py: which are alike
"""

from zoolab_grader.judge import CaseGrade, Grade, grade, grade_cells
from zoolab_grader.labs import Case, Lab, case, lab_names, load_lab
from zoolab_grader.student import Answer, Callback, Frame, Student, Wrong

__all__ = ["Answer", "Callback", "Case", "CaseGrade", "Frame", "Grade", "Lab", "Student", "Wrong"]
__all__ += ["case", "grade", "grade_cells", "lab_names", "load_lab"]
