"""`zoolab labs`: the graded labs of the course.

Each action is one function that adds its parser and says, in `act`, what it does.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Actions = argparse._SubParsersAction[argparse.ArgumentParser]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for add in ACTIONS:
        add(actions)


def run(options: argparse.Namespace) -> int:
    """Do the action that was chosen."""
    act: Callable[[argparse.Namespace], int] = options.act
    return act(options)


def _add_list(actions: Actions) -> None:
    parser = actions.add_parser("list", help="the labs, with their points")
    parser.set_defaults(act=_list)


def _list(_options: argparse.Namespace) -> int:
    from zoolab.grading import lab_names, load_lab

    for lab in map(load_lab, lab_names()):
        public = sum(case.public for case in lab.cases)
        size = f"{lab.points:g} points, {len(lab.cases)} cases, {public} of them public"
        print(f"{lab.name:<4} {lab.title:<24} {size}")
    return 0


def _add_build(actions: Actions) -> None:
    parser = actions.add_parser("build", help="make the notebooks of the labs from their masters")
    parser.add_argument("labs", nargs="*", metavar="LAB", help="by default all")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is stale")
    parser.set_defaults(act=_build)


def _build(options: argparse.Namespace) -> int:
    from zoolab.grading.building import build_labs

    stale = build_labs(options.labs, options.check)
    for path in stale:
        print(f"{path}: {'stale, run zoolab labs build' if options.check else 'built'}")
    return 1 if options.check and stale else 0


ACTIONS = (_add_list, _add_build)
