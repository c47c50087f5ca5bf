"""What can be made of a trace: a table, a page, a protocol, spans, the inspector."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from zoolab.files import write_whole
from zoolab.trace.rooms import from_above

if TYPE_CHECKING:
    import pandas as pd
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import TracerProvider

    from zoolab.records import Model
    from zoolab.trace.diagnosis import Diagnosis
    from zoolab.trace.trace import Trace
    from zoolab.trace.wires import Wires


class TraceViews:
    """The forms in which a trace shows itself; each is made in a module of its own, when it is asked for."""

    @property
    def _trace(self) -> Trace:
        return cast("Trace", self)

    @property
    def display(self) -> list[str]:
        """One line for people about each result; `messages[]`, and so the model, never holds them.

        >>> from zoolab import Scripted, run, tool
        >>> @tool
        ... def add(a: int, b: int) -> int:
        ...     "Add two integers."
        ...     return a + b
        >>> run("42 + 58?", [add], Scripted([[("add", {"a": 42, "b": 58})], "100"])).display
        ['[add] ok in ... ms: 100']
        """
        from zoolab.trace.lines import display_lines

        return display_lines(self._trace.steps)

    def diagnose(self) -> list[Diagnosis]:
        """What went wrong, as up to five diagnoses with evidence and advice; empty where nothing shows.

        no_tool_call (though one was needed), wrong_tool, broken_arguments, unknown_tool, poor_description.
        With `expected_tool` in the trace's meta a wrong choice is evidence, too.

        >>> from zoolab import Scripted, Trace, walk
        >>> Trace.record(walk("Hi", [], Scripted(["Hello"]))).diagnose()
        []
        """
        from zoolab.trace.diagnosis import diagnose

        return diagnose(self._trace)

    def to_frame(self) -> pd.DataFrame:
        """The steps as a table, one row each.

        Columns: run_id case_id variant model seed turn seq step slot call_id attempt tool expected_tool
        status error_code error_type outcome fault t_start (s) duration_ms n_messages tokens_in tokens_out.

        >>> from zoolab import Scripted, Trace, walk
        >>> Trace.record(walk("Hi", [], Scripted(["Hello"]))).to_frame()["step"].tolist()
        ['define', 'request', 'tool_call']
        """
        from zoolab.trace.frame import to_frame

        return to_frame(self._trace)

    def to_html(self, path: str | Path | None = None, *, interactive: bool = False) -> str:
        """The story of the run as one self-contained page without scripts; written to `path`, if given.

        `interactive` makes it a page to step through: one script, its own, and no connection to anything.

        >>> from zoolab import Scripted, Trace, walk
        >>> "<script" in Trace.record(walk("<script>", [], Scripted(["Hello"]))).to_html()
        False
        """
        from zoolab.trace.story.page import render_page

        page: str = (
            from_above("render_interactive_page")(self._trace) if interactive else render_page(self._trace)
        )
        if path is not None:
            write_whole(Path(path), [page])
        return page

    def inspect(
        self,
        other: Trace | None = None,
        *,
        model: Model | None = None,
        tools: Any = None,
        replay: Model | None = None,
    ) -> Any:
        """Step through the run in a notebook; the arguments are those of `zoolab.inspect`.

        >>> from zoolab import Scripted, run
        >>> run("Hi", [], Scripted(["Hello"])).inspect().step
        0
        """
        return from_above("inspect")(self._trace, other, model=model, tools=tools, replay=replay)

    def to_otel(self, provider: TracerProvider | None = None, *, content: bool = False) -> list[ReadableSpan]:
        """The run as OpenTelemetry spans: invoke_agent, chat and execute_tool, by its GenAI conventions.

        Opens no connection and leaves OpenTelemetry's global provider alone. Exported twice, a run has the
        same ids and times. The time between steps by hand is left out. Who answered is what the trace was
        told, `Trace(meta={"provider": "openai"})`, and else `zoolab`.

        Args:
            provider: The `TracerProvider` whose processors receive the spans; by default none do.
            content: Whether messages, arguments, results and error texts go with them: they may be private.

        Returns:
            The spans, finished, each before those within it; only those that the provider's sampler records.

        Raises:
            InvalidInput: The OpenTelemetry SDK is not installed, or `provider` is no provider.

        >>> from zoolab import Scripted, Trace, run
        >>> for span in run("Hi", [], Scripted(["Hello"]), meta={"agent": "greeter"}).to_otel():
        ...     print(span.name)
        invoke_agent greeter
        chat scripted
        """
        from zoolab.trace.otel import to_otel

        return to_otel(self._trace, provider, content=content)

    def to_markdown(self) -> str:
        """The protocol of the run: each request and reply in JSON, and `messages[]` before and after.

        >>> from zoolab import Scripted, Trace, walk
        >>> "### Request" in Trace.record(walk("Hi", [], Scripted(["Hello"]))).to_markdown()
        True
        """
        from zoolab.trace.markdown import to_markdown

        return to_markdown(self._trace)

    def show_wires(self, turn: int = 1) -> Wires:
        """One turn in all wire formats side by side: `bodies` and `replies` by format, each with warnings.

        Raises:
            InvalidInput: There is no such turn.

        >>> from zoolab import Scripted, Trace, walk
        >>> wires = Trace.record(walk("Hi", [], Scripted(["Hello"]))).show_wires()
        >>> wires.bodies["gemini"].body
        {'contents': [{'role': 'user', 'parts': [{'text': 'Hi'}]}]}
        """
        from zoolab.trace.wires import show_wires

        return show_wires(self._trace, turn)

    def _repr_html_(self) -> str:
        from zoolab.trace.story.page import render_fragment

        return render_fragment(self._trace)

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """The story and one line of text, for a notebook to choose from."""
        makers = {"text/html": self._repr_html_, "text/plain": self.__repr__}
        wanted = (kind for kind in makers if include is None or kind in include)
        return {kind: makers[kind]() for kind in wanted if exclude is None or kind not in exclude}
