"""One function that calls itself, and a pipeline of small rules."""

import ast
import json
import math
import re

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


def problems(value, schema):
    if not isinstance(value, dict):
        return ["the arguments are not one object"]
    known = schema["properties"]
    found = [f"{key} is missing" for key in schema.get("required", []) if key not in value]
    found += [f"{key} is not an argument of this tool" for key in value if key not in known]
    for key in value.keys() & known.keys():
        found += problems_of_one(key, value[key], known[key])
    return found


def problems_of_one(key, value, rule):
    fits = isinstance(value, TYPES[rule["type"]]) and (type(value) is bool) == (rule["type"] == "boolean")
    if not fits or (type(value) is float and not math.isfinite(value)):
        return [f"{key} must be of type {rule['type']}"]
    if "enum" in rule and value not in rule["enum"]:
        return [f"{key} must be one of {rule['enum']}"]
    return []


def words(text):
    text = re.sub(r"(\\u[0-9a-fA-F]{4})+", lambda found: json.loads(f'"{found[0]}"'), text)
    start, end = text.find("{"), text.rfind("}")
    inside = text[max(start, 0) : end if end > start else len(text)]
    found = re.findall(r"""[^\s{}\[\]:,"'\\`]+""", inside)
    python = {"True": "true", "False": "false", "None": "null"}
    return [python.get(word, word) for word in found]


def without_fence(text):
    lines = text.strip().splitlines()
    return "\n".join(lines[1:-1]) if lines and lines[0].startswith("```") else text


def without_comma(text):
    head, comma, tail = text.rpartition(",")
    return head + tail if comma and tail.strip() == "}" else text


def inner_text(text):
    value = json.loads(text)
    return value if isinstance(value, str) else text


def as_python(text):
    value = ast.literal_eval(text)
    return json.dumps(value) if isinstance(value, dict) else text


def attempts(text):
    yield text
    for _ in range(2):
        for rule in (without_fence, inner_text, without_comma, as_python):
            try:
                text = rule(text.strip())
            except (ValueError, SyntaxError, TypeError):
                continue
            yield text


def meaning(text, raw, schema):
    for attempt in attempts(text):
        try:
            value = json.loads(attempt)
        except ValueError:
            continue
        if not problems(value, schema) and words(json.dumps(value)) == words(raw):
            return value


def repair(raw, schema, model, budget, text=None, history=()):
    value = meaning(raw if text is None else text, raw, schema)
    if value is not None or budget < 1 or ("{" in raw and "}" not in raw):
        return value
    lines = [f"Arguments: {raw}", f"Schema: {json.dumps(schema)}", *(f"Not this: {old}" for old in history)]
    try:
        text = model("\n".join(lines))
    except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
        text = str(error)
    return repair(raw, schema, model, budget - 1, text, (*history, text))


run_tool = lambda raw, schema, tool, model, budget: (
    {"ran": False, "result": None}
    if (found := repair(raw, schema, model, budget)) is None
    else {"ran": True, "result": tool(**found), "arguments": found}
)
