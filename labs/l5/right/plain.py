"""One function for each part: reading, types, the inside, pointers."""

import json

KINDS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def once(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def refuse(constant):
    raise ValueError(constant)


def read(raw):
    try:
        value = json.loads(raw if raw.strip() else "{}", object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def below(pointer, name):
    return pointer + "/" + name.replace("~", "~0").replace("/", "~1")


def has_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, KINDS[name])


def look(value, schema, at=""):
    if not has_type(value, schema["type"]):
        return [at]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(at)
    if value < schema.get("minimum", value) if has_type(value, "number") else False:
        found.append(at)
    if value > schema.get("maximum", value) if has_type(value, "number") else False:
        found.append(at)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += look(item, schema["items"], f"{at}/{index}")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                found.append(below(at, name))
        for name in value:
            if name in properties:
                found += look(value[name], properties[name], below(at, name))
            elif schema.get("additionalProperties") is False:
                found.append(below(at, name))
    return found


def validate(call, registry):
    name = call["function"]["name"]
    if name not in registry:
        return [{"code": "unknown_tool", "pointer": ""}]
    arguments = read(call["function"]["arguments"])
    if arguments is None:
        return [{"code": "invalid_json", "pointer": ""}]
    places = look(arguments, registry[name])
    return [{"code": "invalid_arguments", "pointer": place} for place in places]
