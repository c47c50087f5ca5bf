"""The inspector on the site: a page of its own, to step through without a kernel."""

from __future__ import annotations

from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from zoolab.runs import Trace
from zoolab.show.inspector.inspector import Inspector
from zoolab.show.wording import prompt_of

#: The folder of these pages in the site.
FOLDER = "inspectors"


def show_as_pages(folder: str, notebook: str) -> None:
    """Have a notebook that displays an inspector write its page into a folder, and show that, from now on.

    A walk that is not over runs to its end first: a page has no kernel to go on with it.
    """
    numbers = count(1)

    def display_page(inspector: Inspector) -> bool:
        from IPython.display import HTML, display

        driver = inspector.view.driver
        while driver is not None and driver.state == "paused":
            if driver.waits:
                driver.decide("once")
            else:
                driver.run()
        trace: Any = inspector.trace
        file = Path(folder, f"{notebook}-{next(numbers)}.html")
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(trace, Trace):
            trace.to_html(file, interactive=True)
        show: Any = display
        show(HTML(_frame(f"../{FOLDER}/{file.name}", prompt_of(trace), driver is not None)))  # type: ignore[no-untyped-call]
        return True

    from IPython import get_ipython

    shell: Any = get_ipython()
    shell.display_formatter.ipython_display_formatter.for_type(Inspector, display_page)


def _frame(address: str, prompt: str, live: bool) -> str:
    title = escape(f"Inspector: {prompt}")
    told = "In a notebook you drive this walk. Here it has run to its end, and every call was allowed. "
    return (
        f'<iframe class="inspector" src="{address}" title="{title}" loading="lazy"></iframe>'
        f'<p>{told if live else ""}<a href="{address}">Open the inspector on a page of its own</a></p>'
    )
