"""The Model Context Protocol, over stdio: a server's tools in a walk, and a registry as a server.

Needs the extra `mcp`. Whatever a server says is taken for hostile: bounded, escaped, pinned, asked about.

client.py      MCPTools: the tools of a server, for a walk
pins.py        what each tool looked like when it was first seen
listing.py     a server's tools, checked, under names that a model may use
content.py     what a call gave, as a value
connection.py  the official client, on an event loop in a thread of its own
messages.py    each message looked at before it is handed on
process.py     the server's process: bounded lines, kept complaints, a sure end
serve.py       a registry as an MCP server
"""

from zoolab.mcp.client import MCPTools
from zoolab.mcp.pins import Change
from zoolab.mcp.serve import serve

__all__ = ["Change", "MCPTools", "serve"]
