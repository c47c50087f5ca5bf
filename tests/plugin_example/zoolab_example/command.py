"""A command: `zoolab greet NAME`."""

from __future__ import annotations

import argparse

from zoolab.plugins import Command


def greet(options: argparse.Namespace) -> int:
    """Greet somebody."""
    print(f"Hello, {options.who}.")
    return 0


GREET = Command("greet somebody", greet, {"options": {"who": {"help": "whom"}}})
