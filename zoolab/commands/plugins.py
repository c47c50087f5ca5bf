"""`zoolab plugins`: what is registered with zoolab, and what of it cannot be used."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from zoolab.apis import REGISTERED
from zoolab.commands.cli import usable_commands
from zoolab.commands.listing import print_json
from zoolab.jsontext import visible
from zoolab.plugins import GROUPS, BrokenPlugin, Group, NeedsExtra


def show_plugins(options: argparse.Namespace) -> int:
    """List what is registered in each group, or in that of the options; 1 if some of it is broken.

    What only needs an extra is not broken.
    """
    checked = {group.name: group for group in (REGISTERED, usable_commands())}
    found: dict[str, dict[str, Any]] = {
        group.name: {"what": group.what, "entries": [*_entries(group)]}
        for group in {**GROUPS, **checked}.values()
        if options.group in (None, group.name, group.name.removeprefix("zoolab."))
    }
    if options.json:
        print_json(found)
    for group_name, group in {} if options.json else found.items():
        print(f"{group_name}: {group['what']}")
        for each in group["entries"]:
            print(visible(f"  {each['name']:<24} {each['error'] or each['needs'] or each['value']}"))
    return int(any(each["error"] for group in found.values() for each in group["entries"]))


def _entries(group: Group) -> Iterator[dict[str, str | None]]:
    for name, entry in group.entries().items():
        told = dict[str, str | None](name=name, value=entry.value, error=None, needs=None)
        try:
            group.load(entry)
        except NeedsExtra as error:
            told["needs"] = str(error)
        except BrokenPlugin as error:
            told["error"] = str(error)
        yield told
