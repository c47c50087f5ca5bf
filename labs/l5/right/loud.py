"""A class with __call__ that prints, warns, and logs to stderr what it does."""

import logging
import warnings
from collections import OrderedDict
import ast
import json
import math
import re
import sys

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


logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
log = logging.getLogger("repair")


class Repair:
    """Reads, asks, and checks; says much while it does."""

    def __call__(self, raw, schema, model, budget):
        print("repairing", raw)
        if (found := self.checked(raw, raw, schema)) is not None:
            return found
        if raw.count("{") and not raw.count("}"):
            warnings.warn("cut off", stacklevel=2)
            return None
        messages = [f"Give this as JSON: {raw!s}", f"It must meet {schema!r}"]
        while budget > 0:
            budget -= 1
            try:
                said = model("\n".join(messages))
            except Exception:
                log.exception("the model failed")
                continue
            log.debug("proposal: %s", said)
            found = self.checked(said, raw, schema)
            if found is not None:
                return OrderedDict(found)
            messages.append(f"Your answer {said} was wrong: {problems(self.read(said), schema)}")
            warnings.warn("a proposal failed", stacklevel=2)
        print("given up", file=sys.stderr)
        return None

    def checked(self, text, raw, schema):
        value = self.read(text)
        found = problems(value, schema)
        log.info("problems: %s", found)
        if found or words(json.dumps(value)) != words(raw):
            return None
        return value

    def read(self, text):
        """Python reads what JSON does not, once the fence and the comma are gone."""
        for one in (text, self.peeled(text)):
            try:
                value = json.loads(one)
            except ValueError:
                try:
                    value = ast.literal_eval(one)
                except (ValueError, SyntaxError):
                    continue
            return self.read(value) if isinstance(value, str) else value

    @staticmethod
    def peeled(text):
        text = text.strip().strip("`").strip()
        text = text.removeprefix("json").removeprefix("JSON").strip()
        return re.sub(r",\s*}$", "}", text)


repair = Repair()


def run_tool(raw, schema, tool, model, budget):
    found = repair(raw, schema, model, budget)
    print("not running" if found is None else "running")
    return dict(ran=found is not None, result=None if found is None else tool(**found))
