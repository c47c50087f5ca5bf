"""`zoolab plugins`: what is registered with zoolab, and what of it cannot be used."""

from __future__ import annotations

import argparse

from zoolab.jsontext import visible
from zoolab.plugins import GROUPS, BrokenPlugin


def show_plugins(options: argparse.Namespace) -> int:
    """List what is registered in each group, or in that of the options; 1 if some of it cannot be used."""
    broken = 0
    for group in GROUPS.values():
        if options.group not in (None, group.name, group.name.removeprefix("zoolab.")):
            continue
        print(f"{group.name}: {group.what}")
        for name, entry in group.entries().items():
            try:
                group.load(entry)
                print(visible(f"  {name:<24} {entry.value}"))
            except BrokenPlugin as error:
                broken += 1
                print(visible(f"  {name:<24} {error}"))
    return int(broken > 0)
