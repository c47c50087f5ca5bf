"""The commands of the course, of its labs and data, and of models on this machine."""

from zoolab.commands.table import commands_in

_COMMANDS = commands_in(__name__)
CHAT = _COMMANDS["chat"]
RECORD = _COMMANDS["record"]
LOCAL = _COMMANDS["local"]
DOCTOR = _COMMANDS["doctor"]
COURSE = _COMMANDS["course"]
LAB = _COMMANDS["lab"]
LABS = _COMMANDS["labs"]
DATASETS = _COMMANDS["datasets"]
PROGRESS = _COMMANDS["progress"]
