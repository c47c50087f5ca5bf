"""What runs look like: displays, each with its numbers as an attribute.

StepTimelineDisplay     the six steps of a run, in their order or in seconds
SequenceDisplay         who said what to whom
MessageGrowthDisplay    how `messages[]` grows, and what is sent again and again
RetryWaterfallDisplay   at which attempt calls become valid
ErrorTaxonomyDisplay    which errors were recovered from, and which answers are silently wrong
ToolConfusionDisplay    the tool that was expected against the tool that was called
AblationDisplay         variants side by side, and whether their difference is decisive
RecallDisplay           how often the right tool is among the k that are sent
ReliabilityDisplay      how often all of k tries succeed (pass^k)
CostDisplay             what a conversation costs as it grows
FaultRecoveryDisplay    how often runs survive each injected fault

They work as scikit-learn's displays do: a class method draws and returns the display, with `ax_` and
`figure_`; nothing is shown until the notebook does.
Each says in words what it shows (`alt`); `Picture` gives any figure such a text.
"""

from zoolab.plots.calls import RetryWaterfallDisplay, ToolConfusionDisplay
from zoolab_study.plots.curves import CostDisplay, RecallDisplay, ReliabilityDisplay
from zoolab.plots.display import Picture
from zoolab_study.plots.runs import AblationDisplay, ErrorTaxonomyDisplay, FaultRecoveryDisplay
from zoolab.plots.steps import MessageGrowthDisplay, SequenceDisplay, StepTimelineDisplay

__all__ = ["AblationDisplay", "CostDisplay", "ErrorTaxonomyDisplay"]
__all__ += ["FaultRecoveryDisplay", "MessageGrowthDisplay", "Picture", "RecallDisplay", "ReliabilityDisplay"]
__all__ += ["RetryWaterfallDisplay", "SequenceDisplay", "StepTimelineDisplay", "ToolConfusionDisplay"]
