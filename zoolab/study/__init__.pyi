# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab.study.cases import UNSAID as UNSAID
from zoolab.study.cases import Case as Case
from zoolab.study.cases import Run as Run
from zoolab.study.cases import Setup as Setup
from zoolab.study.comparison import Comparison as Comparison
from zoolab.study.comparison import Comparisons as Comparisons
from zoolab.study.pacing import Budget as Budget
from zoolab.study.pacing import Pace as Pace
from zoolab.study.results import Experiment as Experiment
from zoolab.study.runner import experiment as experiment
