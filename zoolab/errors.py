"""Every error of zoolab, as one tree, and the table of error codes.

    ZoolabError
    ├── InvalidToolSignature      a Python function that cannot be described to a model
    ├── InvalidSchema             a JSON Schema that is wrong, too large, or points outside itself
    ├── CallError                 what the model asked for cannot run
    │   ├── UnknownTool
    │   └── InvalidArguments
    ├── ExecutionFailed           a tool ran, or should have run, and failed
    │   ├── PermissionDenied
    │   ├── ResourceNotFound
    │   ├── ToolIOError
    │   └── ToolTimeout           also a TimeoutError
    ├── LoopError                 the walk ended before the model had answered
    │   ├── ToolRetriesExhausted
    │   └── ToolLoopLimitReached
    ├── ModelError                no usable reply came from the model
    │   ├── ReplayMiss            a recording holds no such request
    │   └── SettingRejected       the endpoint rejects a setting of the request by name
    ├── InvalidTrace              a trace file that cannot be read
    └── InvalidInput              a wrong argument, a missing file, an unknown name; also a ValueError
        ├── MissingPackage        a library that an extra of zoolab installs; also an ImportError
        ├── UnknownOption         a keyword argument that a function does not take; a TypeError too
        ├── LockHeld              another process holds the lock of a file
        └── ReadOnlyRecord        a change to a record; also a TypeError

A tool may raise any of the `ExecutionFailed` family; the model then sees that code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorCode(NamedTuple):
    """One row of the table of error codes.

    `number` and `name` are what older tool-calling systems call the same error; `error_type`
    is the word that the model reads; `returned` says whether the error goes back to the model
    (as a tool message) or is raised to the caller.

    >>> ERROR_CODES["unknown_tool"].number, ERROR_CODES["unknown_tool"].error_type
    (500, 'not_found')
    """

    code: str
    stage: str
    number: int | None = None
    name: str | None = None
    error_type: str | None = None
    returned: bool = False


ERROR_CODES: Mapping[str, ErrorCode] = {
    row.code: row
    for row in (
        ErrorCode("no_tool_call", "select"),
        ErrorCode("wrong_tool", "select"),
        ErrorCode("unknown_tool", "validate", 500, "ToolNotFound", "not_found", True),
        ErrorCode("invalid_json", "validate", 506, None, "parse_error", True),
        ErrorCode("invalid_arguments", "validate", 506, None, "validation_failed", True),
        ErrorCode("permission_denied", "execute", 510, None, "permission_denied", True),
        ErrorCode("resource_not_found", "execute", 501, "ToolExecutionFailed", "not_found", True),
        ErrorCode("io_error", "execute", 501, "ToolExecutionFailed", "io_error", True),
        ErrorCode("execution_failed", "execute", 501, "ToolExecutionFailed", "internal_error", True),
        ErrorCode("timeout", "execute", 501, "ToolExecutionFailed", "internal_error", True),
        ErrorCode("invalid_signature", "define", 502, "InvalidToolSignature"),
        ErrorCode("invalid_schema", "define", 505),
        ErrorCode("retries_exhausted", "loop", 503, "ToolRetriesExhausted"),
        ErrorCode("loop_limit", "loop", 504, "ToolLoopLimitReached"),
        ErrorCode("model_error", "request", 511),
        ErrorCode("replay_miss", "request", 511),
        ErrorCode("cut", "tool_call"),
        ErrorCode("filtered", "tool_call"),
        ErrorCode("failed", "tool_call"),
        ErrorCode("empty", "tool_call"),
        ErrorCode("invalid_trace", "trace"),
        ErrorCode("invalid_input", "input"),
    )
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a call: where, what was expected, what came.

    `pointer` is a JSON Pointer (RFC 6901) into the arguments; "" is the whole of them.

    >>> print(Problem("invalid_arguments", "/a", "integer", '"2"'))
    /a: expected integer, received "2"
    """

    code: str
    pointer: str
    expected: str
    received: str

    @property
    def message(self) -> str:
        """The problem as one line, as the model reads it."""
        where = self.pointer or "arguments"
        return f"{where}: expected {self.expected}, received {self.received}"

    def __str__(self) -> str:
        return self.message


def visible(text: str) -> str:
    """Return `text` with control characters made visible, so that no model can command a terminal.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


class TraceBase:
    """The base of `Trace`, so that the modules below it can tell one from other objects."""


class ZoolabError(Exception):
    """The root of the tree: what happened, what was expected, and what to do about it.

    >>> error = InvalidInput("no file 'a.jsonl'", expected="a trace", advice="save one first")
    >>> print(error)
    no file 'a.jsonl'; expected a trace; save one first
    >>> error.code, error.number
    ('invalid_input', None)
    """

    code: ClassVar[str] = "invalid_input"

    def __init__(self, what: str, *, expected: str = "", advice: str = "") -> None:
        super().__init__(what)
        #: What happened, one line.
        self.what = what
        #: What was expected instead; may be empty.
        self.expected = expected
        #: What to do about it; may be empty.
        self.advice = advice
        #: The trace of the run that ended so, where one was being recorded.
        self.trace: object = None

    def __str__(self) -> str:
        expected = f"expected {self.expected}" if self.expected else ""
        return visible("; ".join(part for part in (self.what, expected, self.advice) if part))

    @property
    def number(self) -> int | None:
        """The error's number in older tool-calling systems, where it has one."""
        row = ERROR_CODES.get(self.code)
        return row and row.number

    @property
    def error_type(self) -> str | None:
        """The word that the model reads for this error, if the error goes back to it."""
        row = ERROR_CODES.get(self.code)
        return row and row.error_type


class InvalidToolSignature(ZoolabError):
    """A function cannot be described to a model; names the parameter."""

    code = "invalid_signature"


class InvalidSchema(ZoolabError):
    """A JSON Schema is wrong, too large, or points outside itself."""

    code = "invalid_schema"


class CallError(ZoolabError):
    """What the model asked for cannot run."""

    code = "invalid_arguments"


class UnknownTool(CallError):
    """The model named a tool that does not exist."""

    code = "unknown_tool"


class InvalidArguments(CallError):
    """The arguments do not meet the tool's schema."""


class ExecutionFailed(ZoolabError):
    """A tool failed; raise it, or one of its family, to say so to the model."""

    code = "execution_failed"


class PermissionDenied(ExecutionFailed):
    """The call was not allowed to run."""

    code = "permission_denied"


class ResourceNotFound(ExecutionFailed):
    """What the tool was asked about does not exist."""

    code = "resource_not_found"


class ToolIOError(ExecutionFailed):
    """The tool could not read or write."""

    code = "io_error"


class ToolTimeout(ExecutionFailed, TimeoutError):
    """The tool did not return in time; also a `TimeoutError`."""

    code = "timeout"


class LoopError(ZoolabError):
    """The walk ended before the model had answered."""

    code = "loop_limit"


class ToolRetriesExhausted(LoopError):
    """The model's calls kept failing validation until their budget was spent."""

    code = "retries_exhausted"


class ToolLoopLimitReached(LoopError):
    """The walk reached a limit on turns, seconds or repetition."""


class ModelError(ZoolabError):
    """No usable reply came from the model."""

    code = "model_error"
    #: The HTTP status that the endpoint answered with; None if it did not answer with an error.
    status: int | None = None
    #: The `Reply` whose stream dropped, as `Faulty` does it on purpose; else None.
    dropped: object = None


class ReplayMiss(ModelError):
    """A recording holds no such request; shows how the nearest one differs."""

    code = "replay_miss"

    def __init__(self, what: str, *, expected: str = "", advice: str = "", difference: str = "") -> None:
        super().__init__(what, expected=expected, advice=advice)
        #: A unified diff from the nearest recorded request to the one that was made.
        self.difference = difference


class SettingRejected(ModelError):
    """The endpoint rejects a setting of the request by name, such as temperature."""

    #: The name of the setting and the endpoint's words; whether it is rejected whatever its value is.
    setting = ""
    said = ""
    whatever = True
    #: Whether it is rejected only because tools stand beside it.
    beside_tools = False


class InvalidTrace(ZoolabError):
    """A trace file cannot be read; names the line."""

    code = "invalid_trace"


class InvalidInput(ZoolabError, ValueError):
    """A wrong argument, a missing file, or an unknown name; also a `ValueError`."""


class MissingPackage(InvalidInput, ImportError):
    """A library is not installed that an extra of zoolab installs; also an `ImportError`."""


class UnknownOption(InvalidInput, TypeError):
    """A keyword argument that a function does not take."""


class LockHeld(InvalidInput):
    """Another process holds the lock of a file."""


class ReadOnlyRecord(InvalidInput, TypeError):
    """A record, or a dict or list in it, cannot be changed: answer the step, or change a copy."""
