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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoolab.plots.ablation import AblationDisplay
    from zoolab.plots.error_taxonomy import ErrorTaxonomyDisplay
    from zoolab.plots.fault_recovery import FaultRecoveryDisplay
    from zoolab.plots.message_growth import MessageGrowthDisplay
    from zoolab.plots.retry_waterfall import RetryWaterfallDisplay
    from zoolab.plots.sequence import SequenceDisplay
    from zoolab.plots.step_timeline import StepTimelineDisplay
    from zoolab.plots.tool_confusion import ToolConfusionDisplay

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

_HOMES = {
    "AblationDisplay": "ablation",
    "ErrorTaxonomyDisplay": "error_taxonomy",
    "FaultRecoveryDisplay": "fault_recovery",
    "MessageGrowthDisplay": "message_growth",
    "RetryWaterfallDisplay": "retry_waterfall",
    "SequenceDisplay": "sequence",
    "StepTimelineDisplay": "step_timeline",
    "ToolConfusionDisplay": "tool_confusion",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
