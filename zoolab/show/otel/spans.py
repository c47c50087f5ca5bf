"""Spans made with the OpenTelemetry SDK: semantics.py says what is in them, timeline.py when they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.records import Failure, Message, Reply
from zoolab.show.otel.timeline import Window

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.trace import Span, Tracer, TracerProvider

#: Characters of a name, of a text, and of all messages of one request.
MAX_NAME, MAX_TEXT, MAX_MESSAGES = 128, 4_096, 32_768


def as_text(value: object, limit: int = MAX_TEXT) -> str:
    """Any value as text that can be sent: without lone surrogates, and not too long."""
    text = value if isinstance(value, str) else excerpt(value, limit)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def as_name(value: object) -> str | None:
    """A short text; None for anything else, and for an empty one."""
    return as_text(value, MAX_NAME) if isinstance(value, str) and value else None


def as_number(value: object, kind: type[int] | type[float]) -> int | float | None:
    """A number that fits 64 bits; None for anything else.

    >>> as_number(1, float), as_number(1.5, int), as_number(True, int), as_number(10**30, int)
    (1.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, kind)) or not abs(value) < 1 << 63:
        return None
    return kind(value)


def as_scalar(value: object) -> str | int | float | bool | None:
    """A truth value, a number or a name; None for anything else."""
    if isinstance(value, bool):
        return value
    return as_number(value, type(value)) if isinstance(value, int | float) else as_name(value)


def member(value: object, name: str) -> Mapping[str, Any]:
    """An object within an object; empty if there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def encode_messages(messages: Sequence[Message]) -> str:
    """The last of the messages in the conventions' form, as many as there is room for.

    >>> encode_messages([{"role": "user", "content": "Hi"}])
    '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]'
    """
    kept: list[str] = []
    room = MAX_MESSAGES
    for message in reversed(messages):
        text = encode(_in_parts(message))
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return f"[{','.join(reversed(kept))}]"


def encode_reply(reply: Reply | None) -> str | None:
    """The message of a reply in the conventions' form, with the reason that it ended."""
    if reply is None:
        return None
    return encode([{**_in_parts(reply.message), "finish_reason": as_name(reply.finish_reason) or ""}])


def _in_parts(message: Message) -> dict[str, Any]:
    role, said, calls = as_name(message.get("role")) or "", message.get("content"), message.get("tool_calls")
    if role == "tool":
        answers = as_name(message.get("tool_call_id"))
        return {
            "role": role,
            "parts": [{"type": "tool_call_response", "id": answers, "response": as_text(said)}],
        }
    parts = [{"type": "text", "content": as_text(said)}] if said else []
    return {"role": role, "parts": parts + (list(map(_asked, calls[:64])) if isinstance(calls, list) else [])}


def _asked(call: object) -> dict[str, Any]:
    """A call, with the object that was meant as its arguments, or with what was written instead of one."""
    function, raw = member(call, "function"), member(call, "function").get("arguments")
    try:
        arguments = parse_json(raw) if isinstance(raw, str) and len(raw) <= MAX_TEXT else as_text(raw)
    except NotStrictJSON:
        arguments = as_text(raw)
    return {
        "type": "tool_call",
        "id": as_name(call.get("id")) if isinstance(call, Mapping) else None,
        "name": as_name(function.get("name")) or "",
        "arguments": arguments,
    }


class Exporter:
    """Makes the spans of one export; their ids are the same at every export of the run.

    Args:
        run_id: The name of the run, from which all ids come.
        provider: Whose processors receive the spans; None for no one's.
        schema_url: The version of the conventions.
        name: Whose format the messages have.
        content: Whether what was said may be told.

    Raises:
        InvalidInput: The SDK is not installed, or `provider` is not a provider.
    """

    def __init__(
        self, run_id: str, provider: TracerProvider | None, schema_url: str, name: str, content: bool
    ) -> None:
        self.provider, self.content = name, content
        self._tracer = _tracer(provider, schema_url)
        self._tracer.id_generator = cast("IdGenerator", _Ids(run_id))  # type: ignore[attr-defined]
        #: The spans so far, in the order in which they began to be written.
        self.spans: list[ReadableSpan] = []

    @contextmanager
    def span(
        self,
        name: str,
        window: Window,
        attributes: Mapping[str, Any],
        parent: Span | None = None,
        error: Failure | None = None,
        kind: Literal["INTERNAL", "CLIENT"] = "INTERNAL",
    ) -> Iterator[Span]:
        """One span, around those within it. Attributes that are None are left out.

        `error` gives it the status ERROR, and its code is the attribute `error.type`.
        """
        from opentelemetry.context import Context
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        context = Context() if parent is None else set_span_in_context(parent, Context())
        known = {key: value for key, value in attributes.items() if value is not None}
        span = self._tracer.start_span(name, context, SpanKind[kind], known, start_time=window.start)
        if isinstance(span, ReadableSpan):
            self.spans.append(span)
        if error is not None:
            span.set_attribute("error.type", error.code)
            span.set_status(Status(StatusCode.ERROR, error.message or None))
        yield span
        span.end(window.end)


class _Ids:
    """Ids from the name of a run, and from how many there were before."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._spans = 0

    def generate_trace_id(self) -> int:
        return self._number("", 16)

    def generate_span_id(self) -> int:
        self._spans += 1
        return self._number(str(self._spans), 8)

    def is_trace_id_random(self) -> bool:
        return False

    def _number(self, salt: str, size: int) -> int:
        text = self._run_id.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=size, salt=salt.encode()).digest())


def _tracer(provider: TracerProvider | None, schema_url: str) -> Tracer:
    try:
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON
        from opentelemetry.trace import TracerProvider as AnyProvider
    except ImportError:
        raise InvalidInput(
            "to_otel needs the package opentelemetry-sdk", advice="pip install 'zoolab[otel]'"
        ) from None
    if provider is None:
        provider = Provider(ALWAYS_ON, shutdown_on_exit=False)
    elif not isinstance(provider, AnyProvider):
        raise InvalidInput(f"a provider is {excerpt(provider)}", expected="a TracerProvider of OpenTelemetry")
    # A copy: the provider keeps its tracers, and another export may be using this one.
    return copy(provider.get_tracer("zoolab", schema_url=schema_url))
