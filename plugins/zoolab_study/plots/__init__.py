"""What the runs of an experiment look like; they work as the displays of `zoolab.plots` do.

AblationDisplay         variants side by side, and whether their difference is decisive
ErrorTaxonomyDisplay    which errors were recovered from, and which answers are silently wrong
FaultRecoveryDisplay    how often runs survive each injected fault
RecallDisplay           how often the right tool is among the k that are sent
ReliabilityDisplay      how often all of k tries succeed (pass^k)
RetryWaterfallDisplay   at which attempt calls become valid
ToolConfusionDisplay    the tool that was expected against the tool that was called
CostDisplay             what a conversation costs as it grows
MessageGrowthDisplay    how `messages[]` grows, and what is sent again and again
"""

from zoolab_study.plots.ablation import AblationDisplay
from zoolab_study.plots.calls import RetryWaterfallDisplay
from zoolab_study.plots.confusion import ToolConfusionDisplay
from zoolab_study.plots.curves import CostDisplay, RecallDisplay, ReliabilityDisplay
from zoolab_study.plots.growth import MessageGrowthDisplay
from zoolab_study.plots.recovery import FaultRecoveryDisplay
from zoolab_study.plots.runs import ErrorTaxonomyDisplay

__all__ = ["AblationDisplay", "CostDisplay", "ErrorTaxonomyDisplay"]
__all__ += ["FaultRecoveryDisplay", "MessageGrowthDisplay", "RecallDisplay", "ReliabilityDisplay"]
__all__ += ["RetryWaterfallDisplay", "ToolConfusionDisplay"]
