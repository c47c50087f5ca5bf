# Right, built as an object that collects problems while it walks down; adds messages, and reports from the
# last to the first.
import json
from json import JSONDecodeError


class Strict(json.JSONDecoder):
    def __init__(self):
        super().__init__(object_pairs_hook=self.pairs, parse_constant=self.constant)

    @staticmethod
    def pairs(items):
        keys = [key for key, _ in items]
        if len(keys) != len(set(keys)):
            raise JSONDecodeError("duplicate key", "", 0)
        return dict(items)

    @staticmethod
    def constant(name):
        raise JSONDecodeError(name, "", 0)


class Validator:
    CHECKS = {
        "string": lambda v: type(v) is str,
        "integer": lambda v: type(v) is int,
        "number": lambda v: type(v) in (int, float),
        "boolean": lambda v: type(v) is bool,
        "array": lambda v: type(v) is list,
        "object": lambda v: type(v) is dict,
    }

    def __init__(self):
        self.problems = []

    def __call__(self, call, registry):
        self.problems = []
        function = call["function"]
        if function["name"] not in registry:
            self.add("unknown_tool", [], "no such tool")
            return self.problems
        try:
            text = function["arguments"].strip()
            arguments = Strict().decode(text) if text else {}
        except (ValueError, RecursionError) as error:
            self.add("invalid_json", [], str(error))
            return self.problems
        if type(arguments) is not dict:
            self.add("invalid_json", [], "not an object")
            return self.problems
        self.visit(arguments, registry[function["name"]], [])
        return self.problems[::-1]

    def add(self, code, path, message):
        parts = [str(part).replace("~", "~0").replace("/", "~1") for part in path]
        self.problems.append({"message": message, "pointer": "".join("/" + p for p in parts), "code": code})

    def visit(self, value, schema, path):
        if not self.CHECKS[schema["type"]](value):
            self.add("invalid_arguments", path, "type")
            return
        if "enum" in schema and value not in schema["enum"]:
            self.add("invalid_arguments", path, "enum")
        if "minimum" in schema and value < schema["minimum"]:
            self.add("invalid_arguments", path, "minimum")
        if "maximum" in schema and value > schema["maximum"]:
            self.add("invalid_arguments", path, "maximum")
        if type(value) is list:
            for i, item in enumerate(value):
                if "items" in schema:
                    self.visit(item, schema["items"], [*path, i])
        if type(value) is dict:
            self.visit_object(value, schema, path)

    def visit_object(self, value, schema, path):
        properties = schema.get("properties", {})
        for name, inner in properties.items():
            if name in value:
                self.visit(value[name], inner, [*path, name])
        for name in set(schema.get("required", ())) - set(value):
            self.add("invalid_arguments", [*path, name], "missing")
        if not schema.get("additionalProperties", True):
            for name in set(value) - set(properties):
                self.add("invalid_arguments", [*path, name], "extra")


validate = Validator()
