"""`zoolab serve-tools`: a registry as an MCP server."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from contextlib import redirect_stdout
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.mcp.serve import serve
from zoolab.policy import Permissions, Policy
from zoolab.steps.define import as_registry
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TOOLS", help="a domain, such as devops, or MODULE:REGISTRY")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME", help="run this tool whatever its risk"
    )


def run(options: argparse.Namespace) -> int:
    """Serve the tools; those of `--allow` run whatever their risk."""
    # The protocol owns standard output from the start; a module may print while it is imported.
    with redirect_stdout(sys.stderr):
        registry = _registry(options.target)
    unknown = [name for name in options.allow if name not in registry]
    if unknown:
        raise InvalidInput(f"--allow {unknown[0]}: no such tool", expected=registry.names_as_text())
    serve(registry, Permissions(Policy(allow=frozenset(options.allow))), options.target)
    return 0


def _registry(target: str) -> ToolRegistry:
    """The registry behind names of the toolbox, or behind MODULE:NAME; a function makes it anew."""
    module, _, name = target.partition(":")
    if not name:
        return tools_named(*target.split(","))
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        advice = "name a registry as MODULE:REGISTRY"
        raise InvalidInput(f"cannot take {name} from {module}: {error}", advice=advice) from error
    makes_them = inspect.isfunction(found) and not inspect.signature(found).parameters
    return as_registry(found() if makes_them else found)
