"""Rules that read, one test of what they read, and a loop that asks."""

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


def by_rules(text):
    """The value that the rules read in a text, or None."""
    text = text.strip()
    try:
        value = json.loads(text)
        return by_rules(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        pass
    text = re.sub(r"^```\w*\s*|\s*```$", "", text)
    text = re.sub(r",\s*}$", "}", text)
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
            return by_rules(value) if isinstance(value, str) else value
        except (ValueError, SyntaxError, TypeError, RecursionError):
            continue
    return None


def is_right(value, raw, schema):
    return not problems(value, schema) and words(json.dumps(value)) == words(raw)


def repair(raw, schema, model, budget):
    value = by_rules(raw)
    if is_right(value, raw, schema):
        return value
    if "{" in raw and "}" not in raw:
        return None
    complaint = ""
    for _ in range(budget):
        try:
            proposal = model(f"Repair {raw} for the schema {json.dumps(schema)}. {complaint}")
        except Exception:
            continue
        value = by_rules(proposal)
        if is_right(value, raw, schema):
            return value
        complaint = f"Not {proposal}: {problems(value, schema)}"
    return None


def run_tool(raw, schema, tool, model, budget):
    arguments = repair(raw, schema, model, budget)
    if arguments is None:
        return {"ran": False, "result": None}
    return {"ran": True, "result": tool(**arguments)}
