"""Ten small tools to begin with. Their world is made up and always the same, so recordings replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from zoolab.errors import ResourceNotFound
from zoolab.files import read_table
from zoolab.steps.define import tool
from zoolab.tools import Tool, ToolRegistry

_WORLD = read_table("zoolab.toolbox", "worlds.json")["starter"]
_Value = TypeVar("_Value")


def look_up(table: Mapping[str, _Value], key: str, what: str) -> _Value:
    """Return what a world knows under a name; raises `ResourceNotFound` with the names that there are."""
    if key not in table:
        raise ResourceNotFound(f"no {what} {key!r}", expected=f"one of {', '.join(sorted(table))}")
    return table[key]


@tool
def add(a: Annotated[int, "The first number."], b: Annotated[int, "The second number."]) -> int:
    """Add two integers: a + b."""
    return a + b


@tool
def multiply(a: Annotated[int, "The first factor."], b: Annotated[int, "The second factor."]) -> int:
    """Multiply two integers: a * b."""
    return a * b


@tool
def get_weather(
    city: Annotated[str, "City name."],
    unit: Annotated[Literal["celsius", "fahrenheit"], "Unit of the temperature."] = "celsius",
) -> dict[str, object]:
    """Get the current weather for a city."""
    temperature, sky = look_up(_WORLD["weather"], city.lower(), "weather for")
    if unit == "fahrenheit":
        temperature = round(temperature * 9 / 5 + 32)
    return {"city": city, "temperature": temperature, "unit": unit, "sky": sky}


@tool
def get_time(city: Annotated[str, "City name."]) -> str:
    """Get the current local time in a city."""
    hour = (12 + look_up(_WORLD["hours_from_utc"], city.lower(), "time zone for")) % 24
    return f"{hour:02d}:00"


@tool
def check_status(service: Annotated[str, "Service name, such as nginx."]) -> str:
    """Check the status of a system service. Use this when the user asks whether a service is running."""
    return f"{service} is {look_up(_WORLD['services'], service.lower(), 'service')}"


@tool(risk="high")
def restart_service(
    service: Annotated[str, "Service name, such as nginx."],
    force: Annotated[bool, "Whether to force the restart."] = False,
) -> str:
    """Restart a system service. This causes downtime: use it only when the user asks for a restart."""
    look_up(_WORLD["services"], service.lower(), "service")
    return f"{service} was restarted" + (" by force" if force else "")


@tool
def ping(
    host: Annotated[str, "Host name or IP address."], count: Annotated[int, "Number of packets."] = 1
) -> str:
    """Ping a host to test whether it is reachable on the network."""
    milliseconds = look_up(_WORLD["hosts"], host.lower(), "host")
    return f"{host}: {count} packets sent, {count} received, {milliseconds} ms"


@tool
def check_http(url: Annotated[str, "Full URL, with https."]) -> int:
    """Send an HTTP GET request to a URL and return the status code."""
    known = {"https://example.com": 200, "https://example.com/login": 403}
    return known.get(url.rstrip("/"), 404)


@tool
def search_notes(query: Annotated[str, "Words to look for."], limit: int = 3) -> list[str]:
    """Search the team's notes and return those that contain a word of the query."""
    words = query.lower().split()
    return [note for note in _WORLD["notes"] if any(word in note.lower() for word in words)][:limit]


@tool
def convert_length(
    value: Annotated[float, "The length to convert."],
    source: Annotated[Literal["m", "km", "mile", "foot"], "Unit of the value."],
    target: Annotated[Literal["m", "km", "mile", "foot"], "Unit of the result."],
) -> float:
    """Convert a length from one unit to another."""
    metres: dict[str, float] = _WORLD["metres"]
    return round(value * metres[source] / metres[target], 4)


TOOLS: tuple[Tool, ...] = (
    *(add, multiply, get_weather, get_time, check_status),
    *(restart_service, ping, check_http, search_notes, convert_length),
)


def starter_tools(*names: str) -> ToolRegistry:
    """Return the tools of those names, or all ten."""
    registry = ToolRegistry(TOOLS)
    return registry if not names else ToolRegistry(registry[name] for name in names)
