"""The commands of experiments, and of what is learnt from traces."""

from zoolab.commands.table import commands_in

_COMMANDS = commands_in(__name__)
BISECT = _COMMANDS["bisect"]
CASES = _COMMANDS["cases"]
EXPERIMENT = _COMMANDS["experiment"]
