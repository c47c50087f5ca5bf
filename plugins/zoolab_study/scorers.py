"""Scorers: functions from a run that has ended to numbers by name.

    selection   the right tool, or no call if the case needs none
    arguments   the right calls with the right arguments
    answer      the right final answer
    success     all that the case asks for
    recovery    success in spite of an error
    silence     wrong, without any error
    cost        tokens, time, turns

Any function from a `Run` to a number, or to several by name, is a scorer.

When calls are the expected ones is decided by the rules of the Berkeley Function-Calling Leaderboard. What
is accepted is written as its ground truth is: `{"add": {"a": [42], "unit": ["C", ""]}}` names a tool and for
each parameter the values that will do; "" among them means that it may be left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.tools import name_for_apis
from zoolab.trace.log import tools_of
from zoolab.trace.summary import tokens_used
from zoolab_study.cases import UNSAID, Run, Score, Scorer, Unsaid

MAX_ANSWER = 100_000
_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3}){1,12}|\d{1,40})(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?(?!\w)"
)


def score_answer(run: Run) -> dict[str, Score]:
    """Return whether the final answer names `expected_answer`, or one of several; None where the case has
    none.

    A text is looked for as whole words, whatever the case and the spaces; a number as a number, so that
    1,234.50 is 1234.5. An answer that names what is right beside what is wrong passes: for more, write
    a scorer of your own.

    Raises `InvalidInput` if the expected answer is neither text nor number, nor a list of them.
    """
    if run.case.expected_answer is UNSAID:
        return {"answer": None}
    return {"answer": says(run.trace.answer or "", run.case.expected_answer)}


def says(text: str, expected: Any) -> bool:
    """Return whether a text names what is expected: a text, a number, or one of a list of them.

    Raises `InvalidInput` if it is something else.
    """
    text = text[:MAX_ANSWER]
    if isinstance(expected, str):
        words = " ".join(expected.casefold().split())
        if not words:
            return not text.strip()
        pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
        return re.search(pattern, " ".join(text.casefold().split())) is not None
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        numbers = (float(n.replace(",", "").replace("\u2212", "-")) for n in _NUMBER.findall(text))
        return any(math.isclose(number, expected, rel_tol=1e-9) for number in numbers)
    if isinstance(expected, Iterable) and not isinstance(expected, dict | bytes):
        return any(says(text, one) for one in expected)
    what = f"expected_answer is {excerpt(expected)}"
    raise InvalidInput(what, expected="a text, a number, or a list of them")


def score_arguments(run: Run) -> dict[str, Score]:
    """Return whether the calls are the expected ones, by the rules of the Berkeley leaderboard.

    It looks at all calls of the run that passed validation. None if the case has no `expected_calls`; if that
    is empty, no call is the right answer.
    """
    if run.case.expected_calls is UNSAID:
        return {"arguments": None}
    made = (call for turn in run.trace.turns for call in turn.calls.values())
    passed = (call for call in made if call.verdict is not None and call.verdict.ok)
    calls = [(call.call.name, call.arguments) for call in passed]
    if run.case.expected_calls == ANY_CALL:
        return {"arguments": bool(calls)}
    schemas = {tool.name: tool.parameters for tool in tools_of(run.trace)}  # as the model saw them
    return {"arguments": are_expected(calls, expected_calls(run.case.expected_calls), schemas)}


def score_selection(run: Run) -> dict[str, Score]:
    """Return whether the first call of the run is of the expected tool, and in which way it is not.

    Where no tool is needed (`expected_tool` is None), no call is the right choice. All are None where
    the case does not say what it expects.
    """
    expected = run.case.expected_tool
    if isinstance(expected, Unsaid):
        return {"selection": None, "missed_call": None, "needless_call": None, "wrong_tool": None}
    calls = run.trace.tool_calls
    called = calls[0].name if calls else None
    right = called is expected if None in (called, expected) else is_named(str(called), str(expected))
    return {
        "selection": right,
        "missed_call": called is None and expected is not None,
        "needless_call": called is not None and expected is None,
        "wrong_tool": not right and None not in (called, expected),
    }


def score_success(run: Run) -> dict[str, Score]:
    """Return whether the run came to an answer, and the right one; None where the case does not say what is
    right.

    The expected answer decides, where there is one; else the expected calls; else the expected tool.
    Who gets to the right answer by another way has succeeded, too.
    """
    case = run.case
    if case.expected_answer is not UNSAID:
        right: Score = score_answer(run)["answer"]
    elif case.expected_calls is not UNSAID:
        right = score_arguments(run)["arguments"]
    else:
        right = score_selection(run)["selection"]
    return {"success": None if right is None else bool(right) and run.trace.outcome == "answer"}


def score_recovery(run: Run) -> dict[str, Score]:
    """Return how many errors there were, and whether the run succeeded all the same.

    `recovered` is None where there was no error, or where the case does not say what is right.
    """
    errors = len(run.trace.errors)
    return {"errors": errors, "recovered": score_success(run)["success"] if errors else None}


def score_silence(run: Run) -> dict[str, Score]:
    """Return whether the run came to an answer without any error, and to a wrong one: what nobody would
    notice.

    None where the case does not say what is right.
    """
    right = score_success(run)["success"]
    if right is None:
        return {"silently_wrong": None}
    return {"silently_wrong": not right and run.trace.outcome == "answer" and not run.trace.errors}


def measure_cost(run: Run) -> dict[str, Score]:
    """Return tokens sent and received, seconds, turns and calls.

    Tokens hold those of sub-agents. They are None if no reply says them: the endpoint counts them, and
    zoolab never guesses. Seconds are None for a run that did not end.
    """
    trace = run.trace
    tokens = tokens_used(trace.steps)
    return {
        "tokens_in": tokens.input,
        "tokens_out": tokens.output,
        "seconds": trace.ended,
        "turns": len(trace.turns),
        "calls": len(trace.tool_calls),
    }


#: The scorers by the names that a file of settings calls them by; all of them are the default.
SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        "success": score_success,
        "selection": score_selection,
        "arguments": score_arguments,
        "answer": score_answer,
        "recovery": score_recovery,
        "silence": score_silence,
        "cost": measure_cost,
    }
)


#: What `Case.expected_calls` says where a call is needed, and any will do.
ANY_CALL = "any"

Call = tuple[str, Mapping[str, Any]]
Accepted = Mapping[str, Sequence[Any]]

_KINDS: dict[str, type] = {
    **dict.fromkeys(("string", "any"), str),
    "integer": int,
    **dict.fromkeys(("float", "number"), float),
    "boolean": bool,
    **dict.fromkeys(("array", "tuple"), list),
    **dict.fromkeys(("dict", "object"), dict),
}
_UNHEARD = str.maketrans("'", '"', " ,./-_*^")


def expected_calls(written: Any) -> list[tuple[str, Accepted]]:
    """Return names with the accepted values of each parameter, from any of three forms.

    `("add", {"a": 1})` and `{"name": "add", "arguments": {"a": 1}}` accept these values alone,
    `{"add": {"a": [1, 2, ""]}}` each that it lists, "" for a parameter that may be left out.

    Raises `InvalidInput` if it is none of them.
    """
    if isinstance(written, str | Mapping) or not isinstance(written, Iterable):
        raise InvalidInput(f"expected_calls is {excerpt(written)}", expected="a list of calls")
    return [_expected_call(call) for call in written]


def _expected_call(call: Any) -> tuple[str, Accepted]:
    if isinstance(call, Mapping) and call.keys() == {"name", "arguments"}:
        call = (call["name"], call["arguments"])
    elif isinstance(call, Mapping) and len(call) == 1:
        name, accepted = next(iter(call.items()))
        if isinstance(accepted, Mapping) and all(isinstance(one, list) for one in accepted.values()):
            return str(name), accepted
    if isinstance(call, tuple | list) and len(call) == 2:
        name, arguments = call
        if isinstance(name, str) and isinstance(arguments, Mapping):
            return name, {key: [_alone(value)] for key, value in arguments.items()}
    expected = '("add", {"a": 1}), or {"add": {"a": [1, 2]}} with lists of what is accepted'
    raise InvalidInput(f"an expected call is {excerpt(call)}", expected=expected)


def _alone(value: Any) -> Any:
    """Return a value as the one that is accepted: each key of an object has a list of its own."""
    if isinstance(value, Mapping):
        return {key: [item] for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return [_alone(item) for item in value]
    return value


def are_expected(
    calls: Sequence[Call], expected: Sequence[tuple[str, Accepted]], schemas: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether these calls are the expected ones, in any order.

    Args:
        calls: Names and parsed arguments.
        expected: Names, and the accepted values of each parameter; none at all if no call is needed.
        schemas: The parameters of each tool, as JSON Schema or in Berkeley's own words for types.
    """
    fits = [[_is_expected(call, wanted, schemas) for call in calls] for wanted in expected]
    return len(calls) == len(expected) and _all_have_one(fits)


def _is_expected(call: Call, wanted: tuple[str, Accepted], schemas: Mapping[str, Mapping[str, Any]]) -> bool:
    (called, arguments), (tool, accepted) = call, wanted
    schema = next((schema for known, schema in schemas.items() if is_named(known, tool)), {})
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return (
        is_named(called, tool)
        and all(name in arguments for name in schema.get("required") or ())
        and all(name in arguments or "" in values for name, values in accepted.items())
        and arguments.keys() <= properties.keys() & accepted.keys()
        and all(is_accepted(value, accepted[name], properties[name]) for name, value in arguments.items())
    )


def is_named(called: str, name: str) -> bool:
    """Return whether a called tool is the one of this name, as it is or as it can be sent: OpenAI allows no
    dots.
    """
    return called in (name, name_for_apis(name))


def _all_have_one(fits: Sequence[Sequence[bool]]) -> bool:
    """Return whether each row can have a column of its own that fits it."""
    taken: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in tried:
                tried.add(column)
                if column not in taken or place(taken[column], tried):
                    taken[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(fits)))


def is_accepted(value: Any, accepted: Sequence[Any], schema: Mapping[str, Any] | bool) -> bool:
    """Return whether a value is one of the accepted ones.

    It has the type of its schema, or that of the first accepted value; an integer will do for a number,
    but no number for an integer, and no boolean for either. Texts are compared without case, spaces and
    the marks `,./-_*^`. Where the accepted values are of another type than the schema says, they are
    names of variables and the like, and compared as they are.
    """
    # The first one that is not "left out" tells the type of the accepted values.
    usual = next((type(one) for one in accepted if one != ""), None)
    kind: Any = _kind_in(schema) or usual
    if kind is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if type(value) is not kind:
        return type(value) is usual and value in accepted
    items = _kind_in(schema.get("items")) if kind is list and isinstance(schema, Mapping) else None
    # Items have the type that they should have, or one that they have in an accepted list.
    listed: Any = value
    if items is not None and not any(
        not isinstance(one, list) or {type(item) for item in listed} <= {items, *map(type, one)}
        for one in accepted
    ):
        return False
    return _matches(value, accepted, items) if usual in (None, kind) else value in accepted


def _matches(value: Any, accepted: Sequence[Any], items: type | None) -> bool:
    if isinstance(value, dict):
        return any(_dict_fits(value, one) for one in accepted if isinstance(one, dict))
    if isinstance(value, list):
        # An empty accepted list stands for a list that may be left out.
        lists: list[list[Any]] = [one or [] for one in accepted if isinstance(one, list) or one == ""]
        if items is dict or (items is None and {*map(type, value)} == {dict}):
            return any(len(value) == len(one) and all(map(_dict_fits, value, one)) for one in lists)
        return [*map(_heard, value)] in [[*map(_heard, one)] for one in lists]
    if isinstance(value, str):
        return _heard(value) in [_heard(one) for one in accepted if isinstance(one, str)]
    return value in accepted


def _dict_fits(value: Any, accepted: Any) -> bool:
    """Return whether there are only known keys, each with an accepted value; what is left out may be left
    out.
    """
    if not (isinstance(value, dict) and isinstance(accepted, dict)):
        return False
    known = all(key in accepted and _heard(v) in [*map(_heard, accepted[key])] for key, v in value.items())
    return known and all(key in value or "" in options for key, options in accepted.items())


def _heard(value: Any) -> Any:
    """Return a text as it is compared; other values as they are."""
    return value.translate(_UNHEARD).lower() if isinstance(value, str) else value


def _kind_in(schema: Any) -> type | None:
    """Return the one type, beside null, that a schema allows; None where it names none, or several."""
    if not isinstance(schema, Mapping):
        return None
    named = schema.get("type")
    names = [named] if isinstance(named, str) else named
    names = names or [one.get("type") for one in schema.get("anyOf") or () if isinstance(one, Mapping)]
    kinds = {_KINDS[name] for name in names if isinstance(name, str) and name in _KINDS}
    return kinds.pop() if len(kinds) == 1 else None
