"""The command that runs an experiment."""

from zoolab.commands.table import commands_in

_COMMANDS = commands_in(__name__)
EXPERIMENT = _COMMANDS["experiment"]
