"""Spans made with the OpenTelemetry SDK: otel.py says what is in them, timeline.py when they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Failure
from zoolab.show.otel.timeline import Window

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.trace import Span, Tracer, TracerProvider


class Exporter:
    """Makes the spans of one export; their ids are the same at every export of the run.

    Raises:
        InvalidInput: The SDK is not installed, or `provider` is none.
    """

    def __init__(self, run_id: str, provider: TracerProvider | None, schema_url: str) -> None:
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
