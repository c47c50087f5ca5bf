"""`zoolab labs`: the graded labs of the course.

Each action is one function that adds its parser and says, in `act`, what it does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
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
    parser.add_argument(
        "labs", nargs="*", metavar="LAB", help="names, or folders of your own; by default all"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is stale")
    parser.set_defaults(act=_build)


def _build(options: argparse.Namespace) -> int:
    from zoolab.grading.building import build_labs

    stale = build_labs(options.labs, options.check)
    for path in stale:
        print(f"{path}: {'stale, run zoolab labs build' if options.check else 'built'}")
    return 1 if options.check and stale else 0


def _add_status(actions: Actions) -> None:
    parser = actions.add_parser("status", help="what you have earned of the checklist, by your notebooks")
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="by default the current one")
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.set_defaults(act=_status)


def _status(options: argparse.Namespace) -> int:
    from zoolab.grading.status import status_of

    status = status_of(options.folder)
    lines = [json.dumps(status.as_json(), indent=2)] if options.json else status.lines()
    for line in lines:
        print(line)
    return 0 if status.done else 1


def _add_export(actions: Actions) -> None:
    parser = actions.add_parser("export", help="the public cases of labs, for otter-grader or nbgrader")
    parser.add_argument("labs", nargs="*", metavar="LAB", help="by default all")
    parser.add_argument("--format", required=True, choices=("otter", "nbgrader"), help="for whose tools")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where to write")
    parser.set_defaults(act=_export)


def _export(options: argparse.Namespace) -> int:
    from zoolab.grading.export import export_labs

    for path in export_labs(options.labs, options.format, options.out):
        print(path)
    print("These tools decide in the student's process; `zoolab grade` does not.")
    return 0


ACTIONS = (_add_list, _add_status, _add_build, _add_export)
