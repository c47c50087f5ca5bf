"""The inspector as one file: no kernel, no network, the story for whoever runs no scripts."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from zoolab.files import read_shipped
from zoolab.jsontext import encode, one_line
from zoolab.show.block_types import browser_json
from zoolab.show.inspector.modules import inspector_script
from zoolab.show.inspector.overview import first_error, overview_of, packed
from zoolab.show.inspector.panel import panel_of, reader_notes
from zoolab.show.moment import Moment
from zoolab.show.page import MAX_STEPS, render_fragment, shared_fragment
from zoolab.show.wording import not_read, prompt_of
from zoolab.text.markup import csp_digest, pictured
from zoolab.trace.log import TraceLog

#: Bytes of panels; the steps after that are named, and have no panel.
MAX_PANELS = 20_000_000

# What could end a script or begin a comment in one, and what older JavaScript takes for a line's end.
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
# Only this script and these styles; nothing is fetched, nothing is sent.
_POLICY = (
    "default-src 'none'; connect-src 'none'; script-src {script}; style-src {styles}; "
    "base-uri 'none'; form-action 'none'"
)


def render_interactive_page(trace: TraceLog, room: int = MAX_PANELS) -> str:
    """Return a page to step through, which runs one script, its own, and can connect to nothing.

    The panels have `room` bytes: of a long trace the first steps and those with errors are kept, and the
    page says how many there are.
    """
    story = render_fragment(trace)
    data = _data(trace, room)
    # The module of the widget, and what stands in for its kernel.
    script = f"{inspector_script()}\n{_file('static_page.js')}"
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    style = _file("inspector.css")
    own_style = _file("static_page.css")
    held = data["held"]
    total = len(trace.steps)
    told = f"This page had room for the panels of {held:,} of {total:,} steps."
    remarks = [told] if held < total else []
    if lines := not_read(trace):
        more = f" and {len(lines) - 3:,} more" if len(lines) > 3 else ""
        remarks.append(f"Not read of the file: {escape(pictured('; '.join(lines[:3])))}{more}")
    allowed = dict.fromkeys(map(csp_digest, (own_style, style, *_STYLE.findall(story))))
    return _file("static_page.html").format(
        policy=_POLICY.format(script=csp_digest(script), styles=" ".join(allowed)),
        title=escape(pictured(one_line(f"zoolab: {prompt_of(trace)}", 60))),
        own_style=own_style,
        style=style,
        told="".join(f"<p>{remark}</p>\n" for remark in remarks),
        story=story,
        data=in_script(data),
        script=script,
    )


def in_script(data: Any) -> str:
    """Return JSON that stays data inside a script element, whatever its texts hold."""
    return encode(data).translate(_UNSAFE)


def _data(trace: TraceLog, room: int) -> dict[str, Any]:
    """Return the panels, first of the steps with an error and those beside them, as many as there is room
    for.
    """
    panels = {}
    turns = trace.turns
    wrong = [seq for seq, step in enumerate(trace.steps) if step.error_code][:100]
    near = [near for seq in wrong for near in (seq, seq - 1, seq + 1) if 0 <= near < len(trace.steps)]
    for seq in dict.fromkeys([*near, *range(len(trace.steps))]):
        panel = panel_of(Moment(trace, seq, turns))
        room -= len(encode(panel).encode())
        if room < 0:
            break
        panels[seq] = panel
    state: dict[str, Any] = {
        "overview": packed(overview_of(trace)),
        "step": first_error(trace) or 0,
        "tab": "diff",
        "notes": browser_json(reader_notes(trace)),
        "other_step": 0,
        **dict.fromkeys(("live", "other", "pairs")),
    }
    return {"state": state, "panels": panels, "held": len(panels)}


def _file(name: str) -> str:
    return read_shipped("zoolab.show.inspector", name)


def story_of(trace: TraceLog) -> str:
    """Return the story of a trace as HTML, without secrets; a few steps of one too long to stand beside a
    widget.
    """
    return shared_fragment(trace, MAX_STEPS if len(trace) <= MAX_STEPS else 8)
