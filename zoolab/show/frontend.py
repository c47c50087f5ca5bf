"""Shows a widget, and what a saved notebook keeps of it when no kernel runs."""

from __future__ import annotations

import sys
from typing import Any


def show_widget(data: dict[str, Any], metadata: dict[str, Any], opening: str) -> Any:
    """Display a widget or its HTML, as the front end can; return the handle of an output of the HTML alone.

    VS Code and Colab choose from one output, and there is no handle: the widget while it lives, and then the
    HTML. JupyterLab and Notebook show the widget of an output, dead or alive. There the HTML has an output of
    its own, and the styles of `opening`, an open `div`, hide one of the two.
    """
    from IPython import display as shown
    from IPython import get_ipython

    display: Any = shown.display
    # Both leave a mark in the kernel.
    if "google.colab" in sys.modules or "__vsc_ipynb_file__" in getattr(get_ipython(), "user_ns", ()):
        return display(data, metadata=metadata, raw=True)
    html = data.pop("text/html")
    display(data, metadata=metadata, raw=True)
    return display(alone(html, opening), raw=True, display_id=True)


def alone(html: str, opening: str) -> dict[str, Any]:
    """Give the output of the HTML alone, by its types."""
    return {"text/html": f"{opening}{html}</div>", "text/plain": ""}
