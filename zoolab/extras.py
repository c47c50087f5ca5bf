"""The libraries that extras of zoolab install, and what is said if one is not there."""

from __future__ import annotations

from collections.abc import Mapping

from zoolab.errors import MissingPackage

#: The extra that installs a library, by the name under which Python imports the library.
EXTRAS: Mapping[str, str] = {
    **dict.fromkeys(("anywidget", "ipywidgets", "traitlets", "IPython", "jupyterlab"), "notebook"),
    **dict.fromkeys(("ipykernel", "jupyter_client", "jupyter_server", "nbclient", "nbformat"), "notebook"),
    **dict.fromkeys(("matplotlib", "numpy", "pandas"), "notebook"),
    **dict.fromkeys(("needle_rs", "xllamacpp"), "local"),
    **dict.fromkeys(("mcp", "mcp_types", "anyio", "httpx2", "uvicorn"), "mcp"),
    **dict.fromkeys(("yaml", "zstandard"), "logs"),
    "brotli": "proxy",
    "opentelemetry": "otel",
    "distributed": "cluster",
    "wordllama": "embed",
    "jupytext": "dev",
}


def needs(*modules: str) -> None:
    """Raise `MissingPackage` unless these modules can be imported; called before an extra's library is.

    >>> needs("json")
    >>> needs("xllamacpp.none")
    Traceback (most recent call last):
    zoolab.errors.MissingPackage: this needs xllamacpp; run: pip install 'zoolab[local]'
    """
    from importlib.util import find_spec

    for module in modules:
        try:
            if find_spec(module) is not None:
                continue
        except (ImportError, ValueError):  # its package is not there, or was forbidden by a None
            pass
        name = module.partition(".")[0]
        advice = f"run: pip install 'zoolab[{EXTRAS[name]}]'"
        raise MissingPackage(f"this needs {name.replace('_', '-')}", advice=advice)
