"""jsonschema, imported without what takes seconds.

Beside JupyterLab, jsonschema finds `rfc3987_syntax`, which builds a large grammar when it is imported. Only
the formats `iri` and `iri-reference` need it, so it is imported when one of them is first checked.
"""

from importlib import import_module
from importlib.util import find_spec
from sys import modules
from types import SimpleNamespace

if later := "rfc3987_syntax" not in modules and find_spec("rfc3987_syntax") is not None:
    modules["rfc3987_syntax"] = SimpleNamespace(  # type: ignore[assignment]
        is_valid_syntax=lambda *given: import_module("rfc3987_syntax").is_valid_syntax(*given)
    )
import jsonschema as jsonschema

if later:
    del modules["rfc3987_syntax"]
