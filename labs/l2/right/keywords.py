"""Collects problems in an object, one method a keyword."""
import json
from dataclasses import dataclass, field


class Twice(ValueError):
    ...


def no_twins(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise Twice(keys)
    return dict(pairs)


def no_constant(text):
    raise Twice(text)


@dataclass
class Validator:
    problems: list = field(default_factory=list)

    def add(self, path):
        pointer = "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in path)
        self.problems.append({"code": "invalid_arguments", "pointer": pointer, "message": "does not fit"})

    def visit(self, value, schema, path=()):
        kind = schema["type"]
        if getattr(self, "is_" + kind)(value):
            for keyword in ("enum", "minimum", "maximum", "items", "required", "additionalProperties", "properties"):
                if keyword in schema:
                    getattr(self, keyword)(value, schema[keyword], schema, path)
        else:
            self.add(path)

    is_string = staticmethod(lambda v: isinstance(v, str))
    is_integer = staticmethod(lambda v: type(v) is int)
    is_number = staticmethod(lambda v: type(v) in (int, float))
    is_boolean = staticmethod(lambda v: type(v) is bool)
    is_array = staticmethod(lambda v: isinstance(v, list))
    is_object = staticmethod(lambda v: isinstance(v, dict))

    def enum(self, value, allowed, schema, path):
        if not any(value == each for each in allowed):
            self.add(path)

    def minimum(self, value, low, schema, path):
        if value < low:
            self.add(path)

    def maximum(self, value, high, schema, path):
        if value > high:
            self.add(path)

    def items(self, value, inner, schema, path):
        for n, item in enumerate(value):
            self.visit(item, inner, (*path, n))

    def required(self, value, names, schema, path):
        for name in names:
            if name not in value:
                self.add((*path, name))

    def additionalProperties(self, value, allowed, schema, path):
        for name in value:
            if allowed is False and name not in schema.get("properties", {}):
                self.add((*path, name))

    def properties(self, value, known, schema, path):
        for name in known:
            if name in value:
                self.visit(value[name], known[name], (*path, name))


def validate(call, registry):
    function = call["function"]
    schema = registry.get(function["name"])
    if schema is None:
        return [dict(code="unknown_tool", pointer="")]
    text = function["arguments"]
    try:
        arguments = json.loads(text, object_pairs_hook=no_twins, parse_constant=no_constant) if text.strip() else {}
        assert isinstance(arguments, dict)
    except (ValueError, RecursionError, AssertionError) as error:
        return [dict(code="invalid_json", pointer="", message=str(error)[:200])]
    validator = Validator()
    validator.visit(arguments, schema)
    return validator.problems
