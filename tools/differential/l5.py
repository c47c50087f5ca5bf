"""Registries and calls for lab 5: drawn schemas, values that meet them or not, texts that are not JSON."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from zoolab_grader import Student, Wrong

NAMES = ("a", "b", "c", "type", "items", "required", "properties", "~", "a/b", "~1", "0", "", "_a", "é %")
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        3,
        7,
        0.0,
        1.0,
        2.0,
        2.5,
        10**350,
        "",
        "x",
        " x",
        "3",
        "X",
        "other",
        "NaN",
        "'a': True",
    ),
    *("```", '{"a": 1}', "é", ["x"] * 101),
    *([], [1], [[]], ["x", 1], {}, {"a": 1}),
)


def draw(chance: Random) -> dict[str, Any]:
    """Return a registry, the name of a tool, and the text of its arguments."""
    schema = _object(chance, 3)
    registry = {"one": schema, "any": {"type": "object"}}
    value = _value(chance, schema)
    for _ in range(chance.choice([0, 1, 1, 2, 4, 8])):
        value = _changed(chance, value)
    name = chance.choice(["one"] * 40 + ["any", "One", "two", "", "functions.any", "ａny"])
    return {"registry": registry, "name": name, "raw": _written(chance, value)}


def _schema(chance: Random, depth: int) -> dict[str, Any]:
    kind = chance.choice(["string", "integer", "number", "boolean", *["array", "object"] * (depth > 0)])
    if kind == "object":
        return _object(chance, depth - 1)
    schema: dict[str, Any] = {"type": kind}
    if kind == "array" and chance.random() < 0.8:
        schema["items"] = _schema(chance, depth - 1)
    if kind in ("integer", "number"):
        low = chance.choice([-1, 0, 1, 0.5]) if kind == "number" else chance.choice([-1, 0, 1])
        if chance.random() < 0.4:
            schema["minimum"] = low
        if chance.random() < 0.4:
            schema["maximum"] = low + chance.choice([0, 1, 2])
    if kind in ("integer", "string") and chance.random() < 0.4:
        schema["enum"] = [0, 1, 2] if kind == "integer" else ["x", "", "3"]
    return schema


def _object(chance: Random, depth: int) -> dict[str, Any]:
    names = chance.sample(NAMES, chance.choice([0, 1, 2, 3, 4, 5]) if depth else 2)
    schema: dict[str, Any] = {"type": "object"}
    if names or chance.random() < 0.5:
        schema["properties"] = {name: _schema(chance, depth) for name in names}
    if chance.random() < 0.6:
        schema["required"] = [name for name in names if chance.random() < 0.6]
    if chance.random() < 0.6:
        schema["additionalProperties"] = False
    return schema


def _value(chance: Random, schema: dict[str, Any]) -> Any:
    kind = schema["type"]
    low = schema.get("minimum", schema.get("maximum", 0))
    if kind == "object":
        inner = schema.get("properties", {}).items()
        required = schema.get("required", [])
        return {n: _value(chance, s) for n, s in inner if n in required or chance.random() < 0.7}
    if kind == "array":
        return [_value(chance, schema.get("items", {"type": "string"})) for _ in range(chance.randrange(4))]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    plain: dict[str, Any] = {"string": "x", "boolean": True, "number": low, "integer": low}
    return plain[kind]


def _changed(chance: Random, value: Any) -> Any:
    """Return a value with something in it replaced, left out or added."""
    if isinstance(value, dict) and chance.random() < 0.96:
        key = chance.choice([*value, *value, *NAMES[:3]])
        if key in value and chance.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _changed(chance, value.get(key))}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], _changed(chance, value[at]), *value[at + 1 :]]
    return chance.choice(ODD)


def _written(chance: Random, value: Any) -> str:
    text = json.dumps(value, indent=chance.choice([None, None, 1]))
    if chance.random() < 0.9:
        return text
    odd = [
        "NaN",
        "-Infinity",
        '{"a": 1, "a": 1}',
        "True",
        "1,",
        "[1,]",
        "'x'",
        "// no",
        "{",
        "2e0",
        '"\n"',
        '{"a": null, "a": 1}',
        '{"a": 1, "A": 1}',
    ]
    return chance.choice(
        [
            *("", " ", "\n\t", "null", "[]", text[:-1], f"{text} {text}", f"```json\n{text}\n```"),
            *(f"`{text}`", f"<tool_call>{text}</tool_call>", f"\ufeff{text}", f"# x\n{text}", f"{text};"),
            *(f" {text}\n", f"[{text}]", json.dumps(text), repr(value), "[" * 5000, f'{{"a": {"9" * 5000}}}'),
            *(text.replace("1", chance.choice(odd)), text.replace('"x"', chance.choice(odd))),
        ]
    )


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return the codes and pointers, and whether the arguments are still as they were."""
    function = {"name": given["name"], "arguments": given["raw"]}
    call = {"id": "call_1", "type": "function", "function": function}
    answer = student.call("validate", call, given["registry"], args_after=True)
    try:
        pairs = sorted({(problem["code"], problem["pointer"]) for problem in answer.value})
    except (TypeError, KeyError) as error:
        raise Wrong("not a list of problems") from error
    return [isinstance(answer.value, list), pairs, answer.args == [call, given["registry"]]]
