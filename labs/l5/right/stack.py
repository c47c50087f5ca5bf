# Right, without recursion: a stack of what is still to be looked at, and a generator of places.
import json

TYPES = {str: "string", bool: "boolean", list: "array", dict: "object", int: "integer", float: "number"}


def once(pairs):
    table = {}
    for key, value in pairs:
        assert key not in table
        table[key] = value
    return table


def no_constant(text):
    raise AssertionError(text)


def places(value, schema):
    todo = [("", value, schema)]
    while todo:
        at, value, schema = todo.pop()
        kind = TYPES.get(type(value))
        if kind != schema["type"] and (kind, schema["type"]) != ("integer", "number"):
            yield at
            continue
        fits = "enum" not in schema or value in schema["enum"]
        if kind in ("integer", "number"):
            fits = fits and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        if not fits:
            yield at
        if kind == "array":
            todo += [(f"{at}/{i}", item, schema["items"]) for i, item in enumerate(value) if "items" in schema]
        if kind == "object":
            properties = schema.get("properties") or {}
            for name in {*schema.get("required", []), *value}:
                below = at + "/" + name.replace("~", "~0").replace("/", "~1")
                if name not in value or (name not in properties and schema.get("additionalProperties") is False):
                    yield below
                elif name in properties:
                    todo.append((below, value[name], properties[name]))


def validate(call, registry):
    name = call["function"]["name"]
    if name not in registry:
        return [dict(code="unknown_tool", pointer="")]
    raw = call["function"]["arguments"]
    try:
        value = json.loads(raw, object_pairs_hook=once, parse_constant=no_constant) if raw.strip() else {}
        assert isinstance(value, dict)
    except Exception:
        return [dict(code="invalid_json", pointer="")]
    return [dict(code="invalid_arguments", pointer=at) for at in places(value, registry[name])]
