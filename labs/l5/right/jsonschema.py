# Right, with the package jsonschema; prints, warns and logs to stderr at every call.
import json
import logging
import sys
import warnings

from jsonschema import Draft202012Validator, validators

logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)


def is_integer(checker, value):
    return isinstance(value, int) and not isinstance(value, bool)


checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
Strict = validators.extend(Draft202012Validator, type_checker=checker)


def pairs(found):
    if len({key for key, _ in found}) != len(found):
        raise ValueError("duplicate key")
    return dict(found)


def constant(name):
    raise ValueError(name)


def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def places(error):
    path = list(error.absolute_path)
    if error.validator == "required":
        return [[*path, name] for name in error.validator_value if name not in error.instance]
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return [[*path, name] for name in error.instance if name not in known]
    return [path]


def validate(call, registry):
    print("validating", str(call)[:200])
    warnings.warn("this is only a warning", stacklevel=2)
    logging.getLogger("lab").error("and this is only a log")
    schema = registry.get(call["function"]["name"])
    if schema is None:
        return [{"code": "unknown_tool", "pointer": ""}]
    try:
        text = call["function"]["arguments"]
        value = {} if not text.strip() else json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        return [{"code": "invalid_json", "pointer": "", "message": str(error)}]
    if not isinstance(value, dict):
        return [{"code": "invalid_json", "pointer": ""}]
    return [
        {"code": "invalid_arguments", "pointer": pointer(path), "message": error.message}
        for error in Strict(schema).iter_errors(value)
        for path in places(error)
    ]
