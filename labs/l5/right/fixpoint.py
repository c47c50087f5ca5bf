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



RULES = [
    lambda t: m[1] if (m := re.match(r"^```(?:json)?\s*\n(.*?)\n?\s*```$", t, re.S | re.I)) else t,
    lambda t: v if isinstance(v := quietly(json.loads, t), str) else t,
    lambda t: t if quietly(ast.literal_eval, t) is not None else re.sub(r",\s*}\s*$", "}", t),
    lambda t: v if isinstance(v := quietly(ast.literal_eval, t), str) else t,
]


def quietly(function, text):
    try:
        return function(text)
    except Exception:
        return None


def value_of(text):
    before = None
    while before != text:
        before, text = text, text.strip()
        for read in (json.loads, ast.literal_eval):
            if isinstance(found := quietly(read, text), dict):
                return found
        for rule in RULES:
            text = rule(text)
    return None


def fits(value, raw, schema):
    return value is not None and not problems(value, schema) and words(raw) == words(json.dumps(value, ensure_ascii=False))


def repair(raw, schema, model, budget):
    if fits(v := value_of(raw), raw, schema):
        return v
    if raw.find("{") >= 0 > raw.find("}"):
        return None
    history = [f"Arguments: {raw}", f"JSON Schema: {json.dumps(schema, indent=1)}"]
    while budget > 0:
        budget -= 1
        try:
            said = model("\n\n".join(history))
        except Exception as error:
            history.append(f"({error})")
        else:
            if fits(v := value_of(said), raw, schema):
                return v
            history.append("Wrong: " + said)


def run_tool(raw, schema, tool, model, budget):
    ran = (arguments := repair(raw, schema, model, budget)) is not None
    return {"ran": ran, "result": tool(**arguments) if ran else None}
