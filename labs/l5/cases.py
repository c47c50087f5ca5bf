"""The cases of lab 5: validate a call.

A case speaks of `text`, `whole`, `place`; what the tool and its arguments are really called, and all values,
come from `chance`. What is wrong with a call is known because the case put it there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from zoolab_grader import Lab, Student, Wrong, case

LAB = Lab("l5", "Validate a call", functions=("validate",), uses=("jsonschema",))

Pairs = set[tuple[str, str]]

_VERBS = ("book", "find", "move", "order", "plan", "send", "store", "track")
_ROLES = ("text", "whole", "ratio", "flag", "choice", "tags", "place", "lines", "street", "house", "extra")
_STEMS = ("cabin", "door", "guest", "lake", "road", "ship")
_NAMES = [stem + end for stem in _STEMS for end in ("box", "code", "note", "rate", "side")]
_PLACE = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "house": {"type": "integer"}},
    "required": ["street", "house"],
    "additionalProperties": False,
}


class Bench:
    """A tool in a registry, arguments that it takes, and the student's `validate` to try them on."""

    def __init__(self, student: Student, chance: Random, about: str = "", marked: bool = True) -> None:
        self.student, self.chance, self.about = student, chance, about
        self.marked = marked  # what JSON cannot express costs one case for each code, not all
        self.names = dict(zip(_ROLES, chance.sample(_NAMES, len(_ROLES)), strict=True))
        number = chance.randrange(10**6)  # another case has tools of other names
        self.tool, *others = (f"{verb}_{number}" for verb in chance.sample(_VERBS, 3))
        self.low = chance.randrange(1, 20)
        self.choices = chance.sample(_NAMES, 3)
        self.schema = self._schema()
        self.lenient = others[0]
        free = {"type": "object", "properties": {}, "required": []}
        self.registry = {self.lenient: free, self.tool: self.schema, others[1]: _PLACE}
        self.right = self._arguments()
        self.seen: dict[str, list[dict[str, Any]]] = {}

    def _schema(self) -> dict[str, Any]:
        kinds: dict[str, Any] = {
            "text": {"type": "string"},
            "whole": {"type": "integer", "minimum": self.low, "maximum": self.low + 10},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "choice": {"type": "string", "enum": self.choices},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": _PLACE,
            "lines": {"type": "array", "items": _PLACE},
        }
        properties = dict(self.chance.sample(list(kinds.items()), len(kinds)))
        return {**_PLACE, "properties": properties, "required": ["place", "text", "whole"]}

    def _arguments(self) -> dict[str, Any]:
        chance = self.chance
        text, *tags = chance.sample(_NAMES, 4)
        place, *lines = [
            {"street": chance.choice(_NAMES), "house": chance.randrange(10, 99)} for _ in range(4)
        ]
        numbers = {"whole": self.low + chance.randrange(1, 10), "ratio": chance.choice([0.5, 3.25, 7.25])}
        choice, flag = chance.choice(self.choices), True
        values = {**numbers, "flag": flag, "text": text, "choice": choice, "tags": tags, "place": place}
        return dict(chance.sample([*values.items(), ("lines", lines)], 8))

    def named(self, value: Any) -> Any:
        """A value, with the names that the student sees."""
        if isinstance(value, dict):
            return {self.named(key): self.named(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.named(item) for item in value]
        return self.names.get(value, value) if isinstance(value, str) else value

    def raw(self, arguments: dict[str, Any]) -> str:
        """Arguments as the model writes them."""
        return json.dumps(self.named(arguments))

    def without(self, role: str) -> dict[str, Any]:
        """The right arguments without one."""
        return {key: value for key, value in self.right.items() if key != role}

    def bad(self, what: str, arguments: dict[str, Any], *pointers: str) -> None:
        """`what` is wrong with these arguments, at these pointers; none means that nothing is wrong."""
        wanted = {("invalid_arguments", at) for at in pointers}
        self.judge(what, self.tool, self.raw(arguments), wanted)

    def found(self, arguments: dict[str, Any] | str, tool: str = "") -> Pairs:
        """What the student's code reports, with its own pointers."""
        raw = arguments if isinstance(arguments, str) else self.raw(arguments)
        return self._answer(tool or self.tool, raw)

    def _answer(self, tool: str, raw: str) -> Pairs:
        """What the student's code reports.

        A tool whose schema was changed gets another name: an answer that keeps schemas by name would fail in
        most cases otherwise.
        """
        names, registry = {}, {}
        for name, schema in self.registry.items():
            seen, shown = self.seen.setdefault(name, []), self.named(schema)
            if shown not in seen:
                seen.append(shown)
            names[name] = name + "_x" * seen.index(shown)
            registry[names[name]] = shown
        call = self.call(names.get(tool, tool), raw)
        return _pairs(self.student.call("validate", call, registry, marked=self.marked).value)

    def no_json(self, what: str, *texts: str) -> None:
        """A right call runs, and each of these texts is as little JSON as one that is plainly none."""
        self.bad("a call with nothing wrong", self.right)
        wanted = self.found("{")
        if not wanted:
            raise Wrong("text that is not JSON was let through")
        for text in texts:
            if (found := self.found(text)) != wanted:
                raise Wrong(f"{what}: this was {'reported in another way' if found else 'let through'}")

    def call(self, tool: str, raw: str) -> dict[str, Any]:
        """A call as it is on the wire."""
        return {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": raw}}

    def judge(self, what: str, tool: str, raw: str, wanted: Pairs) -> None:
        """Have one call validated, and compare what is reported with what is wrong.

        Another code for wrong arguments, and another way to write a pointer, such as `place.street`, cost
        the cases about codes and about pointers only.
        """
        found = {self._judged(code, at) for code, at in self._answer(tool, raw)}
        real = {self._judged(code, self._pointer(at)) for code, at in wanted}
        if real and not found:
            raise Wrong(f"{what}: this was let through")
        if real - found:
            raise Wrong(f"{what}: this was not reported, or with another code or pointer")
        if found - real:
            raise Wrong(f"{what}: more was reported than is wrong" if real else f"{what} was refused")

    def _judged(self, code: str, at: str) -> tuple[str, str]:
        if code in ("unknown_tool", "invalid_json"):
            return code, at
        return code if self.about == "codes" else "", at if self.about == "pointers" else _steps(at)

    def _pointer(self, at: str) -> str:
        return "/".join(self.names.get(part, part) for part in at.split("/"))


def _pairs(value: Any) -> Pairs:
    listed = isinstance(value, list) and all(isinstance(problem, dict) for problem in value)
    if not listed or not all(isinstance(p.get(key), str) for p in value for key in ("code", "pointer")):
        raise Wrong("`validate` did not return a list of dicts, each with the texts `code` and `pointer`")
    return {(problem["code"], problem["pointer"]) for problem in value}


def _steps(pointer: str) -> str:
    return "/".join(re.findall(r"\w+", pointer))


@case(2, "Return an empty list when nothing is wrong, and not before you have looked.", public=True)
def lets_right_calls_run(student: Student, chance: Random) -> None:
    """A call that meets its schema gives an empty list, with and without its optional arguments; the same
    call with a text in place of the integer does not."""
    bench = Bench(student, chance)
    required = {role: bench.right[role] for role in ("text", "whole", "place")}
    bench.bad("a call with nothing wrong", bench.right)
    bench.bad("a call with the required arguments only", required)
    bench.bad("a text for an integer", {**bench.right, "whole": "many"}, "/whole")
    text = json.dumps(bench.named({**bench.right, "text": "Zoë, 東京"}), ensure_ascii=False)
    bench.judge(
        "a call with blanks around it and letters of all kinds", bench.tool, f"\n {text}\t\r\n", set()
    )


@case(1, "Compare the name as it is: no lower(), no startswith(), no guess.", public=True)
def knows_the_tools(student: Student, chance: Random) -> None:
    """A name that is not in the registry, letter by letter, gives `unknown_tool` at "" and nothing else,
    whatever the arguments are."""
    bench = Bench(student, chance, marked=False)
    bench.bad("a call with nothing wrong", bench.right)
    wide = chr(ord(bench.tool[0]) + 0xFEE0) + bench.tool[1:]  # the same letter, as wide as a Chinese one
    alike = bench.tool.replace("_", "-"), f"functions.{bench.tool}", wide
    bench.registry["men\u00fc"] = bench.schema  # and the same letters, composed in another way
    alike += ("menu\u0308",)
    for name in (bench.tool.upper(), bench.tool[:-2], bench.tool + "s", f" {bench.tool}\n", "", *alike):
        for raw in (bench.raw(bench.right), "{"):
            bench.judge("a tool that does not exist", name, raw, {("unknown_tool", "")})


@case(1, "json.loads raises ValueError. Report it; do not go on with {}.", public=True)
def reads_json(student: Student, chance: Random) -> None:
    """Text that is not JSON gives `invalid_json` at "" and nothing else; blank text stands for `{}`."""
    bench = Bench(student, chance, marked=False)
    whole = bench.raw(bench.right)
    bench.bad("a call with nothing wrong", bench.right)
    fences = f"```json\n{whole}\n```", f"`{whole}`", f"<tool_call>{whole}</tool_call>"
    around = (*fences, whole + " please", "Here: " + whole, whole + ";")
    around += ("\ufeff" + whole, "\u00a0" + whole, whole + "\f", whole + "\u3000")
    two_lines = bench.raw({**bench.right, "text": "?"}).replace("?", "one\ntwo")
    broken = ("{", "x", whole[:-1], whole[:-1] + ",}", whole * 2, two_lines)
    for text, tool in [(text, tool) for text in (*broken, *around) for tool in (bench.tool, bench.lenient)]:
        what = "an object with other text around it" if text in around else "text that is not JSON"
        bench.judge(what, tool, text, {("invalid_json", "")})
    for blank in ("", " ", "\n\t "):
        bench.judge("blank text for a tool that needs no arguments", bench.lenient, blank, set())
        if {code for code, _ in bench.found(blank)} in (set(), {"invalid_json"}):
            raise Wrong("blank text, for a tool with required arguments: they are what is missing")


@case(2, "null, a list and a text are JSON, and none of them is an object. Only blank text stands for {}.")
def wants_one_object(student: Student, chance: Random) -> None:
    """JSON that is not one object gives `invalid_json` at "" and nothing else: null, true, a number, a list,
    a text, even a text with an object inside."""
    bench = Bench(student, chance)
    whole = bench.raw(bench.right)
    plain = chance.sample(["null", "true", "false", "0", "7", "[]", '""'], 7)
    bench.bad("a call with nothing wrong", bench.right)
    for text in (*plain, f"[{whole}]", json.dumps(whole)):
        bench.judge("JSON that is not one object", bench.tool, text, {("invalid_json", "")})


@case(1, "object_pairs_hook: as many keys as pairs, whatever the values? parse_constant: raise ValueError.")
def is_strict(student: Student, chance: Random) -> None:
    """`NaN`, `Infinity`, `-Infinity`, and a key that comes twice in one object, are `invalid_json` at "",
    deep inside too."""
    bench = Bench(student, chance)
    numbers = [float("nan"), float("inf"), float("-inf")]
    bench.no_json("NaN or Infinity", *(bench.raw({**bench.right, "ratio": number}) for number in numbers))
    twice = bench.raw({"text": "x"})[:-1] + ", "
    whole, inner = bench.raw(bench.right), bench.raw(bench.right["place"])
    doubled = bench.raw({"house": 1})[:-1] + ", "
    bench.bad("a text that says NaN", {**bench.right, "text": '"NaN", -Infinity, NaN and "a": 1, "a": 2'})
    for number in numbers:
        bench.no_json("NaN or Infinity", bench.raw({**bench.right, "tags": ["x", [number]]}))
    keys = {"a": {"a": 1}, "A": 2, "a ": 3, "é": 4, "e\u0301": 5}
    kinds: dict[str, Any] = {key: {"type": "integer"} for key in keys}
    kinds["a"] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": []}
    bench.registry[bench.lenient] = {"type": "object", "properties": kinds, "required": []}
    bench.judge("keys that are only alike", bench.lenient, json.dumps(keys), set())
    item = bench.raw(bench.right["lines"][1])
    bench.no_json("a key twice in an item of a list", whole.replace(item, doubled + item[1:]))
    bench.no_json("a key twice, with equal values", whole[:-1] + ", " + whole[1:])
    for value in (None, 0, "", False):
        bench.no_json("a key twice", bench.raw({"text": value})[:-1] + ", " + whole[1:])
    bench.no_json("a key twice", twice + whole[1:], whole.replace(inner, doubled + inner[1:]))


@case(1, "Neither eval nor ast.literal_eval reads JSON: they read Python. A string may hold any marks.")
def runs_nothing(student: Student, chance: Random) -> None:
    """Python is not JSON: single quotes, `True`, `None`, a sum, a comment and a comma too many are
    `invalid_json` at ""."""
    bench = Bench(student, chance)
    whole, number = bench.raw(bench.right), bench.right["whole"]
    summed = bench.raw({**bench.right, "whole": "?"}).replace('"?"', f"{number - 1} + 1")
    bench.bad("a text with Python in it", {**bench.right, "text": "it's True # None, 1 + 1 // x,} ,] ```"})
    python = [
        repr(bench.named(bench.right)),
        f"dict({whole})",
        summed,
        whole + " # done",
        "# done\n" + whole,
        "/* done */" + whole,
        whole + "\n// done",
        "{,}",
        whole[:-1] + ",}",
    ]
    bench.no_json("Python in place of JSON", *python)


@case(2, "The pointer is that of the argument that is missing: /city, not the object.", public=True)
def misses_required(student: Student, chance: Random) -> None:
    """A required argument that is missing gives `invalid_arguments` at the pointer it would have; one that
    is there as null is not missing but of the wrong type: the same code, the same pointer."""
    bench = Bench(student, chance, about="codes", marked=False)
    bench.bad("an optional argument is missing", bench.without("ratio"))
    for role in ("text", "whole", "place"):
        bench.bad("a required argument is missing", bench.without(role), f"/{role}")
        if role != "place":  # whether anything is missing inside of null is another case
            bench.bad("null for a required argument", {**bench.right, role: None}, f"/{role}")
    bench.bad("null for an optional argument", {**bench.right, "ratio": None}, "/ratio")
    bench.schema["properties"]["ratio"] = {"type": "number", "minimum": 0}
    below = {**bench.right, "ratio": -1}
    bench.found(below)  # JSON must be able to express what comes; the rest is judged below


@case(1, "Only where the schema says additionalProperties: false; the pointer names the extra.", public=True)
def refuses_extras(student: Student, chance: Random) -> None:
    """Where `additionalProperties` is false, an argument that the schema does not name gives
    `invalid_arguments` at its pointer; where the schema does not say so, extras are fine."""
    bench = Bench(student, chance, about="codes")
    for value in (None, False, "", chance.randrange(9)):
        more = {**bench.right, "extra": value}
        bench.bad("an extra argument", more, "/extra")
    del bench.schema["additionalProperties"]
    bench.bad("an extra argument where extras are allowed", more)
    bench.about = ""  # which code this has is not the matter here
    bench.bad("a wrong value beside an extra argument", {**more, "text": {}}, "/text")


@case(2, "Six names of types, and each takes its own kind only: nothing is converted.")
def checks_types(student: Student, chance: Random) -> None:
    """A value of another type than its schema's gives `invalid_arguments` at its pointer: "3" is no number,
    1 is no boolean, a text is no list. An integer is a number. What is inside of it is not looked at."""
    bench = Bench(student, chance, about="codes")
    for number in (0, -3, chance.randrange(1, 9)):
        bench.bad("an integer for a number", {**bench.right, "ratio": number})
    empty = {"text": "", "flag": False, "tags": [], "lines": [], "ratio": 0.0}
    for role, value in empty.items():
        bench.bad("an empty value of the right type", {**bench.right, role: value})
    row, whole = bench.right["lines"][0], bench.right["whole"]
    wrong: dict[str, list[Any]] = {
        "text": [3, True, [], {"street": 1}],
        "whole": [str(whole), "", [whole], whole + 0.5],
        "ratio": ["0.5", "1", {}],
        "flag": [1, 0, "true", []],
        "tags": ["ab", '["ab"]', {"0": "ab"}],
        "place": ["x", bench.raw(row), [row], [], 1, list(row.items())],
        "lines": [{}, row, {"0": row}, "ab"],
    }
    for role, right in bench.right.items():
        others = [value for value in ("", 0, False, [], {}) if type(value) is not type(right)]
        wrong.setdefault(role, []).extend(
            value for value in others if role != "ratio" or type(value) is not int
        )
    for role, value in [(role, value) for role, values in wrong.items() for value in values]:
        bench.bad("a value of another type", {**bench.right, role: value}, f"/{role}")


@case(1, "In Python, isinstance(True, int) holds. In JSON, true is no number.")
def true_is_no_number(student: Student, chance: Random) -> None:
    """`true` and `false` are neither integers nor numbers, and `2.0` is no integer."""
    bench = Bench(student, chance)
    bench.bad("a call with nothing wrong", bench.right)
    bench.schema["properties"]["whole"] = {"type": "integer"}
    bench.schema["properties"]["choice"] = {"type": "integer", "enum": [0, 1]}
    bench.right["choice"] = 1
    for truth in (True, False):
        bench.bad("true or false for an integer", {**bench.right, "whole": truth}, "/whole")
        bench.bad("true or false for an integer", {**bench.right, "choice": truth}, "/choice")
        bench.bad("true or false for a number", {**bench.right, "ratio": truth}, "/ratio")
    bench.bad("2.0 for a number", {**bench.right, "ratio": 2.0})
    for number in (float(bench.right["whole"]), 0.0):
        bench.bad("2.0 for an integer", {**bench.right, "whole": number}, "/whole")
    for power in ("2e0", "1e1", "1E+1"):
        raw = bench.raw({**bench.right, "whole": "?"}).replace('"?"', power)
        bench.judge(f"{power} for an integer", bench.tool, raw, {("invalid_arguments", "/whole")})


@case(1, "enum, letter by letter; minimum and maximum, whose bounds themselves are allowed.")
def checks_choices_and_bounds(student: Student, chance: Random) -> None:
    """A value that is not in its `enum`, or is outside of `minimum` and `maximum`, gives `invalid_arguments`
    at its pointer; each choice and the bounds themselves are fine."""
    bench = Bench(student, chance, about="codes")
    low, high, choices = bench.low, bench.low + 10, bench.choices
    for number in (low, high):
        bench.bad("a bound itself", {**bench.right, "whole": number})
        outside = {**bench.right, "whole": number + (1 if number == high else -1)}
        bench.bad("a number out of bounds", outside, "/whole")
    for word in choices:
        bench.bad("a choice of the enum", {**bench.right, "choice": word})
    for word in (choices[0].upper(), choices[0][:-1], f" {choices[0]}", "".join(choices), ""):
        bench.bad("a choice that is not in the enum", {**bench.right, "choice": word}, "/choice")
    kinds = bench.schema["properties"]
    kinds["whole"] = {"type": "integer", "enum": [low, high]}
    kinds["ratio"] = {"type": "number", "minimum": -0.5, "maximum": 0}
    for whole, ratio in ((low, 0.0), (high, -0.5)):
        bench.bad("a number of the enum, and a bound", {**bench.right, "whole": whole, "ratio": ratio})
    bench.right["whole"] = low
    bench.bad("a number that is not in the enum", {**bench.right, "ratio": 0.0, "whole": low + 1}, "/whole")
    bench.bad("a number out of bounds", {**bench.right, "ratio": 0.25}, "/ratio")
    kinds["whole"] = {
        "type": "integer",
        "enum": [low, low + 5, high],
        "minimum": low + 1,
        "maximum": high - 1,
    }
    bench.right["whole"] = low + 5
    right = {**bench.right, "ratio": 0.0}
    for whole in (low, high):
        bench.bad("a number of the enum that is out of bounds", {**right, "whole": whole}, "/whole")
    kinds["ratio"] = {"type": "number", "minimum": 0}
    bench.bad("a bound of 0", right)
    bench.bad("a number below 0", {**right, "ratio": -0.25}, "/ratio")
    kinds["ratio"] = {"type": "number", "minimum": 0.5}
    bench.bad("0, which is below 0.5", {**right, "ratio": 0}, "/ratio")
    kinds["ratio"] = {"type": "number", "maximum": 0}
    bench.bad("a number above 0", {**right, "ratio": 0.25}, "/ratio")
    kinds["ratio"] = {"type": "number", "enum": [0, 2]}
    bench.bad("2.0, where the enum has 2", {**right, "ratio": 2.0})
    kinds["ratio"] = {"type": "number", "enum": [0.3, 2]}
    bench.bad("a number that is nearly one of the enum", {**right, "ratio": 0.30000000001}, "/ratio")


@case(2, "Call your checker again for each property and each item, with a longer pointer.")
def looks_inside(student: Student, chance: Random) -> None:
    """Objects in objects and items of lists are checked by the same rules; pointers count items from 0."""
    bench = Bench(student, chance)
    right, row = bench.right, 1  # neither first nor last, or equal work would get unequal points
    bench.bad("a call with nothing wrong", right)
    wrong = {**right["place"], "house": "eight"}
    for value, at in ((wrong, "/house"), ([], "")):
        items = [*right["lines"][:row], value, *right["lines"][row + 1 :]]
        bench.bad("a problem in an object", {**right, "place": value}, f"/place{at}")
        bench.bad("a problem in an item of a list", {**right, "lines": items}, f"/lines/{row}{at}")
    for item in ({}, None):
        tags = [*right["tags"][:row], item, *right["tags"][row + 1 :]]
        bench.bad("an item of another type", {**right, "tags": tags}, f"/tags/{row}")
    bench.bad("the last of many items is of another type", {**right, "tags": ["x"] * 300 + [{}]}, "/tags/300")
    bench.schema["properties"]["tags"] = {
        "type": "array",
        "items": {"type": "array", "items": {"type": "integer"}},
    }
    bench.bad("lists in a list", {**right, "tags": [[], [row, 8]]})
    bench.bad("a problem in a list in a list", {**right, "tags": [[], [row, "eight"]]}, "/tags/1/1")
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(12):
        nested = {"type": "array", "items": nested}
    bench.schema["properties"]["tags"] = nested
    bench.bad(
        "a problem in twelve lists",
        {**right, "tags": json.loads("[" * 12 + '"x"' + "]" * 12)},
        "/tags" + "/0" * 12,
    )
    bench.schema["properties"]["place"] = {
        "type": "object",
        "properties": {
            "place": {
                "type": "object",
                "properties": {"lines": bench.schema["properties"]["lines"]},
                "required": [],
            }
        },
        "required": [],
    }
    deep: dict[str, Any] = {**bench.without("tags"), "place": {"place": {"lines": [right["place"]]}}}
    bench.bad("an object in an object", deep)
    deep["place"]["place"]["lines"].append(wrong)
    bench.bad("a problem deep inside", deep, "/place/place/lines/1/house")


@case(1, "Let one function check a value, and call it for what is inside: each rule counts there too.")
def all_rules_hold_inside(student: Student, chance: Random) -> None:
    """`required`, `additionalProperties`, `enum`, `minimum` and `maximum` hold for items of lists and inside
    of objects as well."""
    bench = Bench(student, chance)
    kinds = {
        "house": {"type": "number", "minimum": 0.5, "maximum": 4.5},
        "street": {"type": "string", "enum": bench.choices},
        "whole": {"type": "integer", "minimum": 1, "enum": [0, 1, 2]},
    }
    inner = {**_PLACE, "properties": kinds, "required": ["street"]}
    right = {"house": 4.5, "street": bench.choices[1], "whole": 2}
    wrong: list[dict[str, Any]] = [{"house": 3}, {**right, "extra": 1}, {**right, "text": "x"}]
    wrong += [
        {**right, key: value}
        for key, value in (("house", 0.25), ("house", 5), ("house", True), ("street", "none"))
    ]
    wrong += [{**right, "whole": value} for value in (0, 3, True, 1.0)]
    outer = {"place": inner, "lines": {"type": "array", "items": inner}, "text": {"type": "string"}}
    outer["tags"], outer["choice"] = ({"type": "array", "items": kinds[name]} for name in ("house", "street"))
    whole = {"type": "object", "properties": outer, "required": []}
    bench.registry = {bench.tool: whole, bench.lenient: inner}
    bench.bad("values in bounds and choices, inside", {"place": right, "lines": [right, right], "text": "x"})
    of_enum = bench.found({"choice": ["none", bench.choices[0]]})
    if bool(of_enum) != bool(bench.found({**right, "street": "none"}, bench.lenient)):
        raise Wrong("a text in a list is not held to the same enum as one outside of it")
    for values in wrong:
        alone = bench.found(values, bench.lenient)
        if values == wrong[0] and not alone:
            raise Wrong("a missing argument was let through")
        for role, value in (("place", values), ("lines", [values, right])):
            wanted = {(code, _steps(f"{bench.names[role]}/{pointer}")) for code, pointer in alone}
            found = {(code, _steps(pointer)) for code, pointer in bench.found({role: value})}
            # Which number an item has in its pointer, and that all items count, is asked elsewhere.
            if {(code, re.sub(r"/\d+(?=/|\Z)", "", at)) for code, at in found} != wanted:
                raise Wrong("what is wrong inside of an object or a list is not what it is outside of it")
        in_list = {"tags": [values.get("house", 3), 3]}
        if (
            values.keys() == right.keys()
            and values["house"] != 4.5
            and bool(alone) != bool(bench.found(in_list))
        ):
            raise Wrong("a number in a list is not held to the same bounds as one outside of it")


@case(1, "Only `type` is always there: ask for the other keywords with get().")
def takes_any_schema(student: Student, chance: Random) -> None:
    """Keywords other than `type` may be left out; and an argument may have any name, such as `type`, `items`
    or `required`."""
    bench = Bench(student, chance)
    bench.registry[bench.lenient] = {"type": "object", "properties": {"text": {"type": "string"}}}
    refused = bench.found({"text": "x", "x": 1}, bench.lenient)  # that extras are fine is another case
    inside = {} if refused else {"x": [1]}
    kinds, right = bench.schema["properties"], {**bench.right, "place": inside}
    kinds["tags"], kinds["place"] = {"type": "array"}, {"type": "object"}
    bench.bad("a list of anything, and any object", {**right, "tags": [1, "x", None]})
    bench.bad("a text for a list of anything", {**right, "tags": "x"}, "/tags")
    kinds["place"] = {"type": "object", "additionalProperties": False}
    bench.bad("no arguments where none are", {**right, "place": {}})
    free = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["extra"]}
    bench.registry[bench.lenient] = free
    raw, wanted = bench.raw({"text": "x"}), {("invalid_arguments", "/extra")}
    bench.judge("a required argument without a schema of its own is missing", bench.lenient, raw, wanted)
    if not refused:
        raw = bench.raw({"text": "x", "extra": None})
        bench.judge("a required argument without a schema of its own is null", bench.lenient, raw, set())
    names = ("type", "items", "required", "properties", "enum", "minimum", "additionalProperties", "_id")
    bench.schema["properties"] = {name: {"type": "integer"} for name in names}
    bench.schema["required"] = ["type", "items"]
    fine = dict.fromkeys(names, 1)
    bench.bad("arguments with the names of keywords", fine)
    for name in names:
        bench.bad("one of them of another type", {**fine, name: "x"}, f"/{name}")
    bench.schema.pop("properties")
    bench.schema["required"] = []
    bench.bad("no arguments, where there are none", {})


@case(2, "Collect problems in a list; do not return at the first one.")
def finds_all(student: Student, chance: Random) -> None:
    """All problems of a call are reported at once, in any order."""
    bench = Bench(student, chance)
    bench.bad("a call with nothing wrong", bench.right)
    lines = [{"street": 7, "house": "eight"}, 5, {}]
    bad = {"whole": bench.low - 1, "choice": "none", "flag": 1, "extra": 1, "more": [1], "ratio": "x"}
    each = [bench.found(bench.without(role)) for role in ("text", "place")]
    for role, value in {**bad, "tags": [{}, "x", {}], "lines": lines}.items():
        each.append(bench.found({**bench.right, role: value}))
    all_bad = {**bench.without("text"), **bad, "tags": [{}, "x", {}], "lines": lines}
    del all_bad["place"]
    if sum(map(bool, each)) < 4:
        raise Wrong("calls with one problem were let through")
    if bench.found(all_bad) != set().union(*each):
        raise Wrong("a call with many problems: not all of them were reported that are reported one by one")
    bench.bad("two values of another type", {**bench.right, "text": {}, "flag": 7}, "/text", "/flag")
    tags = {**bench.right, "tags": [{}, "x", {}]}
    if len(bench.found({**bench.right, "tags": [{}, "x", "y"]})) == 1 == len(bench.found(tags)):
        raise Wrong("two items of a list are wrong: one of them was not reported")
    many = {**bench.right, "tags": [{}] * 150}
    if bench.found(tags) and len(bench.found(many)) != 50 * len(bench.found({**many, "tags": [{}] * 3})):
        raise Wrong("150 items of a list are wrong: not all of them were reported")
    few, all_of_many = _all_found(bench, 2), _all_found(bench, 102)
    for what in few:
        if few[what] and not all_of_many[what]:
            raise Wrong(f"102 arguments are {what}: not all of them were reported")


def _all_found(bench: Bench, count: int) -> dict[str, bool]:
    """Whether all problems are reported if so many arguments are missing, of another type or unknown."""
    names = [f"a{number}" for number in range(count)]
    properties = {name: {"type": "integer"} for name in names}
    bench.registry[bench.lenient] = {**_PLACE, "properties": properties, "required": names}
    fine = dict.fromkeys(names, 1)
    wrong: dict[str, dict[str, Any]] = {
        "missing": {},
        "of another type": dict.fromkeys(names, "x"),
        "not in the schema": fine | {f"x{name}": 1 for name in names},
    }
    return {what: len(bench.found(bad, bench.lenient)) == count for what, bad in wrong.items()}


@case(2, "A slash before each step, and nothing else: /guests/0/age.", public=True)
def writes_json_pointers(student: Student, chance: Random) -> None:
    """A pointer is written as a JSON Pointer: `/` and the name or the number for each step, such as
    `/nights` and `/guests/0/age`."""
    bench = Bench(student, chance, about="pointers")
    bench.bad("a call with nothing wrong", bench.right)
    wrong = {**bench.right["place"], "house": "eight"}
    bench.bad("a value of another type", {**bench.right, "text": {}}, "/text")
    for arguments, at in (
        ({"place": wrong}, "/place/house"),
        ({"lines": [bench.right["place"], wrong]}, "/lines/1/house"),
        ({"tags": [*["x"] * 11, {}]}, "/tags/11"),
    ):
        changed = {**bench.right, **arguments}
        if bench.found(changed):  # to look inside at all is another case
            bench.bad("a value of another type inside", changed, at)


@case(1, "In a JSON Pointer, ~ is written ~0 and then / is written ~1.")
def escapes_pointers(student: Student, chance: Random) -> None:
    """In a pointer, `~` in a name is written `~0` and `/` is written `~1`."""
    plain, names = Bench(student, chance), {}
    for role, odd in zip(
        _ROLES, ["~/", "/~1'\"\\", "~1/", "/x~", "~0", "//", "~~", "~01", "/", "~", "é %~1"], strict=True
    ):
        names[role] = plain.names[role][:2] + odd + plain.names[role][2:]
    place = {**plain.right["place"], "house": "eight"}
    calls = [{**plain.right, "text": {}}, {**plain.right, "place": place}, plain.without("text")]
    calls += [{**plain.right, "extra": 1}, {**plain.right, "lines": [place]}, plain.without("whole")]
    usual = [plain.found(arguments) for arguments in (*calls, plain.right)]
    written = {plain.names[role]: name.replace("~", "~0").replace("/", "~1") for role, name in names.items()}
    shape = re.compile("|".join(written))
    plain.names = names
    for arguments, pairs in zip((*calls, plain.right), usual, strict=True):
        wanted = {(code, shape.sub(lambda name: written[name[0]], at)) for code, at in pairs}
        if plain.found(arguments) != wanted:
            raise Wrong("names with / and ~: something else was reported than with plain names")
    if not usual[0] or usual[-1]:
        raise Wrong("a right call was refused, or a wrong one let through")


@case(1, "json.loads also raises RecursionError, and ValueError for a number that is too long.")
def survives(student: Student, chance: Random) -> None:
    """100,000 opened brackets, or a number of 5,000 digits, are `invalid_json` at "" and raise nothing."""
    bench = Bench(student, chance)
    head, _, tail = bench.raw({**bench.right, "ratio": "?"}).partition('"?"')
    digits = str(chance.randrange(1, 10)) * 5_000
    bench.no_json("a number of 5,000 digits", head + digits + tail)
    bench.no_json("a number of 5,000 digits", "-" + digits)
    bench.bad("a text of 5,000 digits and brackets", {**bench.right, "text": digits + "[" * 5_000})
    for role, pointers in (("ratio", ()), ("whole", ("/whole",))):
        bench.bad("a number of 350 digits", {**bench.right, role: 10**350}, *pointers)
    for text in ("[" * 100_000, '{"a":' * 100_000, head + "[" * 100_000):
        bench.no_json("100,000 opened brackets", text)


@case(1, "Do not pop from a schema, and do not write defaults into the call.")
def changes_nothing(student: Student, chance: Random) -> None:
    """`validate` judges and changes nothing: the call and the registry are afterwards as they were."""
    bench = Bench(student, chance)
    place = {**bench.right["place"], "house": "eight"}
    bad = {**bench.without("whole"), "choice": "none", "extra": 1, "place": place, "lines": [place, {}]}
    bench.registry[bench.lenient] = {"type": "object"}
    bench.schema["required"].sort(key=bench.named, reverse=True)  # so that sorting them is a change
    some = {role: bench.right[role] for role in ("text", "whole", "place")}
    bench.bad("a call with nothing wrong", bench.right)
    calls = [(bench.tool, bench.right), (bench.tool, some), (bench.lenient, some), (bench.tool, bad)]
    raws = [(tool, f" {bench.raw(arguments)}\n") for tool, arguments in calls]
    for tool, raw in (*raws, (bench.lenient, ""), ("nothing", " {}"), (bench.tool, " [")):
        call, registry = bench.call(tool, raw), bench.named(bench.registry)
        answer = student.call("validate", call, registry, args_after=True, marked=True)
        if raw == raws[-1][1] and not _pairs(answer.value):
            raise Wrong("a right call was refused, or a wrong one let through")
        if answer.args != [call, registry]:
            raise Wrong("the call or the registry was changed")


@case(1, "Go through the small print with schemas of your own: each rule, at its edges, and two at once.")
def whatever_the_call(student: Student, chance: Random) -> None:
    """Whatever the schema and the call, just the problems are reported that the task names."""
    shapes, name = Random("l2"), chance.choice(_VERBS)  # any seed, the same for all: equal work, equal points
    for _ in range(300):
        schema = _drawn_schema(shapes, 3)
        value = _drawn_value(shapes, schema, shapes.choice([0, 0.1, 0.2, 0.4]))
        if not isinstance(value, dict):
            continue
        wanted = {("invalid_arguments", at) for at in _wrong_in(value, schema)}
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(value)},
        }
        found = _pairs(student.call("validate", call, {name: schema}, marked=True).value)
        if found != wanted:
            how = "more" if found > wanted else "less" if found < wanted else "something else"
            raise Wrong(f"of some schema and call, {how} was reported than is wrong")


def _drawn_schema(shapes: Random, depth: int) -> dict[str, Any]:
    kinds = ["object"] if depth == 3 else ["string", "integer", "number", "boolean", "array", "object"]
    schema: dict[str, Any] = {"type": shapes.choice(kinds[: None if depth else 4])}
    if schema["type"] == "object":
        names = shapes.sample(["a", "b", "a/b", "~1", "type", "items", "", "0"], shapes.randrange(1, 5))
        schema["required"] = [name for name in names if shapes.random() < 0.5]
        schema["properties"] = {name: _drawn_schema(shapes, depth - 1) for name in names}
        schema["additionalProperties"] = False
    elif schema["type"] == "array":
        schema["items"] = _drawn_schema(shapes, depth - 1)
    elif schema["type"] in ("integer", "number"):
        low = shapes.choice([-1, 0, 1])
        schema.update(minimum=low, maximum=low + shapes.randrange(3), enum=[low, low + 1, low + 2])
    elif schema["type"] == "string":
        schema["enum"] = ["x", "", "3"]
    return {key: item for key, item in schema.items() if key == "type" or shapes.random() < 0.6}


def _drawn_value(shapes: Random, schema: dict[str, Any], odd: float) -> Any:
    """A value that meets a schema, but that with this chance something in it is another one, or missing."""
    if shapes.random() < odd:
        return shapes.choice(
            [None, True, 0, 1, -2, -2.5, 7, 9.5, "", "x", "3", "none", [], [1], {}, {"a": 1}]
        )
    if schema["type"] == "object":
        drawn = schema.get("properties", {}).items()
        value = {name: _drawn_value(shapes, inner, odd) for name, inner in drawn if shapes.random() > odd}
        return {**value, "more": 1} if shapes.random() < odd else value
    if schema["type"] == "array":
        items = schema.get("items", {"type": "boolean"})
        return [_drawn_value(shapes, items, odd) for _ in range(shapes.randrange(4))]
    low = schema.get("minimum", schema.get("maximum", schema.get("enum", [0])[0]))
    return {"string": "x", "boolean": False, "integer": low, "number": low}[schema["type"]]


def _wrong_in(value: Any, schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """The pointers of all that is wrong with a value."""
    kinds = {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (list,),
    }
    if type(value) not in kinds.get(schema["type"], (dict,)):
        yield at
        return
    if value not in schema.get("enum", [value]):
        yield at
    if type(value) in (int, float) and not schema.get("minimum", value) <= value <= schema.get(
        "maximum", value
    ):
        yield at
    for number, item in enumerate(value if isinstance(value, list) and "items" in schema else ()):
        yield from _wrong_in(item, schema["items"], f"{at}/{number}")
    if isinstance(value, dict):
        inner, closed = schema.get("properties", {}), schema.get("additionalProperties") is False
        for name in {*value, *schema.get("required", ())}:
            below = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in value or (closed and name not in inner):
                yield below
            elif name in inner:
                yield from _wrong_in(value[name], inner[name], below)
