# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab_study.asking import AskedAgain as AskedAgain
from zoolab_study.asking import ask_again as ask_again
from zoolab_study.bisecting import bisect as bisect
from zoolab_study.bisection import Bisection as Bisection
from zoolab_study.cases import UNSAID as UNSAID
from zoolab_study.cases import Case as Case
from zoolab_study.cases import Run as Run
from zoolab_study.cases import Setup as Setup
from zoolab_study.comparison import Comparison as Comparison
from zoolab_study.comparison import Comparisons as Comparisons
from zoolab_study.pacing import Budget as Budget
from zoolab_study.pacing import Pace as Pace
from zoolab_study.results import Experiment as Experiment
from zoolab_study.runner import experiment as experiment
from zoolab_study.taped import case_of as case_of
from zoolab_study.taped import same_walk as same_walk
