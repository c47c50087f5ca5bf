"""The page's modules as one text: what draws the inspector in a notebook and in a stand-alone page."""

from __future__ import annotations

import re

from zoolab.files import read_shipped

#: From the ground up; each imports only what stands before it.
MODULES = ("elements", "blocks", "overview", "others", "column", "inspector")

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def inspector_script() -> str:
    """Return the modules of the inspector, put together as one that imports nothing.

    A widget and a page without a network have one script each, and no address to import another from.

    >>> inspector_script().count("export default")
    1
    """
    texts = (read_shipped("zoolab.show.inspector", f"{name}.js") for name in MODULES)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
