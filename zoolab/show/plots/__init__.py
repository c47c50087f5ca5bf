"""What runs look like: one display class a file, each with its numbers as an attribute.

StepTimelineDisplay     the six steps of a run, in their order or in seconds
SequenceDisplay         who said what to whom
MessageGrowthDisplay    how `messages[]` grows, and what is sent again and again
RetryWaterfallDisplay   at which attempt calls become valid
ErrorTaxonomyDisplay    which errors were recovered from, and which answers are silently wrong
ToolConfusionDisplay    the tool that was expected against the tool that was called
AblationDisplay         variants side by side, and whether their difference is decisive
FaultRecoveryDisplay    how often runs survive each injected fault

They work as scikit-learn's displays do: a class method draws and returns the display, with `ax_` and
`figure_`; nothing is shown until the notebook does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if TYPE_CHECKING:
    from zoolab.show.plots.ablation import AblationDisplay
    from zoolab.show.plots.error_taxonomy import ErrorTaxonomyDisplay
    from zoolab.show.plots.fault_recovery import FaultRecoveryDisplay
    from zoolab.show.plots.message_growth import MessageGrowthDisplay
    from zoolab.show.plots.retry_waterfall import RetryWaterfallDisplay
    from zoolab.show.plots.sequence import SequenceDisplay
    from zoolab.show.plots.step_timeline import StepTimelineDisplay
    from zoolab.show.plots.tool_confusion import ToolConfusionDisplay

__all__ = [
    "AblationDisplay",
    "ErrorTaxonomyDisplay",
    "FaultRecoveryDisplay",
    "MessageGrowthDisplay",
    "RetryWaterfallDisplay",
    "SequenceDisplay",
    "StepTimelineDisplay",
    "ToolConfusionDisplay",
]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "ablation": "AblationDisplay",
            "error_taxonomy": "ErrorTaxonomyDisplay",
            "fault_recovery": "FaultRecoveryDisplay",
            "message_growth": "MessageGrowthDisplay",
            "retry_waterfall": "RetryWaterfallDisplay",
            "sequence": "SequenceDisplay",
            "step_timeline": "StepTimelineDisplay",
            "tool_confusion": "ToolConfusionDisplay",
        },
    )
