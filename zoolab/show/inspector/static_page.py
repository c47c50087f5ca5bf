"""The inspector as one file: no kernel, no network, the story for whoever runs no scripts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from zoolab.jsontext import encode
from zoolab.show.block_types import sendable
from zoolab.show.inspector.overview import first_error, overview_of, packed
from zoolab.show.inspector.panel import panel_of
from zoolab.show.inspector.views import notes_of
from zoolab.show.markup import visible
from zoolab.show.moment import Moment
from zoolab.show.page import MAX_STEPS, render_fragment
from zoolab.show.wording import one_line, prompt_of
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    from zoolab.trace.log import TraceLog

#: Bytes of panels; the steps after that are named, and have no panel.
MAX_PANELS = 20_000_000

# What could end a script or begin a comment in one, and what older JavaScript takes for a line's end.
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_OWN_STYLE = (
    ":root { color-scheme: light dark; background: light-dark(#fff, #0f1114); "
    "color: light-dark(#1d2127, #e6e8eb); } "
    "body { margin: 1rem; font-family: system-ui, sans-serif; }"
)


def render_interactive_page(trace: TraceLog, room: int = MAX_PANELS) -> str:
    """A page to step through, which runs one script, its own, and can connect to nothing.

    Args:
        trace: The trace.
        room: Bytes of panels. Of a long trace the first steps and those with errors are kept, and the
            page says how many there are.

    >>> from zoolab import Scripted, run
    >>> page = render_interactive_page(run("Hi", [], Scripted(["Hello"])))
    >>> page.count("<script"), "connect-src 'none'" in page, "://" in page
    (2, True, False)
    """
    story = render_fragment(trace)
    script = _script()
    styles = [_OWN_STYLE, _file("inspector.css"), *_STYLE.findall(story)]
    data = _data(trace, room)
    held, total = data["held"], len(trace.steps)
    told = f"This page had room for the panels of {held:,} of {total:,} steps." if held < total else ""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script, styles)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_escaped(one_line(f'zoolab: {prompt_of(trace)}', 60))}</title>",
        *(f"<style>{style}</style>" for style in styles[:2]),
        "</head>",
        "<body>",
        "<main>",
        f"<p>{told}</p>" if told else "",
        '<div id="zoolab-inspector"></div>',
        f"<noscript>{story}</noscript>",
        "</main>",
        f'<script type="application/json" id="zoolab-data">{in_script(data)}</script>',
        f'<script type="module">{script}</script>',
        "</body>",
        "</html>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def in_script(data: Any) -> str:
    """JSON that stays data inside a script element, whatever its texts hold.

    >>> in_script({"a": "</script><!--"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    return encode(data).translate(_UNSAFE)


def _data(trace: TraceLog, room: int) -> dict[str, Any]:
    panels, notes, turns = {}, notes_of(trace), trace.turns
    for seq in _in_order_of_worth(trace):
        panel = panel_of(Moment(trace, seq, turns), notes.get(str(seq), ""))
        room -= len(encode(panel).encode())
        if room < 0:
            break
        panels[seq] = panel
    at = first_error(trace) or 0
    state = {
        "overview": packed(overview_of(trace)),
        "step": at,
        "tab": "diff",
        "notes": sendable(notes),
    }
    state |= {"live": None, "other": None, "other_step": 0, "pairs": None}
    return {"state": state, "panels": panels, "held": len(panels)}


def _in_order_of_worth(trace: TraceLog) -> Iterable[int]:
    """Steps with an error and those beside them, then all from the start."""
    wrong = [seq for seq, step in enumerate(trace.steps) if step.error_code][:100]
    near = [near for seq in wrong for near in (seq, seq - 1, seq + 1) if 0 <= near < len(trace.steps)]
    return dict.fromkeys([*near, *range(len(trace.steps))])


def _script() -> str:
    """The module of the widget, and what stands in for its kernel."""
    script = f"{_file('inspector.js')}\n{_file('static_page.js')}"
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(script: str, styles: Iterable[str]) -> str:
    """Only this script and these styles; nothing is fetched, nothing is sent."""
    allowed = " ".join(dict.fromkeys(_hash(style) for style in styles))
    return (
        f"default-src 'none'; connect-src 'none'; script-src {_hash(script)}; style-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _file(name: str) -> str:
    return files("zoolab.show.inspector").joinpath(name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    return escape(visible(text))


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
