"""Step 5, execute: a call runs, and whatever happens to it becomes an outcome.

An exception, `SystemExit` included, is an outcome too: the model reads it. How several calls run side by
side, with their timeouts, is in `zoolab.running.calls`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from zoolab.errors import ERROR_CODES, PermissionDenied, ToolTimeout, TraceBase, ZoolabError
from zoolab.records import Decision, Failure, Fault, Outcome, ToolCall, Verdict
from zoolab.running.printed import Printed
from zoolab.tools import ToolReturn

MAX_MESSAGE = 2_000
#: The codes of Python's own exceptions, the more special ones first.
_CODES: dict[type[Exception], str] = {
    FileNotFoundError: "resource_not_found",
    PermissionError: "permission_denied",
    TimeoutError: "timeout",
    OSError: "io_error",
}

INTERRUPTED = Outcome(error=Failure("execution_failed", "interrupted before it had finished"))


class RunsOn(ToolTimeout):
    """A call was given up, and could not be stopped."""


def outcome_of(call: Callable[..., Any], *given: Any) -> Outcome:
    """Call a tool, and say what came: its value or its failure, how long it took, and what it printed."""
    started = time.time_ns() // 1_000_000
    began = time.perf_counter()
    value: Any = None
    failure = None
    trace = None
    fault = None
    runs_on = False
    printed = Printed()
    try:
        value = call(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failure = _failure(error)
        runs_on = isinstance(error, RunsOn)
        with suppress(BaseException):  # what zoolab hung on the error; a tool's own may have any attributes
            trace = getattr(error, "trace", None)
            fault = getattr(error, "fault", None)
    finally:
        text = printed.text()
    elapsed = (time.perf_counter() - began) * 1000
    if type(value) is ToolReturn:
        trace = value.trace
        fault = value.fault
        value = value.value
    return Outcome(
        value,
        failure,
        elapsed,
        started,
        runs_on,
        trace if isinstance(trace, TraceBase) else None,
        fault if isinstance(fault, Fault) else None,
        text,
    )


def _failure(error: BaseException) -> Failure:
    name = "ToolTimeout" if isinstance(error, RunsOn) else type(error).__name__
    if not isinstance(error, ZoolabError):
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), "execution_failed")
        return Failure(code, said(error), name)
    # The code that the model reads: of the nearest class in the tree whose errors go back to it.
    codes = [vars(kind).get("code") for kind in type(error).__mro__]
    known = [code for code in codes if isinstance(code, str) and code in ERROR_CODES]
    code = next((code for code in known if ERROR_CODES[code].returned), "execution_failed")
    # The advice of a denial is for a person: a model could follow it to get around the denial.
    denial = isinstance(error, PermissionDenied)
    told = ZoolabError(error.what, expected=error.expected) if denial else error
    return Failure(code, _message(told), name)


def said(error: BaseException) -> str:
    """Return the class of an error and its message, even if the message cannot be read."""
    name = type(error).__name__
    text = _message(error)
    return f"{name}: {text}" if text else name


def _message(error: BaseException) -> str:
    try:
        return str.__str__(str(error))[:MAX_MESSAGE]
    except BaseException:
        return "an error that cannot be shown"


def refused(call: ToolCall, verdict: Verdict) -> Outcome:
    """Make the outcome of a call that failed validation: the model reads what is wrong."""
    problems = "; ".join(problem.message for problem in verdict.problems)
    return _not_run(verdict.error_code or "invalid_arguments", call, f": {problems}")


def denied(call: ToolCall, decision: Decision) -> Outcome:
    """Make the outcome of a call that had no permission."""
    why = f" did not run: {decision.told}"
    return _not_run("permission_denied", call, why, decision.reason or decision.told)


def _not_run(code: str, call: ToolCall, why: str, reason: str = "") -> Outcome:
    failure = Failure(code, (call.name or "a tool without a name") + why, reason=reason)
    return Outcome(error=failure, started_ms=time.time_ns() // 1_000_000)
