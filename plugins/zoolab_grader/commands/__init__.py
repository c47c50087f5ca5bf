"""The command that grades."""

from zoolab.commands.table import commands_in

_COMMANDS = commands_in(__name__)
GRADE = _COMMANDS["grade"]
