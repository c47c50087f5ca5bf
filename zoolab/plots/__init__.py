"""What runs look like: displays, each with its numbers as an attribute.

StepTimelineDisplay     the six steps of a run, in their order or in seconds
SequenceDisplay         who said what to whom

They work as scikit-learn's displays do: a class method draws and returns the display, with `ax_` and
`figure_`; nothing is shown until the notebook does. Each says in words what it shows (`alt`); `Picture` gives
any figure such a text. What is registered in the group `zoolab.displays` is found here by its name, too:
displays of many runs come from `zoolab_study`.
"""

from zoolab.extras import needs
from zoolab.lazy import lazily

needs("matplotlib", "pandas")

__getattr__, __dir__ = lazily(__name__, "zoolab.plugins")
