"""What the Lite site is made of, as `lite.toml` tells."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = tomllib.loads(Path(__file__).with_name("lite.toml").read_text("utf-8"))
#: The notebooks that are part of the Lite site, by their paths in the checkout.
PATHS = (
    *(f"notebooks/{name}.ipynb" for name in PLAN["notebooks"]),
    *(f"labs/{name}/{name}.ipynb" for name in PLAN["labs"]),
)


def address_of(notebook: str) -> str:
    """Return where a notebook opens, from the folder of the Lite site; `notebook` is its path in the
    checkout.
    """
    return f"lab/index.html?path={notebook}"
