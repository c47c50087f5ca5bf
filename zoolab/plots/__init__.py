"""What runs look like: displays, each with its numbers as an attribute.

StepTimelineDisplay     the six steps of a run, in their order or in seconds
SequenceDisplay         who said what to whom
MessageGrowthDisplay    how `messages[]` grows, and what is sent again and again
RetryWaterfallDisplay   at which attempt calls become valid
ToolConfusionDisplay    the tool that was expected against the tool that was called

They work as scikit-learn's displays do: a class method draws and returns the display, with `ax_` and
`figure_`; nothing is shown until the notebook does. Each says in words what it shows (`alt`); `Picture` gives
any figure such a text. What is registered in the group `zoolab.displays` is found here by its name, too.
"""

from typing import TYPE_CHECKING, Any

from zoolab.plots.calls import RetryWaterfallDisplay, ToolConfusionDisplay
from zoolab.plots.display import Picture
from zoolab.plots.steps import MessageGrowthDisplay, SequenceDisplay, StepTimelineDisplay

__all__ = ["MessageGrowthDisplay", "Picture", "RetryWaterfallDisplay", "SequenceDisplay"]
__all__ += ["StepTimelineDisplay", "ToolConfusionDisplay"]


def _registered(name: str) -> Any:
    from zoolab.plugins import DISPLAYS

    found = None if name.startswith("_") else DISPLAYS.find(name)
    if found is None:
        raise AttributeError(f"module 'zoolab.plots' has no attribute {name!r}")
    return found


if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__ = _registered
