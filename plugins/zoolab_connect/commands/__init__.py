"""The commands that watch, judge and connect other programs."""

from zoolab.commands.table import commands_in

_COMMANDS = commands_in(__name__)
COMPLETION = _COMMANDS["completion"]
PROXY = _COMMANDS["proxy"]
SECRETS = _COMMANDS["secrets"]
STRESS = _COMMANDS["stress"]
ENDPOINT = _COMMANDS["endpoint"]
MCP = _COMMANDS["mcp"]
SERVE_TOOLS = _COMMANDS["serve-tools"]
