"""Three tools, made by one function."""


def tool(name, description, required, properties):
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


check_disk_usage = tool(
    "check_disk_usage",
    "Report how full the disk of a host is: its usage, and the free space. "
    "Use this when the user asks whether a disk is full or space runs out.",
    ["host"],
    {
        "host": {"type": "string", "description": "Name of the host."},
        "path": {"type": "string", "description": "A folder on the disk."},
        "unit": {
            "type": "string",
            "enum": ["percent", "gigabytes"],
            "description": "Unit of the answer.",
        },
    },
)

search_logs = tool(
    "search_logs",
    "Search the logs of a service and return the lines that match. "
    "Use this when the user wants to know which errors or warnings a service wrote.",
    ["service", "level"],
    {
        "service": {"type": "string", "description": "Name of the service."},
        "level": {
            "type": "string",
            "enum": ["debug", "info", "warning", "error"],
            "description": "Lowest level to show.",
        },
        "words": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "One of these must occur.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "description": "At most so many lines.",
        },
    },
)

open_ticket = tool(
    "open_ticket",
    "Open a ticket so that support looks into a problem. Use this when the user asks for help by colleagues.",
    ["title", "severity", "contact"],
    {
        "title": {"type": "string", "description": "The problem in short."},
        "severity": {
            "type": "string",
            "enum": ["low", "normal", "high"],
            "description": "How bad it is.",
        },
        "contact": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Who is asking."},
                "email": {"type": "string", "description": "Where to answer to."},
            },
            "required": ["name"],
            "additionalProperties": False,
            "description": "Whom to ask back.",
        },
        "hours": {"type": "number", "minimum": 0, "description": "Hours it may take."},
        "public": {"type": "boolean", "description": "Whether all may read."},
    },
)
