"""`zoolab policy`: the rules that outlast a session."""

from __future__ import annotations

import argparse

from zoolab.jsontext import visible
from zoolab.policy.permissions import PolicyFile, policies_path

_ACTIONS = {
    "list": "show the rules, and the file that keeps them",
    "allow": "let calls run without asking",
    "deny": "let calls never run, whoever allows them",
    "remove": "forget a rule",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, what in _ACTIONS.items():
        action = actions.add_parser(name, help=what)
        if name != "list":
            action.add_argument("rule", metavar="RULE", help="a tool's name, or such as 'read_file(/srv/**)'")


def run(options: argparse.Namespace) -> int:
    """Change the user's policies.json, unless the action is to list it; then show it, its path first."""
    kept = PolicyFile(policies_path())
    if options.action == "remove":
        kept.remove(options.rule)
    elif options.action != "list":
        kept.add(options.action, options.rule)
    known = kept.read()
    print(visible(str(kept.path)))
    for word, rules in (("deny", known.deny), ("allow", known.allow)):
        for rule in rules:
            print(f"  {word:<6} {visible(rule.text)}")
    return 0
