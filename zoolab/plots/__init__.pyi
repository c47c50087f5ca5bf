# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.
# Those of another package come from the entry points of the group `zoolab.displays`.

from zoolab.plots.display import Picture as Picture
from zoolab.plots.sequence import SequenceDisplay as SequenceDisplay
from zoolab.plots.steps import StepTimelineDisplay as StepTimelineDisplay
from zoolab_study.plots.ablation import AblationDisplay as AblationDisplay
from zoolab_study.plots.calls import RetryWaterfallDisplay as RetryWaterfallDisplay
from zoolab_study.plots.confusion import ToolConfusionDisplay as ToolConfusionDisplay
from zoolab_study.plots.curves import CostDisplay as CostDisplay
from zoolab_study.plots.curves import RecallDisplay as RecallDisplay
from zoolab_study.plots.curves import ReliabilityDisplay as ReliabilityDisplay
from zoolab_study.plots.growth import MessageGrowthDisplay as MessageGrowthDisplay
from zoolab_study.plots.recovery import FaultRecoveryDisplay as FaultRecoveryDisplay
from zoolab_study.plots.runs import ErrorTaxonomyDisplay as ErrorTaxonomyDisplay
