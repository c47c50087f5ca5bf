"""What a saved notebook keeps of an inspector: the story, out of sight while the widget lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.show.page import MAX_STEPS, render_fragment

if TYPE_CHECKING:
    from zoolab.trace.log import TraceLog

#: Steps of the story beside the widget, if the trace is too long to be told whole.
FEW_STEPS = 8

# The second rule is for the notebook's own line about a dead widget.
_KEPT = """<div class="zoolab-kept"><style>
.jp-OutputArea:has(.zl) > .jp-OutputArea-child:has(.zoolab-kept):not(:has(.zl)),
.jp-OutputArea:has(.zoolab-kept):not(:has(.zl)) > .jp-OutputArea-child:has(> .jupyter-widgets) {
  display: none;
}
</style><p><i>Saved from the inspector. To step through it, run the cell again.</i></p>"""


def story_of(trace: TraceLog) -> str:
    """The story of a trace as HTML, as long as beside a widget it may be.

    >>> from zoolab import Scripted, run
    >>> story_of(run("Hi", [], Scripted(["Hello"])))[:26]
    '<div class="zoolab-story">'
    """
    return render_fragment(trace, MAX_STEPS if len(trace) <= MAX_STEPS else FEW_STEPS)


def kept_story(trace: TraceLog) -> dict[str, Any]:
    """An output of its own, since of one output a notebook shows the widget and nothing else, dead or alive.

    >>> from zoolab import Scripted, run
    >>> "Hello" in kept_story(run("Hi", [], Scripted(["Hello"])))["text/html"]
    True
    """
    return {"text/html": f"{_KEPT}{story_of(trace)}</div>", "text/plain": ""}


def display_both(widget: dict[str, Any], metadata: dict[str, Any], trace: TraceLog) -> Any:
    """Display a widget and the story that is kept; returns the handle by which the story is replaced.

    >>> from IPython.utils.capture import capture_output
    >>> from zoolab import Scripted, run
    >>> with capture_output() as captured:
    ...     _ = display_both({"text/plain": "a widget"}, {}, run("Hi", [], Scripted(["Hello"])))
    >>> "a widget" in captured.stdout and "Hello" in captured.stdout
    True
    """
    from IPython import display as shown

    display: Any = shown.display
    display(widget, metadata=metadata, raw=True)
    return display(kept_story(trace), raw=True, display_id=True)
