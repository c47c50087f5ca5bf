"""Tools of a security team: search the events, judge an address, cut a host off.

`isolate_host` is of high risk: a walk asks before it runs, and without an answer it does not run.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from zoolab.errors import InvalidArguments, ResourceNotFound
from zoolab.steps.define import as_registry, tool
from zoolab.tools import ToolRegistry
from zoolab_course.worlds.beginning import fresh

MAX_EVENTS = 50
_MINUTES = {"15m": 15, "1h": 60, "24h": 1_440, "7d": 10_080}


@dataclass
class Security:
    """Events, the reputation of addresses, and which hosts are cut off."""

    events: list[dict[str, Any]] = field(default_factory=fresh("security", "events"))
    reputations: dict[str, dict[str, Any]] = field(default_factory=fresh("security", "reputations"))
    hosts: frozenset[str] = frozenset({"web01", "db01", "laptop7"})
    isolated: set[str] = field(default_factory=set)

    def query_siem(
        self,
        query: Annotated[str, "Words that an event must all contain, for example laptop7 malware."],
        time_range: Annotated[Literal["15m", "1h", "24h", "7d"], "How far back to look."] = "24h",
    ) -> list[dict[str, Any]]:
        """Search the security events, newest first. Use this when the user asks what happened on a host."""
        words = query.lower().split()
        found = [
            dict(event)
            for event in sorted(self.events, key=lambda event: int(event["minutes_ago"]))
            if event["minutes_ago"] <= _MINUTES[time_range]
            and all(word in " ".join(map(str, event.values())).lower() for word in words)
        ]
        return found[:MAX_EVENTS]

    def check_ip_reputation(
        self, ip: Annotated[str, "An IPv4 or IPv6 address, for example 203.0.113.66."]
    ) -> dict[str, Any]:
        """Look up whether an IP address is known as malicious. Use this before trusting an address."""
        try:
            address = str(ipaddress.ip_address(ip))
        except ValueError:
            raise InvalidArguments(
                f"{ip!r} is not an IP address", expected="for instance 203.0.113.66"
            ) from None
        unknown = {"verdict": "unknown", "score": 0, "reason": "never seen"}
        return {"ip": address, **self.reputations.get(address, unknown)}

    def isolate_host(self, host: Annotated[str, "Host name, for example laptop7."]) -> str:
        """Cut a host off from the network until a person reconnects it. Use this only if it is attacked."""
        if host not in self.hosts:
            raise ResourceNotFound(f"no host {host!r}", expected=f"one of {', '.join(sorted(self.hosts))}")
        before = host in self.isolated
        self.isolated.add(host)
        return f"{host} {'was already' if before else 'is'} isolated from the network"


def security_tools(world: Security | None = None) -> ToolRegistry:
    """Return the tools of a security team, in a world of their own unless one is given."""
    world = world or Security()
    isolate = tool(world.isolate_host, risk="high")
    return as_registry([world.query_siem, world.check_ip_reputation, isolate])
