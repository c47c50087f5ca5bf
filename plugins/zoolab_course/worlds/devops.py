"""DevOps tools: check a host, check a service, read logs, restart a service.

The world behind them is a small made-up company; nothing touches the network or the system.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from zoolab.errors import InvalidArguments, PermissionDenied
from zoolab.steps.define import as_registry, tool
from zoolab.toolbox.starter import look_up
from zoolab.tools import ToolRegistry
from zoolab_course.worlds.beginning import fresh

MAX_PACKETS = 10
MAX_LINES = 100

_Host = Annotated[str, "Host name or IP address, for example db01."]
_Service = Annotated[str, "Service name, for example nginx."]


@dataclass
class DevOps:
    """A small company's hosts and services; a restart changes what they say afterwards."""

    services: dict[str, str] = field(default_factory=fresh("devops", "services"))
    #: Milliseconds of a round trip; None where no packet comes back.
    hosts: dict[str, int | None] = field(default_factory=fresh("devops", "hosts"))
    sites: dict[str, int] = field(default_factory=fresh("devops", "sites"))
    routes: dict[str, list[str]] = field(default_factory=fresh("devops", "routes"))
    #: Percent in use, by host and mount.
    disks: dict[str, dict[str, int]] = field(default_factory=fresh("devops", "disks"))
    logs: dict[str, list[str]] = field(default_factory=fresh("devops", "logs"))
    #: Services that are never restarted by a tool.
    protected: frozenset[str] = frozenset({"critical-db"})

    def ping(self, host: _Host, count: Annotated[int, "Number of packets, 1 to 10."] = 1) -> str:
        """Ping a host. Use this when the user asks whether a machine is reachable on the network."""
        _between(count, 1, MAX_PACKETS, "count")
        milliseconds = look_up(self.hosts, host, "host")
        if milliseconds is None:
            return f"{host}: {count} packets sent, 0 received"
        return f"{host}: {count} packets sent, {count} received, {milliseconds} ms"

    def check_http(
        self, url: Annotated[str, "Full URL with its scheme, for example https://example.com."]
    ) -> int:
        """Request a URL and return the HTTP status code. Use this when the user asks about a website."""
        return look_up(self.sites, url.rstrip("/"), "site")

    def traceroute(self, host: _Host) -> list[str]:
        """List the hops on the path to a host. Use this when the user asks about routing."""
        return list(look_up(self.routes, host, "route to"))

    def check_status(self, service: _Service) -> str:
        """Check whether a system service runs. Use this when the user asks about a service's state."""
        return f"{service} is {look_up(self.services, service, 'service')}"

    def restart_service(self, service: _Service) -> str:
        """Restart a system service, which causes downtime. Use this only if the user asks for a restart."""
        look_up(self.services, service, "service")
        if service in self.protected:
            raise PermissionDenied(f"{service} is critical and was not restarted; ask its owner")
        self.services[service] = "running"
        self.logs.setdefault(service, []).append("12:00:00 info restarted")
        return f"{service} was restarted"

    def read_logs(
        self, service: _Service, lines: Annotated[int, "How many of the last lines, 1 to 100."] = 20
    ) -> list[str]:
        """Read the last lines of a service's log. Use this to find out why a service fails."""
        _between(lines, 1, MAX_LINES, "lines")
        return look_up(self.logs, service, "log of")[-lines:]

    def check_disk_usage(self, host: _Host) -> dict[str, str]:
        """Report how full each disk of a host is, in percent. Use this when disk space may be short."""
        return {mount: f"{used}%" for mount, used in look_up(self.disks, host, "disks of").items()}


def devops_tools(world: DevOps | None = None) -> ToolRegistry:
    """Return the tools of a world, or of a fresh one; restarting a service is of high risk."""
    world = world or DevOps()
    network = (world.ping, world.check_http, world.traceroute)
    restart = tool(world.restart_service, risk="high")
    return as_registry([*network, world.check_status, restart, world.read_logs, world.check_disk_usage])


def _between(value: int, low: int, high: int, name: str) -> None:
    if not low <= value <= high:
        raise InvalidArguments(f"{name} is {value}", expected=f"{low} to {high}")
