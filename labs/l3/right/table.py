# Right, built from one table of rows, with shared parts under $defs, anyOf and const in place of enum,
# and unevaluatedProperties in place of additionalProperties; tuples in place of lists.
TEXT = {"type": "string", "minLength": 1}


def choice(*values):
    return {"anyOf": [{"const": value} for value in values]}


ROWS = {
    "check_disk_usage": (
        "Tells how full a disk is. If somebody wants to know the usage of a disk, or how much space is left "
        "on it, this is the tool.",
        {
            "host*": (TEXT, "The machine to look at"),
            "path": (TEXT, "Folder, if not the root"),
            "unit": (choice("percent", "gigabytes"), "Unit of the numbers"),
        },
    ),
    "search_logs": (
        "Looks through the logs of a service and gives back lines, newest first. It is for questions such as "
        "what went wrong, and for finding errors.",
        {
            "service*": (TEXT, "Whose logs to search"),
            "level*": (choice("debug", "info", "warning", "error"), "From this level up"),
            "words": ({"type": "array", "items": TEXT, "minItems": 1}, "Any of these words"),
            "limit": ({"type": "integer", "exclusiveMinimum": 0, "maximum": 200}, "Maximal number of lines"),
        },
    ),
    "open_ticket": (
        "Hands a problem over to the people of support by opening a ticket for them. Only if the user asks "
        "for that, since somebody will have to answer it.",
        {
            "title*": (TEXT, "One line of text"),
            "severity*": (choice("low", "normal", "high"), "Urgency of the matter"),
            "contact*": ({"$ref": "#/$defs/person"}, "Person who is asking"),
            "hours": ({"type": "number", "minimum": 0}, "Time it may take"),
            "public": ({"type": "boolean"}, "Visible to everybody or not"),
        },
    ),
}


def object_of(rows):
    return {
        "type": "object",
        "properties": {k.rstrip("*"): {**schema, "description": why} for k, (schema, why) in rows.items()},
        "required": tuple(k.rstrip("*") for k in rows if k.endswith("*")),
        "unevaluatedProperties": False,
    }


PERSON = object_of({"name*": (TEXT, "First and last name"), "email": (TEXT, "Address to write to")})


def tool(name):
    description, rows = ROWS[name]
    parameters = {**object_of(rows), "$defs": {"person": PERSON}}
    return {"function": {"parameters": parameters, "name": name, "description": description}, "type": "function"}


check_disk_usage, search_logs, open_ticket = map(tool, ROWS)
