from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Severity(str, Enum):
    low = "low"
    normal = "normal"
    high = "high"


class Disk(Strict):
    host: str = Field(description="Name of the host to look at.")
    path: str = Field("/", description="Folder on the disk, such as /var.")
    unit: Literal["percent", "gigabytes"] = Field("percent", description="Unit that the numbers have.")


class Logs(Strict):
    service: str = Field(description="Name of the service to search.")
    level: Literal["debug", "info", "warning", "error"] = Field(description="Least level of the lines.")
    words: list[str] = Field(["x"], min_length=1, description="Any of these words must occur.")
    limit: int = Field(20, ge=1, le=200, description="Greatest number of lines returned.")


class Contact(Strict):
    """The person who asks for it."""

    name: str = Field(description="Full name of the person.")
    email: str = Field("", description="Mail address of the person.")


class Ticket(Strict):
    title: str = Field(description="One line for the list.")
    severity: Severity = Field(description="How bad things are now.")
    contact: Contact
    hours: Annotated[float, Field(ge=0)] = Field(1, description="Hours it may take at most.")
    public: bool = Field(False, description="Whether everybody may read it.")


def tool(name, model, about):
    return {"type": "function", "function": {"name": name, "description": about, "parameters": model.model_json_schema()}}


check_disk_usage = tool("check_disk_usage", Disk, "Report the disk usage of a host and the space that is left. Use this when the user asks whether a disk is full.")
search_logs = tool("search_logs", Logs, "Find lines in the logs of a service, by level and by words. Use this when the user asks about errors.")
open_ticket = tool("open_ticket", Ticket, "Open a ticket with support. Use this when the user has a problem that colleagues should look into.")
