"""Studies: whole experiments about one question, ready to run with models and cases of your own.

faults.py    which faults does a run survive? Each kind of `Faulty`, at each rate
security.py  who follows orders that stand in tools' results and descriptions, and what helps?
attacks.py   the orders
office.py    the world that they are given in
obeying.py   scripts that obey, or do not: they show what a defence can do, not what a model does
defences.py  what may help
"""

from __future__ import annotations

from zoolab.experiments.studies.faults import FaultStudy, fault_study
from zoolab.experiments.studies.security import SecurityStudy, security_study

__all__ = ["FaultStudy", "SecurityStudy", "fault_study", "security_study"]
