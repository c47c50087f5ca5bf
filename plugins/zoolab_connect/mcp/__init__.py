"""The Model Context Protocol, over stdio and HTTP: a server's tools in a walk, and a registry as a server.

Needs the extra `mcp`. Nothing that a server says is trusted: it is bounded, escaped and pinned, and a policy
asks about each call.

client.py      MCPTools: the tools of a server, for a walk
listing.py     a server's tools, checked, named for the model, and pinned
connection.py  the server (a process, or at an address), its messages, and the official client
reading.py     messages and listings in parts: what is odd costs itself alone
faults.py      what goes wrong over HTTP, in words
sessions.py    a session over HTTP that has ended is begun anew
serve.py       a registry as an MCP server
"""

from zoolab_connect.mcp.client import MCPTools
from zoolab_connect.mcp.listing import Offer, PinChange
from zoolab_connect.mcp.serve import serve

__all__ = ["MCPTools", "Offer", "PinChange", "serve"]
