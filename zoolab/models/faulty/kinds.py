"""The table of faults, and the plan that decides by seed which of them happen.

Chance depends on the seed and on what is decided, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, digest, excerpt

Stage = Literal["define", "request", "tool_call", "execute"]

#: A key that opens nothing, as the text of an error would show it.
SECRET = "sk-proj-zoolab0000example0000opens0000nothing"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One row of the table of faults."""

    name: str
    #: The step in which it happens.
    stage: Stage
    #: What is broken, in a few words.
    does: str
    #: The error code that a walk meets it with; None if the walk mends it, or cannot see it.
    code: str | None = None
    #: Its number in the list of pitfalls of tool-calling loops, if it is one of them.
    pitfall: int | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.does} -> {self.code or 'no error'}"


#: Every fault, by name.
FAULTS: Mapping[str, FaultKind] = {
    kind.name: kind
    for kind in (
        FaultKind("poisoned_description", "define", "a tool's description gives the model orders"),
        FaultKind(
            "recursive_schema", "define", "a parameter's schema refers to itself", "invalid_schema", 11
        ),
        FaultKind("http_401", "request", "the endpoint refuses the key and repeats it", "model_error", 15),
        FaultKind("http_429", "request", "the endpoint answers 429: too many requests", "model_error", 12),
        FaultKind("http_500", "request", "the endpoint answers 500: internal error", "model_error", 12),
        FaultKind("dropped_stream", "request", "the connection drops in mid-stream", "model_error", 13),
        FaultKind("empty_reply", "tool_call", "no text and no call, as if this were the answer"),
        FaultKind("same_call", "tool_call", "the last call again and again", "loop_limit", 10),
        FaultKind("many_calls", "tool_call", "the calls of a reply, repeated up to 20", "loop_limit", 10),
        FaultKind("call_in_text", "tool_call", "a call written as text, not as a call"),
        FaultKind("markup_in_text", "tool_call", "HTML, script and terminal codes in the text", None, 14),
        FaultKind("unknown_tool", "tool_call", "an invented tool, each time another", "unknown_tool", 10),
        FaultKind("missing_id", "tool_call", "a call without an id", None, 2),
        FaultKind("duplicate_id", "tool_call", "the id of an earlier call of the reply", None, 2),
        FaultKind("constant_id", "tool_call", "the same id for every call", None, 2),
        FaultKind("null_arguments", "tool_call", "null for arguments", "invalid_arguments", 1),
        FaultKind("blank_arguments", "tool_call", "blank text for arguments", "invalid_arguments", 4),
        FaultKind("object_arguments", "tool_call", "an object where JSON text belongs", None, 1),
        FaultKind("array_arguments", "tool_call", "the object in an array", "invalid_json", 1),
        FaultKind("number_arguments", "tool_call", "a number for arguments", "invalid_json", 1),
        FaultKind("doubly_encoded", "tool_call", "JSON text in JSON text", "invalid_json", 1),
        FaultKind("truncated_arguments", "tool_call", "the end is missing", "invalid_json", 7),
        FaultKind("cut_by_length", "tool_call", "cut off, and finish_reason says length", "invalid_json", 7),
        FaultKind("unquoted_keys", "tool_call", "keys without quotes", "invalid_json", 18),
        FaultKind("single_quoted", "tool_call", "single quotes for double ones", "invalid_json", 18),
        FaultKind("trailing_comma", "tool_call", "a comma before the closing brace", "invalid_json", 18),
        FaultKind("prose", "tool_call", "words before and after the JSON", "invalid_json", 18),
        FaultKind("fenced", "tool_call", "a Markdown fence around the JSON", "invalid_json", 18),
        FaultKind("two_objects", "tool_call", "a second object with another value", "invalid_json", 7),
        FaultKind("duplicate_key", "tool_call", "a key twice, with another value", "invalid_json", 5),
        FaultKind("nan", "tool_call", "NaN for a number", "invalid_json", 5),
        FaultKind("infinite_number", "tool_call", "1e999 for a number", "invalid_json", 5),
        FaultKind("lone_surrogate", "tool_call", "half a character in a string", "invalid_json", 5),
        FaultKind("deep_nesting", "tool_call", "a value 2,000 levels deep", "invalid_json", 6),
        FaultKind("too_many_digits", "tool_call", "a number of 5,000 digits", "invalid_json", 6),
        FaultKind("wrong_type", "tool_call", "a value of another type", "invalid_arguments"),
        FaultKind("float_for_integer", "tool_call", "2.0 for 2", "invalid_arguments", 5),
        FaultKind("boolean_for_integer", "tool_call", "true for 1", "invalid_arguments", 5),
        FaultKind("missing_argument", "tool_call", "a required argument left out", "invalid_arguments"),
        FaultKind("extra_argument", "tool_call", "an argument that nobody knows", "invalid_arguments"),
        FaultKind("slow", "execute", "the tool is slow", None, 9),
        FaultKind("hang", "execute", "the tool does not return", "timeout", 9),
        FaultKind("system_exit", "execute", "the tool raises SystemExit", "execution_failed", 9),
        FaultKind("secret_in_error", "execute", "an exception holds a key", "execution_failed", 15),
        FaultKind("prints", "execute", "the tool prints", None, 9),
        FaultKind("changed_arguments", "execute", "the tool changes its arguments", None, 9),
        FaultKind("stale_result", "execute", "the result of the same call before"),
        FaultKind("wrong_result", "execute", "another value than the tool's"),
        FaultKind("huge_result", "execute", "a result of 2 MB", None, 9),
        FaultKind("injected_instruction", "execute", "the result gives the model orders"),
        FaultKind("markup_in_result", "execute", "HTML, script and terminal codes in the result", None, 14),
        FaultKind("set_result", "execute", "a set, which becomes a list", None, 8),
        FaultKind("bytes_result", "execute", "bytes", "execution_failed", 8),
        FaultKind("cyclic_result", "execute", "a value that contains itself", "execution_failed", 8),
        FaultKind("nan_result", "execute", "NaN in the result", "execution_failed", 8),
        FaultKind("number_key_result", "execute", "a key that is a number", "execution_failed", 8),
    )
}


def draw(*what: Any) -> float:
    """A number from 0 up to 1 that belongs to `what`, which is JSON."""
    return int(digest(canonical(what))[:13], 16) / 16**13


@dataclass(frozen=True, slots=True)
class Plan:
    """Which faults are wanted, how often each, and the seed."""

    rates: Mapping[str, float]
    seed: int | str = 0
    #: How often the same fault may happen; None sets no limit.
    times: int | None = None

    def ranked(self, among: Iterable[str], *what: Any) -> list[str]:
        """The faults `among` these that are to happen here, in the order in which they are tried."""
        rates = {name: self.rates[name] for name in among if self.rates.get(name)}
        wanted = {name: draw(self.seed, name, *what) / rate for name, rate in rates.items()}
        return sorted((name for name, drawn in wanted.items() if drawn < 1), key=wanted.__getitem__)

    def allows(self, before: int) -> bool:
        """Whether a fault may happen that had its chance so many times before."""
        return self.times is None or before < self.times


def make_plan(faults: Iterable[str] | Mapping[str, float], seed: int | str, times: int | None) -> Plan:
    """The plan for names of faults, or for a mapping from names to rates; `InvalidInput` if one is wrong."""
    named = [faults] if isinstance(faults, str) else faults
    rates = dict(named) if isinstance(named, Mapping) else dict.fromkeys(named, 1.0)
    for name, rate in rates.items():
        if name not in FAULTS:
            raise InvalidInput(f"no fault is named {excerpt(name)}", expected="some of " + ", ".join(FAULTS))
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise InvalidInput(f"the rate of {name} is {excerpt(rate)}", expected="a number from 0 to 1")
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
        raise InvalidInput(f"times={excerpt(times)}", expected="a number of at least 1")
    return Plan(rates, seed, times)
