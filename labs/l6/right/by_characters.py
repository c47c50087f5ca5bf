"""Reads the loose object character by character, with no ast and no regular expression of its own."""

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


class Reader:
    """Reads {"key": value, ...} with either kind of quotes; refuses what it does not know."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def skip(self):
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def take(self, wanted):
        if self.skip() != wanted:
            raise ValueError(wanted)
        self.at += 1

    def string(self):
        quote = self.skip()
        if quote not in ("'", '"') or not quote:
            raise ValueError("no string")
        end = self.at + 1
        while self.text[end : end + 1] != quote:
            if end >= len(self.text):
                raise ValueError("not closed")
            end += 2 if self.text[end] == "\\" else 1
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        if quote == "'":
            inside = inside.replace("\\'", "'").replace('"', '\\"')
        return json.loads(f'"{inside}"')

    def value(self):
        if self.skip() in ("'", '"'):
            return self.string()
        start = self.at
        while self.text[self.at : self.at + 1] not in ("", ",", "}"):
            self.at += 1
        word = self.text[start : self.at].strip()
        return json.loads({"True": "true", "False": "false"}.get(word, word))

    def object(self):
        found = {}
        self.take("{")
        while self.skip() != "}":
            key = self.string()
            if key in found:
                raise ValueError("twice")
            self.take(":")
            found[key] = self.value()
            if self.skip() != "}":
                self.take(",")
        self.take("}")
        if self.skip():
            raise ValueError("more")
        return found


def read(text):
    text = text.strip()
    if text.startswith("```"):
        text = text[text.find("\n") : text.rfind("```")].strip()
    try:
        return read(json.loads(text)) if text.startswith('"') else Reader(text).object()
    except ValueError:
        return None


def repair(raw, schema, model, budget):
    question, text, left = f"{raw}\n{json.dumps(schema)}", raw, budget
    while True:
        value = read(text)
        if value is not None and not problems(value, schema) and words(json.dumps(value)) == words(raw):
            return value
        if left <= 0 or ("{" in raw and "}" not in raw):
            return None
        left -= 1
        try:
            text = model(question)
            question += f"\n{text}: no"
        except Exception:
            text = ""


def run_tool(raw, schema, tool, model, budget):
    arguments = repair(raw, schema, model, budget)
    ran = arguments is not None
    return {"ran": ran, "result": tool(**arguments) if ran else None}
