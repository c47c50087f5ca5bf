"""Studies: whole experiments about one question, ready to run with models and cases of your own.

faults.py     which faults does a run survive? Each kind of `Faulty`, at each rate
security.py   which models follow instructions in tools' results and descriptions, and what helps?
attacks.py    the instructions (attacks.toml), and scripted models that follow them, or do not
office.py     the tools and tasks (office.toml) among which they stand
"""

from __future__ import annotations

from zoolab.course.faults import FaultStudy, fault_study
from zoolab.course.security import SecurityStudy, security_study

__all__ = ["FaultStudy", "SecurityStudy", "fault_study", "security_study"]
